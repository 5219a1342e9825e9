"""The hooks module on its own: whatever the server does not do in time, the client goes on as if we were not there."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from .driver import OVER_TRIGGER, Client, Run, wait_for
from .fake_messages import all_faults, bash, calls, say
from .probe import probe_of
from .terminal import Terminal

pytestmark = pytest.mark.long


def long_session(client: Client, *flags: str) -> Run:
    """Calls until the client compacts by itself, and one answer after that."""
    two = (("Bash", {"command": "echo one"}), ("Bash", {"command": "echo two"}))
    turns = [calls(*two), bash("echo three", used=OVER_TRIGGER), say("end", used=5_000)]
    return client.run("go", *flags, turns=turns)


UNUSABLE = {
    "nothing": "",
    "text": "no JSON",
    "a list": "[]",
    "null": "null",
    "no results": '{"apply": true}',
    "wrong kinds": '{"apply": "yes", "results": null}',
    "an error": "fail",
}


def test_an_answer_that_cannot_be_used_leaves_the_compaction_to_the_client(client: Client) -> None:
    """One process, a compaction for each answer."""
    probe = probe_of(client)
    with client.talking() as talk:
        for done, (kind, answer) in enumerate(UNUSABLE.items(), 1):
            probe.plan({"session.compact": answer})
            client.api.turns += [bash("echo one"), bash("echo two", used=OVER_TRIGGER), say(f"after {kind}")]
            talk.say("go")
            assert len(client.api.summaries) == done, kind
    run = talk.ended()
    assert run.said == "after an error" and not all_faults(run.requests)


def test_a_server_that_does_not_answer_leaves_the_compaction_to_the_client(client: Client) -> None:
    probe_of(client).plan({"session.compact": "hang"})
    client.environment["MCP_TOOL_TIMEOUT"] = "3000"  # the client does not end while a call is under way
    assert client.plugin is not None
    module = client.plugin / "hooks" / "register.ts"
    text = module.read_text("utf-8")
    assert "LIMIT_MS = 25_000" in text
    module.write_text(text.replace("LIMIT_MS = 25_000", "LIMIT_MS = 300"), "utf-8")
    run = long_session(client)
    assert run.said == "end" and len([one for one in run.requests if one.is_summary]) == 1


def test_instructions_of_the_server_reach_the_clients_own_summary(client: Client) -> None:
    probe_of(client).plan({"session.compact": json.dumps({"apply": False, "instructions": "KEEP THE PORT 4711"})})
    run = long_session(client)
    (asked,) = [one for one in run.requests if one.is_summary]
    assert "KEEP THE PORT 4711" in asked.last_user


def test_an_answer_far_over_the_clients_limit_for_results_arrives_whole(client: Client) -> None:
    """Digests of a long session are longer than 50,000 characters; the tool's definition lifts the client's limit."""
    probe_of(client).plan({"session.compact": "long digest"})
    run = long_session(client)
    digests = [text for text in run.requests[-1].results.values() if text.startswith("DIGEST OF ")]
    assert len(digests) == 2 and min(map(len, digests)) > 150_000
    assert not [one for one in run.requests if one.is_summary]


def test_without_the_command_the_session_goes_on(client: Client, tmp_path: Path) -> None:
    """The plugin is there, `palimpsest-mcp` is not: the client says so, and compacts by itself."""
    client.environment["PATH"] = "/usr/local/bin:/usr/bin:/bin"
    run = long_session(client)
    assert run.said == "end" and len([one for one in run.requests if one.is_summary]) == 1


def test_what_is_no_text_is_named_where_no_digest_came_for_it(client: Client) -> None:
    probe = probe_of(client)
    probe.plan({"session.compact": json.dumps({"apply": True, "results": {}})})
    picture = client.project / "dot.png"
    picture.write_bytes((Path(__file__).parents[3] / "plugin" / ".claude-plugin" / "icon.png").read_bytes())
    turns = [
        calls(("Read", {"file_path": str(picture)})),
        bash("echo three", used=OVER_TRIGGER),
        say("end"),
    ]
    run = client.run("go", turns=turns)
    assert "was left out by the compaction" in next(iter(run.requests[-1].results.values()))


def test_an_answer_of_text_and_calls_keeps_both_and_thinking_goes(client: Client) -> None:
    probe_of(client).plan({"session.compact": "digest"})
    turns = [
        calls(("Bash", {"command": "echo one"}), text="I look first.", thinking="Where is it?"),
        calls(("Bash", {"command": "echo two"}), used=OVER_TRIGGER),
        say("end"),
    ]
    run = client.run("go", turns=turns)
    answers = [message["content"] for message in run.requests[-1].messages if message["role"] == "assistant"]
    assert [block["type"] for block in answers[0]] == ["text", "tool_use"]
    assert answers[0][0]["text"] == "I look first."
    assert not all_faults(run.requests)


def test_the_threshold_is_asked_after_a_turn_of_an_interactive_session_only(
    client: Client, terminal: Callable[..., Terminal]
) -> None:
    probe = probe_of(client)
    over = {"turn.complete": json.dumps({"compact": True})}
    probe.plan({"session.compact": "digest", **over})
    client.settings(permissions={"allow": ["Bash"]})
    two = (("Bash", {"command": "echo one"}), ("Bash", {"command": "echo two"}))
    turns = (calls(*two), bash("echo three", used=40_000), say("THE FIRST ANSWER", used=60_000))
    client.run("go", turns=turns)
    assert not probe.calls("turn.complete"), "a print run cannot be compacted between its turns"

    probe.plan({"session.compact": json.dumps({"apply": False}), **over})
    client.api.play(*turns, say("THE SECOND ANSWER"), say("THE THIRD ANSWER"))
    screen = terminal(client)
    screen.ask("go", "THE FIRST ANSWER")
    wait_for(lambda: probe.calls("session.compact"), "nobody asked for a compaction after the turn")
    probe.plan({"session.compact": "digest", **over})
    screen.ask("more", "THE SECOND ANSWER")
    assert not client.api.summaries, "nothing could be replaced, and nobody asked for a summary"
    wait_for(lambda: probe.calls("PostCompact"), "no compaction after the turn")
    probe.plan({"session.compact": "digest"})
    screen.ask("and more", "THE THIRD ANSWER")
    screen.leave()
    last = client.api.requests[-1]
    digested = [text for text in last.results.values() if text.startswith("DIGEST OF ")]
    assert len(digested) == 2 and "three" in last.results.values()
    assert not client.api.summaries and not all_faults(client.api.requests)
