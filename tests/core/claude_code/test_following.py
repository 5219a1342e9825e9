"""The ledger follows a session: every result once, whoever brings it first."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.models.events import Event, Gone, Seen, SessionKey

from .conftest import FakeClient, Open, log_of, long_session

pytestmark = pytest.mark.anyio


async def events_of(p: Palimpsest, session_id: str = "main-session") -> list[Event]:
    return list((await p.store.ledger.read(SessionKey(session_id))).events)


async def test_a_result_is_recorded_before_the_transcript_has_it(p: Palimpsest, client: Open) -> None:
    c = client()
    c.say("Look.")
    c.answer("", ("toolu_1", "Bash", {"command": "ls"}))
    response = {"stdout": "a.py\nb.py\n", "stderr": "", "interrupted": False, "isImage": False}
    await c.hook(
        "PostToolUse", tool_name="Bash", tool_use_id="toolu_1", tool_input={"command": "ls"}, tool_response=response
    )
    (item,) = [item for item in (await p.show_context("main-session")).items if item.item_id == "toolu_1"]
    assert item.tool_name == "Bash" and item.state == "live"


async def test_what_the_hook_brought_and_the_transcript_repeats_counts_once(p: Palimpsest, client: Open) -> None:
    c = client()
    await long_session(c, 4)
    await c.hook("Stop")
    seen = [event.item.id for event in await events_of(p) if isinstance(event, Seen)]
    assert len(seen) == len(set(seen))
    items = [item.item_id for item in (await p.show_context("main-session")).items]
    assert items == [
        "main-session-u0.0",
        *(name for n in range(4) for name in (f"call:toolu_{n:03d}", f"toolu_{n:03d}")),
    ]


async def test_reading_again_from_the_start_writes_nothing(p: Palimpsest, client: Open, tmp_path: Path) -> None:
    c = client()
    await long_session(c, 4)
    await c.hook("Stop")
    before = len(await events_of(p))
    await c.hook("Stop")
    async with Palimpsest.open(tmp_path / "home", attached="claude-code") as other:
        for event in ("Stop", "UserPromptSubmit", "PostToolUseFailure"):
            await other.host_event(event, {"session_id": c.session_id, "transcript_path": str(c.path)})
    new = (await events_of(p))[before:]
    assert [type(event).__name__ for event in new if isinstance(event, (Seen, Gone))] == []


async def test_a_lost_result_of_the_hook_is_read_from_the_transcript(p: Palimpsest, client: Open) -> None:
    c = client()
    c.say("Look.")
    c.answer("", ("toolu_1", "Bash", {"command": "ls"}))
    c.result("toolu_1", "a.py")
    await c.hook("PostToolUseFailure")
    assert "toolu_1" in [item.item_id for item in (await p.show_context("main-session")).items]


async def test_a_result_that_was_here_before_the_row_of_its_call_stays_behind_it(p: Palimpsest, client: Open) -> None:
    """The hook of a quick tool runs before the client has written the call."""
    c = client()
    await long_session(c, 2)
    done = {"tool_name": "Bash", "tool_input": {}, "tool_response": {"stdout": "quick", "stderr": ""}}
    await c.hook("PostToolUse", tool_use_id="toolu_quick", **done)
    c.answer("", ("toolu_quick", "Bash", {"command": "true"}))
    await c.hook("PostToolUseFailure")
    names = [item.item_id for item in (await p.show_context("main-session")).items]
    assert names[-3:] == ["toolu_001", "call:toolu_quick", "toolu_quick"]
    c.result("toolu_quick", "quick")
    c.answer("Done.")
    await c.hook("Stop")
    seen = [event.item.id for event in await events_of(p) if isinstance(event, Seen)]
    assert len(seen) == len(set(seen))


async def test_usage_is_that_of_the_last_answer_of_the_main_chain(p: Palimpsest, client: Open) -> None:
    c = client()
    await long_session(c, 2, used=41_000)
    c.answer("Done.", used=43_210)
    await c.hook("Stop")
    usage = await p.check_context_ratio("main-session")
    assert usage.used.value == 43_210 and usage.used.source == "provider usage"
    assert usage.model == "claude-opus-5-5"


async def test_after_a_compaction_the_boundary_says_how_full_it_is_until_the_next_answer(
    p: Palimpsest, client: Open
) -> None:
    c = client()
    await long_session(c, 3, used=170_000)
    c.summarised("This session is being continued. The job failed.")
    await c.hook("Stop")
    assert (await p.check_context_ratio("main-session")).used.value == 4_000
    c.answer("Going on.", used=6_500)
    await c.hook("Stop")
    assert (await p.check_context_ratio("main-session")).used.value == 6_500


async def test_what_the_clients_own_compaction_took_is_gone_and_says_why(p: Palimpsest, client: Open) -> None:
    c = client()
    await long_session(c, 3)
    await c.hook("Stop")
    c.summarised("This session is being continued. The job failed.")
    await c.hook("Stop")
    (gone,) = [event for event in await events_of(p) if isinstance(event, Gone)]
    assert gone.why == "host_compaction" and {"toolu_000", "toolu_001", "toolu_002"} <= set(gone.item_ids)
    items = (await p.show_context("main-session")).items
    assert [item.preview for item in items] == ["This session is being continued. The job failed."]


async def test_a_step_back_takes_the_abandoned_branch_out(p: Palimpsest, client: Open) -> None:
    c = client()
    c.say("Look.")
    c.answer("I will look.")
    back = c.last
    c.say("No, wrong way.")
    await c.hook("UserPromptSubmit")
    c.last = back
    c.say("The other way.")
    await c.hook("UserPromptSubmit")
    previews = [item.preview for item in (await p.show_context("main-session")).items]
    assert previews == ["Look.", "I will look.", "The other way."]


async def test_two_sessions_at_once_are_kept_apart(p: Palimpsest, client: Open) -> None:
    one, two = client("one"), client("two")
    for n in range(3):
        await one.bash(f"toolu_a{n}", "ls", f"one {n}")
        await two.bash(f"toolu_b{n}", "ls", f"two {n}")
    for name, letter in (("one", "a"), ("two", "b")):
        results = [item.item_id for item in (await p.show_context(name)).items if item.role == "tool"]
        assert results[:2] == [f"toolu_{letter}0", f"toolu_{letter}1"]


async def test_the_session_is_the_hooks_and_never_the_environments(
    p: Palimpsest, client: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "stale-after-clear")
    await client("the-hooks-own").bash("toolu_1", "ls", "x")
    assert [info.session_id for info in await p.sessions()] == ["the-hooks-own"]


async def test_a_sub_agent_has_a_session_of_its_own_under_the_main_one(p: Palimpsest, client: Open) -> None:
    c = client()
    c.say("Explore.")
    await c.hook("UserPromptSubmit", prompt="Explore.")
    own = c.path.with_suffix("") / "subagents" / "agent-a1b2.jsonl"
    own.parent.mkdir(parents=True)
    rows = [
        {"type": "user", "uuid": "s1", "parentUuid": None, "message": {"role": "user", "content": "Explore src."}},
        {
            "type": "assistant",
            "uuid": "s2",
            "parentUuid": "s1",
            "message": {
                "role": "assistant",
                "id": "m1",
                "content": [{"type": "tool_use", "id": "toolu_s", "name": "Bash", "input": {"command": "ls src"}}],
            },
        },
    ]
    common = {"isSidechain": True, "agentId": "a1b2", "sessionId": c.session_id}
    own.write_text("".join(json.dumps({**row, **common}) + "\n" for row in rows))
    response = {"stdout": "main.py", "stderr": "", "interrupted": False, "isImage": False}
    await c.hook(
        "PostToolUse", agent_id="a1b2", tool_name="Bash", tool_use_id="toolu_s", tool_input={}, tool_response=response
    )
    info = await p.session("main-session.a1b2")
    assert info.parent == "main-session"
    assert [item.item_id for item in (await p.show_context("main-session.a1b2")).items][-1] == "toolu_s"
    assert "toolu_s" not in [item.item_id for item in (await p.show_context("main-session")).items]


async def test_after_clear_the_new_session_follows_the_old_one(p: Palimpsest, client: Open) -> None:
    old = client("old")
    await long_session(old, 12)
    await old.hook("PreCompact", trigger="manual")
    (batch, *_) = await p.list_offloaded("old")
    await old.hook("SessionEnd", reason="clear")
    new = client("new-one")
    said = await new.context_of("SessionStart", source="clear")
    assert "restore_batch" in said and len(said) < 400
    await new.bash("toolu_n", "ls", "x")
    assert (await p.session("new-one")).parent == "old"
    assert (await p.restore_batch("new-one", batch.batch_id))[0].text


async def test_a_fork_follows_the_session_that_its_rows_were_copied_from(p: Palimpsest, client: Open) -> None:
    """Its rows have the ids of the old ones and the session id of the new one (client 2.1.328)."""
    other, first = client("other"), client("first")
    await long_session(other, 2)
    await long_session(first, 2)
    first.say("And why?")
    await first.hook("Stop")
    fork = client("forked")
    fork.path.write_text(first.path.read_text().replace('"first"', '"forked"'))
    await fork.hook("UserPromptSubmit", prompt="on")
    assert (await p.session("forked")).parent == "first"
    assert (await p.session("first")).parent is None and (await p.session("other")).parent is None


async def test_a_fork_may_say_itself_where_it_comes_from(p: Palimpsest, client: Open) -> None:
    await long_session(client("first"), 2)
    fork = client("forked")
    origin = {"sessionId": "first", "messageUuid": "u0"}
    fork.write(type="user", forkedFrom=origin, message={"role": "user", "content": "Why?"})
    await fork.hook("UserPromptSubmit", prompt="on")
    assert (await p.session("forked")).parent == "first"


async def test_a_result_that_the_client_spilled_is_kept_whole(p: Palimpsest, client: Open) -> None:
    c = client()
    c.say("Look.")
    c.answer("", ("toolu_1", "Bash", {"command": "cat big"}))
    whole = log_of(1, 900)
    spilled = c.path.with_suffix("") / "tool-results" / "toolu_1.txt"
    spilled.parent.mkdir(parents=True)
    spilled.write_text(whole)
    response = {
        "stdout": whole[:30_000],
        "stderr": "",
        "interrupted": False,
        "isImage": False,
        "persistedOutputPath": str(spilled),
        "persistedOutputSize": len(whole),
    }
    await c.hook("PostToolUse", tool_name="Bash", tool_use_id="toolu_1", tool_input={}, tool_response=response)
    c.result("toolu_1", f"<persisted-output>\nOutput too large. Full output saved to: {spilled}\n{whole[:2000]}")
    await c.hook("PreCompact", trigger="auto")
    (found,) = [one for one in await p.list_offloaded("main-session") if "toolu_1" in one.item_ids]
    assert (await p.restore("main-session", found.batch_id, "toolu_1")).text == whole


async def test_an_mcp_result_that_the_client_spilled_is_kept_whole(p: Palimpsest, client: Open) -> None:
    c = client()
    c.say("Look.")
    c.answer("", ("toolu_1", "mcp__files__all", {}))
    whole = log_of(1, 900)
    spilled = c.path.with_suffix("") / "tool-results" / "mcp-files-all-1.txt"
    spilled.parent.mkdir(parents=True)
    spilled.write_text(whole)
    words = (
        f"Error: result ({len(whole):,} characters across 900 lines) exceeds maximum allowed tokens. "
        f"Output has been saved to {spilled}.\nFormat: Plain text\nUse offset and limit parameters to read it."
    )
    await c.hook("PostToolUse", tool_name="mcp__files__all", tool_use_id="toolu_1", tool_input={}, tool_response=words)
    c.result("toolu_1", words)
    await c.hook("PreCompact", trigger="auto")
    (found,) = [one for one in await p.list_offloaded("main-session") if "toolu_1" in one.item_ids]
    assert (await p.restore("main-session", found.batch_id, "toolu_1")).text == whole


async def test_a_file_elsewhere_is_not_read_as_a_spilled_result(p: Palimpsest, client: Open, tmp_path: Path) -> None:
    c = client()
    c.answer("", ("toolu_1", "Bash", {"command": "x"}))
    secret = tmp_path / "elsewhere.txt"
    secret.write_text("not a tool's result")
    response = {"stdout": "shown", "stderr": "", "isImage": False, "persistedOutputPath": str(secret)}
    await c.hook("PostToolUse", tool_name="Bash", tool_use_id="toolu_1", tool_input={}, tool_response=response)
    seen = [event.item.content for event in await events_of(p) if isinstance(event, Seen) and event.item.role == "tool"]
    assert seen == ["shown"]


def bare(c: FakeClient, call: str, output: str) -> dict[str, Any]:
    """PostToolUse of a result whose row is not written yet."""
    c.answer("", (call, "Bash", {"command": "make"}))
    return {
        "tool_name": "Bash",
        "tool_use_id": call,
        "tool_input": {"command": "make"},
        "tool_response": {"stdout": output, "stderr": "", "interrupted": False, "isImage": False},
    }


async def archived(p: Palimpsest) -> dict[str, str]:
    return {
        item: (await p.restore("main-session", batch.batch_id, item)).text
        for batch in await p.list_offloaded("main-session")
        for item in batch.item_ids
    }


async def test_a_compaction_before_the_row_of_a_result_is_written_still_finds_it_in_the_archive(
    p: Palimpsest, client: Open
) -> None:
    c = client()
    await long_session(c, 3)
    done = bare(c, "toolu_last", log_of(77))
    c.write(type="attachment", attachment={"type": "hook_success"})  # other rows may come first
    await c.hook("PostToolUse", **done)
    await c.hook("PreCompact", trigger="auto")
    assert (await archived(p))["toolu_last"] == log_of(77)
    gone = [name for event in await events_of(p) if isinstance(event, Gone) for name in event.item_ids]
    assert "toolu_last" not in gone
    c.result("toolu_last", log_of(77))
    c.summarised("They looked at logs.")
    await c.hook("UserPromptSubmit")
    assert "toolu_last" not in [one.item_id for one in (await p.show_context("main-session")).items]
