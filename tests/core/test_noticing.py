"""What an answer says beside its numbers: one notice a zone, candidates where a band asks to prepare, signs without
numbers; and the rests that a policy asks for between passes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.settings.settings import Settings

pytestmark = pytest.mark.anyio
Messages = list[dict[str, Any]]
Make = Callable[..., Messages]
WINDOW = 200_000


async def recorded(p: Palimpsest, messages: Messages) -> None:
    await p.compact_messages(messages, session_id="s", window_tokens=100_000_000)


async def notice(p: Palimpsest, ratio: float, policy: str = "anchored") -> str:
    usage = await p.check_context_ratio("s", used_tokens=round(ratio * WINDOW), window_tokens=WINDOW, policy=policy)
    return usage.notice


async def test_a_zone_is_noticed_once_when_it_is_entered_from_below(p: Palimpsest, session: Make) -> None:
    await recorded(p, session())
    assert await notice(p, 0.50) == ""
    assert await notice(p, 0.60) == "now in zone warning (60.0%): prepare: the trigger is near"
    assert await notice(p, 0.65) == ""
    assert await notice(p, 0.70) == "now in zone compress (70.0%): compact"
    assert await notice(p, 0.69) == "", "wavering around a bound is no news"
    assert await notice(p, 0.71) == ""
    assert await notice(p, 0.92) == "now in zone critical (92.0%): compact now"
    assert await notice(p, 0.30) == "" and await notice(p, 0.62) != "", "after a real fall it is news again"


async def test_another_process_knows_what_was_noticed(tmp_path: Path, session: Make) -> None:
    async with Palimpsest.open(tmp_path) as p:
        await recorded(p, session())
        assert await notice(p, 0.61) != ""
    async with Palimpsest.open(tmp_path) as p:
        assert await notice(p, 0.62) == ""


async def test_after_a_pass_its_zones_are_news_again(p: Palimpsest, session: Make) -> None:
    await recorded(p, session())
    assert await notice(p, 0.75) != "" and await notice(p, 0.75) == ""
    report = await p.compact_session("s", target=0.4, keep_last=3, force=True, window_tokens=WINDOW)
    assert report.batches
    assert await notice(p, 0.75) != ""


async def test_nothing_is_said_unasked_where_everything_automatic_is_off(tmp_path: Path, session: Make) -> None:
    async with Palimpsest.open(settings=Settings.load(home=tmp_path, auto=False)) as p:
        await recorded(p, session())
        usage = await p.check_context_ratio("s", used_tokens=70_000, window_tokens=WINDOW, policy="phased")
    assert usage.zone == "prepare" and usage.notice == "" and usage.candidates == ()


@pytest.mark.parametrize(("ratio", "named"), [(0.299, False), (0.30, True), (0.399, True), (0.40, False)])
async def test_in_the_band_from_30_to_40_percent_candidates_are_named_with_what_they_free(
    p: Palimpsest, session: Make, ratio: float, named: bool
) -> None:
    messages = session(24, lines=60)
    await recorded(p, messages)
    window = round((await p.check_context_ratio("s")).used.value or 0) * 3
    usage = await p.check_context_ratio("s", used_tokens=round(ratio * window), window_tokens=window, policy="phased")
    assert bool(usage.candidates) == named
    if named and ratio > 0.35:  # at 30 % the target is met, so little must leave
        assert 0 < len(usage.candidates) <= 5 <= usage.candidates_total or usage.candidates_total
        assert usage.would_free_tokens and usage.would_free_tokens > 0
        assert all(" tokens, ./check.sh --step " in one for one in usage.candidates)


async def test_candidates_are_what_a_pass_then_takes(p: Palimpsest, session: Make) -> None:
    await recorded(p, session(24))
    window = round((await p.check_context_ratio("s")).used.value or 0) * 5 // 2
    usage = await p.check_context_ratio("s", used_tokens=round(0.38 * window), window_tokens=window, policy="phased")
    report = await p.compact_session("s", policy="phased", force=True, window_tokens=window)
    assert report.before.effective_window.value == window, "a window that is given counts, forced or not"
    taken = {name for batch in report.batches for name in batch.item_ids}
    assert 0 < usage.candidates_total <= len(taken) + 1, "or one more, where digests come out shorter than they may be"
    assert {one.split(":")[0] for one in usage.candidates} <= taken


async def test_without_numbers_the_signs_of_a_full_window_are_told(p: Palimpsest) -> None:
    turns = [{"role": role, "content": f"{role} {n}"} for n in range(41) for role in ("user", "assistant")]
    await p.record_items("s", [{"id": f"m{n}", "kind": "message", **one} for n, one in enumerate(turns)])
    assert (await p.check_context_ratio("s")).signals == ("41 turns (over 40)",)


async def test_a_policy_that_asks_for_ten_messages_between_passes_waits_for_them(p: Palimpsest, session: Make) -> None:
    messages = session(16)
    how: dict[str, Any] = {"session_id": "s", "policy": "anchored", "window_tokens": 90_000}
    done = await p.compact_messages(messages, used_tokens=65_000, **how)
    assert done.report.status in ("compacted", "target_not_reached") and done.report.batches
    more = session(4, seed=1)[1:]
    soon = await p.compact_messages([*done.messages, *more[:8]], used_tokens=66_000, **how)
    assert soon.report.status == "nothing_to_do" and "Only 8 messages since the last pass" in soon.report.reason
    critical = await p.compact_messages([*done.messages, *more[:8]], used_tokens=82_000, **how)
    assert critical.report.reason.startswith("Everything that may leave has left") or critical.report.batches


async def test_the_last_five_messages_stay_under_anchored_whatever_the_target(p: Palimpsest, session: Make) -> None:
    messages = session(16)
    done = await p.compact_messages(messages, session_id="s", policy="anchored", target=0.1, force=True)
    assert done.report.batches and done.messages[-5:] == messages[-5:]
