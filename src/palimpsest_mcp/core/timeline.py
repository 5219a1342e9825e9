"""A session's story from its ledger: how its context filled, every pass, what was given back since."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from ..context.fold import Fold
from ..context.meter import cache_cost
from ..context.savings import sizes
from ..context.state import stamp
from ..models.events import (
    Event,
    Fetched,
    HostCompacted,
    Pinned,
    PurgedEvent,
    Reinstated,
    Replaced,
    Unpinned,
    UsageSeen,
)
from ..models.plans import ContextItem
from ..models.reports import CacheCost
from ..models.views import Moment, PassState, PassView, Timeline
from ..text.tokens.windows import prices_of
from .measure import Measurement

MOST_POINTS = 400
"""Of the curve: a picture has no more columns."""


def timeline(session_id: str, handle: str, measurement: Measurement, events: Sequence[Event]) -> Timeline:
    """The story of the main chain.

    Args:
        measurement: of the session as it stands.
        events: the whole ledger, in any order.
    """
    fold, items = measurement.fold, measurement.view.items
    overhead = measurement.counter.per_result_overhead
    told = _Passes(fold, events, items, overhead, measurement.usage.model)
    moments = _moments(sorted(events, key=stamp))
    return Timeline(
        session_id=session_id,
        handle=handle,
        usage=measurement.usage,
        fill=_fill(items, overhead, told.commits, measurement),
        passes=told.views(),
        moments=tuple(moments),
    )


class _Passes:
    """The commits of a ledger, in the order in which they were decided."""

    def __init__(
        self, fold: Fold, events: Sequence[Event], items: Sequence[ContextItem], overhead: int, model: str
    ) -> None:
        self._fold, self._items, self._overhead, self._model = fold, items, overhead, model
        lost = {id(one) for many in fold.conflicts.values() for one in many}
        decided = [one for one in events if isinstance(one, (Replaced, Reinstated)) and id(one) not in lost]
        self.commits: list[Replaced | Reinstated] = sorted(
            {one.rev: one for one in decided}.values(), key=lambda one: one.rev
        )

    def views(self) -> tuple[PassView, ...]:
        """A row each, oldest first."""
        own = self._fold.decided.passes()
        number_of = {batch.info.batch_id: at for at, each in enumerate(own, 1) for batch in each}
        stands: dict[str, int] = {}
        found: list[PassView] = []
        for commit in self.commits:
            if isinstance(commit, Reinstated):
                for item_id in commit.item_ids:
                    stands.pop(item_id, None)
                for batch in commit.stands:
                    stands |= {item.id: item.part_tokens for item in batch.items}
                continue
            names = [one.batch_id for one in commit.batches if one.mode != "copy"]
            if names:
                found.append(self._view(commit, names, number_of.get(names[0], 0), stands))
            stands |= {item.id: item.part_tokens for batch in commit.batches for item in batch.items}
        return tuple(found)

    def _view(self, commit: Replaced, names: Sequence[str], number: int, stands: Mapping[str, int]) -> PassView:
        batches = [self._fold.decided.batches[name] for name in names if name in self._fold.decided.batches]
        size = [sizes(self._fold, batch, result_overhead=self._overhead) for batch in batches]
        back = [(ids, tokens) for batch_id, ids, tokens in self._fold.restored if batch_id in names]
        at_birth = commit.reason == "at_birth"
        return PassView(
            number=0 if at_birth else number,
            ts=commit.ts,
            reason=commit.reason,
            policy=commit.policy,
            row=commit.last_row,
            before_tokens=commit.before_tokens,
            after_tokens=commit.after_tokens,
            batch_ids=tuple(names),
            items=sum(len(batch.info.items) for batch in batches),
            original_tokens=sum(one.original for one in size),
            digest_tokens=sum(one.digest + one.overhead for one in size),
            state=_state(Counter(batch.state for batch in batches)),
            cache=None if at_birth or commit.last_row < 0 else self._cache(commit, stands),
            probes=commit.probes.line if commit.probes is not None and commit.probes.total else "",
            restored_results=len({item_id for ids, _ in back for item_id in ids}),
            restored_tokens=sum(tokens for _, tokens in back),
        )

    def _cache(self, commit: Replaced, stands: Mapping[str, int]) -> CacheCost:
        """What the pass cost, over the context as it stood when it ran."""
        entries = [
            _as_then(one, stands.get(one.item.id), self._overhead)
            for one in self._items
            if one.item.position[0] <= commit.last_row
        ]
        leaving = {item.id for batch in commit.batches for item in batch.items}
        return cache_cost(
            entries,
            leaving,
            original=sum(one.tokens for one in entries if one.item.id in leaving),
            digest=sum(batch.digest_tokens for batch in commit.batches),
            prices=prices_of(self._model),
        )


def _as_then(one: ContextItem, part_tokens: int | None, overhead: int) -> ContextItem:
    extra = overhead if one.item.role == "tool" else 0
    tokens = (one.item.tokens if part_tokens is None else part_tokens) + extra
    return msgspec.structs.replace(one, tokens=tokens)


def _state(states: Mapping[str, int]) -> PassState:
    if states.get("replaced"):
        return "stands" if len(states) == 1 else "partly stands"
    if states.get("superseded"):
        return "superseded"
    return "taken back" if states.get("reinstated") else "purged"


def _fill(
    items: Sequence[ContextItem], overhead: int, commits: Iterable[Replaced | Reinstated], measurement: Measurement
) -> tuple[tuple[int, int], ...]:
    """Tokens behind each message, at most `MOST_POINTS` and all places where a pass was."""
    grows: Counter[int] = Counter()
    whole: dict[str, int] = {}
    for one in items:
        extra = overhead if one.item.role == "tool" else 0
        grows[one.item.position[0]] += one.item.tokens + extra
        whole[one.item.id] = one.item.tokens
    drops: dict[int, int] = {}
    stands = dict(whole)
    last = max(grows, default=0)
    for commit in commits:
        if isinstance(commit, Reinstated):
            row, now = last, {item_id: whole[item_id] for item_id in commit.item_ids if item_id in whole}
            now |= {item.id: item.part_tokens for batch in commit.stands for item in batch.items if item.id in whole}
        else:
            row = last if commit.last_row < 0 else min(commit.last_row, last)
            now = {item.id: item.part_tokens for batch in commit.batches for item in batch.items if item.id in whole}
        drops[row] = drops.get(row, 0) + sum(now[name] - stands[name] for name in now)
        stands |= now
    points: list[tuple[int, int]] = []
    held = 0
    rows = sorted(grows)
    step = max(1, len(rows) // MOST_POINTS)
    for place, row in enumerate(rows):
        held += grows[row]
        if place % step == 0 or row in drops or row == last:
            points.append((row, round(held * measurement.scale)))
        if change := drops.get(row):
            held += change
            points.append((row, round(held * measurement.scale)))
    if points and measurement.view_used is not None:
        points.append((points[-1][0], measurement.view_used))
    return tuple(dict.fromkeys(points))


def _moments(events: Iterable[Event]) -> Iterable[Moment]:
    for event in events:
        match event:
            case Fetched():
                yield Moment(
                    kind="restored",
                    ts=event.ts,
                    batch_id=event.batch_id,
                    items=len(event.item_ids),
                    tokens=event.tokens,
                )
            case Reinstated():
                batches = event.batch_ids
                yield Moment(kind="reinstated", ts=event.ts, batch_id=", ".join(batches), items=len(event.item_ids))
            case UsageSeen(used_tokens=int() as used):
                yield Moment(kind="measured", ts=event.ts, tokens=used, row=event.row)
            case Pinned():
                yield Moment(kind="pinned", ts=event.ts, items=len(event.item_ids))
            case Unpinned():
                yield Moment(kind="unpinned", ts=event.ts, items=len(event.item_ids))
            case HostCompacted():
                yield Moment(kind="host compacted", ts=event.ts)
            case PurgedEvent():
                yield Moment(kind="purged", ts=event.ts, batch_id=", ".join(event.batch_ids), items=len(event.item_ids))
            case _:
                pass
