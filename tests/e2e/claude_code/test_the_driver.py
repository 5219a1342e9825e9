"""The driver itself: a real client, a scripted model, nothing of ours."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from .driver import OVER_TRIGGER, Client
from .fake_messages import all_faults, bash, calls, faults, say
from .terminal import Terminal

pytestmark = pytest.mark.long


def test_the_client_plays_the_script_and_compacts_by_itself_at_its_trigger(client: Client) -> None:
    client.plugin = None
    turns = [
        calls(("Bash", {"command": "echo one"}), ("Bash", {"command": "echo two"})),
        bash("echo three", used=OVER_TRIGGER),
        say("end", used=5_000),
    ]
    run = client.run("go", turns=turns)
    assert run.returncode == 0 and run.said == "end"
    assert [request.is_summary for request in run.requests] == [False, False, True, False]
    assert sorted(run.requests[1].results.values()) == ["one", "two"]
    assert not all_faults(run.requests)
    assert [boundary["trigger"] for boundary in run.boundaries()] == ["auto"]


def test_an_unpaired_call_is_a_fault(client: Client) -> None:
    client.plugin = None
    run = client.run("go", turns=[bash("echo one"), say("end")])
    broken = run.requests[-1]
    messages = [m for m in broken.messages if "tool_result" not in str(m["content"])]
    broken.body["messages"] = messages
    assert faults(broken)


def test_one_process_takes_several_prompts(client: Client) -> None:
    client.plugin = None
    with client.talking(turns=[say("first"), say("second")]) as talk:
        talk.say("one")
        talk.say("two")
    run = talk.ended()
    assert run.said == "second" and len(run.requests) == 2
    assert client.transcript(run.session_id).exists()


def test_the_interactive_client_takes_prompts_and_commands(client: Client, terminal: Callable[..., Terminal]) -> None:
    client.plugin = None
    client.api.play(say("an answer"))
    screen = terminal(client)
    screen.ask("hello there", "an answer")
    screen.leave()
    assert len(client.api.requests) == 1
