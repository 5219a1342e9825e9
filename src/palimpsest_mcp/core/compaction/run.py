"""A compaction pass, step by step: think without the commit lock, archive first, commit with one line (L9)."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace

import msgspec

from ...context.budgets import for_window
from ...context.fold import Fold
from ...context.view import View, present_items, standing_holders, view
from ...errors import PalimpsestError, PlanStale
from ...models.advice import Advice, step
from ...models.events import Replaced, SessionInfo, SummarizationEvent, Unshrinkable
from ...models.llm import Spent
from ...models.plans import ContextItem, Plan
from ...models.probes import ProbeReport
from ...models.records import OffloadRecord
from ...models.reports import AskedFor
from ..batch import Made, beside
from ..dependencies import ContentCounter, Dependencies, noted
from ..measure import Measurement
from ..sessions import Sessions
from ..summary import KeptSummaries, PassFacts
from .at_birth import lend_studies
from .batches import Batches
from .commit import Committed, archive_and_commit, committed_batch, copied, unchanged
from .plan import PassRequest, Planner
from .prove import prove, refuse_too_much

POINTERS = "opaque"
"""The strategy that leaves pointers, which fit where no digest does."""
ROOM_SAID = "digests small enough for {asked:.0%} failed their probes; these are made for {target:.0%}"
POINTERS_SAID = "{why}, so pointers stand there; all of it comes back with restore_batch"
FAILED_SAID, LARGE_SAID = "no digests that fit the window passed their probes", "digests would not fit the window"


@dataclass(kw_only=True)
class PassResult:
    """What a pass did."""

    plan: Plan
    plan_id: str
    view: View
    """After it."""
    fold: Fold
    made: list[Made] = field(default_factory=list[Made])
    """Committed batches only."""
    dropped: int = 0
    """Batches that were made but not committed, because their units changed meanwhile (L9)."""
    refused: list[str] = field(default_factory=list[str])
    """Items that no digest could shrink (D14)."""
    copies: int = 0
    """Fetched copies that became pointers (L13)."""
    copies_took: int = 0
    """Tokens of those."""
    given_way: int = 0
    """Results that left pointers for the target, so that others could be digested."""
    pointers_take: int = 0
    """Tokens of the pointers, with each result's own."""
    thinking: Mapping[str, int] = field(default_factory=dict[str, int])
    """Thinking that leaves the list with them: ids of its items, and the tokens of each."""
    leaving: list[ContextItem] = field(default_factory=list[ContextItem])
    """The items that were replaced, as they stood before."""
    refusal: str = ""
    """Why the policy refused the whole pass after it was worked out; empty when it did not."""
    probes: ProbeReport = ProbeReport()
    asked_for: AskedFor = AskedFor()
    author: str = ""
    """Who was asked for summaries; empty when nobody was."""
    spent: Spent = Spent()
    """What those cost."""
    notes: list[str] = field(default_factory=list[str])
    """What came of the anchored summary."""


async def run_pass(
    deps: Dependencies,
    sessions: Sessions,
    info: SessionInfo,
    measurement: Measurement,
    request: PassRequest,
    *,
    held: bool = False,
) -> PassResult:
    """Plan and, unless it is a dry run, carry out one pass.

    Args:
        held: the caller has the session's pass lock, from before it measured.

    Raises:
        PassInProgress: another pass on this session is running.
        PlanStale: `plan_id` names a plan of another revision.
        InvalidArgument: `digests` names a slot that the plan does not have.
        WriteFailed: the archive or the ledger could not be written; the context is as it was.
    """
    seen = measurement.view.items  # put together before anything is waited for: others may record meanwhile
    window = measurement.window_tokens if measurement.forced_over is None else None
    request = replace(request, policy=for_window(request.policy, window))
    planner = Planner(deps, sessions, info, measurement, request)
    if request.options.dry_run:
        first = await planner.first()
        await asyncio.to_thread(planner.digesting.focus.look_around, seen)
        return PassResult(
            plan=first,
            plan_id=planner.id_of(first),
            view=measurement.view,
            fold=measurement.fold,
            asked_for=planner.digesting.focus.asked_for,
            thinking=planner.thinking if first.slots else {},
        )
    with noted("pass", session=info.handle) as counts:
        async with nullcontext() if held else deps.store.ledger.pass_lock(sessions.key(info)):
            one = _Pass(planner)
            counts["pass"] = one.id
            result = await one.run()
        counts["status"] = "compacted" if result.made or result.copies else "nothing_to_do"
        counts |= {"batches": len(result.made), "refused": len(result.refused), "dropped": result.dropped}
        counts["tokens_offloaded"] = sum(made.record.original_token_count for made in result.made)
        counts["tokens_digests"] = sum(made.record.digest_token_count for made in result.made)
        return result


class _Pass:
    """One pass, under the pass lock."""

    def __init__(self, planner: Planner) -> None:
        self._planner = planner
        self._deps, self._sessions, self._info = planner.deps, planner.sessions, planner.info
        self._measurement, self._request = planner.measurement, planner.request
        self.id = f"pass-{planner.deps.random_hex(6)}"
        self._counter: ContentCounter = planner.measurement.counter
        self._batches = Batches(planner, self.id)
        self._probes = ProbeReport()
        self._spent = Spent()
        """By tries that were given up."""
        self._notes: list[str] = []

    async def run(self) -> PassResult:
        await lend_studies(self._deps, self._sessions.key(self._info))
        first = await self._planner.first()
        plan_id = self._planner.id_of(first)
        if self._request.options.plan_id and self._request.options.plan_id != plan_id:
            raise PlanStale(
                "The session, the arguments or the settings changed since that dry run.",
                next=Advice(
                    "Plan again: {}; then run it with the same arguments.",
                    step("compact_session", session_id=self._info.handle, dry_run=True),
                ),
            )
        self._batches.wording.hand_in(first.slots, self._request.options.digests or {})
        if first.status == "planned":
            first = await self._work_out(first)
            if self._crushed():
                first = await self._with_more_room(first)
        fold, made = await self._archive_and_commit()
        committed = frozenset(one.record.batch_id for one in made)
        leaving = [one for own, items in self._batches.made if own.record.batch_id in committed for one in items]
        await self._afterwards(fold, committed, leaving)
        copies = self._batches.state.copies
        return PassResult(
            plan=first,
            plan_id=plan_id,
            view=view(
                fold,
                result_overhead=self._counter.per_result_overhead,
                digester=self._batches.digester,
                open_units=self._measurement.open_units,
            ),
            fold=fold,
            made=list(made),
            dropped=len(self._batches.made) - len(made),
            refused=self._batches.state.refused,
            refusal=self._batches.refusal,
            probes=self._probes,
            asked_for=self._planner.digesting.focus.asked_for,
            author=self._batches.wording.author,
            spent=self._spent + self._batches.wording.spent,
            notes=self._notes,
            given_way=self._batches.state.given_way,
            copies=len(copies),
            copies_took=sum(one.tokens for one, _ in copies),
            pointers_take=sum(self._counter.count(text) + self._counter.per_result_overhead for _, text in copies),
            leaving=leaving,
            thinking=self._planner.thinking_behind_any([*leaving, *(one for one, _ in copies)]),
        )

    async def _work_out(self, first: Plan) -> Plan:
        """Make the batches of a plan and ask their probes; nothing is written. The plan that was carried out."""
        request = self._planner.request
        first = await self._batches.make(first)
        await refuse_too_much(self._batches, first, request, self._counter.per_result_overhead)
        if self._batches.made:
            await request.tell(0, 3, "probe")
            self._probes = await prove(self._deps, self._measurement.view.items, self._batches, first, request)
        return first

    def _crushed(self) -> bool:
        """Whether the context would not even fit the window; or so much stayed raw, because digests as small as the
        target asks for said too little, that it is still above the trigger: the next request would come to the same."""
        told, rules = self._request.options, self._request.rules
        free = not (told.plan_id or told.digests or self._batches.refusal) and rules.prefer_compact_over_drop
        return free and self._left() > (rules.offload_trigger_token_ratio if self._probes.kept_raw else 1.0)

    def _left(self) -> float:
        """Share of the window that the context would take; 0 where no window is known."""
        window, used = self._measurement.target_window, self._measurement.view_used
        if not window or used is None or self._measurement.forced_over is not None:
            return 0.0
        if self._batches.refusal:  # all of them were taken back
            return used / window
        gained = self._batches.state.freed_tokens(self._planner.items, self._planner.thinking) * self._measurement.scale
        return (used - gained) / window

    async def _with_more_room(self, first: Plan) -> Plan:
        """Work the pass out for a higher target, up to the trigger; where the context would not even fit the window
        then, with pointers, which claim to say nothing. Each try is kept only where it leaves less.

        Returns:
            The plan of the try that is kept, under the target that was asked for.
        """
        kept = self._planner, self._batches, self._probes, first
        trigger = self._request.rules.offload_trigger_token_ratio
        asked = self._request.options.target or self._request.rules.offload_target_token_ratio
        tries = [(share, "") for share in ((asked + trigger) / 2, trigger) if share > asked]
        raw = self._probes.kept_raw > 0
        for target, strategy in [*tries, (trigger, POINTERS)]:
            best = self._left()
            if best <= (1.0 if strategy else trigger):
                break
            named = strategy or self._request.options.strategy
            options = msgspec.structs.replace(self._request.options, target=target, strategy=named)
            request = replace(self._request, options=options)
            planner = Planner(self._deps, self._sessions, self._info, self._measurement, request)
            self._planner, self._batches, self._probes = planner, Batches(planner, self.id), ProbeReport()
            found = await planner.first()
            if found.status == "planned" and (strategy or found.predicted_tokens <= found.target_tokens):
                found = await self._work_out(found)
            # Where nothing stayed raw, pointers say less than digests: they stand only where the context fits then.
            if self._left() < best and (raw or not strategy or self._left() <= 1.0):
                self._spent += kept[1].wording.spent
                kept = self._planner, self._batches, self._probes, found
                why = FAILED_SAID if raw else LARGE_SAID
                said = POINTERS_SAID.format(why=why) if strategy else ROOM_SAID.format(asked=asked, target=target)
                self._notes = [said]
            else:
                self._spent += self._batches.wording.spent
                self._planner, self._batches, self._probes, _ = kept
        return msgspec.structs.replace(kept[3], target_tokens=first.target_tokens)

    async def _archive_and_commit(self) -> Committed:
        """Write the one line that makes the pass real; batches whose units changed meanwhile are not in it."""
        made = [one for one, _ in self._batches.made]
        if not made and not self._batches.state.copies:
            return Committed(await self._sessions.fold(self._info), ())
        return await archive_and_commit(
            self._deps, self._sessions, self._info, made, self._decide, progress=self._request.options.progress
        )

    def _decide(self, fold: Fold) -> Replaced | None:
        kept = self._still_valid(fold)
        copies = [(one, text) for one, text in self._batches.state.copies if unchanged(fold, one)]
        return self._replaced(kept, copies) if kept or copies else None

    def _still_valid(self, fold: Fold) -> list[Made]:
        """Batches whose items are as they were and whose `elsewhere` still stands (D8, L9)."""
        standing = standing_holders(fold, present_items(fold))
        valid: list[Made] = []
        for made, items in self._batches.made:
            own = made.record.batch_id
            holders_stand = all(standing.get(one, one == own) for one in made.record.specifics.holders)
            if holders_stand and all(unchanged(fold, one) for one in items):
                valid.append(made)
                standing[own] = True
        return valid

    def _replaced(self, kept: list[Made], copies: list[tuple[ContextItem, str]]) -> Replaced:
        gone = {item.id for made in kept for item in made.record.items} | {one.item.id for one, _ in copies}
        saved = self._saved(made.record for made in kept)
        before = self._measurement.view.tokens
        pointers = [copied(one, text, self._counter.count(text)) for one, text in copies]
        return Replaced(
            pass_id=self.id,
            session_id=self._info.session_id,
            batches=(*(committed_batch(made.record, made.stands, made.sheds) for made in kept), *pointers),
            kept=tuple(one.item.id for one in self._measurement.view.items if one.item.id not in gone),
            reason=self._planner.reason,
            policy=self._request.policy.name,
            before_tokens=before,
            after_tokens=before - saved,
            last_row=self._measurement.view.last_row,
            probes=self._probes if kept else None,
            ts=self._deps.now(),
        )

    async def _afterwards(self, fold: Fold, committed: Collection[str], leaving: Sequence[ContextItem]) -> None:
        """What follows the commit; no failure here can undo it, and none is hidden."""
        stuck = {**self._batches.stuck}
        stuck[self._batches.digester] = [*self._batches.state.refused, *stuck[self._batches.digester]]
        if found := [Unshrinkable(item_ids=(*names,), digester=digester) for digester, names in stuck.items() if names]:
            await self._deps.store.ledger.observe(self._sessions.key(self._info), found, durable=False)
        if not committed:
            return
        await self._summarize(fold)
        event = SummarizationEvent(
            session_id=self._info.session_id,
            agent="",
            pass_id=self.id,
            replaced=tuple(one.item for one in leaving),
            kept=tuple(
                one.item.id for one in self._measurement.view.items if one.item.id not in fold.decided.replacements
            ),
            batch_ids=tuple(sorted(committed)),
        )
        for listener in self._deps.listeners:
            answer = listener(event)
            if inspect.isawaitable(answer):
                await answer

    async def _summarize(self, fold: Fold) -> None:
        """Bring the anchored summary up to date. The pass stands, so whatever goes wrong here is a note."""
        asked = self._probes.total or None
        facts = PassFacts(
            tokens_before=self._measurement.usage.used.value or 0,
            tokens_after=self._measurement.used_with(view(fold, result_overhead=self._counter.per_result_overhead))
            or 0,
            probes_passed=self._probes.passed if asked else None,
            probes_total=asked,
            silent=self._batches.wording.silent,
        )
        try:
            self._notes += await KeptSummaries(self._deps, self._sessions).refresh(self._info, fold, facts)
        except PalimpsestError as error:
            self._notes.append(f"the summary was not brought up to date ({error.code}): {error.message} {error.next}")
        except Exception as error:  # a defect here must not look like a failed pass: the pass is committed
            self._notes.append(f"the summary was not brought up to date ({type(error).__name__}); the pass stands")

    def _saved(self, records: Iterable[OffloadRecord]) -> int:
        """Tokens that the context is shorter by: a part takes a result's overhead as the original did."""
        overhead = self._counter.per_result_overhead
        return sum(one.original_token_count - one.digest_token_count - beside(one, overhead) for one in records)
