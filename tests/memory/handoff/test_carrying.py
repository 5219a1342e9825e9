"""What a handoff carries of a session: standing orders, decisions, the state, open errors; nothing twice."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest

from palimpsest_mcp.hosts.detect import parse_value
from palimpsest_mcp.memory.handoff.fill import continuation, fitted
from palimpsest_mcp.memory.handoff.markdown import absent_sections, from_markdown, to_markdown
from palimpsest_mcp.memory.handoff.templates import TEMPLATES
from palimpsest_mcp.memory.summary.facts import facts_of
from palimpsest_mcp.memory.summary.harvest import harvest
from palimpsest_mcp.models.handoffs import Handoff, Phase


def call(name: str, tool: str, result: str, **args: Any) -> list[dict[str, Any]]:
    use = {"type": "tool_use", "id": name, "name": tool, "input": args}
    return [
        {"role": "assistant", "content": [use]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": name, "content": result}]},
    ]


SESSION: list[dict[str, Any]] = [
    {"role": "user", "content": "Move the importer to Postgres. Never push to main without my review."},
    {"role": "assistant", "content": "I'll go with sqlite for the tests because it is small."},
    {"role": "user", "content": "No, use postgres instead of sqlite in the tests."},
    {"role": "assistant", "content": "Decision: the tests start a Postgres of their own."},
    *call("t1", "Edit", "ok", file_path="/srv/a.py", old_string="a", new_string="b"),
    *call("t2", "Bash", "FAILED test_a.py::test_x - KeyError\n1 failed, 3 passed in 1s", command="pytest -q"),
]


def handoff(phase: Phase, messages: list[dict[str, Any]] = SESSION) -> Handoff:
    items = parse_value(messages).items
    header = {"task": "Go on", "title": "Go on", "date": "2026-11-22", "project": "/srv", "pointers": ("here",)}
    return fitted(TEMPLATES[phase], header, harvest(items, str), facts_of(items, str), {}, lambda text: len(text) // 4)


@pytest.mark.parametrize("phase", ["task", "research", "plan", "implementation"])
def test_the_next_reader_is_given_orders_decisions_state_and_open_errors(phase: Phase) -> None:
    text = continuation(handoff(phase), "2026-11-22-go-on")
    assert "- User, message 1: Never push to main without my review." in text
    assert "the tests start a Postgres of their own" in text
    assert "Rejected, not to be taken up again: I'll go with sqlite" in text
    assert "in its place: No, use postgres instead of sqlite in the tests." in text
    assert "Not seen resolved: FAILED test_a.py::test_x - KeyError (in: pytest -q)" in text


def test_a_fork_is_told_the_standing_orders() -> None:
    assert "Never push to main without my review." in continuation(handoff("fork"), "x")


@pytest.mark.parametrize("phase", ["task", "research", "plan", "implementation", "fork", "fork_back"])
def test_no_paragraph_stands_twice(phase: Phase) -> None:
    lines = [
        re.sub(r"^- (?:\w+, message \d+(?:, at first)?: |Asked last \(message \d+\): |First asked: )?", "", line)
        for line in to_markdown(handoff(phase)).split("\n")
    ]
    said = [" ".join(line.split()) for line in lines if len(line) > 40]
    assert len(said) == len(set(said))


def test_many_orders_stay_within_the_budget_and_are_counted() -> None:
    rules = [{"role": "user", "content": f"Never touch table{n} of customer{n}, whatever happens."} for n in range(200)]
    text = to_markdown(handoff("task", [*SESSION, *rules]))
    assert len(text) // 4 < 2_000
    orders = text.split("## Standing Orders\n")[1].split("\n## ")[0].split("\n")
    kept = sum(line.startswith("- User") for line in orders)
    assert kept >= 5 and f"- … and {201 + 1 - kept} more" in orders


@pytest.mark.parametrize("phase", ["task", "research", "plan", "implementation", "fork"])
def test_a_handoff_of_an_earlier_version_opens_and_counts_as_whole(phase: Phase) -> None:
    text = to_markdown(handoff(phase))
    old = re.sub(r"## (?:Standing Orders|Open Errors)\n(?:.+\n)+\n", "", text)
    if phase in ("research", "implementation"):
        old = re.sub(r"## Decisions Made\n(?:.+\n)+\n", "", old)
    read = from_markdown(old)
    assert read.orders == () and read.title == "Go on"
    assert absent_sections(old, read) == ()
    lost = absent_sections(text.replace("\n## Pointers", "\n## Links"), read)
    assert lost == ("Pointers, Not Duplication" if phase == "fork" else "Pointers",)


def test_messages_that_came_after_the_first_request_are_all_counted() -> None:
    asked = [{"role": "user", "content": f"Now move the table of customer number {n}, please."} for n in range(55)]
    text = to_markdown(handoff("task", [*SESSION, *asked]))
    assert "56 messages of the user came since" in text
    assert "Answered" not in text


def test_open_todos_of_a_list_that_is_older_than_the_newest_request_stand_with_its_place() -> None:
    todos = call("t3", "TodoWrite", "ok", todos=[{"content": "Test the table", "status": "pending"}])
    asked = {"role": "user", "content": "Now move the table of customer number 7, please."}
    text = to_markdown(handoff("task", [*SESSION, *todos, asked]))
    assert "- To do: Test the table (listed in message 9: before the newest request)" in text
    assert "- To do: Test the table\n" in to_markdown(handoff("task", [*SESSION, *todos]))


def test_folders_of_a_handoff_are_called_what_they_are_for_sure() -> None:
    paths = [
        one for n in range(9) for one in call(f"w{n}", "Write", "ok", file_path=f"/srv/app/pkg/f{n}.py", content="x")
    ]
    made = handoff("task", [*SESSION, *paths])
    text = to_markdown(msgspec.structs.replace(made, project="/where/it/ran"))
    assert "- Written in: /where/it/ran\n" in text and "- Common folder of the paths: /srv/app/pkg\n" in text
    old = text.replace("- Written in:", "- Project:").replace("- Common folder of the paths:", "- Root:")
    for one in (from_markdown(text), from_markdown(old)):
        assert (one.project, one.root) == ("/where/it/ran", "/srv/app/pkg")


def test_calls_for_earlier_requests_and_looks_at_what_was_changed_since_are_not_told_as_in_progress() -> None:
    looks = [one for n in range(14) for one in call(f"r{n}", "Grep", f"hit {n}", pattern=f"word{n}")]
    asked = {"role": "user", "content": "Now make the theme of the importer brighter, please."}
    theme = [
        *call("t1", "Bash", '"code": "cyan"', command="grep code theme.json"),
        *call("t2", "Edit", "ok", file_path="/theme.json", old_string="cyan", new_string="red"),
    ]
    text = to_markdown(handoff("task", [*SESSION, *looks, asked, *theme]))
    told = [line for line in text.split("\n") if line.startswith(("- Earlier call: ", "- Newest call: ", "- Before"))]
    assert [line.partition(" `")[0] for line in told] == ["- Before these, 1 other call for it.", "- Newest call: Edit"]
    text = to_markdown(handoff("task", [*SESSION, asked, *looks]))
    shown = sum(line.startswith(("- Earlier call: ", "- Newest call: ")) for line in text.split("\n"))
    assert f"- Before these, {14 - shown} other calls for it.\n- Earlier call: " in text


def test_files_are_edited_last_only_where_no_shell_changed_others_since_and_under_their_name() -> None:
    edits = [*call("e1", "Edit", "ok", file_path="/w/a.py", old_string="a", new_string="b")]
    edits += call("e2", "Edit", "ok", file_path="/w/b.py", old_string="a", new_string="b")
    assert "- Edited last: `/w/b.py`, `/w/a.py`" in to_markdown(handoff("task", [*SESSION, *edits]))
    moved = [
        *call("m1", "Bash", "", command="mv /w/b.py /w/c.py"),
        *call("e3", "Edit", "ok", file_path="/w/a.py", old_string="b", new_string="c"),
    ]
    assert "- Edited last: `/w/a.py`, `/srv/a.py`\n" in to_markdown(handoff("task", [*SESSION, *edits, *moved]))
    shell = call("s1", "Bash", "", command="sed -i 's/a/b/' /w/z.py")
    assert "Edited last" not in to_markdown(handoff("task", [*SESSION, *edits, *shell]))


def test_a_go_ahead_is_what_was_asked_last_with_what_it_answers() -> None:
    release = [
        {"role": "user", "content": "minor, this is a big change"},
        {"role": "assistant", "content": "The version is bumped. Should I proceed with committing and tagging?"},
        {"role": "user", "content": "yeah, do it all"},
    ]
    text = to_markdown(handoff("task", [*SESSION, *release, *call("t4", "Bash", "ok", command="git tag v1")]))
    asked = (
        "yeah, do it all (said to: Should I proceed with committing and tagging?); before it (message 9): minor, this"
    )
    assert f"- Asked last (message 11): {asked}" in text
    assert "yeah, do it all" not in text.split("### What was said")[1]


def test_errors_that_are_not_open_are_told_by_what_became_of_them() -> None:
    missing = "Error: no such file"
    done = [
        *call("r1", "Read", missing, file_path="/gone.txt"),
        *call("r2", "Read", missing, file_path="/b.txt"),
        *call("r3", "Read", "rows", file_path="/b.txt"),
        *call(
            "r4", "Bash", "cp: /o/d.json: No such file\nExit code: 1", command="cp $(npm root -g)/o/d.json ~/t/c.json"
        ),
        *call("r5", "Bash", "", command="mkdir -p ~/t && cp src/d.json ~/t/c.json"),
    ]
    text = to_markdown(handoff("task", [*SESSION, *done]))
    assert "/gone.txt" not in text.split("## Open Errors")[1].split("##")[0], "it only looked"
    assert "- 2 other errors: gone, as later results show." in text


def test_one_error_that_two_commands_met_is_told_once_with_both() -> None:
    error = "src/a.ts(1,2): error TS2305: no member EditorTheme\nCommand exited with code 2"
    runs = [*call("r1", "Bash", error, command="npm run publish"), *call("r2", "Bash", error, command="npm run build")]
    text = to_markdown(handoff("task", [*SESSION, *runs]))
    assert text.count("error TS2305: no member EditorTheme (in: npm run publish; npm run build)") == 1


def test_what_the_agent_said_before_the_newest_request_is_told_as_that() -> None:
    asked = [
        {"role": "assistant", "content": "Which coast shall it be?"},
        {"role": "user", "content": "I am open to any destination on the West Coast, please."},
        *call("t5", "search", "[]", origin="JFK"),
    ]
    text = to_markdown(handoff("task", [*SESSION, *asked]))
    assert "- Agent, message 9, its newest, before the user's message 10: Which coast shall it be?" in text


def test_what_the_user_chose_of_a_tools_question_is_what_was_asked_last() -> None:
    answer = 'User has answered your questions: "Skip the hook, or fix?"="main was clean; fix the issues".'
    text = to_markdown(handoff("task", [*SESSION, *call("q1", "AskUserQuestion", answer, questions=[])]))
    row = len(SESSION) + 2
    assert f"- Asked last (message {row}): main was clean; fix the issues; before it (message " in text
    goes_on = {"role": "user", "content": "continue"}
    text = to_markdown(handoff("task", [*SESSION, goes_on, *call("q1", "AskUserQuestion", answer, questions=[])]))
    assert f"- Asked last (message {row + 1}): main was clean; fix the issues; before it (message " in text


def test_a_plan_that_the_agent_only_thought_of_is_told_as_a_thought() -> None:
    thought = {"type": "thinking", "thinking": "I need to:\n1. Move the file\n2. Commit", "signature": "x"}
    asked = {"role": "user", "content": "Now move the table of customer number 7, please."}
    work = [{"role": "assistant", "content": [thought]}, *call("m1", "Bash", "", command="ls")]
    row = len(SESSION) + 2
    text = to_markdown(handoff("task", [*SESSION, asked, *work]))
    assert (
        f"- Agent, message {row}, a thought, its plan then: " in text or f"- Agent, message {row}, a thought: " in text
    )


def test_what_was_asked_first_what_was_decided_last_and_what_came_of_it_are_told_once() -> None:
    long = "Please move the importer to Postgres. " + "It is one big mess. " * 30 + "But I am not sure that it works."
    answer = {"role": "user", "content": "yes, undo that, it was the console.log"}
    offer = {"role": "assistant", "content": "The booking ABC123 stands. Would you like me to cancel it?"}
    both = {"role": "assistant", "content": f"The booking ABC123 costs 490. {'It is on your card. ' * 12}"}
    more = {"role": "user", "content": "Now find me another flight to Boston"}
    act = call("c1", "cancel_reservation", '{"status": "cancelled"}', reservation_id="ABC123")
    text = to_markdown(handoff("task", [{"role": "user", "content": long}, both, more, offer, answer, *act]))
    assert ", at first: " not in text
    assert text.count("cancel_reservation (message 6) went through for ABC123") <= 1
    assert text.count("yes, undo that") == 1
    assert "The user's message 5, which stands below as asked last" in text
    assert "no statement was recognised as a decision" not in text
