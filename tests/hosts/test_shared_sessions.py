"""Every shared session: read, named, paired, and written back."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path

import pytest

from palimpsest_mcp.core.importer import parsed
from palimpsest_mcp.hosts.detect import read_session, transcripts
from palimpsest_mcp.hosts.validity import new_problems
from palimpsest_mcp.ports.seams import HostContext

from ..conftest import first_of

SOURCES = (
    "deepagents",
    "deer-flow",
    "inspect_ai",
    "intercode",
    "openhands-sdk",
    "pi-mono",
    "spotter",
    "tau-bench",
    "toolbench",
)
TRANSCRIPTS = "data/raw/spotter/test/fixtures/transcripts"
MAIN = "4d5611e5-241a-462a-8d15-5122611a9569.jsonl.gz"


def sessions(shared: Path, source: str) -> Iterator[HostContext]:
    data = (shared / "data" / "converted" / f"{source}.jsonl.gz").read_bytes()
    for line in range(1, gzip.decompress(data).count(b"\n") + 1):
        yield parsed(read_session(data, line=line), {})


def check(context: HostContext) -> None:
    reader = transcripts()[context.form]
    assert all(new is old for new, old in zip(reader.render(context, {}), context.messages, strict=True))
    ids = [item.id for item in context.items]
    assert len(set(ids)) == len(ids)
    called = {item.unit for item in context.items if item.kind == "tool_call"}
    results = [item for item in context.items if item.role == "tool"]
    assert {item.unit for item in results} <= called
    shorter = reader.render(context, {item.id: "digest" for item in results})
    assert new_problems(context.messages, shorter, context.form) == []
    if context.form != "claude-code":
        again = reader.parse(shorter)
        assert [item.id for item in again.items] == ids
        originals = {item.id: item.content for item in results if item.content is not None}
        assert reader.render(again, originals) == list(context.messages)


@pytest.mark.shared
@pytest.mark.parametrize("source", first_of(SOURCES))
def test_every_converted_session_is_read_and_written_back(shared: Path, source: str) -> None:
    assert sum(1 for context in sessions(shared, source) if check(context) is None) > 0


@pytest.mark.shared
def test_a_real_transcript_is_read_after_its_compaction(shared: Path) -> None:
    data = (shared / TRANSCRIPTS / MAIN).read_bytes()
    context = parsed(read_session(data), {})
    check(context)
    assert (context.form, context.gone_why, context.model) == ("claude-code", "host_compaction", "claude-opus-4-6")
    assert context.usage is not None
    assert context.usage.used_tokens == 106_061
    assert len([item for item in context.items if item.role == "tool"]) == 81
    assert parsed(read_session(data), {}) == context


@pytest.mark.shared
def test_a_real_sub_agents_transcript_is_read_as_a_session(shared: Path) -> None:
    folder = shared / TRANSCRIPTS / MAIN.removesuffix(".jsonl.gz") / "subagents"
    context = parsed(read_session((folder / "agent-a2898e3.jsonl.gz").read_bytes()), {})
    check(context)
    assert context.session_id.endswith(".a2898e3")
    assert len([item for item in context.items if item.role == "tool"]) == 33


@pytest.mark.shared
def test_a_real_transcript_cut_anywhere_in_its_last_rows_is_still_read(shared: Path) -> None:
    text = gzip.decompress((shared / TRANSCRIPTS / MAIN).read_bytes())
    for cut in range(len(text) - 1, len(text) - 40_000, -1_999):
        context = parsed(read_session(text[:cut]), {})
        assert context.items
        assert len(context.warnings) <= 1
