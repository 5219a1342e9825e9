"""Two sessions at once, sub-agents, /clear: each has its own archive, and nothing of another's."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable

import pytest

from .driver import OUR_TOOLS, OVER_TRIGGER, Client, Run, wait_for
from .fake_messages import FakeMessages, Reply, Request, all_faults, calls, say
from .long_sessions import archived, reading, restore_first, results_of
from .terminal import Terminal

pytestmark = pytest.mark.long


def ids(client: Client) -> list[str]:
    """The sessions that the store knows."""
    shown = json.loads(client.palimpsest("status", "--json").stdout)
    return [one["session_id"] for one in shown["recent"]]


def test_two_sessions_at_once_of_one_user_keep_to_themselves(client: Client) -> None:
    """One home, one store, one project folder; two processes, each with its server."""
    api = FakeMessages()
    stop = api.start()
    try:
        other = Client(client.program, client.folder, api)
        names = [str(uuid.uuid4()) for _ in range(2)]
        turns = [
            [
                reading(client, 0, 1, 2, 3, 4),
                calls(("Bash", {"command": "echo on"}), used=OVER_TRIGGER),
                restore_first,
                say("one"),
            ],
            [
                reading(client, 10, 11, 12, 13, 14),
                calls(("Bash", {"command": "echo on"}), used=OVER_TRIGGER),
                restore_first,
                say("two"),
            ],
        ]
        with (
            client.talking("--session-id", names[0], turns=turns[0]) as first,
            other.talking("--session-id", names[1], turns=turns[1]) as second,
        ):
            first.send("go")
            second.send("go")
            first.wait(first.ends, "the first session did not end")
            second.wait(second.ends, "the second session did not end")
        runs = [first.ended(), second.ended()]
    finally:
        stop()
    for run, name in zip(runs, names, strict=True):
        assert run.session_id == name and not all_faults(run.requests) and not [r for r in run.requests if r.is_summary]
        results = results_of(run.requests, run.requests[-1])
        kept = archived(client, name)
        assert results.digested and set(kept) <= set(results.originals)
        for call_id, data in kept.items():
            assert data.decode() == results.originals[call_id]
        answer = list(run.requests[-1].results.values())[-1]
        assert any(results.originals[one] in answer for one in results.digested)


def test_a_sub_agents_results_are_its_own(client: Client) -> None:
    task = "LOOK INTO THE FILES FOR ME"

    def is_agent(request: Request) -> bool:
        first = next(message for message in request.messages if message["role"] == "user")
        return task in json.dumps(first["content"]) and "go and delegate" not in json.dumps(request.messages)

    inner = [reading(client, 20, 21, 22), say("the agent's answer")]

    def as_agent(request: Request) -> Reply:
        turn = inner.pop(0)
        return turn(request) if callable(turn) else turn

    client.api.rules.append((is_agent, as_agent))
    turns = [
        reading(client, 0, 1, 2, 3, 4),
        calls(("Agent", {"description": "look", "prompt": task, "subagent_type": "general-purpose"})),
        calls(("Bash", {"command": "echo on"}), used=OVER_TRIGGER),
        say("end"),
    ]
    run = client.run("go and delegate", turns=turns)
    mine = [request for request in run.requests if not is_agent(request)]
    # The agent works in the background: its answer may come as a turn of its own.
    assert run.said in {"end", "done"} and not all_faults(run.requests) and len(mine) < len(run.requests)
    results = results_of(mine, mine[-1])
    theirs = results_of([r for r in run.requests if is_agent(r)], [r for r in run.requests if is_agent(r)][-1])
    assert results.digested and not set(theirs.originals) & set(results.originals)
    assert set(archived(client, run.session_id)) <= set(results.originals)
    assert [name for name in ids(client) if name.startswith(f"{run.session_id}.")], (
        "the agent has no session of its own"
    )


def test_our_tools_answer_in_a_session_that_has_nothing_yet(client: Client) -> None:
    nothing = ("check_context_ratio", "list_offloaded", "show_context")
    asked = calls(*[(f"{OUR_TOOLS}__{tool}", {"session_id": "this"}) for tool in nothing])
    run = client.run("how full is it", turns=[asked, say("end")])
    answers = run.requests[-1].results.values()
    assert len(answers) == len(nothing) and not [text for text in answers if '"code"' in text]


def test_clear_begins_a_session_whose_context_has_nothing_of_the_old_one(
    client: Client, terminal: Callable[..., Terminal]
) -> None:
    client.settings(permissions={"allow": ["Bash", "Read", OUR_TOOLS]})

    def fill(first: int, answer: str) -> Run:
        over = calls(("Bash", {"command": "echo on"}), used=OVER_TRIGGER)
        client.api.play(reading(client, *range(first, first + 5)), over, say(answer))
        screen.ask("go", answer)
        requests = list(client.api.requests)
        assert not all_faults(requests) and not client.api.summaries
        return Run(0, [{"session_id": requests[-1].session_id}], "", requests)

    screen = terminal(client)
    old = fill(0, "THE FIRST END")
    before = archived(client, old.session_id)
    screen.type("/clear")
    wait_for(lambda: "THE FIRST END" not in screen.screen(), "the screen was not cleared")
    new = fill(10, "THE SECOND END")
    screen.leave()
    assert new.session_id != old.session_id
    results = results_of(new.requests, new.requests[-1])
    kept = archived(client, new.session_id)
    assert (
        results.digested
        and {call_id: kept[call_id].decode() for call_id in results.digested}.items() <= results.originals.items()
    )
    assert archived(client, old.session_id) == before
    shown = json.loads(client.palimpsest("show", new.session_id, "--json").stdout)
    assert not set(before) & {one["item_id"].rpartition("/")[2] for one in shown["items"]}
