"""What is said between steps, what a start says, and that nothing breaks the client."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from palimpsest_mcp.core.claude_code.conversations import Conversations
from palimpsest_mcp.core.claude_code.events import ToolResults
from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.core.sessions import Sessions
from palimpsest_mcp.errors import LockTimeout
from palimpsest_mcp.hosts.hook_call import HookCall
from palimpsest_mcp.store.host_files import HostFiles

from .conftest import Open, log_of, long_session

pytestmark = pytest.mark.anyio
EVENTS = (
    *("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure"),
    *("PreCompact", "PostCompact", "Stop", "SubagentStart", "SubagentStop", "SessionEnd"),
    *("turn.complete", "session.compact", "Unheard"),
)
KEYS = ("session_id", "tool_name", "tool_use_id", "tool_response", "messages", "trigger", "source")


async def test_a_zone_is_named_once(p: Palimpsest, client: Open) -> None:
    c = client()
    await long_session(c, 3, used=100_000)
    assert await c.context_of("UserPromptSubmit", prompt="on") == ""
    said = json.loads(await c.bash("toolu_full", "ls", "x", used=700_000))["hookSpecificOutput"]["additionalContext"]
    assert "zone compact" in said and len(said) < 400
    assert await c.bash("toolu_more", "ls", "x", used=710_000) == ""
    assert await c.context_of("UserPromptSubmit", prompt="on") == ""
    assert "zone critical" in await c.bash("toolu_fuller", "ls", "x", used=900_000)


async def test_a_zone_is_named_before_an_edit_too_which_has_no_hook_after_it(p: Palimpsest, client: Open) -> None:
    c = client()
    await long_session(c, 3, used=100_000)
    c.answer("", ("toolu_edit", "Edit", {"file_path": "/p/a.py"}), used=700_000)
    edit = {"tool_name": "Edit", "tool_use_id": "toolu_edit", "tool_input": {"file_path": "/p/a.py", "new_string": "x"}}
    assert "zone compact" in await c.context_of("PreToolUse", **edit)
    assert await c.hook("PreToolUse", **edit) == ""


async def test_a_new_session_starts_without_a_word(p: Palimpsest, client: Open) -> None:
    c = client()
    assert await c.hook("SessionStart", source="startup") == ""
    assert await c.hook("UserPromptSubmit", prompt="hello") == ""
    assert await p.sessions() == ()


async def test_a_resumed_session_is_told_in_few_tokens_what_exists(p: Palimpsest, client: Open) -> None:
    c = client()
    await long_session(c, 18, used=175_000)
    await c.compact("manual")
    await c.hook("SessionEnd", reason="other")
    said = await c.context_of("SessionStart", source="resume", context_tokens="9000")
    assert f"{len(await p.list_offloaded('main-session'))} batches" in said and len(said) < 300


async def test_a_session_that_was_compacted_elsewhere_is_told_too(p: Palimpsest, client: Open) -> None:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Why?"}]
    for n in range(16):
        block: dict[str, Any] = {"type": "tool_use", "id": f"c{n}", "name": "Bash", "input": {}}
        messages.append({"role": "assistant", "content": [block]})
        result = {"type": "tool_result", "tool_use_id": f"c{n}", "content": log_of(n)}
        messages.append({"role": "user", "content": [result]})
    await p.compact_messages(messages, session_id="main-session", force=True)
    assert "list_offloaded" in await client().context_of("SessionStart", source="resume")


async def test_the_end_of_a_session_reads_what_is_left(p: Palimpsest, client: Open) -> None:
    c = client()
    c.say("Look.")
    c.answer("", ("toolu_1", "Bash", {"command": "ls"}))
    c.result("toolu_1", "a.py")
    c.answer("There is one file.")
    await c.hook("SessionEnd", reason="prompt_input_exit")
    items = [item.item_id for item in (await p.show_context("main-session")).items]
    assert len(items) == 4 and "toolu_1" in items


async def test_the_end_of_a_session_compacts_what_its_skills_learned(
    client: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    skill = tmp_path / "skills" / "search-web"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("# search-web\n")
    monkeypatch.setenv("PALIMPSEST_SKILLS_ROOTS", str(tmp_path / "skills"))
    async with Palimpsest.open(tmp_path / "learning", attached="claude-code") as p:
        c = client()
        c.p = p
        c.say("Search.")
        event = {"session_id": "main-session", "outcome": "success", "winning_pattern": "brand and pain word"}
        await p.record_experience("search-web", event)
        await c.hook("SessionEnd", reason="other")
        assert (skill / "experience.md").exists()


@given(
    event=st.sampled_from(EVENTS),
    payload=st.one_of(
        st.text(),
        st.dictionaries(
            st.sampled_from(
                ["session_id", "tool_name", "tool_use_id", "tool_response", "messages", "trigger", "source"]
            ),
            st.one_of(st.text(), st.none(), st.integers(), st.lists(st.dictionaries(st.text(), st.text()))),
        ),
    ),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_no_payload_breaks_the_client(p: Palimpsest, event: str, payload: Any) -> None:
    answer = await p.host_event(event, payload)
    assert isinstance(answer, str)
    if event == "session.compact":
        assert json.loads(answer)["apply"] in (True, False)
    elif event == "turn.complete":
        assert json.loads(answer)["compact"] in (True, False)
    elif answer and event not in ("PreCompact", "PostCompact"):
        assert "hookSpecificOutput" in json.loads(answer)


async def test_a_failure_answers_nothing_and_is_kept_for_doctor(p: Palimpsest, client: Open, tmp_path: Path) -> None:
    c = client()
    await long_session(c, 2)
    ledger = tmp_path / "home" / "session" / "main-session" / "ledger"
    ledger.rename(ledger.with_name("away"))
    ledger.write_text("no folder")
    c.answer("More.")
    assert await c.hook("UserPromptSubmit", prompt="x") == ""
    assert json.loads(await c.hook("session.compact", trigger="auto", messages=c.rows))["apply"] is False
    troubles = HostFiles(tmp_path / "home").troubles()
    assert [one["event"] for one in troubles][:1] == ["UserPromptSubmit"] and all(one["code"] for one in troubles)
    ledger.unlink()
    ledger.with_name("away").rename(ledger)
    await c.hook("Stop")
    assert "More." in [item.preview for item in (await p.show_context("main-session")).items]


async def test_a_hook_that_does_not_get_its_turn_lets_the_original_through(p: Palimpsest, client: Open) -> None:
    """L11. What it would have recorded is in the transcript."""
    c = client()
    c.answer("", ("toolu_late", "Bash", {"command": "ls"}))
    sessions = Sessions(p.deps)
    conversations = Conversations(p.deps, sessions)
    fields = {"session_id": c.session_id, "transcript_path": str(c.path), "tool_name": "Bash"}
    call = HookCall(event="PostToolUse", fields={**fields, "tool_use_id": "toolu_late", "tool_response": "late"})
    async with conversations.turn(await conversations.of(call)):
        with pytest.raises(LockTimeout):
            await ToolResults(p.deps, sessions, conversations).take(call)
    assert [item.item_id for item in (await p.show_context("main-session")).items] == []
    c.result("toolu_late", "late")
    await c.hook("Stop")
    assert "toolu_late" in [item.item_id for item in (await p.show_context("main-session")).items]


async def test_what_did_not_get_its_turn_is_recorded_before_a_compaction(p: Palimpsest, client: Open) -> None:
    """The transcript may not have it by then, and afterwards it is gone."""
    c = client()
    c.answer("", ("toolu_late", "Bash", {"command": "ls"}))
    conversations = Conversations(p.deps, Sessions(p.deps))
    results = ToolResults(p.deps, Sessions(p.deps), conversations)
    fields = {"session_id": c.session_id, "transcript_path": str(c.path), "tool_name": "Bash"}
    call = HookCall(event="PostToolUse", fields={**fields, "tool_use_id": "toolu_late", "tool_response": "late"})
    async with conversations.turn(await conversations.of(call)):
        with pytest.raises(LockTimeout):
            await results.take(call)
    await results.take_late(call, wait_s=5)
    assert "toolu_late" in [item.item_id for item in (await p.show_context("main-session")).items]


async def test_the_attached_server_says_what_happens_where_the_client_compacts(p: Palimpsest, client: Open) -> None:
    c = client()
    await long_session(c, 2, used=40_000)
    usage = await p.check_context_ratio("main-session", host="claude-code")
    assert "967,000" in usage.host_compaction_point and "plugin then puts digests" in usage.host_compaction_point
    report = await p.compact_session("main-session", force=True, host="claude-code")
    assert "/compact" in report.how_to_apply
