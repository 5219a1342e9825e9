"""Probes over whole passes: what fails them is made again or stays raw, and nothing is written before they were asked.

Digests are damaged behind the seam for digesters: values that a probe asks for are struck out of what it made.
"""

from __future__ import annotations

import random
import re
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from palimpsest_mcp.core.dependencies import ContentCounter
from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.models.records import Digest, DigestLine, DigestPart, DigestRequest
from palimpsest_mcp.models.reports import Report
from palimpsest_mcp.ports.seams import Digester

from ..conftest import first_of

pytestmark = pytest.mark.anyio
Messages = list[dict[str, Any]]
Strike = Callable[[DigestRequest, str], str]
TICKETS = 24


def tickets(results: int = TICKETS, *, failing: int = -1, everywhere: str = "", alike: bool = True) -> Messages:
    """Each result names a ticket, and the one before it, on top of a long log: of lines that are alike and cost little
    in a digest, or of others."""
    messages: Messages = [{"role": "user", "content": "Sort the tickets of the night import."}]
    for n in range(results):
        call = {"type": "tool_use", "id": f"toolu_{n:03d}", "name": "Bash", "input": {"command": f"./ticket.sh {n}"}}
        messages.append({"role": "assistant", "content": [{"type": "text", "text": "On."}, call]})
        draw = random.Random(n)
        text = f"NIGHT-{7000 + n} is open, after NIGHT-{6999 + n}\n{everywhere}\n" + "\n".join(
            f"part {n}-{line} waits in the queue of the night, as it should, and nothing is wrong with it at all"
            if alike
            else f"part {n}-{line} waits: " + " ".join("".join(draw.choices("aeioubdfgklmnrst", k=6)) for _ in range(8))
            for line in range(40)
        )
        if n == failing:
            text += "\nloader.errors.PartLostError: part-90417 is gone\nexit code 3"
        messages.append(
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call["id"], "content": text}]}
        )
    messages.append({"role": "user", "content": "Which are open?"})
    return messages  # fmt: skip


class Striking:
    """A digester that loses something: implements `ports.text.Digester`."""

    def __init__(self, whole: Digester, strike: Strike) -> None:
        self._whole = whole
        self._strike = strike

    @property
    def name(self) -> str:
        return "striking/1"

    async def digest(self, request: DigestRequest) -> Digest:
        made = await self._whole.digest(request)
        parts = tuple(
            DigestPart(
                item_id=part.item_id,
                lines=tuple(DigestLine(line.kind, self._strike(request, line.text)) for line in part.lines),
            )
            for part in made.parts
        )
        return msgspec.structs.replace(made, parts=parts)


@asynccontextmanager
async def damaged(home: Path, strike: Strike) -> AsyncGenerator[Palimpsest]:
    async with Palimpsest.open(home) as p:
        whole = p.deps.digester_for

        def striking(counter: ContentCounter) -> Digester:
            return Striking(whole(counter), strike)

        yield Palimpsest(replace(p.deps, digester_for=striking), p.settings)


def written(folder: Path) -> list[bytes]:
    """What the files of a folder hold."""
    return sorted(one.read_bytes() for one in folder.rglob("*.jsonl"))


def hide(*numbers: int) -> Callable[[str], str]:
    wanted = re.compile("|".join(f"NIGHT-{7000 + n}(?!\\d)" for n in numbers))
    return lambda text: wanted.sub("NIGHT", text)


async def passed(p: Palimpsest, messages: Messages, *, target: float | None = 0.5, **how: Any) -> Report:
    done = await p.compact_messages(messages, session_id="s", target=target, keep_last=3, force=True, **how)
    return done.report


def digested(report: Report) -> set[str]:
    return {name for batch in report.batches for name in batch.item_ids}


async def test_a_pass_whose_digests_lose_nothing_passes(tmp_path: Path) -> None:
    async with damaged(tmp_path, lambda _, text: text) as p:
        report = await passed(p, tickets())
    assert report.status == "compacted" and report.probes.state == "passed"
    assert report.probes.by_type["recall"].total >= 10 and not report.probes.emptied
    assert report.probes.elapsed_s is not None and not report.probes.retries and not report.probes.kept_raw
    assert report.to_json()["probes"]["passed"] == report.probes.total


async def test_a_weak_pass_that_the_same_size_does_not_mend_gets_more_budget(tmp_path: Path) -> None:
    first: dict[str, int] = {}
    strikes = hide(0, 1, 2)

    def strike(request: DigestRequest, text: str) -> str:
        before = first.setdefault(request.sources[0].item_id, request.budget_tokens)
        return text if request.budget_tokens >= 1.25 * before else strikes(text)

    async with damaged(tmp_path, strike) as p:
        report = await passed(p, tickets(), target=None)  # the policy's own leaves room
    assert report.probes.state == "passed" and report.probes.retries == 2 and report.status == "compacted"
    assert report.probes.line.endswith(", 2 retries")


async def test_what_few_probes_find_missing_is_mended_too_and_nothing_stays_raw_for_it(tmp_path: Path) -> None:
    def strike(request: DigestRequest, text: str) -> str:
        asked = any(word.startswith("NIGHT") for one in request.sources for word in one.focus)
        return text if asked else re.sub(r"NIGHT-\d+", "NIGHT", text)

    async with damaged(tmp_path / "a", strike) as p:
        mended = await passed(p, tickets(10, alike=False))
    assert mended.probes.state == "not enough to judge" and mended.probes.retries == 1
    assert mended.probes.passed == mended.probes.total < 10
    async with damaged(tmp_path / "b", lambda _, text: re.sub(r"NIGHT-\d+", "NIGHT", text)) as p:
        kept = await passed(p, tickets(10, alike=False))
    assert kept.probes.passed < kept.probes.total < 10 and not kept.probes.kept_raw
    assert digested(kept) == digested(mended)


@pytest.mark.long
async def test_what_more_budget_does_not_mend_stays_raw_while_others_can_leave(tmp_path: Path) -> None:
    async with damaged(tmp_path, lambda _, text: hide(*range(12))(text)) as p:
        report = await passed(p, tickets(40))
    assert report.status == "compacted" and report.probes.state == "passed" and report.probes.kept_raw >= 1
    assert report.probes.retries >= 1 and report.probes.line.endswith(" kept raw")
    assert {"toolu_037", "toolu_038", "toolu_039"}.isdisjoint(digested(report)), "the newest three never leave"


async def test_an_unresolved_error_that_a_digest_of_many_drops_gets_a_digest_of_its_own(tmp_path: Path) -> None:
    def strike(request: DigestRequest, text: str) -> str:
        return text.replace("PartLostError", "") if len(request.sources) > 1 else text

    async with damaged(tmp_path, strike) as p:
        report = await passed(p, tickets(failing=20), target=0.3)
    assert report.status == "compacted" and report.probes.state == "passed" and not report.probes.kept_raw
    assert ("toolu_020",) in [batch.item_ids for batch in report.batches]
    assert len(digested(report)) == TICKETS - 3


async def test_what_nothing_else_mends_is_made_one_unit_a_batch(tmp_path: Path) -> None:
    def strike(request: DigestRequest, text: str) -> str:
        return hide(*range(6))(text) if len(request.sources) > 1 else text

    async with damaged(tmp_path, strike) as p:
        # It takes all: nobody can leave for another.
        report = await passed(p, tickets(alike=False), target=0.43, strategy="sliding_window")
    assert report.probes.state == "passed" and report.status == "compacted"
    assert any(batch.items == 1 for batch in report.batches)
    assert any(batch.items > 1 for batch in report.batches), "and only what failed"


async def test_a_weak_pass_that_nothing_mends_is_accepted_with_a_warning(tmp_path: Path) -> None:
    async with damaged(tmp_path, lambda _, text: hide(*range(5))(text)) as p:
        # No others can leave for them: the target takes nearly all.
        report = await passed(p, tickets(), target=0.35)
    assert report.probes.state == "passed with a warning" and 0.7 <= (report.probes.score or 0) < 0.9
    assert report.probes.retries >= 1 and report.batches
    assert {one.type for one in report.probes.failed} == {"recall"}


async def test_a_retry_that_shows_no_more_makes_only_the_weak_batches_again(tmp_path: Path) -> None:
    """Each later batch leaves a ticket to the one before it; made again without need, that takes long."""
    made: dict[str, set[str]] = {}

    def strike(request: DigestRequest, text: str) -> str:
        for source in request.sources:
            made.setdefault(source.item_id, set()).add(f"{request.batch_id} of {request.budget_tokens}")
        return hide(*range(3))(text)

    async with damaged(tmp_path, strike) as p:
        queues = " ".join(f"/srv/night/queue-{n}.log" for n in range(88_400, 88_412))
        report = await passed(p, tickets(everywhere=queues, alike=False), target=0.35)
    weak = {one.batch_id for one in report.probes.failed}
    assert report.probes.retries >= 1 and weak
    others = [batch for batch in report.batches if batch.batch_id not in weak]
    assert any(batch.specifics.elsewhere for batch in others), "some left specifics to others"
    assert all(len(made[name]) == 1 for batch in others for name in batch.item_ids)
    assert any(len(made[name]) > 1 for batch in report.batches for name in batch.item_ids)


async def test_under_70_percent_the_worst_items_stay_raw_and_the_rest_goes_on(tmp_path: Path) -> None:
    async with damaged(tmp_path, lambda _, text: re.sub(r"NIGHT-\d+|ticket\.sh", "NIGHT", text)) as p:
        report = await passed(p, tickets(40), target=0.3)
    assert report.probes.kept_raw >= 1 and report.batches
    left = report.probes.total
    assert not report.probes.passed and left < 0.3 * (left + 40), "most of what can be asked is answered by what stays"
    assert report.probes.state == "failed", "and the verdict is about the digests alone"


async def test_of_a_batch_of_many_only_the_units_that_failed_stay_raw(tmp_path: Path) -> None:
    """A tight target puts up to nine results into a batch: one of them must not keep eight others in the context."""
    bad = [n for n in range(20) if n % 5]
    async with damaged(tmp_path, lambda _, text: re.sub(r"ticket\.sh", "NIGHT", hide(*bad)(text))) as p:
        report = await passed(p, tickets(24, alike=False), target=0.15)
    raw = {f"toolu_{n:03d}" for n in range(21)} - digested(report)
    assert report.probes.kept_raw and raw
    assert raw <= {f"toolu_{n:03d}" for n in bad}


async def test_a_missed_target_says_why_something_stays_raw(tmp_path: Path) -> None:
    async with damaged(tmp_path, lambda _, text: text.replace("PartLostError", "an error")) as p:
        report = await passed(p, tickets(failing=4), target=0.2)
    assert report.status == "target_not_reached" and report.probes.kept_raw == 1
    assert "kept_raw" in {part.reason for part in report.stayed}
    assert report.reason.endswith("; kept_raw: digests of it failed their probes.")


async def test_what_the_target_did_not_need_is_not_said_to_be_kept_raw(tmp_path: Path) -> None:
    async with Palimpsest.open(tmp_path) as p:
        report = await passed(p, tickets(), target=0.6)
    assert report.status == "compacted" and not report.probes.kept_raw
    assert "kept_raw" not in {part.reason for part in report.stayed}


@pytest.mark.long
async def test_a_tight_target_is_met_where_digests_hold_little_and_the_verdict_says_so(tmp_path: Path) -> None:
    async with damaged(tmp_path, lambda _, text: hide(*range(12))(text)) as p:
        report = await passed(p, tickets(), target=0.35)
    assert report.status == "compacted" and report.probes.state == "failed" and not report.probes.kept_raw
    assert any("red flag" in note for note in report.notes)


@pytest.mark.long
async def test_under_70_percent_what_the_probes_missed_is_put_first_before_anything_stays_raw(tmp_path: Path) -> None:
    def strike(request: DigestRequest, text: str) -> str:
        asked = any(word.startswith("NIGHT") for one in request.sources for word in one.focus)
        return text if asked else re.sub(r"NIGHT-\d+", "NIGHT", text)

    async with damaged(tmp_path, strike) as p:
        report = await passed(p, tickets(40, alike=False), target=0.3)
    assert report.status == "compacted" and report.probes.state == "passed"
    assert report.probes.retries == 1 and not report.probes.kept_raw
    assert len(digested(report)) == 37


async def test_where_every_digest_fails_its_probes_nothing_is_replaced_and_the_reason_says_so(tmp_path: Path) -> None:
    async with damaged(tmp_path, lambda _, text: text.replace("PartLostError", "an error")) as p:
        report = await passed(p, tickets(4, failing=0), target=0.3)
    assert report.status == "target_not_reached" and not report.batches
    assert "failed their probes; name a higher target" in report.reason


async def test_a_critical_failure_keeps_its_items_raw_and_the_rest_goes_on(tmp_path: Path) -> None:
    """The error is recent and nothing resolved it; its digest lost it."""
    failing = 4
    async with damaged(tmp_path, lambda _, text: text.replace("PartLostError", "an error")) as p:
        messages = tickets(failing=failing)
        done = await p.compact_messages(messages, session_id="s", target=0.5, keep_last=3, force=True)
        report = done.report
        assert report.probes.kept_raw == 1 and report.probes.state == "passed" and report.status == "compacted"
        assert f"toolu_{failing:03d}" not in digested(report) and len(digested(report)) > 6
        assert done.messages[2 * failing + 2] == messages[2 * failing + 2], "byte for byte as it was"
        batches = await p.list_offloaded("s")
        assert f"toolu_{failing:03d}" not in {name for batch in batches for name in batch.item_ids}


async def test_the_wording_of_a_model_answers_no_probe(tmp_path: Path) -> None:
    """What an agent wrote above a digest is not checked: the critical error must stand in what code shows."""
    failing = 4
    how: dict[str, Any] = {"target": 0.5, "keep_last": 3, "force": True}
    async with damaged(tmp_path, lambda _, text: text if "I saw" in text else text.replace("PartLost", "a")) as p:
        await p.compact_messages(tickets(failing=failing), session_id="s", window_tokens=10_000_000)
        plan = await p.compact_session("s", dry_run=True, **how)
        number = next(n for n, slot in enumerate(plan.slots, 1) if f"toolu_{failing:03d}" in slot["item_ids"])
        words = {str(number): "I saw loader.errors.PartLostError: part-90417 is gone"}
        report = await p.compact_session("s", plan_id=plan.plan_id, digests=words, **how)
    assert report.batches and not [note for note in report.notes if "not used" in note]
    assert report.probes.kept_raw == 1 and f"toolu_{failing:03d}" not in digested(report)


async def test_probes_come_before_anything_is_written(tmp_path: Path) -> None:
    seen: list[str] = []

    async def progress(_done: int, _total: int, what: str) -> None:
        seen.append(what)

    async with Palimpsest.open(tmp_path) as p:
        await passed(p, tickets(), progress=progress)
    assert seen.index("probe") < seen.index("archive") < seen.index("commit")


async def test_opaque_asks_nothing_of_what_it_was_told_to_leave_out(tmp_path: Path) -> None:
    async with Palimpsest.open(tmp_path) as p:
        report = await passed(p, tickets(), strategy="opaque")
        stored = await p.probe("s")
    assert {batch.mode for batch in report.batches} == {"pointer"} and report.probes.state == "not validated"
    assert not any(one.batch_id for one in report.probes.failed) and stored.state == "not validated"


async def test_without_anything_to_ask_the_pass_is_not_validated_and_says_so(tmp_path: Path) -> None:
    blank = "\n".join("all is as it was, and so it goes on, on and on" for _ in range(60))
    messages: Messages = [{"role": "user", "content": "…"}]
    for n in range(8):
        messages.append(
            {"role": "assistant", "content": [{"type": "tool_use", "id": f"c{n}", "name": "x", "input": {}}]}
        )
        messages.append(
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"c{n}", "content": blank + str(n)}]}
        )
    async with Palimpsest.open(tmp_path) as p:
        report = await passed(p, messages)
    assert report.batches and report.probes.state == "not validated" and report.probes.score is None
    assert report.probes.line == "not validated"  # fmt: skip


async def test_what_the_probes_said_is_stored_with_the_pass_and_in_the_summary(tmp_path: Path) -> None:
    async with Palimpsest.open(tmp_path) as p:
        report = await passed(p, tickets())
        summary = await p.summary("s")
    assert (summary.probes_passed, summary.probes_total) == (report.probes.passed, report.probes.total)
    line = f'"probes":{{"state":"passed","passed":{report.probes.passed}'
    assert any(line.encode() in one for one in written(tmp_path / "session" / "s" / "ledger"))


@pytest.mark.parametrize(
    ("seconds", "note"),
    first_of(
        [
            (2.0, None),
            (2.5, "probes took 2.5 s, over 2 s"),
            (5.0, "probes took 5.0 s, over 2 s"),
            (5.5, "red flag: probes took 5.5 s, over 2 s"),
        ],
        kept=2,
    ),
)
async def test_probes_that_take_long_are_noted_and_flagged(tmp_path: Path, seconds: float, note: str | None) -> None:
    """The clock stands still, and jumps when the probes are asked."""
    moment, asking = datetime(2026, 11, 20, tzinfo=UTC), [False, False]

    def clock() -> datetime:
        nonlocal moment
        if asking[0]:  # the first look is the start of the round, the second its end
            asking[0], asking[1] = False, True
        elif asking[1]:
            asking[1] = False
            moment += timedelta(seconds=seconds)
        return moment

    async def progress(_done: int, _total: int, what: str) -> None:
        asking[0] = what == "probe"

    async with Palimpsest.open(tmp_path, clock=clock) as p:
        report = await passed(p, tickets(), progress=progress)
    assert report.probes.elapsed_s == seconds
    assert [one for one in report.probes.notes if "took" in one] == ([note] if note else [])
    assert not note or note in report.notes


async def test_probes_of_a_session_find_what_its_host_threw_away(tmp_path: Path) -> None:
    """A host that compacts by itself drops messages: what nothing answers any more shows, and nothing is written."""
    messages = tickets()
    cut = [messages[0], {"role": "assistant", "content": "Some tickets were sorted."}, *messages[-4:]]
    async with Palimpsest.open(tmp_path) as p:
        await p.compact_messages(messages, session_id="s", window_tokens=10_000_000)
        whole = await p.probe("s")
        await p.compact_messages(cut, session_id="s", window_tokens=10_000_000)
        before = written(tmp_path)
        found = await p.probe("s")
        assert written(tmp_path) == before
    assert whole.state == "not validated" and not whole.total, "all of it is in view: there is nothing to ask"
    assert found.passed < found.total and any(one.type == "recall" for one in found.failed)


async def test_a_record_that_cannot_be_read_counts_as_a_miss(tmp_path: Path) -> None:
    async with Palimpsest.open(tmp_path) as p:
        report = await passed(p, tickets())
        before = await p.probe("s")
        [file] = (tmp_path / "session" / "s" / "offloaded").glob("*.jsonl")
        lines = file.read_bytes().split(b"\n")
        file.write_bytes(b"\n".join([lines[0].replace(b"NIGHT-70", b"NIGHT-71"), *lines[1:]]))
        after = await p.probe("s")
    gone = len(report.batches[0].item_ids)
    assert before.passed == before.total and after.total - after.passed >= gone
    assert any("cannot be read, each counts as a miss" in note for note in after.notes)


async def test_a_batch_that_is_made_again_keeps_its_number(tmp_path: Path) -> None:
    """Nothing was written under it; who reads the report finds the batches from the first number on."""

    def strike(request: DigestRequest, text: str) -> str:
        return hide(*range(6))(text) if len(request.sources) > 1 else text

    async with damaged(tmp_path, strike) as p:
        report = await passed(p, tickets(alike=False), target=0.43, strategy="sliding_window")
        stored = await p.list_offloaded("s")
    names = [batch.batch_id for batch in report.batches]
    assert report.probes.retries and len(names) == len(set(names)) == len(stored)
    assert "offload_0001" in names and "toolu_000" in next(
        batch.item_ids for batch in report.batches if batch.batch_id == "offload_0001"
    )
