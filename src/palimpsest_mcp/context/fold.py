"""The fold: from a set of ledger events to what is in context. It depends on the set only, not on their order (L1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias, TypeVar

import msgspec

from ..models.events import (
    Applied,
    Decision,
    Envelope,
    Event,
    Fetched,
    Gone,
    HostCompacted,
    LossAccepted,
    LossTold,
    PurgedEvent,
    Reinstated,
    Replaced,
    Seen,
    Unshrinkable,
    UsageSeen,
)
from ..models.items import Item
from .state import (
    Decided,
    ItemState,
    Position,
    Replacement,
    Rows,
    Share,
    Tally,
    TallySums,
    UsageFields,
    share_of,
    stamp,
)
from .tombstones import is_gone, item_without

_E = TypeVar("_E", bound=Event)

MANY = 256
"""So many events at a time are summed when they are all in: summing one by one replays the decisions for each."""


Runs: TypeAlias = tuple[tuple[int, int], ...]
"""Numbers from the first to the last of each, in order."""


class ReadEvents:
    """Which events were taken in. Writers number theirs one after the other: mostly one number a writer says all. Who
    numbers those of several sessions together leaves runs of numbers in each."""

    def __init__(self, up_to: Mapping[str, int] = {}, apart: Mapping[str, Runs] = {}) -> None:
        self._up_to = dict(up_to)
        self._beyond = {
            (writer, n) for writer, runs in apart.items() for first, last in runs for n in range(first, last + 1)
        }
        """Those before which one is missing."""

    def take(self, writer: str, n: int) -> bool:
        """Note one; False where it was there."""
        last = self._up_to.get(writer, 0)
        if 0 < n <= last or (writer, n) in self._beyond:
            return False
        if n != last + 1:
            self._beyond.add((writer, n))
            return True
        while (writer, n + 1) in self._beyond:
            n += 1
            self._beyond.discard((writer, n))
        self._up_to[writer] = n
        return True

    def numbers(self) -> dict[str, int]:
        """Writer -> how many of its events, from the first on."""
        return dict(self._up_to)

    def is_same(self, other: ReadEvents) -> bool:
        """Whether it took in the same events."""
        return self._up_to == other._up_to and self._beyond == other._beyond

    def apart(self) -> dict[str, Runs]:
        """Writer -> its other events."""
        runs: dict[str, list[tuple[int, int]]] = {}
        for writer, n in sorted(self._beyond):
            mine = runs.setdefault(writer, [])
            if mine and mine[-1][1] == n - 1:
                mine[-1] = mine[-1][0], n
            else:
                mine.append((n, n))
        return {writer: tuple(mine) for writer, mine in runs.items()}


class FoldSums(msgspec.Struct, frozen=True, kw_only=True):
    """What a fold answers without looking at its items."""

    read: dict[str, int]
    """Writer -> how many of its events were taken in, from the first on."""
    apart: dict[str, Runs] = {}
    """Writer -> its other events."""
    rev: int
    tallies: dict[str, TallySums]
    """By agent."""
    usage: dict[str, UsageFields]
    purged: tuple[str, ...] = ()
    has_envelopes: bool = False
    has_purges: bool = True
    """Where nobody can say, everything has to be read."""
    last_pass_rev: int = 0

    @property
    def events(self) -> int:
        """How many different ones were taken in."""
        runs = (run for some in self.apart.values() for run in some)
        return sum(self.read.values()) + sum(last - first + 1 for first, last in runs)

    def comparable(self) -> FoldSums:
        """The same without what a fold sums only since somebody asked."""
        tallies = {agent: msgspec.structs.replace(one, since=None) for agent, one in self.tallies.items()}
        tallies = {agent: one for agent, one in tallies.items() if one != Tally().sums()}
        return msgspec.structs.replace(self, tallies=tallies)


def items_of(event: Event) -> Iterable[str]:
    """Items of which an event says where they are, or what stands for them."""
    if isinstance(event, Seen):
        return [event.item.id]
    if isinstance(event, Applied):
        return [event.item_id]
    if isinstance(event, Gone | Fetched):
        return event.item_ids
    if isinstance(event, Replaced):
        return [item.id for batch in event.batches for item in batch.items]
    if isinstance(event, Reinstated):
        return [*event.item_ids, *(item.id for batch in event.stands for item in batch.items)]
    return ()


class Fold:
    """Accumulates events of one session; adding one twice changes nothing."""

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self._read = ReadEvents()
        self._by_rev: dict[int, Decision] = {}
        self._rev = 0
        self.conflicts: dict[int, list[Decision]] = {}
        """Revision -> decisions that lost it to a lower (writer, n)."""
        self.states: dict[str, ItemState] = {}
        self.usage: dict[str, UsageFields] = {}
        """By agent."""
        self.fetched: dict[str, tuple[str, str]] = {}
        """Hash of a handed-out text -> (batch id, item id)."""
        self.envelopes: dict[str, Rows] = {}
        """By agent."""
        self.host_compacted: HostCompacted | None = None
        """The newest compaction of the host's own."""
        self._loss_told: LossTold | None = None
        self.accepted: set[str] = set()
        """Batches of which the user goes on without what is lost."""
        self.restored: list[tuple[str, tuple[str, ...], int]] = []
        """What was handed out: batch, items, tokens."""
        self.unshrinkable: dict[str, set[str]] = {}
        """Digester -> item ids."""
        self.purged: set[str] = set()
        """Keys of contents that the user had removed: none of them stays in here either."""
        self.has_purges = False
        """Whether anything was removed, contents or not."""
        self.generation = 0
        """Grows with every event that changes the view; usage does not."""
        self.derived: dict[str, Any] = {}
        """What others worked out of it, by name; events that change more than what was handed out empty it."""
        self._decided: Decided | None = None
        self._tallies: dict[str, Tally] | None = None
        """By agent; None where all items have to be counted anew: a fold that begins is summed when it is all in."""
        self._calls: dict[str, tuple[Position, str]] = {}
        """Unit -> position and id of its newest call, where that is not the unit's own id."""
        self.add(events)

    def add(self, events: Iterable[Event]) -> None:
        """Take in events, in any order, known ones among them."""
        events = tuple(events)
        if len(events) > MANY:
            self._tallies = None
        for event in events:
            if not self._read.take(event.w, event.n):
                continue
            if isinstance(event, Decision):
                self._decide(event)
            else:
                self._observe(event)

    def observe(self, events: Iterable[Event]) -> None:
        """Take in observations only, and sum nothing: for a look at single items."""
        self._tallies = None
        for event in events:
            if not isinstance(event, Decision):
                self._observe(event)

    @property
    def rev(self) -> int:
        """Highest revision decided; 0 for none."""
        return self._rev

    def tally(self, agent: str = "") -> Tally:
        """The sums over an agent's items."""
        if self._tallies is None:
            tallies: dict[str, Tally] = {}
            for state in self.states.values():
                if (share := self._share(state)) is not None:
                    tallies.setdefault(share.agent, Tally()).add(share)
            self._tallies = tallies
        return self._tallies.setdefault(agent, Tally())

    def knows_as_much(self, read: ReadEvents) -> bool:
        """Whether just these events are in it."""
        return self._read.is_same(read)

    def take_tallies(self, tallies: dict[str, Tally] | None) -> None:
        """Take the sums of a fold of the same events, so that nothing has to be counted anew."""
        self._tallies = tallies

    def sums(self) -> FoldSums | None:
        """What is written down of it; None where only every event can tell: two decisions have one revision."""
        if self.conflicts:
            return None
        self.tally()
        return FoldSums(
            read=self._read.numbers(),
            apart=self._read.apart(),
            rev=self.rev,
            tallies={agent: tally.sums() for agent, tally in (self._tallies or {}).items()},
            usage=self.usage,
            purged=tuple(sorted(self.purged)),
            has_envelopes=self.has_envelopes,
            has_purges=self.has_purges,
            last_pass_rev=self.last_pass_rev,
        )

    def state(self, item_id: str) -> ItemState | None:
        """What was observed of one item; asks for that one only, where `states` has all."""
        return self.states.get(item_id)

    @property
    def held(self) -> int:
        """How many items are held in memory."""
        return len(self.states)

    @property
    def policy(self) -> dict[str, Any] | None:
        """The session's own, as it was set last."""
        return self.decided.policy

    @property
    def last_pass_rev(self) -> int:
        """Revision of the last pass; 0 for none."""
        return self.decided.last_pass_rev

    @property
    def has_envelopes(self) -> bool:
        """Whether a host's list was read whole."""
        return bool(self.envelopes)

    @property
    def is_asked(self) -> bool:
        """Whether any agent has had an original query."""
        self.tally()
        return any(one.queries for one in (self._tallies or {}).values())

    @property
    def assistant_messages(self) -> int:
        """Rows of the assistant ever seen in the main chain: it only grows."""
        return len(self.tally().said)

    def item(self, item_id: str) -> Item | None:
        """The current version of an item, present or gone."""
        state = self.states.get(item_id)
        return state.current if state is not None and state.versions else None

    def call_of(self, unit: str) -> Item | None:
        """The call of a unit, in the bytes that count; None where it was not seen, or is no longer in the context."""
        state = self.state(self._call_id(unit))
        if state is None or not state.versions or not state.present:
            return None
        item = state.current
        return item if item.kind == "tool_call" and item.unit == unit else None

    def _call_id(self, unit: str) -> str:
        return self._calls[unit][1] if unit in self._calls else unit

    def _replacement(self, item_id: str) -> Replacement | None:
        return self.decided.replacements.get(item_id)

    def _share(self, state: ItemState) -> Share | None:
        if not state.versions:
            return None
        item = state.current
        by = self._replacement(item.id)
        part = by.item if by is not None and by.item.sha256 == item.sha256 else None
        applied = part is not None and state.applied is not None and state.applied.part_sha256 == part.part_sha256
        tokens = None if part is None else part.part_tokens
        return share_of(item, present=state.present, part_tokens=tokens, applied=applied)

    def _shares(self, item_ids: Iterable[str]) -> dict[str, Share | None]:
        """Of what is about to change; nothing where all is counted anew later."""
        if self._tallies is None:
            return {}
        states = ((item_id, self.state(item_id)) for item_id in item_ids)
        return {item_id: None if state is None else self._share(state) for item_id, state in states}

    def _retally(self, before: Mapping[str, Share | None]) -> None:
        """Bring the sums to what these items are now."""
        self._change(before, self._shares(before))

    def _change(self, before: Mapping[str, Share | None], after: Mapping[str, Share | None]) -> None:
        for item_id, old in before.items():
            new = after.get(item_id)
            if self._tallies is None or old == new:
                continue
            if new is None:
                self._tallies = None
            elif old is None:
                self._tallies.setdefault(new.agent, Tally()).add(new)
            elif not self._tallies.setdefault(old.agent, Tally()).change(old, new):
                self._tallies = None

    @property
    def untold_loss(self) -> HostCompacted | None:
        """The newest compaction of the host's own, until what it lost was named to the model."""
        last, told = self.host_compacted, self._loss_told
        return None if last is None or (told is not None and stamp(told) > stamp(last)) else last

    def _decide(self, event: Decision) -> None:
        self.generation += 1
        self.derived.clear()
        # A purge may change which version counts; decisions that were made later may look different after this one.
        newest = event.rev > self._rev
        before = self._shares(items_of(event)) if newest and not isinstance(event, PurgedEvent) else None
        if isinstance(event, PurgedEvent):
            self._purge(event)
        if newest and self._decided is not None:
            self._decided.apply(event)
        else:
            self._decided = None
        other = self._by_rev.setdefault(event.rev, event)
        if other is not event:
            first, second = sorted((other, event), key=lambda e: (e.w, e.n))
            self._by_rev[event.rev] = first
            self.conflicts.setdefault(event.rev, []).append(second)
        self._rev = max(self._rev, event.rev)
        if before is None:
            self._tallies = None
        else:
            self._retally(before)

    def _purge(self, event: PurgedEvent) -> None:
        self.has_purges = True
        self.purged.update(event.keys)
        for state in self.states.values():
            for known in state.versions.values():
                if is_gone(known.item, self.purged):
                    state.replace(known, msgspec.structs.replace(known, item=item_without(known.item)))

    def _observe(self, event: Event) -> None:
        if isinstance(event, Seen):  # nearly all are
            self._see(event)
            return
        if isinstance(event, UsageSeen):
            self._use(event)
            return
        if isinstance(event, Envelope):
            self._envelop(event)
            return
        if isinstance(event, HostCompacted):
            self.host_compacted = _newest(self.host_compacted, event)
            return
        if isinstance(event, LossTold):
            self._loss_told = _newest(self._loss_told, event)
            return
        if isinstance(event, LossAccepted):
            self.accepted.update(event.batch_ids)
            return
        self.generation += 1
        if not isinstance(event, Fetched):
            self.derived.clear()
        if isinstance(event, Gone):
            before = self._shares(event.item_ids)
            for item_id in event.item_ids:
                state = self.states.setdefault(item_id, ItemState())
                state.move(event)
            self._retally(before)
        elif isinstance(event, Applied):
            before = self._shares([event.item_id])
            state = self.states.setdefault(event.item_id, ItemState())
            state.applied = _newest(state.applied, event)
            state.move(event)
            self._retally(before)
        elif isinstance(event, Fetched):
            self._fetch(event)
        elif isinstance(event, Unshrinkable):
            self.unshrinkable.setdefault(event.digester, set()).update(event.item_ids)

    def _see(self, event: Seen) -> None:
        self.generation += 1
        self.derived.clear()
        if self.purged and is_gone(event.item, self.purged):
            event = msgspec.structs.replace(event, item=item_without(event.item))
        item = event.item
        before = self._shares([item.id])
        if (state := self.states.get(item.id)) is None:
            state = self.states[item.id] = ItemState()
        state.see(event)
        state.move(event)
        self._retally(before)
        if item.kind == "tool_call" and item.unit != item.id:
            self._calls[item.unit] = max((item.position, item.id), self._calls.get(item.unit, ((-1, -1), "")))

    def _fetch(self, event: Fetched) -> None:
        self.restored.append((event.batch_id, event.item_ids, event.tokens))
        one_each = len(event.item_ids) == len(event.text_sha256)
        for place, text_hash in enumerate(event.text_sha256):
            new = (event.batch_id, "".join(event.item_ids[place if one_each else 0 :][:1]))
            self.fetched[text_hash] = min(self.fetched.get(text_hash, new), new)
        for item_id in event.item_ids:
            state = self.states.setdefault(item_id, ItemState())
            state.fetched_at = max(state.fetched_at or 0, event.assistant_messages)

    def _envelop(self, event: Envelope) -> None:
        rows = self.envelopes.setdefault(event.agent, Rows(event))
        rows.newest = _newest(rows.newest, event)
        for row, text in enumerate(event.rows, event.first_row):
            rows.by_row[row] = max(rows.by_row.get(row, ((-1, "", 0), "")), (stamp(event), text))

    def _use(self, event: UsageSeen) -> None:
        fields = self.usage.setdefault(event.agent, UsageFields())
        if event.used_tokens is not None:
            fields.used = _newest(fields.used, event)
            if fields.used is event and self._tallies is not None and event.row >= 0:
                self.tally(event.agent).since(event.row)  # what comes behind it is asked for with every measurement
        if event.window_tokens is not None:
            fields.window = _newest(fields.window, event)
        if event.model:
            fields.model = _newest(fields.model, event)
        if event.host:
            fields.host = _newest(fields.host, event)
        if event.beside_tokens is not None:
            fields.beside = _newest(fields.beside, event)
        if event.notice:
            fields.notice = _newest(fields.notice, event)

    @property
    def decided(self) -> Decided:
        """What the decisions add up to, in order of revision."""
        if self._decided is None:
            self._decided = Decided(self._by_rev[rev] for rev in sorted(self._by_rev))
        return self._decided


def _newest(one: _E | None, other: _E) -> _E:
    return other if one is None or stamp(one) < stamp(other) else one
