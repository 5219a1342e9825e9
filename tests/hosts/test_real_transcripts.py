"""A real session of Claude Code, read at every point of its life: what counts is what the client recorded.

The expected values come from the rows by the few lines here, which share nothing with the reader.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any, cast

import pytest

from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.hosts.detect import parse_value
from palimpsest_mcp.ports.seams import HostContext

pytestmark = pytest.mark.shared

FOLDER = Path("data/raw/spotter/test/fixtures/transcripts")
MAIN = "4d5611e5-241a-462a-8d15-5122611a9569"
AGENTS = ("agent-a2898e3", "agent-acompact-e1f845")
BOUNDARY = 753
"""0-based row of the one compaction; the summary is in the next."""


def rows_of(shared: Path, name: str) -> list[dict[str, Any]]:
    found = shared / FOLDER / (f"{MAIN}.jsonl.gz" if name == MAIN else f"{MAIN}/subagents/{name}.jsonl.gz")
    return [json.loads(line) for line in gzip.decompress(found.read_bytes()).split(b"\n") if line]


def recorded(rows: list[dict[str, Any]]) -> int | None:
    """What the client's last answer reported, after its last compaction."""
    size = None
    for row in rows:
        if row.get("subtype") == "compact_boundary":
            size = None
        elif row["type"] == "assistant" and not row.get("isMeta"):
            usage = row["message"]["usage"]
            parts = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
            counted = sum(usage[part] for part in parts)
            size = counted or size
    return size


def blocks_after(rows: list[dict[str, Any]], kind: str) -> list[str]:
    """Ids of blocks of one type that came after the last compaction, in order."""
    cut = max((n for n, row in enumerate(rows) if row.get("subtype") == "compact_boundary"), default=-1)
    key = {"tool_use": "id", "tool_result": "tool_use_id"}[kind]
    found: list[str] = []
    for row in rows[cut + 1 :]:
        content: Any = row.get("message", {}).get("content") if row["type"] in ("user", "assistant") else None
        blocks = cast("list[dict[str, Any]]", content) if isinstance(content, list) else []
        found += [block[key] for block in blocks if block["type"] == kind]
    return found


def used(context: HostContext) -> int | None:
    return context.usage.used_tokens if context.usage is not None else None


def test_at_every_answer_the_size_is_what_the_client_recorded(shared: Path) -> None:
    rows = rows_of(shared, MAIN)
    answers = [n for n, row in enumerate(rows) if row["type"] == "assistant"]
    assert len(answers) == 254
    for n in answers[::3] + answers[-1:]:
        assert used(parse_value(rows[: n + 1])) == recorded(rows[: n + 1]), n
    assert recorded(rows) == 106_061


def test_right_after_the_compaction_nothing_is_recorded_and_what_stood_before_is_gone(shared: Path) -> None:
    rows = rows_of(shared, MAIN)
    before = parse_value(rows[:BOUNDARY])
    assert before.gone_why == ""
    told = rows[BOUNDARY]["compactMetadata"]["preTokens"]
    assert used(before) is not None
    assert abs((used(before) or 0) - told) < 0.05 * told
    after = parse_value(rows[: BOUNDARY + 2])
    assert (used(after), after.gone_why) == (None, "host_compaction")
    assert [item.kind for item in after.items] == ["original_query"]


@pytest.mark.parametrize("end", [300, BOUNDARY, BOUNDARY + 2, 1_000, None])
def test_every_call_and_result_since_the_compaction_is_there_once(shared: Path, end: int | None) -> None:
    rows = rows_of(shared, MAIN)[:end]
    context = parse_value(rows)
    calls = [item.call_id for item in context.items if item.kind == "tool_call"]
    results = [item.call_id for item in context.items if item.role == "tool"]
    assert calls == blocks_after(rows, "tool_use")
    assert sorted(results) == sorted(blocks_after(rows, "tool_result"))
    assert len(set(results)) == len(results)


@pytest.mark.parametrize("name", AGENTS)
def test_a_sub_agent_is_a_session_beside_the_main_one(shared: Path, name: str) -> None:
    rows = rows_of(shared, name)
    context = parse_value(rows)
    assert context.session_id == f"{MAIN}.{name.removeprefix('agent-')}"
    assert used(context) == recorded(rows)
    assert [item.call_id for item in context.items if item.kind == "tool_call"] == blocks_after(rows, "tool_use")
    main = {item.id for item in parse_value(rows_of(shared, MAIN)).items}
    assert main.isdisjoint(item.id for item in context.items if item.kind in ("tool_call", "tool_result"))


@pytest.mark.anyio
async def test_the_ratio_that_is_told_is_the_recorded_one(shared: Path, tmp_path: Path) -> None:
    rows = rows_of(shared, MAIN)
    last = max(n for n, row in enumerate(rows) if row["type"] == "assistant")
    file = tmp_path / f"{MAIN}.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows[: last + 1]), "utf-8")
    async with Palimpsest.open(tmp_path / "home") as p:
        usage = await p.check_context_ratio(MAIN, transcript_path=str(file), host="claude-code")
        assert usage.used.value == recorded(rows[: last + 1])
        assert usage.used.source == "provider usage"
        assert usage.window.value == 200_000
        assert usage.host_compaction_point == "Claude Code compacts at 167,000 of 200,000 tokens"
        again = await p.check_context_ratio(MAIN, transcript_path=str(file), host="claude-code")
        assert again.used.value == usage.used.value
