"""`session/<folder>/purged.jsonl`: what nobody may write again, and whether a purge of it is still under way."""

from __future__ import annotations

import os
import threading
from collections.abc import Collection

from ..errors import StoreUnusable
from ..models.maintenance import Forgotten
from ..ports.store import Tombstones
from .home import Home
from .segments import Reader, encode, is_whole
from .whole_files import read_from, unreadable, write_failed

TOMBSTONE_NAME = "purged.jsonl"
_LINES: Reader[Tombstones] = Reader(Tombstones)


class TombstoneFile:
    """One line, replaced as a whole. Most sessions have none: then it costs one look."""

    def __init__(self, home: Home, folder: str) -> None:
        self._home = home
        self._folder = folder
        self._path = os.path.join(folder, TOMBSTONE_NAME)
        self._lock = threading.Lock()
        self._known: tuple[object, Tombstones] = (None, Tombstones())

    def read(self) -> Tombstones:
        """What it says now.

        Raises:
            StoreUnusable: it is there and cannot be read: then nobody knows what may be written.
        """
        with self._lock:
            try:
                found = self._home.disk.look(self._path)
                mark = None if found is None else (found.identity, found.size)
                if mark != self._known[0]:
                    self._known = (mark, self._read())
                elif mark is None:
                    self._known = (None, Tombstones())
            except OSError as error:
                raise unreadable(error, "the list of what was purged") from error
            return self._known[1]

    def forgotten(self) -> Forgotten:
        """What no writer may write."""
        keys = self.read().keys
        return Forgotten(keys=frozenset(keys)) if keys else _NOTHING

    def put(self, keys: Collection[str], *, under_way: bool, whole: bool) -> None:
        """Add keys, and say whether a purge is under way; flushed.

        Raises:
            WriteFailed: what it said before still stands.
        """
        said = Tombstones(keys=tuple(sorted({*self.read().keys, *keys})), under_way=under_way, whole=whole)
        try:
            self._home.make(self._folder)
            self._home.replace(self._path, encode(said))
        except OSError as error:
            raise write_failed(error, "the list of what was purged") from error

    def _read(self) -> Tombstones:
        line = read_from(self._home.disk, self._path).rstrip(b"\n")
        try:
            if is_whole(line):
                return _LINES.decode(line)
        except ValueError:
            pass
        raise StoreUnusable(
            f"{TOMBSTONE_NAME} of a session is damaged: nobody knows what was purged, so nothing is written to it.",
            next="Restore that file from a backup, or remove it: what was purged may then be recorded again.",
        )


_NOTHING = Forgotten()
