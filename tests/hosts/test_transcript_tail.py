"""A transcript read on as it grows."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.hosts.claude_code.transcript import ClaudeCodeTranscript, Tail, forked_from, tokens_after_compaction


def row(kind: str, uuid: str, parent: str | None, content: Any = None, **more: Any) -> bytes:
    message = {"message": {"role": kind, "content": content}} if content is not None else {}
    return json.dumps({"type": kind, "uuid": uuid, "parentUuid": parent, **message, **more}).encode() + b"\n"


def calling(uuid: str, parent: str, call: str, answer: str) -> bytes:
    block: dict[str, Any] = {"type": "tool_use", "id": call, "name": "Bash", "input": {}}
    message: dict[str, Any] = {"role": "assistant", "id": answer, "content": [block]}
    return json.dumps({"type": "assistant", "uuid": uuid, "parentUuid": parent, "message": message}).encode() + b"\n"


def told(uuid: str, parent: str, call: str) -> bytes:
    return row("user", uuid, parent, [{"type": "tool_result", "tool_use_id": call, "content": "x"}])


def test_a_row_that_is_still_being_written_is_left_for_the_next_time() -> None:
    first, second = row("user", "u1", None, "q"), row("user", "u2", "u1", "more")
    tail = Tail()
    assert tail.feed(first + second[:20]).rows == 1 and tail.offset == len(first)
    assert tail.feed(second).rows == 1 and tail.rows[1]["uuid"] == "u2"


def test_a_torn_row_costs_itself_alone() -> None:
    tail = Tail()
    assert tail.feed(row("user", "u1", None, "q") + b'{"type": "user", "uu\n' + row("user", "u2", "u1", "on")).rows == 2


def test_the_next_read_starts_at_the_oldest_call_that_is_still_open_or_at_the_newest_answer() -> None:
    tail = Tail()
    tail.feed(row("user", "u1", None, "q"))
    assert tail.feed(calling("a1", "u1", "c1", "m1")).start == 0
    assert tail.feed(told("r1", "a1", "c1")).start == 1
    assert tail.feed(calling("a2", "a1", "c2", "m1")).start == 1  # the same answer goes on behind its first result
    assert tail.feed(calling("a3", "a2", "c3", "m2")).start == 1
    assert tail.feed(told("r3", "a3", "c3") + told("r2", "a2", "c2")).start == 3
    assert tail.feed(row("user", "u2", "r2", "next")).start == 4


def test_ordinary_rows_never_ask_for_the_whole_transcript() -> None:
    tail = Tail()
    tail.feed(row("user", "u1", None, "q"))
    for piece in (
        calling("a1", "u1", "c1", "m1"),
        calling("a2", "a1", "c2", "m1"),
        told("r1", "a1", "c1"),
        told("r2", "a2", "c2"),
        row("attachment", "x1", "r2"),
        calling("a3", "x1", "c3", "m2"),
        told("r3", "a3", "c3"),
        row("user", "u2", "r3", "next"),
    ):
        assert not tail.feed(piece).whole


def test_a_boundary_and_a_step_back_ask_for_the_whole() -> None:
    tail = Tail()
    tail.feed(row("user", "u1", None, "q") + calling("a1", "u1", "c1", "m1") + told("r1", "a1", "c1"))
    assert tail.feed(row("user", "u2", "u1", "another way")).whole
    assert tail.feed(row("system", "b1", None, subtype="compact_boundary")).whole


def test_a_sub_agents_own_file_is_read_like_any_other() -> None:
    tail = Tail(sidechain=True)
    side = json.dumps({"type": "user", "uuid": "u1", "isSidechain": True, "message": {"role": "user", "content": "q"}})
    tail.feed(side.encode() + b"\n")
    assert tail.window(0)[0]["uuid"] == "u1" and Tail().window(0) == []


def test_the_boundary_says_how_much_stands_behind_it() -> None:
    tail = Tail()
    tail.feed(row("user", "u1", None, "q"))
    assert tokens_after_compaction(tail.rows) is None
    tail.feed(row("system", "b1", None, subtype="compact_boundary", compactMetadata={"postTokens": 900}))
    assert tokens_after_compaction(tail.rows) == (1, 900)


def test_a_fork_says_where_its_rows_come_from() -> None:
    tail = Tail()
    tail.feed(row("user", "u1", None, "q", forkedFrom={"sessionId": "first", "messageUuid": "u1"}))
    assert forked_from(tail.rows, "second") == "first" and forked_from(tail.rows, "first") == ""


@given(st.data())
def test_however_it_is_cut_it_reads_the_same(data: st.DataObject) -> None:
    whole = b"".join(
        (
            row("user", "u1", None, "q"),
            row("progress", "p1", "u1", big="x" * 50),
            calling("a1", "p1", "c1", "m1"),
            told("r1", "a1", "c1"),
            row("user", "u2", "r1", "next"),
        )
    )
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=6)))
    tail, at_once = Tail(), Tail()
    for cut in (*cuts, len(whole)):
        tail.feed(whole[tail.offset : cut])
    at_once.feed(whole)
    assert tail.rows == at_once.rows


def test_a_real_transcript_reads_as_its_rows_do(shared: Path) -> None:
    """Bookkeeping rows are kept without their bulk; the context must not notice."""
    folder = shared / "data" / "raw" / "spotter" / "test" / "fixtures" / "transcripts"
    data = gzip.decompress(next(folder.glob("*.jsonl.gz")).read_bytes())
    tail = Tail()
    wholes = sum(tail.feed(line + b"\n").whole for line in data.split(b"\n") if line)
    reader = ClaudeCodeTranscript()
    assert reader.parse(tail.rows) == reader.parse([json.loads(line) for line in data.split(b"\n") if line])
    assert wholes == 3  # the first row, the boundary, its summary
