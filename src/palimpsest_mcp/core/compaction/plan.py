"""What a pass would take, and how large each digest may be: the policy's plan, with budgets for a target (§9.1);
and what became of it so far."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import msgspec

from ...context.budgets import GROWTH, under_pressure
from ...context.fold import Fold
from ...context.judge import Facts
from ...context.meter import ratio_of
from ...context.plan import Outcome, Said, due_tokens, enough_tokens, goal_tokens, lasting_tokens, plan, replan
from ...context.policies import STRATEGIES, Strategy, under
from ...context.state import batch_number
from ...context.view import standing_holders
from ...models.events import SessionInfo
from ...models.items import content_sha256
from ...models.plans import REFUSE, ContextItem, PassOptions, Plan, Policy, Slot
from ...models.records import OffloadRecord, Reason
from ...models.text import counted
from ...text.tokens.windows import binds_thinking, prices_of
from ..batch import Made
from ..dependencies import Dependencies
from ..measure import Measurement
from ..sessions import Sessions
from .digests import BatchDigests

# A pass that is about to run, and its numbers in the unit of our estimates.


@dataclass(frozen=True, kw_only=True)
class PassRequest:
    """What was asked for, under the policy that holds for the session."""

    policy: Policy
    options: PassOptions = PassOptions()
    requested: bool = True
    """Somebody asked for it; False when it runs on its own, at the trigger."""
    off: bool = False
    """Nothing runs on its own (`PALIMPSEST_AUTO=off`)."""
    host_compacts: str = ""
    """Where the host compacts by itself, in words, where no adapter of ours acts in it or before it; else empty."""
    reason: Reason | None = None
    """What records give as theirs; None: whether it was forced says it."""
    drops_thinking: bool = False
    """Thinking behind the first change leaves the list that is given back."""

    @property
    def how(self) -> Strategy:
        """The strategy that was named for this pass, else the policy's own."""
        return STRATEGIES[self.options.strategy or self.policy.strategy]

    @property
    def rules(self) -> Policy:
        """The policy under the strategy: what the pass goes by."""
        return under(self.policy, self.how)

    async def tell(self, done: int, total: int, what: str) -> None:
        """Report progress, where somebody wants to know."""
        if self.options.progress is not None:
            await self.options.progress(done, total, what)


def in_our_tokens(measurement: Measurement, request: PassRequest) -> dict[str, Any]:
    """The numbers of a plan in the unit of our estimates, in which items are counted (`Measurement.scale`)."""

    def ours(tokens: int | None) -> int | None:
        return None if tokens is None else round(tokens / measurement.scale)

    return {
        "used_tokens": ours(measurement.view_used),
        "window_tokens": ours(measurement.target_window),
        "target": request.options.target,
        "force": request.options.force,
        "keep_last": request.options.keep_last,
        "strategy": request.how,
    }


class Planner:
    """Plans one pass over a session as it stands, and plans again while its digests are made."""

    def __init__(
        self, deps: Dependencies, sessions: Sessions, info: SessionInfo, measurement: Measurement, request: PassRequest
    ) -> None:
        self.deps = deps
        self.sessions = sessions
        self.info = info
        self.measurement = measurement
        self.request = request
        self.reason: Reason = request.reason or ("forced" if request.options.force else "token_budget_exceeded")
        self.items = {one.item.id: one for one in measurement.view.items}
        self.digesting = BatchDigests(
            deps, info, request.rules, measurement.counter, focus=request.options.focus, reason=self.reason
        )
        self.standing = standing_holders(measurement.fold, frozenset(self.items))
        """Batch or item -> whether it stands in the context."""
        self.parts: dict[str, str] = {}
        """Item id -> digest part that stands for it since an earlier pass."""
        self.records: list[OffloadRecord] = []
        """Of this session, once it is known that something leaves."""
        self.facts = Facts(measurement.view.items, request.rules)
        """Of the session as it stands, whatever is planned."""
        self._digests_only = False
        self.thinking: dict[str, int] = {}
        """Thinking that leaves the list with the first result of this pass, and was not behind an earlier digest: ids
        of its items, and the tokens of each."""
        self.enough = self._enough()
        """Tokens that the pass should come down to where it misses its target, in our own; None where that is all the
        same: it was forced, or given a target of its own."""
        self.highest = 0
        """Highest batch number in ledger and archive, of this session and its parents."""

    @property
    def due(self) -> int | None:
        """Tokens at which a pass is due, in our own; None where `enough` is."""
        if self.enough is None:
            return None
        return due_tokens(self.request.rules, in_our_tokens(self.measurement, self.request)["window_tokens"])

    @property
    def lasts(self) -> int | None:
        """Tokens from which the next pass is some way off; None where `enough` is."""
        if self.enough is None:
            return None
        rules, window = self.request.rules, in_our_tokens(self.measurement, self.request)["window_tokens"]
        return lasting_tokens(rules, window=window, goal=goal_tokens(rules.offload_target_token_ratio, window))

    async def first(self) -> Plan:
        """The plan, and with it everything known that its digests may leave specifics to."""
        found = self._planned()
        if self.request.drops_thinking and found.slots:
            self.thinking = self._thinking_behind(found)
            found = self._planned() if self.thinking else found
        found = self._unless_thinking_stands(found)
        if found.status == "planned" and not (self.request.options.target is None and self.request.options.dry_run):
            await self._look_around()
        return found

    def _enough(self) -> int | None:
        ours, options = in_our_tokens(self.measurement, self.request), self.request.options
        used, window = ours["used_tokens"], ours["window_tokens"]
        if options.force or options.target is not None or not used or not window:
            return None
        ratio = ratio_of(self.measurement.view_used, self.measurement.window_tokens)
        return enough_tokens(self.measurement.view.items, self.request.rules, used=used, window=window, ratio=ratio)

    def _unless_thinking_stands(self, found: Plan) -> Plan:
        """Nothing to do where a caller would rather have no pass than thinking that a model refuses."""
        model = self.measurement.usage.model
        if self.request.options.thinking != REFUSE or not found.slots or binds_thinking(model) is False:
            return found
        behind = self._thinking_behind(found, however_far=True)
        if not behind:
            return found
        said = (
            f"{counted(len(behind), 'thinking block')} behind the first result that would leave would be refused by "
            f"{model or 'newer models'}, and thinking=refuse was asked for; drop leaves them out, drop_block has the "
            "provider do so."
        )
        return msgspec.structs.replace(
            found, status="nothing_to_do", reason=said, slots=(), predicted_tokens=found.before_tokens
        )

    def _thinking_behind(self, found: Plan, *, however_far: bool = False) -> dict[str, int]:
        """Thinking behind the first result that would leave, up to the first digest that stands already: what is behind
        that was dropped before, and only a list that came as it once was still has it.

        Args:
            however_far: all of it.
        """
        first = min(self.items[name].item.position for slot in found.slots for name in slot.item_ids)
        standing = [one.item.position for one in self.items.values() if one.state == "replaced"]
        last = min(standing, default=None) if not however_far else None
        return {
            name: one.tokens
            for name, one in self.items.items()
            if one.item.kind == "thinking"
            and one.state == "live"
            and first < one.item.position
            and (last is None or one.item.position < last)
        }

    def thinking_behind_any(self, leaving: Iterable[ContextItem]) -> dict[str, int]:
        """What of `thinking` really leaves: the first result of the plan may have stayed, since nothing was smaller."""
        first = min((one.item.position for one in leaving), default=None)
        behind = (name for name in self.thinking if first is not None and self.items[name].item.position > first)
        return {name: self.thinking[name] for name in behind}

    def _planned(self) -> Plan:
        request, measurement = self.request, self.measurement
        return plan(
            measurement.view.items,
            request.rules,
            **self._numbers(),
            requested=request.requested,
            off=request.off,
            host_compacts=request.host_compacts,
            messages_since_pass=_since_pass(measurement),
            ratio=ratio_of(measurement.view_used, measurement.window_tokens),
            prices=prices_of(measurement.usage.model),
            said=Said(scale=measurement.scale, window=measurement.window_tokens),
            stuck=measurement.fold.unshrinkable.get(self.digesting.digester, ()),
            stuck_pressed=measurement.fold.unshrinkable.get(under_pressure(self.digesting.digester), ()),
        )

    def again(self, outcomes: Sequence[Outcome], **changes: Any) -> Plan:
        """What is still to do after these outcomes."""
        arguments = {**self._numbers(), **changes}
        return replan(self.measurement.view.items, self.request.rules, outcomes, **arguments)

    def with_digests_only(self) -> Plan:
        """The plan, and from now on every other, in which no digest gives way to a pointer."""
        self._digests_only = True
        return self._unless_thinking_stands(self._planned())

    def _numbers(self) -> dict[str, Any]:
        return {
            **in_our_tokens(self.measurement, self.request),
            "result_overhead": self.measurement.counter.per_result_overhead,
            "thinking": self.thinking,
            "share_by": partial(_share, GROWTH * self.request.rules.budget_share),
            "digests_only": self._digests_only,
            "enough": self.enough,
            "facts": self.facts,
        }

    async def _look_around(self) -> None:
        fold = self.measurement.fold
        records: list[OffloadRecord] = []
        for owner in await self.sessions.family(self.info):
            key = self.sessions.key(owner)
            self.highest = max(self.highest, (await self.sessions.fold(owner)).decided.last_number)
            async for record in self.deps.store.archive.records(key):
                self.highest = max(self.highest, batch_number(record.batch_id))
                if owner.session_id == self.info.session_id:
                    records.append(record)
        committed = {
            name: batch.state == "replaced" and self._stands(name) for name, batch in fold.decided.batches.items()
        }
        self.records = records
        self.parts = standing_parts(fold, records)
        await asyncio.to_thread(self.digesting.look_around, self.measurement.view.items, records, committed)

    def standing_records(self) -> list[OffloadRecord]:
        """Those whose digests are in the context."""
        batches = self.measurement.fold.decided.batches
        return [
            one
            for one in self.records
            if (batch := batches.get(one.batch_id)) is not None
            and batch.state == "replaced"
            and self._stands(one.batch_id)
        ]

    def _stands(self, batch_id: str) -> bool:
        """Whether it stands in the context that was measured; one that another process committed since does not. What
        it took away is no longer as it was planned, and is left out when this pass commits."""
        return self.standing.get(batch_id, False)

    def id_of(self, found: Plan) -> str:
        """Changes with the revision and with what would leave (I4)."""
        text = f"{self.measurement.fold.rev} {[slot.item_ids for slot in found.slots]}"
        return f"plan-{content_sha256(text)[:12]}"


_MOST = 0.85
"""Of a batch's tokens, at most: beyond that a digest is not worth its place."""


def _share(wanted: float, slots: Sequence[Slot], total: int | None) -> list[int]:
    """Implements `context.budgets.Share`: the same part of each batch.

    By how many specifics each has was tried: in the same tokens digests showed no more of them, and less of how results
    went.

    Args:
        wanted: what a digest should have of its batch's tokens, where the target leaves room.
    """
    part = min(wanted, _MOST) if total is None else min(_MOST, total / max(1, sum(slot.tokens for slot in slots)))
    return [int(part * slot.tokens) for slot in slots]


def _since_pass(measurement: Measurement) -> int | None:
    """Messages that came since the last pass; None where an older version did not write down where it stood."""
    last = measurement.fold.decided.last_pass_row
    rows = {one.item.position[0] for one in measurement.view.items if one.item.role != "system"}
    return sum(row > last for row in rows) if last >= 0 else None


def standing_parts(fold: Fold, records: Sequence[OffloadRecord]) -> dict[str, str]:
    """Item id -> the text that stands for it in the context now."""
    by_id = {record.batch_id: record for record in records}
    found: dict[str, str] = {}
    for name, stands in fold.decided.replacements.items():
        if stands.item.part is not None:
            found[name] = stands.item.part
        elif (record := by_id.get(stands.batch.batch_id)) is not None:
            found |= {item.id: record.part(item) for item in record.items if item.id == name}
    return found


# What a pass came to so far: its batches, and what became of the slots that they were made of.


Batch = tuple[Made, list[ContextItem]]


@dataclass(kw_only=True)
class PassState:
    """Batches made, and what became of the slots that they were made of."""

    standing: dict[str, bool]
    """Batch or item -> whether it stands in the context."""
    made: list[Batch] = field(default_factory=list[Batch])
    copies: list[tuple[ContextItem, str]] = field(default_factory=list[tuple[ContextItem, str]])
    """Fetched copies with the pointer that each becomes (L13)."""
    refused: list[str] = field(default_factory=list[str])
    """Items that no digest could shrink."""
    outcomes: list[Outcome] = field(default_factory=list[Outcome])
    slots: dict[str, Slot] = field(default_factory=dict[str, Slot])
    """Batch id -> what it was made of; none for one of level 2."""
    freed: list[str] = field(default_factory=list[str])
    """Ids of batches that were taken out again: nothing was written under them, so the next ones have them."""
    given_way: int = 0
    """Results that leave pointers for the target, so that others can be digested."""

    def copy(self) -> PassState:
        """The same, which stays as it is now."""
        return PassState(
            standing=dict(self.standing),
            made=list(self.made),
            copies=list(self.copies),
            refused=list(self.refused),
            outcomes=list(self.outcomes),
            slots=dict(self.slots),
            freed=list(self.freed),
            given_way=self.given_way,
        )

    def add(self, made: Made, items: Iterable[ContextItem], slot: Slot | None = None) -> None:
        """A batch that stands from now on."""
        self.standing[made.record.batch_id] = True
        self.made.append((made, list(items)))
        if slot is not None:
            self.slots[made.record.batch_id] = slot

    def take_out(self, names: Collection[str]) -> list[Batch]:
        """The batches of these ids, which stand no more. Their outcomes and slots are left to the caller."""
        gone = [(made, items) for made, items in self.made if made.record.batch_id in names]
        self.made = [(made, items) for made, items in self.made if made.record.batch_id not in names]
        self.freed = sorted({*self.freed, *(made.record.batch_id for made, _ in gone if not made.adopted)})
        for made, _ in gone:
            self.standing.pop(made.record.batch_id, None)
        return gone

    def with_dependents(self, names: Collection[str]) -> set[str]:
        """These batches, and those that leave specifics to them, however far."""
        away = set(names)
        for made, _ in self.made:  # in order: a batch refers to earlier ones only
            if away & made.record.specifics.holders.keys():
                away.add(made.record.batch_id)
        return away

    def freed_tokens(self, items: Mapping[str, ContextItem], thinking: Mapping[str, int]) -> int:
        """Tokens that the context is shorter by, digests of a higher level aside.

        Args:
            thinking: what leaves with the first result (`Planner.thinking`).
        """
        anyway = sum(thinking.values()) if any(one.digest_tokens is not None for one in self.outcomes) else 0
        return anyway + sum(
            sum(items[name].tokens for name in one.item_ids) - one.digest_tokens
            for one in self.outcomes
            if one.digest_tokens is not None
        )

    def saved_by(self, names: Collection[str]) -> int:
        """Tokens that batches of this pass save."""
        return sum(
            made.record.original_token_count - made.record.digest_token_count
            for made, _ in self.made
            if made.record.batch_id in names
        )
