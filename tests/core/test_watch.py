"""Sessions of Codex CLI and Gemini CLI, followed by the files that they write (formats of their sources)."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.core.watch import MOST_BYTES, Watched
from palimpsest_mcp.errors import InvalidArgument

pytestmark = pytest.mark.anyio
Rows = list[dict[str, Any]]
ID = "019a5b1e-3c1d-7d11-9d9e-6a2f5c0b7e11"
ORDER = "Never push to main."


def output(n: int) -> str:
    rows = "\n".join(f"job-{n:02}-{at:02} wrote /data/{n}/part-{at:04}.csv in {n * 100 + at} ms" for at in range(30))
    return f"{rows}\n{n} failed, {n + 10} passed in 4.{n}s"


def codex(kind: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": "2026-11-20T10:00:00.000Z", "type": kind, "payload": payload}


def said(role: str, text: str) -> dict[str, Any]:
    sort = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": sort, "text": text}]}


def codex_steps(steps: Sequence[int]) -> Rows:
    rows: Rows = []
    for n in steps:
        arguments = json.dumps({"command": ["bash", "-lc", f"pytest part_{n}"]})
        rows += [
            codex("response_item", type="reasoning", summary=[], encrypted_content="gAAA"),
            codex("response_item", type="function_call", name="shell", arguments=arguments, call_id=f"call_{n}"),
            codex("response_item", type="function_call_output", call_id=f"call_{n}", output=output(n)),
        ]
    return rows


def codex_session(steps: int = 5) -> Rows:
    tokens = {"input_tokens": 8000, "cached_input_tokens": 0, "output_tokens": 90, "total_tokens": 8090}
    info = {"total_token_usage": tokens, "last_token_usage": tokens, "model_context_window": 272_000}
    return [
        codex("session_meta", id=ID, cwd="/p", originator="codex_cli_rs", cli_version="0.154.0"),
        codex("turn_context", cwd="/p", model="gpt-5.6", approval_policy="on-request"),
        codex("response_item", **said("user", f"Find the failing part. {ORDER}")),
        codex("event_msg", type="user_message", message="Find the failing part."),
        *codex_steps(range(steps)),
        codex("event_msg", type="token_count", info=info),
    ]


def compacted(summary: str) -> dict[str, Any]:
    history = [said("user", f"Find the failing part. {ORDER}"), said("user", summary)]
    return codex("compacted", message=summary, replacement_history=history)


def written(file: Path, rows: Rows) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return file


def codex_file(user: Path, rows: Rows) -> Path:
    return written(
        user / ".codex" / "sessions" / "2026" / "11" / "20" / f"rollout-2026-11-20T10-00-00-{ID}.jsonl", rows
    )


async def look(p: Palimpsest, user: Path, **more: Any) -> list[Watched]:
    return await p.watch(environ={}, user_home=user, **more)


async def start(p: Palimpsest, source: str) -> str:
    said = await p.host_event("SessionStart", {"session_id": ID, "cwd": "/p", "source": source})
    return json.loads(said)["hookSpecificOutput"]["additionalContext"] if said else ""


async def test_a_session_of_codex_is_recorded_while_it_runs_and_read_again_only_when_it_changed(
    p: Palimpsest, tmp_path: Path
) -> None:
    file = codex_file(tmp_path, codex_session())
    (one,) = await look(p, tmp_path)
    assert (one.host, one.session_id, one.compactions) == ("codex", ID, ())
    usage = await p.usage(ID)
    assert usage.used.value == 8090 and usage.model == "gpt-5.6" and usage.host == "codex"
    assert await look(p, tmp_path) == []
    written(file, [*codex_session(), *codex_steps([5])])
    (again,) = await look(p, tmp_path)
    assert 0 < again.new_items < one.new_items
    async with Palimpsest.open(p.settings.home) as other:
        assert await look(other, tmp_path) == [], "another process finds nothing new in it"


@pytest.mark.parametrize("rewritten", [False, True], ids=["appended", "file rewritten"])
async def test_what_a_compaction_of_codex_lost_is_archived_compared_and_told_at_the_next_start(
    p: Palimpsest, tmp_path: Path, rewritten: bool
) -> None:
    before = codex_session()
    file = codex_file(tmp_path, before)
    await look(p, tmp_path)
    rest = [compacted("Parts 0 to 4 were run."), codex("response_item", **said("assistant", "Going on."))]
    written(file, [before[0], before[1], *rest] if rewritten else [*before, *rest])
    (one,) = await look(p, tmp_path)
    (lost,) = one.compactions
    assert lost.summary == "Parts 0 to 4 were run." and lost.lost > 100 and lost.batches
    originals = [
        (await p.restore(ID, batch.batch_id, item)).text
        for batch in await p.list_offloaded(ID)
        for item in batch.item_ids
    ]
    assert {output(n) for n in range(5)} <= set(originals)
    for source in ("compact", "resume"):
        told = await start(p, source)
        assert ORDER in told and f"restore_batch {one.handle}" in told
        assert "4 failed, 14 passed in 4.4s" in told and f"{lost.lost:,} are not in it" in told
    assert await look(p, tmp_path) == []
    async with Palimpsest.open(p.settings.home) as other:
        assert await look(other, tmp_path) == []
    assert (await p.verify()).ok


async def test_two_compactions_in_a_file_that_was_never_seen_are_both_compared_once(
    p: Palimpsest, tmp_path: Path
) -> None:
    rows = [*codex_session(3), compacted("First summary."), *codex_steps([3, 4]), compacted("Second summary.")]
    file = codex_file(tmp_path, rows)
    (one,) = await look(p, tmp_path)
    assert [each.summary for each in one.compactions] == ["First summary.", "Second summary."]
    written(file, [*rows, *codex_steps([5]), compacted("Third summary.")])
    (later,) = await look(p, tmp_path)
    assert [each.summary for each in later.compactions] == ["Third summary."]


async def test_older_rollouts_without_a_replacement_history_are_read_alike(p: Palimpsest, tmp_path: Path) -> None:
    codex_file(tmp_path, [*codex_session(), codex("compacted", message="All was run.")])
    (one,) = await look(p, tmp_path)
    assert [each.summary for each in one.compactions] == ["All was run."]


def gemini_call(n: int) -> dict[str, Any]:
    response = {"functionResponse": {"id": f"call-{n}", "name": "run_shell_command", "response": {"output": output(n)}}}
    call = {
        "id": f"call-{n}",
        "name": "run_shell_command",
        "args": {"command": f"pytest part_{n}"},
        "status": "success",
    }
    tokens = {"input": 8000, "output": 90, "cached": 0, "total": 8090 + n}
    return {
        "id": f"m{n}",
        "timestamp": "2026-11-20T10:00:00.000Z",
        "type": "gemini",
        "content": f"Step {n}.",
        "toolCalls": [{**call, "result": [response], "timestamp": "2026-11-20T10:00:00.000Z"}],
        "model": "gemini-3-pro",
        "tokens": tokens,
    }


def gemini_session(steps: int = 5) -> Rows:
    asked = {"id": "u0", "timestamp": "2026-11-20T10:00:00.000Z", "type": "user"}
    return [
        {"sessionId": ID, "projectHash": "ab12", "startTime": "2026-11-20T10:00:00.000Z", "kind": "main"},
        {**asked, "content": [{"text": f"Find the failing part. {ORDER}"}]},
        *({**gemini_call(n), "toolCalls": []} for n in range(steps)),
        *(gemini_call(n) for n in range(steps)),
        {"$set": {"directories": ["/p"], "lastUpdated": "2026-11-20T10:01:00.000Z"}},
    ]


def gemini_file(user: Path, rows: Rows) -> Path:
    return written(user / ".gemini" / "tmp" / "ab12" / "chats" / "session-2026-11-20T10-00-019a5b1e.jsonl", rows)


async def test_a_compression_of_gemini_is_archived_compared_and_told_at_the_next_start(
    p: Palimpsest, tmp_path: Path
) -> None:
    rows = gemini_session()
    file = gemini_file(tmp_path, rows)
    (first,) = await look(p, tmp_path)
    assert first.host == "gemini-cli" and (await p.usage(ID)).used.value == 8094
    masked = [rows[1], *({**gemini_call(n), "content": "masked"} for n in range(5))]
    written(file, [*rows, {"$set": {"messages": masked}}])
    assert await look(p, tmp_path) == [], "a checkpoint that only masks is no compaction"
    snapshot = {
        "id": "s1",
        "type": "user",
        "content": [{"text": "<state_snapshot>Five parts were run.</state_snapshot>"}],
    }
    got_it = {"id": "s2", "type": "gemini", "content": [{"text": "Got it."}]}
    written(file, [*rows, {"$set": {"messages": [snapshot, got_it, gemini_call(4)]}}])
    (one,) = await look(p, tmp_path)
    (lost,) = one.compactions
    assert "Five parts were run." in lost.summary and lost.lost > 100
    told = await start(p, "resume")
    assert ORDER in told and "4 failed, 14 passed" in told and f"restore_batch {one.handle}" in told
    assert await look(p, tmp_path) == []


async def test_a_rewind_of_gemini_is_no_compaction(p: Palimpsest, tmp_path: Path) -> None:
    gemini_file(tmp_path, [*gemini_session(), {"$rewindTo": "m3"}])
    (one,) = await look(p, tmp_path)
    assert one.compactions == ()
    shown = [item.item_id for item in (await p.show_context(ID)).items if item.state == "live"]
    assert any("call-2" in name for name in shown) and not any("call-3" in name for name in shown)


async def test_older_files_of_one_object_are_read_alike(p: Palimpsest, tmp_path: Path) -> None:
    meta, asked, *rest = gemini_session()
    whole = {**meta, "messages": [asked, *rest[5:10]]}
    file = gemini_file(tmp_path, []).with_suffix(".json")
    file.write_text(json.dumps(whole), "utf-8")
    (one,) = await look(p, tmp_path)
    assert one.session_id == ID and one.new_items > 10


async def test_what_is_torn_foreign_or_old_is_left_alone(p: Palimpsest, tmp_path: Path) -> None:
    file = codex_file(tmp_path, codex_session())
    with file.open("a") as torn:
        torn.write('{"timestamp": "2026-11-20T10:00:09.000Z", "type": "response_item", "payl')
    written(file.with_name("rollout-other.jsonl"), [{"type": "note", "payload": {}}])
    assert [one.session_id for one in await look(p, tmp_path)] == [ID]
    os.utime(gemini_file(tmp_path, gemini_session()), (1_700_000_000, 1_700_000_000))
    assert await look(p, tmp_path) == []
    assert await look(p, tmp_path, hosts=["gemini-cli"], days=100_000) != []
    with pytest.raises(InvalidArgument, match="cursor"):
        await look(p, tmp_path, hosts=["cursor"])


async def test_a_pipe_is_not_waited_for_and_a_file_too_large_is_said_once(
    p: Palimpsest, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = codex_file(tmp_path, codex_session())
    os.mkfifo(file.with_name("rollout-2026-11-20T10-00-01-pipe.jsonl"))
    large = file.with_name("rollout-2026-11-20T10-00-02-large.jsonl")
    for size in (MOST_BYTES + 1, MOST_BYTES + 2):
        with large.open("ab") as grown:
            grown.truncate(size)
        await look(p, tmp_path)
    assert [one.session_id for one in await p.sessions()] == [ID]
    assert [record.getMessage().split(" was left out")[0] for record in caplog.records] == [str(large)]
