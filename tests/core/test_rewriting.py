"""A new Claude Code session beside an old one: what is in it, what is not, and that nothing that was there changes."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any, cast

import pytest

from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.errors import FileMissing, InvalidArgument, OutputRefused

pytestmark = pytest.mark.anyio

OLD = "8d1f2a7e-1111-4222-8333-444455556666"
USAGE = {
    "input_tokens": 12,
    "cache_creation_input_tokens": 300,
    "cache_read_input_tokens": 171_000,
    "output_tokens": 40,
    "cache_creation": {"ephemeral_5m_input_tokens": 300},
    "service_tier": "standard",
}


def output(n: int) -> str:
    return "\n".join(
        f"2026-11-20T10:{line:02d}:00Z job-{n:03d}-{line:03d} wrote /data/{n}/{line}.csv" for line in range(60)
    )


def transcript(results: int = 12) -> list[dict[str, Any]]:
    """Rows as the client writes them: two parallel calls in each answer, with bookkeeping between."""
    rows: list[dict[str, Any]] = [{"type": "queue-operation", "operation": "enqueue", "sessionId": OLD}]
    last: str | None = None

    def add(kind: str, uuid: str, parent: str | None, message: dict[str, Any], **more: Any) -> None:
        row = {"parentUuid": parent, "isSidechain": False, "type": kind, "uuid": uuid, "message": message}
        rows.append({**row, "sessionId": OLD, "cwd": "/p", "version": "2.1.328", **more})

    add("user", "u0", None, {"role": "user", "content": "Find the failing job."}, promptId="x")
    last = "u0"
    for n in range(0, results, 2):
        base = {"role": "assistant", "id": f"m{n}", "model": "claude-opus-5-5", "usage": dict(USAGE)}
        add("assistant", f"t{n}", last, {**base, "content": [{"type": "thinking", "thinking": "hm", "signature": "s"}]})
        rows.append({"type": "api-request", "sessionId": OLD, "params": {"messages": "a copy"}})
        parent = f"t{n}"
        for call in (n, n + 1):
            block = {"type": "tool_use", "id": f"toolu_{call}", "name": "Bash", "input": {"command": f"job {call}"}}
            add("assistant", f"a{call}", parent, {**base, "content": [block]})
            parent = f"a{call}"
        for call in (n, n + 1):
            told = output(call)
            block = {"type": "tool_result", "tool_use_id": f"toolu_{call}", "content": told, "is_error": False}
            result = {"stdout": told, "stderr": "", "interrupted": False, "isImage": False}
            add("user", f"r{call}", f"a{call}", {"role": "user", "content": [block]}, toolUseResult=result, mcpMeta={})
        last = f"r{n + 1}"
    base = {"role": "assistant", "id": "end", "model": "claude-opus-5-5", "usage": dict(USAGE)}
    add("assistant", "end", last, {**base, "content": [{"type": "text", "text": "Half a pair: \ud83d"}]})
    return rows


def written(folder: Path, rows: list[dict[str, Any]], name: str = OLD) -> Path:
    file = folder / f"{name}.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return file


def rows_in(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def results_of(rows: list[dict[str, Any]]) -> dict[str, str]:
    found: dict[str, str] = {}
    for row in rows:
        content: Any = row.get("message", {}).get("content")
        for block in cast("list[dict[str, Any]]", content if isinstance(content, list) else []):
            if block["type"] == "tool_result":
                found[block["tool_use_id"]] = block["content"]
    return found


async def test_the_new_session_has_digests_in_the_place_of_older_results(p: Palimpsest, tmp_path: Path) -> None:
    file = written(tmp_path, transcript())
    before = file.read_bytes()
    done = await p.rewrite_session(file)
    assert done.file is not None
    assert done.file.parent == tmp_path
    assert done.file.name == f"{done.session_id}.jsonl"
    assert file.read_bytes() == before
    old, new = results_of(transcript()), results_of(rows_in(done.file))
    changed = [name for name in old if new[name] != old[name]]
    assert len(changed) == done.digests > 0
    assert not {"toolu_9", "toolu_10", "toolu_11"} & set(changed)
    assert all("palimpsest" in new[name] or "restore_batch" in new[name] for name in changed[:1])


async def test_everything_else_is_as_the_client_needs_it(p: Palimpsest, tmp_path: Path) -> None:
    old = transcript()
    done = await p.rewrite_session(written(tmp_path, old))
    assert done.file is not None
    new = rows_in(done.file)
    expected = copy.deepcopy([row for row in old if not row["type"].startswith("api-request")])
    originals, shown = results_of(old), results_of(new)
    first = next(n for n, row in enumerate(old) if row.get("uuid") == "r0")
    left = {row["uuid"]: row["parentUuid"] for row in old[first:] if str(row.get("uuid")).startswith("t")}
    expected = [row for row in expected if row.get("uuid") not in left]
    assert done.report.thinking.dropped == len(left) == 5, "claude-opus-5-5 refuses thinking behind a change"
    for row in expected:
        row |= {"parentUuid": left[row["parentUuid"]]} if row.get("parentUuid") in left else {}
        row["sessionId"] = done.session_id
        message = row.get("message", {})
        if row["type"] == "assistant":
            message["usage"] = {
                "input_tokens": 0,
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": 0,
                "output_tokens": 0,
                "cache_creation": {"ephemeral_5m_input_tokens": 0},
                "service_tier": "standard",
            }
        content: Any = message.get("content")
        for block in cast("list[dict[str, Any]]", content if isinstance(content, list) else []):
            name = block.get("tool_use_id")
            if name is not None and shown[name] != originals[name]:
                block["content"] = shown[name]
                del row["toolUseResult"], row["mcpMeta"]
    assert new == expected


async def test_batches_are_found_under_the_new_id_too(p: Palimpsest, tmp_path: Path) -> None:
    done = await p.rewrite_session(written(tmp_path, transcript()))
    assert (await p.session(done.session_id)).parent == OLD
    for batch in await p.list_offloaded(done.session_id):
        for item in batch.item_ids:
            original = await p.restore(done.session_id, batch.batch_id, item)
            assert original.text == output(int(item.removeprefix("toolu_")))
    assert (await p.verify()).ok


async def test_a_rewritten_session_is_not_digested_again(p: Palimpsest, tmp_path: Path) -> None:
    first = await p.rewrite_session(written(tmp_path, transcript()))
    assert first.file is not None
    second = await p.rewrite_session(first.file)
    shown = results_of(rows_in(first.file))
    digests = {name for name, text in shown.items() if text != results_of(transcript())[name]}
    batches = await p.list_offloaded(first.session_id)
    fresh = {item for batch in batches for item in batch.item_ids if batch.reason == "forced"}
    assert digests <= fresh
    if second.file is not None:
        again = results_of(rows_in(second.file))
        assert all(again[name] == shown[name] for name in digests)


async def test_a_second_rewrite_of_the_same_session_emits_the_same_digests(p: Palimpsest, tmp_path: Path) -> None:
    file = written(tmp_path, transcript())
    first, second = await p.rewrite_session(file), await p.rewrite_session(file)
    assert first.file is not None
    assert second.file is not None
    assert first.session_id != second.session_id
    assert results_of(rows_in(first.file)) == results_of(rows_in(second.file))


async def test_a_file_that_is_there_is_never_overwritten(tmp_path: Path) -> None:
    file = written(tmp_path, transcript())
    async with Palimpsest.open(tmp_path / "home", random_hex=lambda size: "ab" * size) as p:
        taken = tmp_path / "abababab-abab-4bab-abab-abababababab.jsonl"
        taken.write_text("somebody's", encoding="utf-8")
        with pytest.raises(OutputRefused, match="exists"):
            await p.rewrite_session(file)
        assert taken.read_text("utf-8") == "somebody's"


async def test_a_short_session_and_a_dry_run_write_nothing(p: Palimpsest, tmp_path: Path) -> None:
    file = written(tmp_path, transcript(2))
    assert (await p.rewrite_session(file)).file is None
    long = written(tmp_path, transcript())
    done = await p.rewrite_session(long, dry_run=True)
    assert (done.file, done.report.status) == (None, "planned")
    assert sorted(place.name for place in long.parent.iterdir()) == [long.name, "home"]


async def test_what_cannot_be_resumed_is_refused(p: Palimpsest, tmp_path: Path) -> None:
    rows = [{**row, "isSidechain": True, "agentId": "a1"} for row in transcript() if "uuid" in row]
    with pytest.raises(InvalidArgument, match="sub-agent"):
        await p.rewrite_session(written(tmp_path, rows, "agent-a1"))
    with pytest.raises(FileMissing):
        await p.rewrite_session(tmp_path / "none.jsonl")


async def test_a_fork_is_the_session_of_its_own_file(p: Palimpsest, tmp_path: Path) -> None:
    rows = transcript()
    fork = "11111111-2222-4333-8444-555555555555"
    rows[-1]["sessionId"] = fork
    done = await p.rewrite_session(written(tmp_path, rows, fork))
    assert (done.report.session_id, (await p.session(done.session_id)).parent) == (fork, fork)


async def test_a_torn_last_row_is_left_out_and_said(p: Palimpsest, tmp_path: Path) -> None:
    file = written(tmp_path, transcript())
    with file.open("ab") as torn:
        torn.write(b'{"type":"assistant","uuid":"torn","mess')
    done = await p.rewrite_session(file)
    assert done.file is not None
    whole = [row for row in transcript() if row["type"] != "api-request"]
    assert len(rows_in(done.file)) == len(whole) - done.report.thinking.dropped
    assert any("no whole row" in note for note in done.report.notes)
