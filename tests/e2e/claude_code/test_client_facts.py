"""What we rely on in Claude Code, one fact a line: when a newer client changes one, its line says so.

`docs/claude-code.md` names the version that was tested. To try another: `npm install` it in a folder of its own and
name that folder in TEST_CLAUDE_CODE.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from .driver import OUR_TOOLS, TRIGGER, WINDOW, Client, Run
from .fake_messages import all_faults, bash, call, calls, say
from .probe import Probe, hook_output, probe_of

LONG = 9_900
"""Characters of context that a hook may add (the client's limit is 10,000)."""
REPLACED = {"stdout": "REPLACED AT BIRTH", "stderr": "", "interrupted": False, "isImage": False}


@dataclass(frozen=True)
class Evidence:
    """One session in which everything happened."""

    client: Client
    probe: Probe
    first: Run
    """Until after a compaction in place."""
    resumed: Run
    """The same session in a new process."""
    own: Run
    """Another session, which the client compacted itself, with the probe's instructions."""

    @property
    def after(self) -> dict[str, str]:
        """Results as the request after the compaction has them."""
        return self.first.requests[-1].results

    def payload(self, event: str, **wanted: str) -> dict[str, Any]:
        """The first payload of an event with these values."""
        found = [one for one in self.probe.payloads(event) if all(one.get(key) == wanted[key] for key in wanted)]
        assert found, f"no {event} with {wanted}"
        return found[0]

    def rows(self, run: Run) -> list[dict[str, Any]]:
        return self.client.rows(run.session_id)


@pytest.fixture(scope="module")
def evidence(users: Callable[[str], Client]) -> Evidence:
    client = users("facts")
    probe = probe_of(client)
    answers = {
        "session.compact": "digest",
        "SessionStart startup": hook_output("SessionStart", additionalContext="AT START"),
        "SessionStart compact": hook_output("SessionStart", additionalContext="AFTER COMPACTION " + "x" * LONG),
        "UserPromptSubmit": hook_output("UserPromptSubmit", additionalContext="WITH THE PROMPT"),
        "PostToolUse Bash": hook_output("PostToolUse", additionalContext="BESIDE THE RESULT"),
        f"PreToolUse {OUR_TOOLS}__restore_batch": hook_output(
            "PreToolUse", updatedInput={"session_id": "FILLED IN", "batch_id": "offload_0001"}
        ),
        "PreCompact": "PLAIN INSTRUCTIONS",
    }
    probe.plan(answers)
    turns = [
        calls(("Bash", {"command": "echo one"}), ("Bash", {"command": "echo two"}), ("Bash", {"command": "false"})),
        call(f"{OUR_TOOLS}__restore_batch", session_id="", batch_id="offload_0001"),
        calls(("Bash", {"command": "echo three"}), ("Bash", {"command": "echo four"}), used=TRIGGER + 1_000),
        say("end", used=5_000),
    ]
    first = client.run("go", turns=turns)
    resumed = client.run("on", "--resume", first.session_id, turns=[say("again")])
    seen = probe.calls()
    answers |= {
        "session.compact": json.dumps({"apply": False}),
        "PostToolUse Bash": hook_output("PostToolUse", updatedToolOutput=REPLACED),
    }
    probe.plan(answers)
    own = client.run("go", turns=[bash("echo one"), bash("echo two", used=TRIGGER + 1_000), say("end")])
    log = probe.folder / "calls.jsonl"
    log.write_text("".join(json.dumps(one) + "\n" for one in seen) + log.read_text("utf-8"), "utf-8")
    return Evidence(client, probe, first, resumed, own)


def fills_nested_input(e: Evidence) -> bool:
    said = e.payload("PostToolUse", tool_name="Bash")
    return json.loads(said["tool_input"])["command"].startswith("echo") and "stdout" in json.loads(
        said["tool_response"]
    )


def absent_is_empty(e: Evidence) -> bool:
    return e.payload("UserPromptSubmit")["agent_id"] == ""


def knows_the_session(e: Evidence) -> bool:
    events = (
        "SessionStart",
        "UserPromptSubmit",
        "PostToolUse",
        "session.compact",
        "PostCompact",
        "Stop",
        "SessionEnd",
    )
    return all(e.payload(event)["session_id"] == e.first.session_id for event in events)


def never_hooks_itself(e: Evidence) -> bool:
    tools = [one["tool_name"] for event in ("PreToolUse", "PostToolUse") for one in e.probe.payloads(event)]
    return f"{OUR_TOOLS}__restore_batch" in tools and not any("host_event" in tool for tool in tools)


def shows_the_module_the_rows(e: Evidence) -> bool:
    said = e.payload("session.compact")
    results = [one for row in said["messages"] for one in row["toolResults"]]
    uses = [one["tool_use_id"] for row in said["messages"] for one in row["toolUses"]]
    texts = {one["text"] for one in results}
    return (
        said["trigger"] == "auto"
        and {"one", "two", "three", "four"} <= texts
        and {one["tool_use_id"] for one in results} == set(uses)
    )


def takes_our_rows(e: Evidence) -> bool:
    kept = [text for text in e.after.values() if not text.startswith("DIGEST OF ")]
    return len(e.after) == 6 and kept in (["three"], ["four"]) and not e.first.requests[-1].is_summary


def order_after_our_compaction(e: Evidence) -> bool:
    events = [(one["event"], one["payload"].get("source", "")) for one in e.probe.calls()]
    at = [events.index(one) for one in (("session.compact", ""), ("PostCompact", ""), ("SessionStart", "compact"))]
    return at == sorted(at) and ("PreCompact", "") not in events[: at[-1]]


def instructs_the_summary(e: Evidence) -> bool:
    (asked,) = [one for one in e.own.requests if one.is_summary]
    return "Additional Instructions:\nPLAIN INSTRUCTIONS" in asked.last_user


def usage_is_split(e: Evidence) -> bool:
    answers = [row for row in e.rows(e.own) if row["type"] == "assistant"]
    usage = answers[1]["message"]["usage"]
    return usage["input_tokens"] + usage["cache_read_input_tokens"] == TRIGGER + 1_000


def boundary_is_written(e: Evidence) -> bool:
    (row,) = [row for row in e.rows(e.first) if row.get("subtype") == "compact_boundary"]
    return row["parentUuid"] is None and row["compactMetadata"]["trigger"] == "auto"


def summary_is_marked(e: Evidence) -> bool:
    return any(row.get("isCompactSummary") for row in e.rows(e.own))


def answer_rows_share_an_id(e: Evidence) -> bool:
    ids = [row["message"]["id"] for row in e.rows(e.first) if row["type"] == "assistant"]
    return len(ids) > len(set(ids))


FACTS: dict[str, Callable[[Evidence], bool]] = {
    "it was the client that compacted by itself, at window - 20,000 - 13,000 tokens": lambda e: (
        [one["trigger"] for one in e.first.boundaries()] == ["auto"] and TRIGGER == WINDOW - 33_000
    ),
    "mcp_tool hooks fill in ${…} inside nested input; objects come as JSON text": fills_nested_input,
    "what a hook does not have comes as an empty string": absent_is_empty,
    "every hook and the module name the session": knows_the_session,
    "a matcher keeps a hook away from our own hook tool": never_hooks_itself,
    "SessionStart's command hook adds to the first request": lambda e: "AT START" in e.first.requests[0].text,
    "UserPromptSubmit adds to its request": lambda e: "WITH THE PROMPT" in e.first.requests[0].text,
    "PostToolUse adds to the next request": lambda e: "BESIDE THE RESULT" in e.first.requests[1].text,
    "{} from a hook adds nothing": lambda e: "hook success" not in e.first.requests[-1].text,
    "PreToolUse changes the arguments of our tools": lambda e: any(
        "FILLED IN / offload_0001" in one.text for one in e.first.requests
    ),
    "a failed call comes as PostToolUseFailure": lambda e: "Exit code 1" in e.payload("PostToolUseFailure")["error"],
    "the module gets every row with calls and results": shows_the_module_the_rows,
    "rows from the module replace the conversation, without a summary request": takes_our_rows,
    "every call stays paired, before and after": lambda e: (
        not all_faults([*e.first.requests, *e.resumed.requests, *e.own.requests])
    ),
    "SessionStart(compact) adds up to 10,000 characters to the next request": lambda e: (
        "x" * LONG in e.first.requests[-1].text
    ),
    "session.compact, PostCompact, SessionStart(compact), in this order; no PreCompact": order_after_our_compaction,
    "--resume in a new process keeps the digests": lambda e: e.resumed.requests[-1].results == e.after,
    "--resume keeps the session id": lambda e: e.resumed.session_id == e.first.session_id,
    "PostToolUse replaces a Bash result in Bash's own shape": lambda e: (
        "REPLACED AT BIRTH" in e.own.requests[1].results.values()
    ),
    "plain text of PreCompact instructs the client's own summary": instructs_the_summary,
    "PostCompact has the client's summary": lambda e: (
        "OWN SUMMARY" in e.probe.payloads("PostCompact")[-1]["compact_summary"]
    ),
    "rows of one answer share its message id": answer_rows_share_an_id,
    "usage in the transcript is what the API reported": usage_is_split,
    "a compaction writes a boundary row without a parent": boundary_is_written,
    "the client's summary is marked in the transcript": summary_is_marked,
    "servers of plugins know the plugin's folder": lambda e: bool(
        e.probe.calls("UserPromptSubmit")[0]["environment"]["CLAUDE_PLUGIN_ROOT"]
    ),
}


@pytest.mark.parametrize("fact", FACTS)
def test_the_client_still_does_what_we_rely_on(evidence: Evidence, fact: str) -> None:
    if not FACTS[fact](evidence):
        version = evidence.client.offline("--version").stdout.strip()
        pytest.fail(f"Claude Code {version} no longer does what the plugin relies on: {fact} (docs/claude-code.md)")


def test_the_client_is_the_one_that_the_documents_name(program: Path, evidence: Evidence) -> None:
    wanted = json.loads((Path(__file__).with_name("client") / "package.json").read_text("utf-8"))["dependencies"]
    version = evidence.client.offline("--version").stdout.split()[0]
    assert version == wanted["@anthropic-ai/claude-code"], f"{program} is another version than the tested one"
