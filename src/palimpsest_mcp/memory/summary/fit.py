"""Fits a summary into its budget: what the ledger gives again is cut, in a fixed order, and counted where it stood."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import msgspec

from ...models.summaries import AnchoredSummary, ChangedFile, ErrorMet, Point, StandingOrder
from .errors_met import RESOLUTIONS
from .merge import absorb, steps_total
from .orders import forbids, settled
from .plans import REMAINS
from .quotes import one_line
from .sections import PARTS, to_markdown

MAX_POINT = 320
"""Characters of a line of the checkpoint; what was asked and what comes next stand whole, since cut they mislead."""
MAX_SAID, LONG_SAID = 160, 480
FEW_POINTS = 8
"""A summary that has room for no more lines of the checkpoint quotes less of what the agent said last."""
BUDGET_TOKENS = 1_500
"""o200k tokens of the whole markdown, headings and metadata included."""

T = TypeVar("T")


class _Keep(NamedTuple):
    """How much of what code found stays."""

    names: int
    """Names a step shows."""
    artifacts: int
    settled: int
    """Errors that are resolved."""
    decisions: int
    errors: int
    """Errors that are not resolved."""
    todos: int
    orders: int = 4_000
    """Characters of what the user laid down."""
    points: int = 12
    """Lines of the checkpoint."""


_LADDER = (
    _Keep(12, 20, 10, 20, 20, 40),
    _Keep(6, 12, 5, 12, 12, 25),
    _Keep(3, 8, 3, 10, 10, 20),
    _Keep(1, 5, 2, 8, 8, 15),
    _Keep(0, 4, 1, 6, 6, 10, 3_600, 10),
    _Keep(0, 3, 1, 5, 4, 8, 3_200, 8),
    _Keep(0, 2, 0, 4, 3, 4, 2_800, 6),
    _Keep(0, 2, 0, 3, 2, 3, 2_200, 5),
    _Keep(0, 1, 0, 2, 1, 2, 1_800, 4),
    _Keep(0, 1, 0, 1, 1, 1, 1_800, 3),
)
"""From the mildest cut to the hardest; after it, files go."""


def fit(
    stated: AnchoredSummary, found: AnchoredSummary, count: Callable[[str], int], limit: int = BUDGET_TOKENS
) -> AnchoredSummary:
    """What was stated with what code found, in less than `limit` tokens if that can be.

    What somebody stated is never cut, what the user laid down last of all. Of what was found, files stay longest: those
    of editing tools longer than those that only a shell touched, late ones longer than early ones.
    `left_out` counts what does not stand in the result.

    Args:
        stated: the summary as it is kept; it may hold parts of what was found, from earlier passes.
        found: the harvest of the whole ledger.
        count: tokens of a text.
    """
    kept = own(stated, found)
    whole = absorb(kept, found)
    if count(to_markdown(whole)) < limit:
        return whole
    cut = whole
    for keep in _LADDER:
        cut = _cut(kept, found, keep, whole)
        if count(to_markdown(cut)) < limit:
            return cut
    return _fewer_files(kept, found, count, limit, whole)


def own(stated: AnchoredSummary, found: AnchoredSummary) -> AnchoredSummary:
    """The summary without what the ledger gives anyway, so that an earlier cut leaves no trace."""
    known = {(one.path, one.folder): one for one in found.files_modified}
    kept: dict[str, Any] = {
        name: tuple(entry for entry in getattr(stated, name) if entry not in getattr(found, name))
        for name, part in PARTS.items()
        if part.form.has_entries
    }
    kept["files_modified"] = tuple(
        one for file in stated.files_modified if (one := _own_file(file, known.get((file.path, file.folder))))
    )
    kept["decisions_made"] = tuple(
        one for one in kept["decisions_made"] if one.decision not in found.outdated_decisions
    )
    kept["errors_encountered"] = tuple(one for one in stated.errors_encountered if not _found_again(one, found))
    kept["next_steps"] = tuple(one for one in kept["next_steps"] if not one.startswith(REMAINS))
    kept["checkpoint"] = () if found.checkpoint else stated.checkpoint
    kept["standing_orders"] = _own_orders(stated, found)
    return msgspec.structs.replace(stated, **kept, withdrawn_orders=(), outdated_decisions=(), left_out={})


def _own_orders(stated: AnchoredSummary, found: AnchoredSummary) -> tuple[StandingOrder, ...]:
    """What nobody's message in this ledger holds: stated orders, and those of the session that this one follows, as
    far as nothing said since takes their place."""
    known = {*found.standing_orders, *found.withdrawn_orders}
    own = [one for one in stated.standing_orders if one not in known]
    gone = settled((*own, *found.standing_orders)).withdrawn
    return tuple(one for one in own if one not in gone)


def _own_file(one: ChangedFile, known: ChangedFile | None) -> ChangedFile | None:
    """What only the kept summary says of a file; None when the ledger says all of it."""
    if known is None or steps_total(one) > steps_total(known):
        return one
    return msgspec.structs.replace(one, steps=()) if one.changes else None


def _found_again(one: ErrorMet, found: AnchoredSummary) -> bool:
    """Whether the ledger gives an error again with all that is said of it."""
    same = any((one.error, one.where) == (other.error, other.where) for other in found.errors_encountered)
    return same and (not one.resolution or one.resolution in RESOLUTIONS)


def _cut(own: AnchoredSummary, found: AnchoredSummary, keep: _Keep, whole: AnchoredSummary) -> AnchoredSummary:
    settled = _newest([one for one in found.errors_encountered if one.resolution], keep.settled)
    unsettled = _newest([one for one in found.errors_encountered if not one.resolution], keep.errors)
    errors = tuple(one for one in found.errors_encountered if one in settled or one in unsettled)
    less = msgspec.structs.replace(
        found,
        files_modified=tuple(_fewer_names(one, keep.names) for one in found.files_modified),
        standing_orders=_orders_within(found.standing_orders, keep.orders),
        checkpoint=_points(found, keep),
        decisions_made=_newest(found.decisions_made, keep.decisions),
        errors_encountered=errors,
        todos=found.todos[: keep.todos],
        key_artifacts=_newest(found.key_artifacts, keep.artifacts),
        last_said=one_line(found.last_said, MAX_SAID if keep.points <= FEW_POINTS else LONG_SAID),
    )
    return _counted(absorb(own, less), whole)


def _orders_within(orders: Sequence[StandingOrder], chars: int) -> tuple[StandingOrder, ...]:
    """As many as fit, in their order: prohibitions first, of each kind the newest."""
    kept: set[int] = set()
    for place in sorted(range(len(orders)), key=lambda place: (not forbids(orders[place].text), -place)):
        chars -= len(orders[place].text)
        if chars >= 0:
            kept.add(place)
    return tuple(one for place, one in enumerate(orders) if place in kept)


def _points(found: AnchoredSummary, keep: _Keep) -> tuple[Point, ...]:
    """Of the checkpoint what was asked and what comes next, whole, and the newest of the rest."""
    first = [one for one in found.checkpoint if one.kind in ("asked", "next")]
    others = [one for one in found.checkpoint if one not in first]
    kept = _newest(others, keep.points)
    return tuple(
        one if one in first else msgspec.structs.replace(one, text=one_line(one.text, MAX_POINT))
        for one in found.checkpoint
        if one in first or one in kept
    )


def _newest(entries: Sequence[T], number: int) -> tuple[T, ...]:
    return tuple(entries[max(0, len(entries) - number) :])


def _fewer_names(one: ChangedFile, number: int) -> ChangedFile:
    steps = tuple(
        msgspec.structs.replace(step, names=step.names[:number], more_names=step.more_names + len(step.names[number:]))
        if step.names and number
        else msgspec.structs.replace(step, names=(), more_names=0)
        for step in one.steps
    )
    return msgspec.structs.replace(one, steps=steps)


def _fewer_files(
    own: AnchoredSummary,
    found: AnchoredSummary,
    count: Callable[[str], int],
    limit: int,
    whole: AnchoredSummary,
) -> AnchoredSummary:
    """The hardest cut, with as many files as fit, found by halving."""
    ranked = sorted(range(len(found.files_modified)), key=lambda place: _rank(found.files_modified[place], place))
    low, high = 0, len(ranked)
    best = whole
    while low <= high:
        middle = (low + high) // 2
        kept = sorted(ranked[:middle])
        less = msgspec.structs.replace(found, files_modified=tuple(found.files_modified[place] for place in kept))
        tried = _cut(own, less, _LADDER[-1], whole)
        if count(to_markdown(tried)) < limit or middle == 0:
            best, low = tried, middle + 1
        else:
            high = middle - 1
    return best


def _rank(one: ChangedFile, place: int) -> tuple[bool, int]:
    """Whole paths first, which editing tools named; the later, the earlier in this order."""
    return bool(one.folder), -place


def _counted(cut: AnchoredSummary, whole: AnchoredSummary) -> AnchoredSummary:
    left_out: dict[str, int] = {}
    for name, part in PARTS.items():
        if part.form.has_entries:
            number = sum(len(getattr(whole, field)) - len(getattr(cut, field)) for field in (name, *part.more))
            left_out |= {name: number} if number > 0 else {}
    return msgspec.structs.replace(cut, left_out=left_out)
