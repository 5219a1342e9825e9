"""Handoffs in memory, as the bytes that a disk would hold."""

from __future__ import annotations

import hashlib
from typing import get_args

from ..models.handoffs import Place
from ..models.purges import Forgotten
from ..ports.handoffs import StoredHandoff
from .handoff_names import NO_TEXT, decoded, encoded, free_name
from .other_files import masked_text

PLACES: tuple[Place, ...] = get_args(Place)


class MemoryHandoffs:
    """See `ports.handoffs.Handoffs`. One event loop; nothing survives the process."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, Place, str], bytes] = {}
        self._notes: dict[str, list[str]] = {}

    async def add(self, place: Place, stem: str, text: str, principal: str = "") -> StoredHandoff:
        data = encoded(text)
        return self._put(principal, place, free_name(stem, self._taken(principal, place)), data)

    async def list(self, principal: str = "") -> tuple[StoredHandoff, ...]:
        found = [_stored(place, name, data) for (owner, place, name), data in self._kept.items() if owner == principal]
        return tuple(sorted(found, key=lambda one: (PLACES.index(one.place), one.name)))

    async def archive(self, one: StoredHandoff, principal: str = "") -> StoredHandoff | None:
        if one.place != "memory" or not self._is_there(one, principal):
            return None
        data = self._kept.pop((principal, one.place, one.name))
        return self._put(principal, "archive", free_name(one.name, self._names(principal, "archive")), data)

    async def remove(self, one: StoredHandoff, principal: str = "", *, note: str = "") -> bool:
        if not self._is_there(one, principal):
            return False
        if note:
            self._notes.setdefault(principal, []).append(note)
        del self._kept[principal, one.place, one.name]
        return True

    async def removed(self, principal: str = "") -> tuple[str, ...]:
        return tuple(self._notes.get(principal, ()))

    def forget(self, gone: Forgotten, principal: str) -> tuple[str, ...]:
        """Take out what has to go. Returns paths."""
        if gone.mask is None:
            return ()
        changed: list[str] = []
        for (owner, place, name), data in list(self._kept.items()):
            if gone.about is not None and not gone.about(data.decode("utf-8", "replace")):
                continue
            masked = masked_text(data.decode("utf-8", "surrogateescape"), gone.mask).encode("utf-8", "surrogateescape")
            if owner == principal and masked != data:
                self._kept[owner, place, name] = masked
                changed.append(f"memory:{place}/{name}")
        self._notes[principal] = [masked_text(note, gone.mask) for note in self._notes.get(principal, ())]
        return tuple(changed)

    def everything(self) -> bytes:
        """All that is kept."""
        return b"\n".join([*self._kept.values(), *(note.encode() for notes in self._notes.values() for note in notes)])

    def _put(self, principal: str, place: Place, name: str, data: bytes) -> StoredHandoff:
        self._kept[principal, place, name] = data
        return _stored(place, name, data)

    def _is_there(self, one: StoredHandoff, principal: str) -> bool:
        data = self._kept.get((principal, one.place, one.name))
        return data is not None and hashlib.sha256(data).hexdigest() == one.sha256

    def _taken(self, principal: str, place: Place) -> set[str]:
        return self._names(principal, place) | (self._names(principal, "archive") if place == "memory" else set())

    def _names(self, principal: str, place: Place) -> set[str]:
        return {name for owner, where, name in self._kept if (owner, where) == (principal, place)}


def _stored(place: Place, name: str, data: bytes) -> StoredHandoff:
    text = decoded(data)
    return StoredHandoff(
        name=name,
        place=place,
        path=f"memory:{place}/{name}",
        text=text,
        sha256=hashlib.sha256(data).hexdigest(),
        why="" if text is not None else NO_TEXT,
    )
