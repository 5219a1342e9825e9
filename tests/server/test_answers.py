"""Both channels of a small answer say the same, and stay small."""

from __future__ import annotations

import json
from typing import Any, cast

from palimpsest_mcp.models.records import SpecificCounts
from palimpsest_mcp.models.reports import BatchReport, Measured, Report, Usage
from palimpsest_mcp.models.views import BatchView, Recorded
from palimpsest_mcp.server.answers import (
    PAGE_TOKENS,
    SMALL_TOKENS,
    CompactAnswer,
    RatioAnswer,
    RecordedAnswer,
    as_text,
    kinds_line,
)
from palimpsest_mcp.server.archive_answers import detail_answer
from palimpsest_mcp.server.lifespan import count_o200k

UNKNOWN = Measured(value=None, source="unknown")
USAGE = Usage(
    used=Measured(value=150_000, source="argument"),
    window=UNKNOWN,
    effective_window=Measured(value=200_000, source="setting"),
    ratio=0.75,
    zone="compact",
    action="compact",
    policy="research",
    notes=tuple(f"note {n} " + "word " * 60 for n in range(30)),
)


def leaves(value: Any) -> list[str]:
    """Every value of the structured channel as its text."""
    if isinstance(value, dict):
        return [leaf for part in cast("dict[str, Any]", value).values() for leaf in leaves(part)]
    if isinstance(value, list):
        return [leaf for part in cast("list[Any]", value) for leaf in leaves(part)]
    return [value if isinstance(value, str) else json.dumps(value)]


def report(batches: int) -> Report:
    rows = tuple(
        BatchReport(
            batch_id=f"offload_{n:04d}",
            items=3,
            original_tokens=9_000,
            digest_tokens=900,
            item_ids=("a", "b", "c"),
            specifics=SpecificCounts(total=50, shown=40, left_out=10),
        )
        for n in range(1, batches + 1)
    )
    return Report(
        status="compacted",
        reason="done",
        session_id="night",
        handle="s7f3k",
        before=USAGE,
        after=USAGE,
        target_ratio=0.4,
        target_tokens=80_000,
        policy="research",
        strategy="anchored",
        batches=rows,
        specifics=SpecificCounts(total=50 * batches, shown=40 * batches, left_out=10 * batches),
    )


def test_every_value_of_one_channel_stands_in_the_other() -> None:
    answer = CompactAnswer.of(report(3))
    text = as_text(answer.data())
    assert all(leaf in text for leaf in leaves(answer.data()))


def test_a_long_report_is_cut_and_says_by_how_much() -> None:
    answer = CompactAnswer.of(report(200)).result(count_o200k)
    data = answer.structured_content
    assert data is not None
    assert len(data["batches"]) + data["more"]["batches"] == 200
    assert count_o200k(as_text(data)) <= SMALL_TOKENS
    assert count_o200k(json.dumps(data, separators=(",", ":"))) <= SMALL_TOKENS


def test_many_notes_do_not_crowd_the_numbers_out() -> None:
    data = RatioAnswer.of("s7f3k", USAGE, detail=True).result(count_o200k).structured_content
    assert data is not None and data["ratio"] == 0.75 and data["more"]["notes"] > 20


def test_one_warning_of_many_items_is_said_once() -> None:
    recorded = Recorded(
        session_id="night",
        handle="s7f3k",
        item_ids=("a", "b", "c"),
        tokens=0,
        usage=USAGE,
        crossed_trigger=False,
        warnings=("call:a: no content: not restorable", "b: no content: not restorable", "c: odd"),
    )
    assert RecordedAnswer.of(recorded).warnings == ["2 items: no content: not restorable (first: call:a)", "c: odd"]


def test_the_most_frequent_kinds_are_named_and_the_rest_counted() -> None:
    assert kinds_line({"Read": 2, "Bash": 5, "Grep": 1, "mcp__a__very_long_tool_name": 1}) == "5 Bash, 2 Read, 2 other"


def test_values_from_a_session_cannot_act_on_a_terminal() -> None:
    recorded = Recorded(
        session_id="n\x1b[2J\u202eight",
        handle="s7f3k",
        item_ids=("a\udc80",),
        tokens=0,
        usage=USAGE,
        crossed_trigger=False,
    )
    answer = RecordedAnswer.of(recorded)
    assert answer.session_id == "night" and answer.item_ids == ["a\ufffd"]


def test_a_batch_in_detail_is_one_page_however_long_its_digest_and_however_many_its_items() -> None:
    lines = [f"line {n} of a digest: /var/data/part-{n}.bin took {n}.5 ms" for n in range(900)]
    batch = BatchView(
        batch_id="offload_0001",
        ts="2026-11-22T10:00:00.000+00:00",
        reason="forced",
        kinds={"Bash": 400},
        item_ids=tuple(f"toolu_{n:06d}" for n in range(400)),
        original_tokens=90_000,
        digest_tokens=18_000,
        level=1,
        mode="digest",
        state="replaced",
        restorable=True,
        specifics=SpecificCounts(),
        digest="\n".join(lines),
    )
    result = detail_answer("s7f3k", batch, total=1).result(count_o200k, PAGE_TOKENS)
    data: Any = result.structured_content
    assert count_o200k(json.dumps(data, ensure_ascii=False, separators=(",", ":"))) <= PAGE_TOKENS
    shown = data["detail"]["digest"].split("\n")
    assert shown == lines[: len(shown)] and len(shown) + data["more"]["digest_lines"] == 900
    assert len(data["detail"]["item_ids"]) + data["more"].get("item_ids", 0) == 400
