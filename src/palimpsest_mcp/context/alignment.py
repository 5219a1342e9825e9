"""Import is alignment: what a host's list says, matched with what the ledger already knows (L2, L4, L5)."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence

import msgspec

from ..models.events import Applied, Gone, Observation, Seen
from ..models.items import Item, content_text
from .fold import Fold
from .state import ItemState, Parts, is_placeholder, part_owner

Position = tuple[int, int]
_START: Position = (-1, 0)
"""Before every item."""


class Alignment(msgspec.Struct, frozen=True, kw_only=True):
    """What an import would add to the ledger; nothing when everything is known."""

    seen: tuple[Item, ...]
    """New items and new versions, in order, with the ids and positions that the ledger uses."""
    applied: tuple[Applied, ...]
    gone: tuple[str, ...]
    gone_why: str
    ids: Mapping[str, str]
    """Id in the host's list -> id in the ledger, for every item of the list."""

    def observations(self, items: Sequence[Item], *, ts: str) -> list[Observation]:
        """The events to append.

        Args:
            items: `seen`, with tokens counted.
        """
        events: list[Observation] = [Seen(item=item, ts=ts) for item in items]
        events += [msgspec.structs.replace(event, ts=ts) for event in self.applied]
        if self.gone:
            events.append(Gone(item_ids=self.gone, why=self.gone_why, ts=ts))
        return events


def may_be_part(item: Item) -> bool:
    """Whether one of our parts may stand where a host shows an item: results, and calls with notes in them."""
    return item.role == "tool" or item.kind == "tool_call"


def part_hash(item: Item) -> str:
    """Hash under which an item's text would be one of our parts."""
    if isinstance(item.content, str):
        return item.sha256
    return hashlib.sha256(content_text(item.content).encode("utf-8", "surrogatepass")).hexdigest()


def align(
    fold: Fold,
    items: Sequence[Item],
    *,
    parts: Parts,
    inherited: Parts | None = None,
    gone_why: str = "",
    tail_only: bool = False,
    awaited: Collection[str] = (),
) -> Alignment:
    """Match a host's list, which is the main agent's, with the ledger.

    Args:
        items: the host's whole list, in its order; or the newest part of it.
        parts: every committed digest part of this session.
        inherited: the same of its parents: such a text is a digest, and nothing in this session stands behind it.
        gone_why: why known items may be absent, where the host says so.
        tail_only: it is the newest part: what is not in it is not gone.
        awaited: known items that the host has, but did not write into its list yet: they are not gone either.
    """
    walk = _Walk(fold, parts, inherited or {}, tail_only=tail_only)
    bounds = walk.next_known(items)
    for item, bound in zip(items, bounds, strict=True):
        walk.take(item, bound)
    missing = [
        state.current
        for item_id, state in fold.states.items()
        if not tail_only
        and state.versions
        and state.present
        and item_id not in walk.matched
        and item_id not in awaited
        and not state.current.agent
    ]
    missing.sort(key=lambda item: (item.position, item.id))
    tail = bool(missing) and missing[0].position > walk.last_known
    return Alignment(
        seen=tuple(walk.seen),
        applied=tuple(walk.applied),
        gone=tuple(item.id for item in missing),
        gone_why=gone_why or ("rewind" if tail else "host_compaction"),
        ids=walk.ids,
    )


class _Walk:
    """One pass over a host's list."""

    def __init__(self, fold: Fold, parts: Parts, inherited: Parts, *, tail_only: bool) -> None:
        self._fold = fold
        self._parts = parts
        self._inherited = inherited
        self._tail_only = tail_only
        self.seen: list[Item] = []
        self.applied: list[Applied] = []
        self.ids: dict[str, str] = {}
        self.matched: set[str] = set()
        self.last: Position = _START
        self.last_known: Position = _START
        self._host_row = -1

    def next_known(self, items: Sequence[Item]) -> list[Position | None]:
        """For each place of the list, the ledger position of the first known item at or after it."""
        bounds: list[Position | None] = []
        bound: Position | None = None
        for item in reversed(items):
            state = self._state(self._ledger_id(item))
            bound = state.current.position if state is not None else bound
            bounds.append(bound)
        return bounds[::-1]

    def take(self, item: Item, bound: Position | None) -> None:
        """Match one item of the list, or note what is new about it."""
        ledger_id = self._ledger_id(item)
        while ledger_id in self.matched:
            ledger_id += "+"
        self.matched.add(ledger_id)
        self.ids[item.id] = ledger_id
        state = self._state(ledger_id)
        if state is None:
            if bound is None and item.kind == "tool_call":
                bound = self._result_of(ledger_id)
            self._add(msgspec.structs.replace(item, id=ledger_id), bound)
        else:
            self._known(item, ledger_id, state)
        self._host_row = item.position[0]

    def _result_of(self, call: str) -> Position | None:
        """Where the result of a call stands that somebody brought before the host's list had the call."""
        state = self._state(call.removeprefix("call:"))
        return state.current.position if state is not None and state.present else None

    def _add(self, item: Item, bound: Position | None) -> None:
        is_part = self._inherited and item.kind != "tool_call" and part_hash(item) in self._inherited
        kind = "digest_part" if is_part else item.kind
        self.last = self._place(item.position, bound)
        self.seen.append(msgspec.structs.replace(item, position=self.last, kind=kind))

    def _known(self, item: Item, ledger_id: str, state: ItemState) -> None:
        current = state.current
        moved = current.position <= self.last
        position = self._place(item.position, None) if moved else current.position
        self.last = position
        self.last_known = max(self.last_known, position)
        hidden = not state.present
        part = self._part_of(item, ledger_id)
        if part is not None:
            known = state.applied
            if known is None or known.part_sha256 != part.part_sha256 or hidden:
                self.applied.append(part)
            fresh = current
        elif item.sha256 in state.versions:
            fresh, hidden = state.versions[item.sha256].item, hidden or item.sha256 != current.sha256
        elif is_placeholder(item.content) and not is_placeholder(current.content):
            fresh = current  # L4: a cleared result is still the same item; its fuller bytes stay the truth
        else:
            fresh, hidden = msgspec.structs.replace(item, id=ledger_id), True
        if moved or (hidden and part is None):
            self.seen.append(msgspec.structs.replace(fresh, position=position))

    def _part_of(self, item: Item, ledger_id: str) -> Applied | None:
        if not self._parts or not may_be_part(item):
            return None
        text_hash = part_hash(item)
        found = part_owner(self._parts, text_hash, ledger_id)
        if found is None or found[1] != ledger_id:
            return None
        return Applied(item_id=ledger_id, batch_id=found[0], part_sha256=text_hash)

    def _ledger_id(self, item: Item) -> str:
        if may_be_part(item) and self._parts:
            found = part_owner(self._parts, part_hash(item), item.id, self.matched)
            if found is not None:
                return found[1]
        state = self._fold.states.get(item.id)
        if state is not None and (item.sha256 in state.versions or "#" not in item.id):
            return item.id
        stem = item.id.rsplit("#", 1)[0] if "#" in item.id else item.id
        for n in range(1, 64):
            other = stem if n == 1 else f"{stem}#{n}"
            state = self._fold.states.get(other)
            if state is None:
                break
            if other not in self.matched and item.sha256 in state.versions:
                return other
        return item.id

    def _state(self, ledger_id: str) -> ItemState | None:
        state = self._fold.states.get(ledger_id)
        return state if state is not None and state.versions else None

    def _newest_before(self, bound: Position) -> Position:
        """The position that a list's first item comes after: its newest part begins behind items that it does not
        show."""
        here = (state.current for state in self._fold.states.values() if state.versions and state.present)
        found = (item.position for item in here if not item.agent and item.position < bound)
        return max(found, default=_START) if self._tail_only else _START

    def _place(self, wanted: Position, bound: Position | None) -> Position:
        """A position after the last one and, where there is room, before the next known item's."""
        same_row = wanted[0] == self._host_row
        place = wanted
        if place <= self.last:
            place = (self.last[0], self.last[1] + 1) if same_row else (self.last[0] + 1, 0)
        if bound is not None and place >= bound > self.last:
            last = self._newest_before(bound) if self.last == _START else self.last
            place = (last[0], last[1] + 1)
        return place
