"""Targets so tight that little is left: a digest of the least size, never a pointer, and the status says so."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.models.reports import Report

pytestmark = pytest.mark.anyio
Messages = list[dict[str, Any]]


def step(n: int) -> str:
    return f"step {n} wrote /srv/part-{n * 7919:06d}.csv with code E{n * 31 % 977:04d}"


def address(n: int) -> str:
    """So long that a budget is hardly ever used up by whole ones."""
    return "GET https://cdn.example.org/" + "/".join(f"{(n * 7919 + k) ** 4 % 2**40:x}" for k in range(12))


def lone(lines: int = 700, line: Callable[[int], str] = step) -> Messages:
    """One long result in which no two lines are alike, and three short ones behind it."""
    long = "\n".join(line(n) for n in range(lines))
    messages: Messages = [{"role": "user", "content": "Look at this."}]
    for n, text in enumerate((long, "ok", "ok", "ok")):
        call = {"type": "tool_use", "id": f"t{n}", "name": "Bash", "input": {"command": f"./run {n}"}}
        messages.append({"role": "assistant", "content": [call]})
        messages.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"t{n}", "content": text}]})
    return [*messages, {"role": "user", "content": "And?"}]


async def compacted(p: Palimpsest, messages: Messages, target: float, **how: Any) -> Report:
    done = await p.compact_messages(messages, session_id=f"at {target}", target=target, keep_last=3, force=True, **how)
    return done.report


async def test_below_the_least_a_lone_result_keeps_a_checked_digest_and_the_target_is_missed(p: Palimpsest) -> None:
    report = await compacted(p, lone(), 0.02)
    assert report.status == "target_not_reached" and [one.mode for one in report.batches] == ["digest"]
    assert report.compression is not None and 0.94 < report.compression <= 0.95
    assert report.specifics.shown > 0 and report.specifics.left_out > 0
    assert "digests keep at least 5% of what they stand for; the strategy opaque leaves pointers" in report.notes


async def test_pointers_alone_are_what_opaque_is_for(p: Palimpsest) -> None:
    report = await compacted(p, lone(), 0.05, strategy="opaque")
    assert report.status == "compacted" and [one.mode for one in report.batches] == ["pointer"]


async def test_a_tighter_target_never_leaves_more_tokens(p: Palimpsest) -> None:
    sizes = [(await compacted(p, lone(100), share / 100)).after.used.value or 0 for share in (60, 40, 20, 10, 5, 3, 1)]
    # A token or two differ with the handle, which is drawn.
    assert all(tighter <= looser + 3 for looser, tighter in itertools.pairwise(sizes)), sizes


@pytest.mark.parametrize("lines", [80, 120, 200])
async def test_a_digest_that_came_out_a_little_too_small_is_made_again_and_the_pass_not_refused(
    p: Palimpsest, lines: int
) -> None:
    report = await compacted(p, lone(lines, address), 0.01)
    assert report.status == "target_not_reached" and report.batches, report.reason
    assert report.compression is not None and report.compression <= 0.95
