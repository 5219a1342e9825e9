"""Targets so tight that little is left: digests of the least size, then pointers for the oldest results, and the status
says so."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from palimpsest_mcp.core.messages import CompactedMessages
from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.models.reports import Report
from palimpsest_mcp.settings.settings import Settings

from .conftest import make_session

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


def imported(results: int) -> Messages:
    """Some 1,700 tokens each, none of them much like the others, for windows of 15,000 and 20,000."""
    messages: Messages = [{"role": "user", "content": "Find out why."}]
    for n in range(results):
        text = "\n".join(
            f"2026-11-{1 + n % 28:02d}T10:{line:02d}:00Z worker={n:03d}-{line:03d} rows={1000 * n + line} "
            f"order_id=W{n * 7919 + line * 104729:07d} took={line}.{n} ms file=/data/in/part-{n:04d}-{line:04d}.csv"
            for line in range(40)
        )
        call = {"type": "tool_use", "id": f"call_{n}", "name": "check", "input": {"step": n}}
        messages.append({"role": "assistant", "content": [call]})
        answer = {"type": "tool_result", "tool_use_id": call["id"], "content": text}
        messages.append({"role": "user", "content": [answer]})
    return messages


def failed_runs(results: int) -> Messages:
    """Runs that all failed, each in another way that its pointer says."""
    messages: Messages = [{"role": "user", "content": "Find out why."}]
    for n in range(results):
        steps = "\n".join(f"step {n}-{line} of the nightly import wrote part {line * 7919}" for line in range(40))
        failed = (
            f"\nERROR: part-{n * 7919:05d} of warehouse-{n:03d} is corrupt: checksum {n * 104729:08x}\nexit code {n}"
        )
        call = {"type": "tool_use", "id": f"call_{n:03d}", "name": "Bash", "input": {"command": f"./run {n}"}}
        messages.append({"role": "assistant", "content": [call]})
        answer = {"type": "tool_result", "tool_use_id": call["id"], "content": steps + failed}
        messages.append({"role": "user", "content": [answer]})
    return messages


@pytest.mark.long
async def test_where_digests_for_the_target_say_too_little_they_are_made_for_a_higher_one(p: Palimpsest) -> None:
    done = await p.compact_messages(imported(50), session_id="s", model="gpt-5", window_tokens=20_000)
    report = done.report
    assert report.before.ratio is not None and report.before.ratio > 4
    assert report.after.ratio is not None and 0.4 < report.after.ratio <= 0.7
    assert report.status == "target_not_reached" and report.target_tokens == 8_000
    assert "digest" in {one.mode for one in report.batches} and report.probes.state == "passed"
    assert "digests small enough for 40% failed their probes; these are made for 55%" in report.notes
    assert await p.expand_messages(done.messages, session_id="s") == imported(50)


async def test_where_not_all_digests_fit_the_target_the_oldest_results_leave_pointers(p: Palimpsest) -> None:
    messages = failed_runs(60)
    done = await p.compact_messages(messages, session_id="s", model="gpt-5", force=True, target=0.16)
    report = done.report
    assert report.status == "compacted" and (report.after.used.value or 0) <= (report.target_tokens or 0)
    pointers = [name for one in report.batches if one.mode == "pointer" for name in one.item_ids]
    digested = [name for one in report.batches if one.mode == "digest" for name in one.item_ids]
    assert pointers and digested and max(pointers) < min(digested)
    assert all(f"ERROR: part-{n * 7919:05d} of warehouse-{n:03d}" in str(done.messages) for n in range(60)), "D17"
    assert report.probes.state == "passed" and not report.probes.kept_raw
    said = (
        f"{len(pointers)} results leave pointers and no digest, so that the others can say something within the target"
    )
    assert said in report.notes
    assert await p.expand_messages(done.messages, session_id="s") == messages


@pytest.mark.long
async def test_digests_that_would_give_way_in_vain_are_made_all_the_same(p: Palimpsest) -> None:
    """What pointers take is guessed before they are made; these are longer, since each says how the result went."""
    messages = failed_runs(60)
    done = await p.compact_messages(messages, session_id="s", model="gpt-5", force=True, target=0.14)
    report = done.report
    assert report.status == "target_not_reached" and {one.mode for one in report.batches} == {"digest"}
    assert not any("leave pointers" in note for note in report.notes)
    assert await p.expand_messages(done.messages, session_id="s") == messages


async def test_what_a_guess_was_short_of_is_taken_off_the_largest_digest(p: Palimpsest) -> None:
    """The note of the one call is longer than it was guessed, and made last: its first line is all numbers."""
    begins = " ".join(f"{(n * 7919) ** 5 % 2**64:016x}" for n in range(1, 10))
    body = "\n".join(f"value_{n} = {n * 104729}" for n in range(120))
    call = {"type": "tool_use", "id": "write", "name": "Write", "input": {"content": f"{begins}\n{body}"}}
    messages = failed_runs(20)
    messages[1:1] = [
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "write", "content": "ok"}]},
    ]
    report = (await p.compact_messages(messages, session_id="s", model="gpt-5", force=True, target=0.3)).report
    assert any(one.item_ids == ("call:write",) for one in report.batches)
    assert report.status == "compacted" and (report.after.used.value or 0) <= (report.target_tokens or 0)


@pytest.mark.long
async def test_where_no_digests_fit_the_window_pointers_do(p: Palimpsest) -> None:
    done = await p.compact_messages(imported(100), session_id="s", model="gpt-5", window_tokens=15_000)
    report = done.report
    assert report.after.ratio is not None and report.after.ratio <= 0.7
    assert {one.mode for one in report.batches} == {"pointer"}
    assert any(note.startswith("no digests that fit the window passed their probes") for note in report.notes)
    assert await p.expand_messages(done.messages, session_id="s") == imported(100)


@pytest.mark.long
async def test_where_digests_pass_their_probes_and_do_not_fit_the_window_pointers_do(p: Palimpsest) -> None:
    """A request above the window is refused by the provider, however good the digests in it are."""
    words = ("harbour", "crane", "pilot", "ledger", "tide", "berth", "customs", "manifest", "lantern", "rope", "winch")
    messages = imported(100)
    for n, message in enumerate(messages[2::2]):
        drawn = random.Random(n)
        message["content"][0]["content"] = "\n".join(
            f"The {drawn.choice(words)} near the {drawn.choice(words)} was seen by the {drawn.choice(words)} and left."
            for _ in range(60)
        )
    report = (await p.compact_messages(messages, session_id="s", model="gpt-5", window_tokens=9_000)).report
    assert report.after.ratio is not None and report.after.ratio <= 1.0
    assert {one.mode for one in report.batches} == {"pointer"}
    assert any(note.startswith("digests would not fit the window, so pointers") for note in report.notes)


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


async def test_a_target_that_is_asked_for_gives_the_digests_of_the_policys_own(tmp_path: Path) -> None:
    done: list[CompactedMessages] = []
    for name, target in (("own", None), ("asked", 0.4)):
        # The same handle, whose tokens count: it is drawn.
        async with Palimpsest.open(tmp_path / name, random_hex=lambda size: "7" * 2 * size) as p:
            done.append(await p.compact_messages(make_session(18), session_id="s", force=True, target=target))
    own, asked = done
    assert own.messages == asked.messages and own.report.batches
    assert own.report.status == asked.report.status and own.report.reason == asked.report.reason


async def test_below_the_trigger_a_list_comes_back_with_how_far_the_trigger_is(p: Palimpsest) -> None:
    messages = make_session(18)
    done = await p.compact_messages(messages, session_id="s", window_tokens=200_000, target=0.1)
    tokens = done.report.before.used.value or 0
    assert done.messages == messages and done.report.status == "nothing_to_do"
    assert f"the trigger of 70% is {140_000 - tokens:,} tokens away" in done.report.reason


async def test_a_loop_may_ask_before_every_request_and_what_was_compacted_stays(p: Palimpsest) -> None:
    messages, compacted = make_session(24)[:-1], 0
    sent: Messages = []
    for end in range(3, len(messages) + 1, 2):
        done = await p.compact_messages(messages[:end], session_id="s", window_tokens=60_000)
        compacted += bool(done.report.batches)
        assert str(done.messages).startswith(str(sent)[:-1]) or done.report.batches
        sent = done.messages
    assert 1 <= compacted <= 3


async def test_with_auto_nothing_runs_on_its_own_where_that_is_switched_off(tmp_path: Path) -> None:
    settings = Settings.load(home=tmp_path, auto=False)
    async with Palimpsest.open(tmp_path, settings=settings) as p:
        full: dict[str, Any] = {"session_id": "s", "window_tokens": 40_000}
        held = await p.compact_messages(make_session(18), auto=True, **full)
        assert held.report.reason == "PALIMPSEST_AUTO=off: nothing runs on its own; force overrides."
        assert (await p.compact_messages(make_session(18), **full)).report.batches


async def test_a_missed_target_says_what_was_gained_and_what_would_gain_more(p: Palimpsest) -> None:
    done = await p.compact_messages(make_session(18), session_id="s", force=True, target=0.2, keep_last=8)
    report = done.report
    gained = (report.before.used.value or 0) - (report.after.used.value or 0)
    assert report.status == "target_not_reached"
    assert report.reason.startswith(f"Gained {gained:,} tokens, 100.0% to ")
    assert "what would gain more: keep_last 3 (newest_k_tool_results " in report.reason
