"""What every keeper of summaries must do, as tests."""

from __future__ import annotations

import asyncio

import pytest

from ..errors import InvalidArgument, SummaryChanged
from ..models.events import SessionKey
from ..models.summaries import AnchoredSummary, Blocker, ChangedFile, Decision, ErrorMet, Note, Step, Todo
from .contract_values import S1, OneStore, info_of

HOSTILE = "## Blockers\n- [x] `a`, **b**: c\n```\n# not a heading\n\\\\⏎ \u2028\x85\r end\t\n\n… and 4 more"
"""A text that looks like everything a summary is made of."""


def small(intent: str = "Move the importer to Postgres") -> AnchoredSummary:
    """A summary that can be told from others by its intent."""
    return AnchoredSummary(session="sabcd", session_intent=intent)


def full() -> AnchoredSummary:
    """One with something in every place, hostile texts among it."""
    return AnchoredSummary(
        session="sabcd",
        compression_count=3,
        timestamp="2026-11-20T10:00:00+00:00",
        first_message=1,
        last_message=340,
        session_intent=HOSTILE,
        files_modified=(
            ChangedFile(
                path="C:\\new\\a.py",
                steps=(Step(verb="edited", times=4, names=("load",), more_names=2), Step(verb="moved", other="b.py")),
                changes=(HOSTILE, "Added X, modified Y"),
            ),
            ChangedFile(path="`odd`, name", folder="/srv/app", steps=(Step(verb="deleted"),)),
        ),
        decisions_made=(
            Decision(decision="Redis", rationale="fast", superseded=True, superseded_by="Postgres"),
            Decision(decision=HOSTILE, rationale=HOSTILE),
        ),
        technical_context=("Python 3.11", HOSTILE),
        current_state=HOSTILE,
        todos_done=2,
        todos_total=3,
        last_asked=HOSTILE,
        last_said="Done.",
        blockers=(Blocker(text=HOSTILE), Blocker(text="May old rows go?", closed=True)),
        errors_encountered=(ErrorMet(error=HOSTILE, where="make test", times=2), ErrorMet(error="E1", resolution="R")),
        next_steps=(HOSTILE, "Test it"),
        todos=(Todo(text=HOSTILE, in_progress=True), Todo(text="Ship")),
        key_artifacts=("[main 1a2b3c4] Import", HOSTILE),
        notes=(Note(heading="For Ana", text=HOSTILE),),
        left_out={"files_modified": 12},
        files_read=7,
        commands_run=41,
        probes_passed=9,
        probes_total=10,
        tokens_before=400_000,
        tokens_after=90_000,
    )


@pytest.mark.anyio
class SummariesContract(OneStore):
    """Summaries go in whole, come back equal, and are never overwritten unseen."""

    async def test_a_session_without_a_summary_has_none(self) -> None:
        async with self.fresh() as store:
            found = await store.summaries.get(S1)
            assert (found.summary, found.version, found.note) == (None, "", "")
            assert await store.summaries.list() == ()

    @pytest.mark.parametrize("summary", [small(), full(), AnchoredSummary()], ids=["small", "full", "empty"])
    async def test_a_summary_comes_back_equal(self, summary: AnchoredSummary) -> None:
        async with self.fresh() as store:
            version = await store.summaries.put(S1, summary, after="")
            found = await store.summaries.get(S1)
            assert found.summary == summary and found.version == version != "" and not found.note

    async def test_it_comes_back_equal_in_another_process(self) -> None:
        async with self.fresh() as store, self.again() as other:
            await store.summaries.put(S1, full(), after="")
            assert (await other.summaries.get(S1)).summary == full()

    async def test_the_newest_one_stands(self) -> None:
        async with self.fresh() as store:
            first = await store.summaries.put(S1, small("One thing to do"), after="")
            second = await store.summaries.put(S1, small("Another thing"), after=first)
            assert first != second
            assert (await store.summaries.get(S1)).summary == small("Another thing")

    async def test_one_that_was_not_read_is_not_overwritten(self) -> None:
        async with self.fresh() as store:
            version = await store.summaries.put(S1, small(), after="")
            for stale in ("", "0" * 64):
                with pytest.raises(SummaryChanged):
                    await store.summaries.put(S1, small("Another thing"), after=stale)
            assert (await store.summaries.get(S1)).summary == small()
            await store.summaries.put(S1, small("Another thing"), after=version)

    async def test_of_many_at_once_one_wins_and_the_others_hear_of_it(self) -> None:
        async with self.fresh() as store:
            tries = [store.summaries.put(S1, small(f"Task number {n}"), after="") for n in range(8)]
            done = await asyncio.gather(*tries, return_exceptions=True)
            assert [type(one) for one in done].count(SummaryChanged) == 7
            winner = next(n for n, one in enumerate(done) if isinstance(one, str))
            assert (await store.summaries.get(S1)).summary == small(f"Task number {winner}")

    async def test_half_a_surrogate_pair_is_refused(self) -> None:
        async with self.fresh() as store:
            with pytest.raises(InvalidArgument):
                await store.summaries.put(S1, small("half \ud83d"), after="")
            assert (await store.summaries.get(S1)).version == ""

    async def test_sessions_and_principals_do_not_see_each_other(self) -> None:
        other, stranger = SessionKey("s2"), SessionKey("s1", "ana")
        async with self.fresh() as store:
            for key in (S1, other, stranger):
                await store.ledger.create(key, info_of(key))
            await store.summaries.put(S1, small("One thing"), after="")
            await store.summaries.put(stranger, small("Another thing"), after="")
            assert (await store.summaries.get(other)).summary is None
            assert (await store.summaries.get(stranger)).summary == small("Another thing")
            assert await store.summaries.list() == ("s1",)
            assert await store.summaries.list("ana") == ("s1",)
