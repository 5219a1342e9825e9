"""No digest is longer than the policy says, whatever it stands for (D20)."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.models.reports import Report

from ..conftest import first_of

pytestmark = pytest.mark.anyio
Messages = list[dict[str, Any]]


def table(rows: int) -> str:
    draw = random.Random(rows)
    return "id,city,name\n" + "\n".join(f"{n},Oslo,item {draw.randrange(10**6)} of HAT{n:05}" for n in range(rows))


def messages_of(*results: str) -> Messages:
    messages: Messages = [{"role": "user", "content": "Look at this."}]
    for n, text in enumerate((*results, "ok", "ok", "ok")):
        call = {"type": "tool_use", "id": f"t{n}", "name": "Bash", "input": {"command": f"./run {n}"}}
        messages.append({"role": "assistant", "content": [call]})
        messages.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"t{n}", "content": text}]})
    return [*messages, {"role": "user", "content": "And?"}]


async def compacted(p: Palimpsest, *results: str, **how: Any) -> Report:
    how = {"window_tokens": 45_000, "keep_last": 3, "force": True, **how}
    done = await p.compact_messages(messages_of(*results), session_id="s", **how)
    return done.report


@pytest.mark.parametrize("how", first_of([{}, {"target": 0.05}, {"target": 0.3}, {"policy": "anchored"}]))
async def test_a_long_result_gets_a_digest_of_whole_records_within_the_length(
    p: Palimpsest, how: dict[str, Any]
) -> None:
    report = await compacted(p, table(2_000), **how)
    (batch,) = report.batches
    assert batch.mode == "digest" and 1_500 < batch.digest_tokens <= 2_000
    assert batch.specifics.shown > 100
    digest = (await p.record("s", batch.batch_id)).digest_replacing_inline.split("\n")
    rows = {cell for row in table(2_000).split("\n") for cell in (row.split(",")[-1], row.replace(",", "|"))}
    assert sum(rows.issuperset(line[1:].rsplit("|", 1)[-1:]) for line in digest if line[:1] == " ") > 30


async def test_several_long_results_get_a_digest_each_rather_than_a_part_of_one(p: Palimpsest) -> None:
    report = await compacted(p, *(table(300 + n) for n in range(4)), window_tokens=30_000)
    assert {batch.items for batch in report.batches} == {1} and len(report.batches) > 2
    assert all(batch.mode == "digest" and batch.digest_tokens <= 2_000 for batch in report.batches)


async def test_a_longer_digest_is_what_a_user_may_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PALIMPSEST_POLICY__MAX_DIGEST_TOKENS", "6000")
    async with Palimpsest.open(tmp_path) as p:
        report = await compacted(p, table(2_000))
    assert 2_000 < report.batches[0].digest_tokens <= 6_000


@pytest.mark.parametrize(
    ("window", "most"), first_of([(150_000, 4_000), (64_000, 2_000), (1_000_000, 6_000), (None, 6_000)])
)
async def test_only_a_large_window_has_room_for_longer_digests(p: Palimpsest, window: int | None, most: int) -> None:
    """3 % of it; at most 6,000 tokens, and never less than D20 says. Where none is named a list only gets shorter."""
    done = await p.compact_messages(
        messages_of(table(6_000 if most == 6_000 else 3_000)),
        session_id="s",
        keep_last=3,
        force=True,
        window_tokens=window,
        target=0.1,
    )
    (batch,) = done.report.batches
    assert 0.75 * most < batch.digest_tokens <= most
