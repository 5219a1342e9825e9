"""Slots that meet a goal: more results leave, then the budgets shrink, and either only as far as the goal needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from ..models.plans import ContextItem, Gate, Policy, Slot, Verdict
from .budgets import (
    GROWTH,
    Share,
    Sizing,
    Unit,
    batches,
    gain_of,
    least_budget,
    room_of,
    spread,
    suffices,
    units_of,
)
from .gates import Repeat, same_bytes
from .judge import Facts, judge, newest_kept
from .policies import DEFAULT_STRATEGY, STRATEGIES, Strategy, limit_of

PRESSED_ITEMS, PRESSED_TOKENS = 9, 8_000
"""Items a batch, where a target gives digests less than the policy's share, and more of small ones up to so
many tokens: one header for more of them, and what little there is goes to the best of more results. One restore brings
more back, too."""
MISSED = 0.25
"""Tokens of all digests, as a part of what stays anyway, where even the least of them would miss the target: a few more
make them worth reading, and the list not much longer. Up to what a digest may have where there is room, or the part of
its source that the target is of the list."""

WELL = 0.1
"""Of its batch, what a digest has at least where others gave way to pointers for it (design §4)."""

BRIEF_TOKENS, LEAST_BRIEF = 100, 0.05
"""From so many tokens on a small result leaves, too, where the next pass would soon follow otherwise (a pointer to one
takes about 60, with what every result has beside its text); and of the goal, what these have to gain together."""

_SHRANK, _SOFTER = "K shrank from", "arguments of calls from"
LEAST_CLOSED, LEAST_GAIN = 0.25, 0.06
"""Of what is missing, and of what the pass gains; and of the goal. A target that is missed all the same is no reason to
give up the newest results for less: they are what is needed next (in recorded coding sessions 1 % of the tokens held a
quarter of what was typed later)."""


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """What slots are looked for."""

    used: int
    """Tokens now."""
    goal: int
    """Tokens to get down to."""
    keep_last: int | None = None
    """K as given with the call: then it does not shrink."""
    force: bool = False
    taken: frozenset[str] = frozenset()
    """Ids of items that are not to be offered (again)."""
    result_overhead: int = 0
    """Tokens that a tool result takes beside its text, its digest too."""
    thinking: Mapping[str, int] = {}
    """Thinking that leaves the list with the first result: ids of its items, and the tokens of each."""
    share_by: Share | None = None
    """How the target is shared out among digests; None gives every batch the policy's share of its tokens."""
    digests_only: bool = False
    """No digest gives way to a pointer."""
    strategy: Strategy = STRATEGIES[DEFAULT_STRATEGY]
    enough: int | None = None
    """Tokens to get down to at least, where the goal is missed: nothing is added to digests above that, and none of the
    newest results comes back. None where a pass that misses its goal is all the same."""

    lasts: int | None = None
    """Tokens from which the next pass is some way off: where more are left, small results leave, too."""

    due: int | None = None
    """Tokens at which a pass is due; None where `enough` is."""

    @property
    def leaves_anyway(self) -> int:
        """Tokens that leave with the first result, whatever stands for it."""
        return sum(self.thinking.values())

    @property
    def excess(self) -> int:
        """Tokens that digests have to gain."""
        return self.used - self.leaves_anyway - self.goal

    def is_due(self, predicted: int) -> bool:
        """Whether a pass that leaves so many tokens leaves the context above the trigger."""
        return self.due is not None and predicted >= self.due

    def suffices(self, predicted: int) -> bool:
        """Whether so many tokens are few enough to leave some of them to digests and to the newest results."""
        return self.enough is None or predicted <= self.enough


class _Known(msgspec.Struct, frozen=True):
    """What is found out once about a context, whatever K and budgets are tried."""

    gates: Mapping[str, Gate]
    repeats: Mapping[str, Repeat]
    versions: tuple[frozenset[str], ...]
    """What holds each file in work; the last one is given up first."""
    scores: Mapping[str, float] | None
    same: frozenset[str] = frozenset()
    """Results that count for none of the newest, since a later one has their bytes."""


class Fit(msgspec.Struct, frozen=True, kw_only=True):
    """Slots that were found."""

    slots: tuple[Slot, ...]
    verdicts: tuple[Verdict, ...]
    keep_last: int
    """K; -1 where all stay."""
    predicted: int
    """Tokens after the slots, if every digest takes its whole budget."""
    notes: tuple[str, ...] = ()
    given_way: int = 0
    """Results that leave pointers, so that the others can be digested."""


def fit(items: Sequence[ContextItem], policy: Policy, wish: Wish, facts: Facts | None = None) -> Fit:
    """The slots with the largest K, and then the largest budgets, whose prediction meets the goal.

    When none does: everything that may leave, at the floor of K (or the K that was given), and no file kept whole. The
    newest versions of files are given up after K, one by one, the file last touched in the end; then shorter arguments
    of calls leave, down to the size at which a result may. K is found with budgets of the policy's share: more results
    leave before any digest gets less. What the target leaves is then shared out by need, where somebody says what that
    is. Whether the target is the policy's or was given makes no difference. Where it would be missed for results that
    the floor holds twice, the newest of these stands for all. Small results leave as pointers where not even that is
    enough (`Wish.lasts`). K comes back where the goal is missed all the same and
    the newest results gain next to nothing.

    Args:
        facts: of these items under this policy, where somebody keeps them.
    """
    wanted = newest_kept(policy, wish.keep_last)
    sizing = Sizing(
        share=policy.budget_share,
        pointers=not policy.prefer_compact_over_drop,
        batch_items=policy.batch_items,
        most_tokens=policy.max_digest_tokens,
    )
    facts = facts or Facts(items, policy)
    known = _Known(facts.gates, facts.repeats, facts.versions, facts.scores(wish.strategy.scorer))
    done, known = _pressed(items, policy, wish, wanted, sizing, known)
    if done.predicted > wish.goal and (once := _once_each(items, policy, wish, done, wanted, sizing, known)):
        return once
    if done.predicted > wish.goal and wanted is not None and done.keep_last < wanted:
        return _with_the_newest(items, policy, wish, done, wanted, sizing, known)
    return done


def _pressed(
    items: Sequence[ContextItem], policy: Policy, wish: Wish, wanted: int | None, sizing: Sizing, known: _Known
) -> tuple[Fit, _Known]:
    """The first fit that meets the goal, else the one that misses it by least; and the files that still stay whole."""
    best = _at(items, policy, wish, -1 if wanted is None else wanted, sizing, known)
    if best.predicted > wish.goal and wanted is not None and wish.keep_last is None:
        best = _shrink_k(items, policy, wish, wanted, sizing, known)
    while best.predicted > wish.goal and known.versions:
        known = msgspec.structs.replace(known, versions=known.versions[:-1])
        best = msgspec.structs.replace(_at(items, policy, wish, best.keep_last, sizing, known), notes=best.notes)
    if best.predicted > wish.goal and policy.min_argument_tokens > policy.min_item_tokens:
        best = _shorter_arguments(items, policy, wish, best, sizing, known)
    best = _shared_out(items, policy, wish, best, sizing, known)
    if wish.lasts is not None and best.predicted > max(wish.goal, wish.lasts) and policy.min_item_tokens > BRIEF_TOKENS:
        best = _brief_ones(items, policy, wish, best, sizing, known)
    return best, known


def _once_each(
    items: Sequence[ContextItem],
    policy: Policy,
    wish: Wish,
    missed: Fit,
    wanted: int | None,
    sizing: Sizing,
    known: _Known,
) -> Fit | None:
    """A fit that meets the goal since results whose very bytes a later one has count for none of the newest, which a
    floor holds; None where that does not help, or K was given."""
    held = {one.item_id for one in missed.verdicts if one.reason == f"newest_{policy.floor_tool_results}_tool_results"}
    same = same_bytes(items, policy) if wish.keep_last is None else frozenset[str]()
    if not same & held:
        return None
    once, _ = _pressed(items, policy, wish, wanted, sizing, msgspec.structs.replace(known, same=same))
    said = "the newest results are the newest different ones: of the same bytes only the last stays whole"
    once = msgspec.structs.replace(once, notes=(said, *once.notes))
    return once if once.predicted <= wish.goal else None


def _shared_out(
    items: Sequence[ContextItem], policy: Policy, wish: Wish, best: Fit, sizing: Sizing, known: _Known
) -> Fit:
    if wish.share_by is None or sizing.pointers or not best.slots:
        return best
    return _spread(items, policy, wish, wish.share_by, best, sizing, known)


def _with_the_newest(
    items: Sequence[ContextItem], policy: Policy, wish: Wish, missed: Fit, wanted: int, sizing: Sizing, known: _Known
) -> Fit:
    """A fit that misses its goal, with as many of the newest results as cost next to nothing."""
    softer = policy
    if any(note.startswith(_SOFTER) for note in missed.notes):
        softer = msgspec.structs.replace(policy, min_argument_tokens=policy.min_item_tokens)
    most = min(LEAST_CLOSED * (missed.predicted - wish.goal), LEAST_GAIN * wish.goal)
    if not wish.taken:  # later rounds of a pass look for what is left: their own gain says nothing
        most = min(most, LEAST_CLOSED * (wish.used - missed.predicted))
    for newest in (wanted, (wanted + missed.keep_last) // 2):
        found = _at(items, softer, wish, newest, sizing, known)
        found = _shared_out(items, softer, wish, found, sizing, known)
        few = wish.suffices(found.predicted) and found.predicted - missed.predicted <= most
        if newest > missed.keep_last and few:
            notes = [note for note in missed.notes if not note.startswith(_SHRANK)]
            said = f"K is {newest}: with fewer of the newest results the target is missed too, and hardly by less"
            return msgspec.structs.replace(found, notes=(said, *notes))
    return missed


def _at(
    items: Sequence[ContextItem],
    policy: Policy,
    wish: Wish,
    newest: int,
    sizing: Sizing,
    known: _Known,
    *,
    brief_tokens: int | None = None,
) -> Fit:
    # The last messages give way only to a K that the caller named, not to one that was found here.
    loose = wish.force and wish.keep_last is not None
    verdicts = judge(
        items,
        policy,
        keep_last=newest,
        force=loose,
        known_gates=known.gates,
        repeats=known.repeats,
        versions=frozenset[str]().union(*known.versions),
        same=known.same,
        brief_tokens=brief_tokens,
    )
    units = units_of(items, verdicts, wish.taken, known.scores, result_overhead=wish.result_overhead)
    excess = None if wish.strategy.takes_all else wish.excess
    slots = batches(units, excess=excess, sizing=sizing)
    return Fit(slots=tuple(slots), verdicts=verdicts, keep_last=newest, predicted=_predicted(wish, slots))


def _predicted(wish: Wish, slots: Sequence[Slot]) -> int:
    anyway = wish.leaves_anyway if slots or wish.taken else 0
    return max(0, wish.used - anyway - sum(map(gain_of, slots)))


def _shrink_k(
    items: Sequence[ContextItem], policy: Policy, wish: Wish, wanted: int, sizing: Sizing, known: _Known
) -> Fit:
    """Halve the range between the floor, which may meet the goal, and K as wanted, which does not."""
    low, high = policy.floor_tool_results, min(wanted, len(items))
    best = _at(items, policy, wish, low, sizing, known)
    while best.predicted <= wish.goal and high - low > 1:
        middle = (low + high) // 2
        found = _at(items, policy, wish, middle, sizing, known)
        if found.predicted <= wish.goal:
            best, low = found, middle
        else:
            high = middle
    if best.keep_last == wanted:
        return best
    return msgspec.structs.replace(best, notes=(f"{_SHRANK} {wanted} to {best.keep_last}, toward the target",))


def _shorter_arguments(
    items: Sequence[ContextItem], policy: Policy, wish: Wish, best: Fit, sizing: Sizing, known: _Known
) -> Fit:
    """The same with arguments that are as small as the smallest result that may leave; as it was where none is."""
    least = policy.min_item_tokens
    softer = msgspec.structs.replace(policy, min_argument_tokens=least)
    found = _at(items, softer, wish, best.keep_last, sizing, known)
    if found.predicted >= best.predicted:
        return best
    said = f"{_SOFTER} {least} tokens on left, not from {policy.min_argument_tokens}, toward the target"
    return msgspec.structs.replace(found, notes=(*best.notes, said))


def _brief_ones(
    items: Sequence[ContextItem], policy: Policy, wish: Wish, best: Fit, sizing: Sizing, known: _Known
) -> Fit:
    """The same with small results as pointers; as it was where that gains next to nothing, unless a pass would
    be due without it."""
    if any(note.startswith(_SOFTER) for note in best.notes):
        policy = msgspec.structs.replace(policy, min_argument_tokens=policy.min_item_tokens)
    sizing = msgspec.structs.replace(sizing, batch_items=PRESSED_ITEMS, batch_tokens=PRESSED_TOKENS)
    found = _at(items, policy, wish, best.keep_last, sizing, known, brief_tokens=BRIEF_TOKENS)
    found = _shared_out(items, policy, wish, msgspec.structs.replace(found, notes=best.notes), sizing, known)
    least = 1 if wish.is_due(best.predicted) else LEAST_BRIEF * wish.goal
    if best.predicted - found.predicted < least:
        return best
    said = f"results from {BRIEF_TOKENS} tokens on left, not from {policy.min_item_tokens}, toward the target"
    return msgspec.structs.replace(found, notes=(*found.notes, said))


def _spread(
    items: Sequence[ContextItem],
    policy: Policy,
    wish: Wish,
    share: Share,
    best: Fit,
    sizing: Sizing,
    known: _Known,
) -> Fit:
    """All that may leave, with what the target leaves its digests; or the first that suffice with what they need.

    Where the target leaves less than the least that digests must have, the oldest give way to pointers, as few as it
    takes. It is missed where not even the newest could be digested well: pointers alone would show nothing.
    """

    units = units_of(items, best.verdicts, wish.taken, known.scores, result_overhead=wish.result_overhead)
    excess, most = wish.excess, policy.max_digest_tokens
    every = batches(units, excess=None, sizing=sizing)
    digests = [slot for slot in every if not (slot.pointer or slot.copies)]
    leaving = sum(slot.tokens for slot in digests)
    room = room_of(every, excess=excess)
    wanted = max(policy.budget_share * leaving, sum(least_budget(len(slot.item_ids)) for slot in digests))
    if leaving and room < wanted and sizing.batch_items < PRESSED_ITEMS:
        pressed = max(policy.min_budget_share, room / leaving)
        sizing = msgspec.structs.replace(sizing, share=pressed, batch_items=PRESSED_ITEMS, batch_tokens=PRESSED_TOKENS)
        every = batches(units, excess=None, sizing=sizing)
    if not wish.strategy.takes_all and suffices(every, share, excess=excess, most_tokens=most):
        every = _fewest(units, every, sizing, share, excess)
    limit = limit_of(policy, wish.strategy)
    least = max(policy.min_budget_share, 0.0 if limit is None else round(1 - limit, 9))
    takes_all = wish.strategy.takes_all
    slots = spread(every, share, excess=excess, least_share=least, most_tokens=most, takes_all=takes_all)
    predicted, notes = _predicted(wish, slots), best.notes
    pressed = predicted > wish.goal and not wish.digests_only
    if pressed and (fewer := _fewest_pointers(units, sizing, share, excess, max(least, WELL))):
        slots, given_way = fewer
        predicted = _predicted(wish, slots)
        return msgspec.structs.replace(best, slots=tuple(slots), predicted=predicted, notes=notes, given_way=given_way)
    if predicted > wish.goal:
        asked = wish.goal / max(1, wish.used)  # of the whole list: no result needs to give more than its part
        more = max(least, min(max(GROWTH * policy.budget_share, asked), _worthwhile(slots, predicted)))
        longer = spread(every, share, excess=excess, least_share=more, most_tokens=most, takes_all=takes_all)
        if wish.suffices(_predicted(wish, longer)):
            slots, predicted, least = longer, _predicted(wish, longer), more
    if predicted > wish.goal:
        notes += (f"digests keep at least {least:.0%} of what they stand for; the strategy opaque leaves pointers",)
    return msgspec.structs.replace(best, slots=tuple(slots), predicted=predicted, notes=notes)


def _fewest_pointers(
    units: Sequence[Unit], sizing: Sizing, share: Share, excess: int, least: float
) -> tuple[list[Slot], int] | None:
    """The slots of all units with pointers for as few of the oldest results as the goal takes, and how many these are;
    None where that leaves no result with a digest.

    Args:
        least: of its batch, for each digest.
    """
    digested = [place for place, unit in enumerate(units) if unit.digested]
    sizing = msgspec.structs.replace(sizing, share=least)

    def with_pointers(count: int) -> list[Slot]:
        gone = set(digested[:count])
        tried = [msgspec.structs.replace(one, forget=True) if n in gone else one for n, one in enumerate(units)]
        every = batches(tried, excess=None, sizing=sizing)
        most = sizing.most_tokens
        return spread(every, share, excess=excess, least_share=least, most_tokens=most, takes_all=True)

    low, high = 0, len(digested)
    found: list[Slot] | None = None
    while high - low > 1:
        middle = (low + high) // 2
        slots = with_pointers(middle)
        if sum(map(gain_of, slots)) >= excess:
            found, high = slots, middle
        else:
            low = middle
    return None if found is None else (found, sum(len(units[place].item_ids) for place in digested[:high]))


def _worthwhile(slots: Sequence[Slot], predicted: int) -> float:
    """The share of what they stand for that digests may have where the target is missed whatever they are: together a
    part of what stays, so that the list is hardly longer than it must be."""
    digests = [slot for slot in slots if not (slot.pointer or slot.copies)]
    stays = predicted - sum(slot.budget_tokens for slot in digests)
    return MISSED * stays / max(1, sum(slot.tokens for slot in digests))


def _fewest(units: Sequence[Unit], every: Sequence[Slot], sizing: Sizing, share: Share, excess: int) -> list[Slot]:
    """The slots of the first units whose digests suffice with all they need, as many as it takes: all of them do."""
    low, high = 0, len(units)
    found = list(every)
    while high - low > 1:
        middle = (low + high) // 2
        fewer = batches(units[:middle], excess=None, sizing=sizing)
        if suffices(fewer, share, excess=excess, most_tokens=sizing.most_tokens):
            found, high = fewer, middle
        else:
            low = middle
    return found
