"""A compaction pass, step by step: think without the commit lock, archive first, commit with one line (L9)."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from typing import Any

from ..errors import DigestRefused, PalimpsestError, PlanStale
from ..ledger.fold import Fold, batch_id, batch_number
from ..ledger.view import View, standing_holders, view
from ..models.events import (
    Replaced,
    ReplacedBatch,
    ReplacedItem,
    Reserved,
    SessionInfo,
    SummarizationEvent,
    Unshrinkable,
)
from ..models.items import content_sha256
from ..models.plans import ContextItem, Plan, Slot
from ..models.policies import Policy
from ..models.records import OffloadRecord, Reason
from ..policy.compression import compression
from ..policy.levels import level2_groups
from ..policy.planning import Outcome, plan, replan
from ..policy.strategies import STRATEGIES, Strategy, under
from ..policy.zones import ratio_of
from ..tokens.windows import prices_of
from .dependencies import ContentCounter, Dependencies, Progress
from .digesting import Digesting, Made
from .measure import Situation
from .offloaded import Offloaded
from .sessions import Sessions
from .summary import KeptSummaries, PassFacts


@dataclass(frozen=True, kw_only=True)
class PassRequest:
    """How a pass was asked for."""

    policy: Policy
    target: float | None = None
    force: bool = False
    dry_run: bool = False
    requested: bool = True
    """Somebody asked for it; False when it runs on its own."""
    keep_last: int | None = None
    focus: str = ""
    plan_id: str = ""
    strategy: str = "anchored"
    host_compacts: bool = False
    """The host compacts by itself and no adapter of ours acts in it or before it."""
    progress: Progress | None = None

    @property
    def how(self) -> Strategy:
        """The strategy by its name."""
        return STRATEGIES[self.strategy]

    @property
    def rules(self) -> Policy:
        """The policy under the strategy: what the pass goes by."""
        return under(self.policy, self.how)


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
    leaving: list[ContextItem] = field(default_factory=list[ContextItem])
    """The items that were replaced, as they stood before."""
    refusal: str = ""
    """Why the policy refused the whole pass after it was worked out; empty when it did not."""
    notes: list[str] = field(default_factory=list[str])
    """What came of the anchored summary."""


async def run_pass(
    given: Dependencies,
    sessions: Sessions,
    offloaded: Offloaded,
    info: SessionInfo,
    situation: Situation,
    request: PassRequest,
) -> PassResult:
    """Plan and, unless it is a dry run, carry out one pass.

    Raises:
        PassInProgress: another pass on this session is running.
        PlanStale: `plan_id` names a plan of another revision.
        WriteFailed: the archive or the ledger could not be written; the context is as it was.
    """
    if request.dry_run:
        first = _plan(situation, request)
        return PassResult(plan=first, plan_id=_plan_id(situation, first), view=situation.view, fold=situation.fold)
    async with given.store.ledger.pass_lock(sessions.key(info)):
        return await _Pass(given, sessions, offloaded, info, situation, request).run()


def _in_our_tokens(situation: Situation, request: PassRequest) -> dict[str, Any]:
    """The numbers of a plan in the unit of our estimates, in which items are counted (`Situation.scale`)."""

    def ours(tokens: int | None) -> int | None:
        return None if tokens is None else round(tokens / situation.scale)

    return {
        "used_tokens": ours(situation.view_used),
        "window_tokens": ours(situation.window_tokens),
        "target": request.target,
        "force": request.force,
        "keep_last": request.keep_last,
        "strategy": request.how,
    }


def _plan(situation: Situation, request: PassRequest) -> Plan:
    return plan(
        situation.view.items,
        request.rules,
        **_in_our_tokens(situation, request),
        requested=request.requested,
        host_compacts=request.host_compacts,
        ratio=ratio_of(situation.view_used, situation.window_tokens),
        prices=prices_of(situation.usage.model),
    )


def _plan_id(situation: Situation, first: Plan) -> str:
    """Changes with the revision and with what would leave."""
    text = f"{situation.fold.rev} {[slot.item_ids for slot in first.slots]}"
    return f"plan-{content_sha256(text)[:12]}"


class _Pass:
    """One pass, under the pass lock."""

    def __init__(
        self,
        given: Dependencies,
        sessions: Sessions,
        offloaded: Offloaded,
        info: SessionInfo,
        situation: Situation,
        request: PassRequest,
    ) -> None:
        self._given = given
        self._sessions = sessions
        self._offloaded = offloaded
        self._info = info
        self._situation = situation
        self._request = request
        self._reason: Reason = "forced" if request.force else "token_budget_exceeded"
        self._id = f"pass-{given.random_hex(6)}"
        self._counter: ContentCounter = situation.counter
        self._digesting = Digesting(
            given, info, request.rules, situation.counter, focus=request.focus, reason=self._reason
        )
        self._made: list[tuple[Made, list[ContextItem]]] = []
        self._copies: list[tuple[ContextItem, str]] = []
        self._refused: list[str] = []
        self._refusal = ""
        self._notes: list[str] = []
        self._next_number = 0
        self._reserved_to = -1
        self._highest = 0

    async def run(self) -> PassResult:
        first = _plan(self._situation, self._request)
        plan_id = _plan_id(self._situation, first)
        if self._request.plan_id and self._request.plan_id != plan_id:
            raise PlanStale("The session changed since that dry run.", next="Run compact_session with dry_run again.")
        if first.status == "planned":
            await self._look_around()
            await self._raise_level(first, await self._work(first))
            self._refuse_too_much()
            await self._archive()
        fold, committed = await self._commit()
        await self._afterwards(fold, committed)
        done = [(made, items) for made, items in self._made if made.record.batch_id in committed]
        return PassResult(
            plan=first,
            plan_id=plan_id,
            view=view(
                fold,
                result_overhead=self._counter.per_result_overhead,
                digester=self._digesting.digester,
                open_units=self._situation.open_units,
            ),
            fold=fold,
            made=[made for made, _ in done],
            dropped=len(self._made) - len(done),
            refused=self._refused,
            refusal=self._refusal,
            notes=self._notes,
            copies=len(self._copies),
            leaving=[one for _, items in done for one in items],
        )

    async def _look_around(self) -> None:
        fold = self._situation.fold
        records: list[OffloadRecord] = []
        for owner in await self._sessions.family(self._info):
            key = self._sessions.key(owner)
            numbers = [await self._sessions.fold(owner)]
            self._highest = max(self._highest, *(one.decided.last_number for one in numbers))
            async for record in self._given.store.archive.records(key):
                self._highest = max(self._highest, batch_number(record.batch_id))
                if owner.session_id == self._info.session_id:
                    records.append(record)
        standing = {name: batch.state == "replaced" for name, batch in fold.decided.batches.items()}
        await self._digesting.look_around(self._situation.view.items, records, standing)

    async def _work(self, first: Plan) -> int:
        """Digest slot after slot until the real counts meet the target; plan again with what came out.

        Returns the tokens that the context would then take, in our own.
        """
        by_id = {one.item.id: one for one in self._situation.view.items}
        standing = standing_holders(self._situation.fold, frozenset(by_id))
        outcomes: list[Outcome] = []
        now, slots = first.before_tokens, first.slots
        while slots:
            for slot in slots:
                await self._report(len(outcomes), len(outcomes) + len(slots), "digest")
                tokens = await self._take(slot, [by_id[name] for name in slot.item_ids], standing)
                outcomes.append(Outcome(item_ids=slot.item_ids, digest_tokens=tokens))
                now += 0 if tokens is None else tokens - slot.tokens
                if now <= first.target_tokens and not self._request.how.takes_all:
                    return now
            arguments = _in_our_tokens(self._situation, self._request)
            slots = replan(self._situation.view.items, self._request.rules, outcomes, **arguments).slots
        return now

    async def _raise_level(self, first: Plan, now: int) -> None:
        """Make level-2 digests of the oldest, where the rule allows it (L16)."""
        by_id = {one.item.id: one for one in self._situation.view.items}
        window = _in_our_tokens(self._situation, self._request)["window_tokens"]
        groups = level2_groups(
            self._situation.view.items,
            self._request.rules,
            window_tokens=window,
            excess=now - first.target_tokens,
            all_of_them=self._request.how.remakes,
        )
        for done, group in enumerate(groups):
            await self._report(done, len(groups), "level 2")
            items = [by_id[name] for name in group.item_ids]
            slot = Slot(
                item_ids=group.item_ids,
                tokens=group.tokens,
                budget_tokens=group.budget_tokens,
                ceiling_tokens=group.budget_tokens,
            )
            try:
                made = await self._digesting.make(slot, items, await self._number(slot), {}, replaces=group.batch_ids)
            except DigestRefused:
                continue  # the digests that stand are the smaller form
            if made.record.digest_token_count < group.tokens:
                self._made.append((made, items))

    def _refuse_too_much(self) -> None:
        """A pass that keeps next to nothing is refused, where the policy says so (seed 003)."""
        sizes = [
            (m.record.original_token_count, m.record.digest_token_count, m.record.mode)
            for m, _ in self._made
            if m.record.level == 1
        ]
        left_out = sum(made.record.specifics.left_out for made, _ in self._made if made.record.mode == "digest")
        pressed = compression(sizes, self._request.rules, strategy=self._request.strategy, left_out=left_out)
        if pressed.refused:
            self._made, self._refusal = [], pressed.note

    async def _take(self, slot: Slot, items: list[ContextItem], standing: dict[str, bool]) -> int | None:
        """Tokens that stand for the slot's items from now on; None when they stay as they are."""
        copies = [one for one in items if one.copy_of]
        fresh = [one for one in items if not one.copy_of]
        tokens = 0
        for one in copies:
            pointer = self._pointer(one)
            self._copies.append((one, pointer))
            tokens += self._counter.count(pointer) + self._counter.per_result_overhead
        if not fresh:
            return tokens
        try:
            made = await self._digesting.make(slot, fresh, await self._number(slot), standing)
        except DigestRefused:
            self._refused += [one.item.id for one in fresh]
            return tokens + sum(one.tokens for one in fresh) if copies else None
        standing[made.record.batch_id] = True
        self._made.append((made, fresh))
        return tokens + made.record.digest_token_count + len(fresh) * self._counter.per_result_overhead

    def _pointer(self, one: ContextItem) -> str:
        batch, _, item = one.copy_of.partition(" ")
        return f"[palimpsest: a copy of {item} stood here · restore_batch {self._info.handle} {batch}]"

    async def _number(self, slot: Slot) -> str:
        """The next reserved batch id; reserves some more under the commit lock when none is left (L11)."""
        if self._next_number > self._reserved_to:
            taken: list[int] = []

            def reserve(fold: Fold) -> list[Reserved]:
                first = max(fold.decided.last_number, self._highest) + 1
                taken[:] = [first]
                return [Reserved(pass_id=self._id, first=first, count=RESERVED_AT_ONCE, ts=self._given.now())]

            await self._sessions.decide(self._info, reserve)
            self._next_number, self._reserved_to = taken[0], taken[0] + RESERVED_AT_ONCE - 1
        self._next_number += 1
        return batch_id(self._next_number - 1)

    async def _archive(self) -> None:
        fresh = [made.record for made, _ in self._made if not made.adopted]
        if fresh:
            await self._report(1, 3, "archive")
            await self._given.store.archive.append(self._sessions.key(self._info), fresh)

    async def _commit(self) -> tuple[Fold, frozenset[str]]:
        """Write the one line that makes the pass real; batches whose units changed meanwhile are not in it."""
        kept: list[Made] = []

        def decide(fold: Fold) -> list[Replaced]:
            kept[:] = self._still_valid(fold)
            copies = [(one, text) for one, text in self._copies if _unchanged(fold, one)]
            if not kept and not copies:
                return []
            return [self._replaced(fold, kept, copies)]

        if not self._made and not self._copies:
            return await self._sessions.fold(self._info), frozenset()
        await self._report(2, 3, "commit")
        fold = await self._sessions.decide(self._info, decide)
        return fold, frozenset(made.record.batch_id for made in kept)

    def _still_valid(self, fold: Fold) -> list[Made]:
        """Batches whose items are as they were and whose `elsewhere` still stands (D8, L9)."""
        present = frozenset(name for name, state in fold.states.items() if state.present[1])
        standing = standing_holders(fold, present)
        valid: list[Made] = []
        for made, items in self._made:
            own = made.record.batch_id
            holders_stand = all(standing.get(one, one == own) for one in made.record.specifics.holders)
            if holders_stand and all(_unchanged(fold, one) for one in items):
                valid.append(made)
                standing[own] = True
                standing.update(dict.fromkeys(made.record.replaces, False))
        return valid

    def _replaced(self, fold: Fold, kept: list[Made], copies: list[tuple[ContextItem, str]]) -> Replaced:
        gone = {item.id for made in kept for item in made.record.items} | {one.item.id for one, _ in copies}
        saved = sum(made.record.original_token_count - made.record.digest_token_count for made in kept)
        before = self._situation.view.tokens
        return Replaced(
            pass_id=self._id,
            session_id=self._info.session_id,
            batches=(*(_committed(made) for made in kept), *(self._copy(one, text) for one, text in copies)),
            kept=tuple(one.item.id for one in self._situation.view.items if one.item.id not in gone),
            reason=self._reason,
            policy=self._request.policy.name,
            before_tokens=before,
            after_tokens=before - saved,
            ts=self._given.now(),
        )

    def _copy(self, one: ContextItem, text: str) -> ReplacedBatch:
        tokens = self._counter.count(text)
        item = ReplacedItem(
            id=one.item.id,
            sha256=one.item.sha256,
            part_sha256=content_sha256(text),
            part_tokens=tokens,
            part=text,
        )
        return ReplacedBatch(
            batch_id=one.copy_of.partition(" ")[0],
            items=(item,),
            original_tokens=one.tokens,
            digest_tokens=tokens,
            mode="copy",
        )

    async def _afterwards(self, fold: Fold, committed: frozenset[str]) -> None:
        """What follows the commit; no failure here can undo it, and none is hidden."""
        if self._refused:
            await self._given.store.ledger.observe(
                self._sessions.key(self._info),
                [Unshrinkable(item_ids=tuple(self._refused), digester=self._digesting.digester)],
                durable=False,
            )
        if not committed:
            return
        for made, _ in self._made:
            if made.record.batch_id in committed:
                await self._given.store.search.add(self._offloaded.entries(self._info, made.record))
        await self._summarize(fold, committed)
        event = SummarizationEvent(
            session_id=self._info.session_id,
            agent="",
            pass_id=self._id,
            replaced=tuple(
                one.item for made, items in self._made if made.record.batch_id in committed for one in items
            ),
            kept=tuple(
                one.item.id for one in self._situation.view.items if one.item.id not in fold.decided.replacements
            ),
            batch_ids=tuple(sorted(committed)),
        )
        for listener in self._given.listeners:
            answer = listener(event)
            if inspect.isawaitable(answer):
                await answer

    async def _summarize(self, fold: Fold, committed: frozenset[str]) -> None:
        """Bring the anchored summary up to date. The pass stands, so whatever goes wrong here is a note."""
        records = [made.record for made, _ in self._made if made.record.batch_id in committed]
        before = self._situation.view.tokens
        saved = sum(record.original_token_count - record.digest_token_count for record in records)
        facts = PassFacts(tokens_before=before, tokens_after=before - saved)
        try:
            self._notes += await KeptSummaries(self._given, self._sessions).refresh(self._info, fold, facts)
        except PalimpsestError as error:
            self._notes.append(f"the summary was not brought up to date ({error.code}): {error.message} {error.next}")
        except Exception as error:  # a defect here must not look like a failed pass: the pass is committed
            self._notes.append(f"the summary was not brought up to date ({type(error).__name__}); the pass stands")

    async def _report(self, done: int, total: int, what: str) -> None:
        if self._request.progress is not None:
            await self._request.progress(done, total, what)


RESERVED_AT_ONCE = 64
"""Batch numbers taken by one decision; gaps are normal (L11)."""


def _unchanged(fold: Fold, one: ContextItem) -> bool:
    state = fold.states.get(one.item.id)
    stands = fold.decided.replacements.get(one.item.id)
    return (
        state is not None
        and state.present[1]
        and state.current.sha256 == one.item.sha256
        and (stands.batch.batch_id if stands is not None else "") == one.batch_id
        and one.item.id not in fold.decided.pinned
    )


def _committed(made: Made) -> ReplacedBatch:
    record = made.record
    return ReplacedBatch(
        batch_id=record.batch_id,
        items=tuple(
            ReplacedItem(id=item.id, sha256=item.sha256, part_sha256=item.digest_sha256, part_tokens=item.digest_tokens)
            for item in record.items
        ),
        original_tokens=record.original_token_count,
        digest_tokens=record.digest_token_count,
        digest_sha256=record.digest_sha256,
        level=record.level,
        replaces=record.replaces,
        mode=record.mode,
        holders=record.specifics.holders,
    )
