"""The thinking half of a pass (L9): slots become batches, made again or dropped as is asked. Nothing is written."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from itertools import zip_longest
from typing import NamedTuple

import msgspec

from ...context.budgets import Group, halved, level2_groups, split, under_pressure
from ...context.plan import Outcome, least_gain, rewritten_share, worth_raising
from ...errors import DigestRefused
from ...models.items import Specific
from ...models.plans import ContextItem, Plan, Slot
from ..batch import Numbers, beside
from .digests import ProseAbove, raised
from .plan import Batch, PassState, Planner, in_our_tokens
from .pointers import Pointers
from .probes import Leaving, leaving_of, redacted_texts

SPARED, MADE_SMALLER = 0.1, 3
"""Of its budget, what a digest may be made smaller by where a plan's guesses were short of the target; and how many."""


def _in_order(slots: Sequence[Slot]) -> list[Slot]:
    """Pointers before digests, which share what these leave. The last of all stays the last: it may not be needed."""
    return [*sorted(slots[:-1], key=lambda slot: not slot.pointer), *slots[-1:]]


def _spare(slot: Slot) -> int:
    return int(SPARED * slot.budget_tokens)


class Kept(NamedTuple):
    """Batches as they stood at one moment."""

    state: PassState
    held: dict[Specific, str]


class Batches:
    """The batches of one pass, under its lock."""

    def __init__(self, planner: Planner, pass_id: str) -> None:
        self._planner = planner
        self._deps, self._info = planner.deps, planner.info
        self._measurement, self._request = planner.measurement, planner.request
        self._id = pass_id
        self._counter = planner.measurement.counter
        self._items = planner.items
        self._digesting = planner.digesting
        self.state = PassState(standing=dict(planner.standing))
        self.stuck: dict[str, list[str]] = {self.digester: [], under_pressure(self.digester): []}
        """Digester -> batches that could not go up a level."""
        self.refusal = ""
        """Why the whole pass is refused; empty when it is not."""
        self._numbers = Numbers(planner.deps, planner.sessions, planner.info, planner, pass_id)

    @cached_property
    def _pointers(self) -> Pointers:
        planner = self._planner
        return Pointers(planner.deps, planner.info, self._counter, planner.digesting.sources, planner.reason)

    @property
    def made(self) -> list[Batch]:
        """Every batch, in the order in which they were made."""
        return self.state.made

    @property
    def digester(self) -> str:
        """Name and version of what makes the digests."""
        return self._digesting.digester

    @property
    def most_tokens(self) -> int:
        """Of one digest (D20)."""
        return self._request.rules.max_digest_tokens

    @property
    def parts(self) -> dict[str, str]:
        """Item id -> digest part that stands for it since an earlier pass."""
        return self._planner.parts

    @property
    def wording(self) -> ProseAbove:
        """The summaries above the digests, and what they cost."""
        return self._digesting.wording

    async def make(self, first: Plan) -> Plan:
        """Digest what the plan says, until the real counts meet the target.

        Returns:
            The plan that was carried out: another one where digests had given way to pointers in vain.
        """
        if not await self._fill(first, first):
            self._start_again()
            first = await asyncio.to_thread(self._planner.with_digests_only)
            await self._fill(first, first)
        await self._take_off(first)
        held = self._digesting.held()
        raised_by = await self._raise_level(first)
        due, lasts = self._planner.due, self._planner.lasts
        if due is not None and self._now(first) - raised_by >= due:
            raised_by = await self._raise_level(first, raised_by, down_to=lasts)
        if raised_by and self.state.outcomes and self._frees_too_little(first, raised_by):
            # Without those the beginning of the prompt stays as it is, and less is worth a pass.
            self.state.take_out({made.record.batch_id for made, _ in self.made if made.record.level > 1})
            self._digesting.hold_again(held)
            raised_by = 0
        self._wait_for_more(first, raised_by)
        return first

    def _start_again(self) -> None:
        names = {made.record.batch_id for made, _ in self.made}
        self.state.take_out(names)
        self._digesting.forget(names)
        self.state.copies, self.state.outcomes, self.state.slots, self.state.given_way = [], [], {}, 0

    # -- making ------------------------------------------------------------------------------------------------------

    async def _fill(self, first: Plan, now: Plan) -> bool:
        """Digest slot after slot until the real counts meet the target; plan again with what came out.

        Returns:
            False, with only pointers made, where these take so much that digests gave way to them in vain.
        """
        while slots := _in_order(now.slots):
            self.state.given_way += now.given_way
            await self._digesting.write_ahead([(slot, self._fresh(slot)) for slot in slots])
            for slot, behind in zip_longest(slots, slots[1:]):
                await self._request.tell(len(self.state.outcomes), len(self.state.outcomes) + len(slots), "digest")
                took = await self._take(slot)
                self.state.outcomes.append(Outcome(item_ids=slot.item_ids, digest_tokens=took))
                if self._now(first) <= first.target_tokens and not self._request.how.takes_all:
                    return True
                if slot.pointer and behind is not None and not behind.pointer:
                    break  # what pointers take was guessed until now
            now = await self._replanned()
            if self.state.given_way and now.predicted_tokens > now.target_tokens and self._pointers_alone:
                return False
        return True

    @property
    def _pointers_alone(self) -> bool:
        return all(slot.pointer for slot in self.state.slots.values())

    async def _take_off(self, first: Plan) -> None:
        """Make the largest digests a little smaller, where that makes up for what the plan's guesses were short of."""
        smaller = set[tuple[str, ...]]()
        while (over := self._now(first) - first.target_tokens) > 0 and first.predicted_tokens <= first.target_tokens:
            # Found anew each time: those that left specifics to one are made again with it.
            digests = [
                (slot, made.record)
                for made, _ in self.made
                if (slot := self.slot_of(made.record.batch_id)) is not None
                and made.record.mode == "digest"
                and slot.item_ids not in smaller
            ]
            largest = sorted(digests, key=lambda one: -one[0].budget_tokens)[: MADE_SMALLER - len(smaller)]
            if over > sum(_spare(slot) for slot, _ in largest):
                return
            slot, record = largest[0]
            smaller.add(slot.item_ids)
            budget = record.digest_token_count - min(over, _spare(slot))
            await self.drop({record.batch_id}, taken=False)
            await self.add(first, [msgspec.structs.replace(slot, budget_tokens=budget, ceiling_tokens=budget)])

    def _fresh(self, slot: Slot) -> list[ContextItem]:
        """Its items that are to be digested: fetched copies become pointers instead (L13)."""
        return [self._items[name] for name in slot.item_ids if not self._items[name].copy_of]

    async def _replanned(self) -> Plan:
        return await asyncio.to_thread(self._planner.again, tuple(self.state.outcomes))

    def _now(self, first: Plan) -> int:
        """Tokens that the context would take, in our own."""
        return first.before_tokens - self.state.freed_tokens(self._items, self._planner.thinking)

    async def _take(self, slot: Slot, *, named: str = "") -> int | None:
        """Tokens that stand for the slot's items from now on; None when they stay as they are.

        Args:
            named: the batch id; empty takes the next number.
        """
        copies = [self._items[name] for name in slot.item_ids if self._items[name].copy_of]
        fresh = self._fresh(slot)
        tokens = 0
        for one in copies:
            pointer = self._pointer(one)
            self.state.copies.append((one, pointer))
            tokens += self._counter.count(pointer) + self._counter.per_result_overhead
        if not fresh:
            return tokens
        try:
            named = named or (self.state.freed.pop(0) if self.state.freed else await self._numbers.next())
            if slot.arguments:
                made = await asyncio.to_thread(self._pointers.arguments, fresh, named)
            elif slot.repeated:
                made = await asyncio.to_thread(self._pointers.repeated, fresh, self._planner.facts.repeats, named)
            else:
                made = await self._digesting.make(slot, fresh, named, self.state.standing)
        except DigestRefused:
            self.state.refused += [one.item.id for one in fresh]
            return tokens + sum(one.tokens for one in fresh) if copies else None
        in_it = {item.id for item in made.record.items}
        stays = [one for one in fresh if one.item.id not in in_it]
        self.state.refused += [one.item.id for one in stays]
        self.state.add(made, (one for one in fresh if one.item.id in in_it), slot)
        tokens += made.record.digest_token_count + sum(one.tokens for one in stays)
        return tokens + beside(made.record, self._counter.per_result_overhead)

    def _pointer(self, one: ContextItem) -> str:
        batch, _, item = one.copy_of.partition(" ")
        return f"[a copy of {item} stood here · all of it: restore_batch {self._info.handle} {batch}]"

    async def _raise_level(self, first: Plan, before: int = 0, *, down_to: int | None = None) -> int:
        """Make one digest of several of the oldest, where the rule allows it (L16); tokens that this frees. Above the
        trigger one goes up by itself where a digest for two would be longer than a digest may be.

        Where some cannot and the pass is to be taken back, the others are put together anew without them: the next
        request plans with the same knowledge, and must come to the same bytes.

        Args:
            before: tokens that those which went up before free; they are in the answer, too.
            down_to: tokens that the context should come down to, whatever its digests no longer show; None: to the
                target, as far as they go on to show what others left to them.
        """
        pressed = down_to is not None
        digester = under_pressure(self.digester) if pressed else self.digester
        stuck = self.stuck[digester]
        up = {name for made, _ in self.made for name in made.record.replaces}
        while True:
            known, held = len(stuck), self._digesting.held()
            above = self._now(first) - before - (first.target_tokens if down_to is None else down_to)
            groups = level2_groups(
                self._measurement.view.items,
                self._request.rules,
                window_tokens=in_our_tokens(self._measurement, self._request)["window_tokens"],
                excess=above,
                result_overhead=self._counter.per_result_overhead,
                stuck={*self._measurement.fold.unshrinkable.get(digester, ()), *stuck, *up},
                all_of_them=self._request.how.remakes,
                worth=self._worth_raising(self._now(first) - before),
            )
            gained, names = await self._raise(groups, above, stuck, pressed=pressed)
            if known == len(stuck) or not self._frees_too_little(first, before + gained):
                return before + gained
            self.state.take_out(names)
            self._digesting.hold_again(held)

    async def _raise(
        self, groups: Sequence[Group], above: int, stuck: list[str], *, pressed: bool
    ) -> tuple[int, list[str]]:
        """Tokens that these groups free, as many of them as it takes, and the ids of what stands for them.

        Args:
            above: tokens that are too many.
            stuck: takes the batches that stay.
        """
        waiting, gained, overhead = list(groups), 0, self._counter.per_result_overhead
        names: list[str] = []
        while waiting and (above > gained or self._request.how.remakes):
            group = waiting.pop(0)
            await self._request.tell(len(names), len(names) + len(waiting) + 1, "higher level")
            made = await raised(
                self._deps,
                group,
                [self._items[name] for name in group.item_ids],
                self._digesting,
                self._planner.standing_records(),
                [made for made, _ in self.made],
                self._numbers,
                least=self._request.rules.min_shown,
                pressed=pressed,
            )
            if made is None:
                items, rules = self._measurement.view.items, self._request.rules
                halves = halved(group, items, rules, result_overhead=overhead, singly=pressed)
                waiting[:0] = halves
                stuck += () if halves else group.batch_ids
                continue
            self.state.add(made, (self._items[name] for name in group.item_ids))
            names.append(made.record.batch_id)
            gained += group.tokens - made.record.digest_token_count
        return gained, names

    def _least(self, left: int) -> int:
        """Tokens that a pass that leaves so many has to free where it misses its target and others came before it."""
        due = self._planner.due
        ratio, window = self._fill_of_window()
        under = due is not None and left < due
        return least_gain(ratio, window, self._request.rules, rewritten=self._rewritten(), under=under)

    def _worth_raising(self, left: int) -> int | None:
        planner, rules = self._planner, self._request.rules
        ratio, window = self._fill_of_window()
        return worth_raising(left, planner.lasts, planner.due, ratio, window, rules, rewritten=self._rewritten())

    def _fill_of_window(self) -> tuple[float, int]:
        """Share of the window that is used, and the window, in our own tokens."""
        ours = in_our_tokens(self._measurement, self._request)
        used, window = ours["used_tokens"] or 0, ours["window_tokens"] or 0
        return (used / window if window else 0.0), window

    def _rewritten(self) -> float:
        leaving = {one.item.id for _, items in self.made for one in items}
        return rewritten_share(self._measurement.view.items, leaving)

    def _frees_too_little(self, first: Plan, raised_by: int) -> bool:
        """Whether it misses the target and freed less than is worth a new prefix: the plan promised more, or most of
        what was to go up a level stayed."""
        told = self._request.options
        gained = self.state.freed_tokens(self._items, self._planner.thinking) + raised_by
        if told.force or told.target is not None or self._request.how.remakes:
            return False
        left = first.before_tokens - gained
        later = any(entry.state == "replaced" for entry in self._measurement.view.items)
        return later and left > first.target_tokens and gained < self._least(left)

    def _wait_for_more(self, first: Plan, raised_by: int) -> None:
        """Take all of it back where it freed too little."""
        if not self._frees_too_little(first, raised_by):
            return
        gained = self.state.freed_tokens(self._items, self._planner.thinking) + raised_by
        least = self._least(first.before_tokens - gained)
        self.state.take_out([made.record.batch_id for made, _ in self.made])
        self.state.copies, self.state.outcomes, self.state.slots = [], [], {}
        if gained:
            gained, least = (round(tokens * self._measurement.scale) for tokens in (gained, least))
            self.refusal = (
                f"The pass would free {gained:,} tokens and miss its target, so it waits until {least:,} can leave at "
                "once; force overrides."
            )

    # -- for whoever looks at what was made --------------------------------------------------------------------------

    def leaving(self) -> dict[str, Leaving]:
        """Every item that a batch stands for, with its part and its redacted original."""
        found: dict[str, Leaving] = {}
        for made, _ in self.made:
            texts = made.texts or redacted_texts(self._deps, made.record)
            slot = self.slot_of(made.record.batch_id)
            found |= leaving_of(made.record, texts, made.stands, pointer=slot is not None and slot.pointer)
        return found

    def slot_of(self, batch: str) -> Slot | None:
        """What a batch of this pass was made from; None for one of level 2."""
        return self.state.slots.get(batch)

    def meets(self, first: Plan) -> bool:
        """Whether the context is within the target, were the batches used as they are."""
        return self._now(first) <= first.target_tokens

    def room(self, first: Plan) -> int:
        """Tokens that digests may grow by: what the target leaves, and what others could give up for it."""
        how = msgspec.structs.replace(self._request.how, takes_all=True)
        others = sum(
            slot.tokens - slot.budget_tokens
            for slot in self._planner.again(self.state.outcomes, strategy=how, share_by=None).slots
        )
        return first.target_tokens - self._now(first) + others

    def refuse(self, why: str) -> None:
        """Take all batches back: the pass is none."""
        self.state.made, self.refusal = [], why

    def units(self, slot: Slot) -> list[Slot]:
        """One slot a unit, each with its share of the budget."""
        return split(slot, self._items)

    def kept(self) -> Kept:
        """What stands now, to come back to."""
        return Kept(self.state.copy(), self._digesting.held())

    def put_back(self, kept: Kept) -> None:
        """Come back to what stood before."""
        self.state = kept.state.copy()
        self._digesting.hold_again(kept.held)

    async def tried(self, again: Mapping[str, Sequence[Slot]]) -> dict[str, Leaving]:
        """What `leaving` would be with batches made again from other slots, and all others as they are.

        Those that left specifics to them are not made again here, which is most of the work; nothing is changed.
        """
        kept = self.kept()
        self.state.made = [(made, items) for made, items in self.made if made.record.batch_id not in again]
        self._digesting.forget(again.keys())
        for batch, slots in again.items():
            for slot in slots:
                await self._take(slot, named=batch)
        leaving = self.leaving()
        self.put_back(kept)
        return leaving

    def ask_for(self, item_id: str, words: Collection[str]) -> None:
        """What a digest of this item should say, where it is made again."""
        self._digesting.ask_for(item_id, words)

    async def add(self, first: Plan, slots: Collection[Slot]) -> None:
        """Make batches of slots whose items are free again, and then whatever the target still needs."""
        for slot in slots:
            self.state.outcomes.append(Outcome(item_ids=slot.item_ids, digest_tokens=await self._take(slot)))
        await self.refill(first)

    async def refill(self, first: Plan) -> None:
        """Let others leave in the place of what stayed, as far as the target needs it."""
        if not self.meets(first) or self._request.how.takes_all:
            await self._fill(first, await self._replanned())

    async def drop(self, names: Collection[str], *, taken: bool = True, spared: Collection[str] = ()) -> None:
        """Take batches out, and make those anew that leave specifics to them (D8): nobody holds these any more.

        Args:
            taken: their items stay as they are and are not offered again in this pass.
            spared: items of which that is not so.
        """
        away = self.state.with_dependents(names)
        gone = self.state.take_out(away)
        self._digesting.forget(away)
        for made, items in gone:
            own = made.record.batch_id
            ids = tuple(one.item.id for one in items)
            self.state.outcomes = [one for one in self.state.outcomes if one.item_ids != ids]
            slot = self.state.slots.pop(own, None)
            if slot is None:
                continue  # of level 2: the digests that stand are used on
            if own in names:
                raw = tuple(name for name in ids if name not in spared) if taken else ()
                self.state.outcomes += [Outcome(item_ids=raw, digest_tokens=None)] if raw else []
            else:
                self.state.outcomes.append(Outcome(item_ids=ids, digest_tokens=await self._take(slot)))
