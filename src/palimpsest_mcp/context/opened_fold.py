"""A fold that begins with what a checkpoint says, and reads of its events only what is asked for."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from ..models.events import (
    Decision,
    Envelope,
    Event,
    HostCompacted,
    LossAccepted,
    LossTold,
    PolicySet,
    PurgedEvent,
    Replaced,
    Seen,
    UsageSeen,
)
from .fold import Fold, FoldSums, ReadEvents, items_of
from .state import ItemState, Replacement, Tally, replacement_of

KEPT_STATES = 4_096
"""Items of which the state is held once it was asked for."""
MOST_LOOKS = 10_000
"""Events that are looked up before everything is read at once; where the checkpoint has more, as many as it has."""
_ITEM, _UNIT, _POLICY = "i:", "u:", "p:"


class Source(Protocol):
    """The events behind a checkpoint. It blocks its caller."""

    @property
    def turn(self) -> AbstractContextManager[object]:
        """Held while what is known is changed; one thread may take it several times."""
        ...

    def events_of(self, key: str) -> Sequence[Event] | None:
        """Those up to the checkpoint that `keys_of` gives this key; None where they cannot be trusted."""
        ...

    def everything(self) -> Sequence[Event]:
        """Every event that is there now, read anew.

        Raises:
            StoreUnusable: the ledger cannot be read.
        """
        ...


def keys_of(event: Event) -> Collection[str]:
    """Under which keys a checkpoint finds an event again; none where its sums say all that is asked of it alone."""
    keys = {_ITEM + item_id for item_id in items_of(event)}
    if isinstance(event, Seen) and event.item.kind == "tool_call" and event.item.unit != event.item.id:
        keys.add(_UNIT + event.item.unit)
    elif isinstance(event, PolicySet):
        keys.add(_POLICY)
    return keys


class OpenedFold(Fold):
    """Answers as a fold of all events does.

    The sums are there at once, an item costs a look into the checkpoint, and whatever else is asked for has it read
    everything, once. So has an event that it cannot sum by itself, and a checkpoint that turns out to be wrong.
    """

    def __init__(self, sums: FoldSums, source: Source) -> None:
        # Not what a fold of all events has: what is missing is read when somebody asks for it (`__getattr__`).
        self._source: Source | None = source
        self._turn = source.turn
        self._read = ReadEvents(sums.read, sums.apart)
        self._rev = sums.rev
        self.usage = sums.usage
        self.purged = set(sums.purged)
        self.conflicts = {}
        self.generation = 0
        self.derived = {}
        self._tallies = {agent: Tally.of(one) for agent, one in sums.tallies.items()}
        self._has_envelopes = sums.has_envelopes
        self._last_pass_rev = sums.last_pass_rev
        self.has_purges = sums.has_purges
        self._news: list[Event] = []
        """What came since."""
        self._by_key: dict[str, list[Event]] = {}
        """The same by key."""
        self._known: dict[str, ItemState | None] = {}
        self._looks_left = max(MOST_LOOKS, sums.events)
        self.is_unreadable = False
        """Whether everything was asked for, and could not be read: begin anew."""
        self.is_wrong = False
        """Whether the checkpoint names lines that cannot be read, or are none."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or vars(self).get("_source") is None:
            raise AttributeError(name)
        self.load()
        return getattr(self, name)

    @property
    def is_whole(self) -> bool:
        """Whether it has read everything."""
        return self._source is None

    def read(self) -> Fold | None:
        """A fold of all events, which `load` takes; None where that was done. It may run in any thread."""
        source = self._source
        if source is None:
            return None
        news = tuple(self._news)
        whole = Fold(self._everything(source))
        whole.add(news)
        return whole

    def load(self, whole: Fold | None = None) -> None:
        """Read everything, unless that was done.

        Args:
            whole: what `read` gave.

        Raises:
            StoreUnusable: the ledger cannot be read.
        """
        with self._turn:
            source = self._source
            if source is None:
                return
            read_apart = whole is not None  # else an event may be half in: read, and in no sum yet
            whole = Fold(self._everything(source)) if whole is None else whole
            whole.add(self._news)
            if read_apart and not self.is_wrong and whole.knows_as_much(self._read):
                whole.take_tallies(self._tallies)
            whole.generation = max(whole.generation, self.generation) + 1
            self._source = None
            vars(self).update(vars(whole))
            self._news, self._by_key, self._known = [], {}, {}

    def _everything(self, source: Source) -> Sequence[Event]:
        try:
            return source.everything()
        except Exception:
            self.is_unreadable = True
            raise

    def add(self, events: Iterable[Event]) -> None:
        with self._turn:
            for event in events:
                self._add(event)

    def _add(self, event: Event) -> None:
        decides = isinstance(event, Decision)
        if isinstance(event, PurgedEvent) or (decides and event.rev <= self._rev):
            self.load()
        before = self._shares(items_of(event))
        if self._source is None:
            super().add((event,))
            return
        if not self._read.take(event.w, event.n):
            return
        self._news.append(event)
        for key in keys_of(event):
            self._by_key.setdefault(key, []).append(event)
            self._known.pop(key, None)
        if isinstance(event, UsageSeen):
            self._use(event)
        elif isinstance(event, Envelope):
            self._has_envelopes = True
        elif not isinstance(event, HostCompacted | LossTold | LossAccepted):
            self.generation += 1
        if decides:
            self._rev = event.rev
            if isinstance(event, Replaced) and event.reason != "at_birth":
                self._last_pass_rev = event.rev
        after = self._shares(before)
        if not self.is_whole:  # else its sums have this event
            self._change(before, after)

    def state(self, item_id: str) -> ItemState | None:
        with self._turn:
            key = _ITEM + item_id
            if self._source is not None and key not in self._known:
                events = self._events_of(key)
                if events is not None:
                    if len(self._known) >= KEPT_STATES:
                        self._known.clear()
                    self._known[key] = self._folded(events).states.get(item_id)
            return super().state(item_id) if self._source is None else self._known[key]

    @property
    def held(self) -> int:
        return super().held if self._source is None else len(self._known) + len(self._news)

    @property
    def policy(self) -> dict[str, Any] | None:
        events = None if self._source is None else self._events_of(_POLICY)
        if events is None:
            return super().policy
        policies = [event for event in events if isinstance(event, PolicySet)]
        return max(policies, key=lambda one: one.rev).policy if policies else None

    @property
    def last_pass_rev(self) -> int:
        return super().last_pass_rev if self._source is None else self._last_pass_rev

    @property
    def has_envelopes(self) -> bool:
        return super().has_envelopes if self._source is None else self._has_envelopes

    def _call_id(self, unit: str) -> str:
        events = None if self._source is None else self._events_of(_UNIT + unit)
        if events is None:
            return super()._call_id(unit)
        return self._folded(events)._call_id(unit)

    def _replacement(self, item_id: str) -> Replacement | None:
        events = None if self._source is None else self._events_of(_ITEM + item_id)
        return super()._replacement(item_id) if events is None else replacement_of(item_id, events)

    def _events_of(self, key: str) -> list[Event] | None:
        """None once everything was read: the checkpoint was wrong, or a few items are in most of its events."""
        source = self._source
        looks = source is not None and self._looks_left >= 0
        found = source.events_of(key) if source is not None and looks else None
        if found is None:
            self.is_wrong = self.is_wrong or looks
            self.load()
            return None
        self._looks_left -= len(found)
        return [*found, *self._by_key.get(key, ())]

    def _folded(self, events: Iterable[Event]) -> Fold:
        one = Fold()
        one.purged = self.purged
        one.observe(events)
        return one
