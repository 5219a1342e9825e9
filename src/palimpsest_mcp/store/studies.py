"""`studies/`: what was read of results before a pass needs it. A cache: anybody may remove any of it at any time.

Its files stand together, whatever session they are of, so that one look says how much there is.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from contextlib import suppress

from ..errors import PalimpsestError
from .disk import Found, read_from
from .home import STUDIES, Home
from .session_folder import TombstoneFile

SUFFIX = ".study"
MOST_BYTES = 32 << 20
"""Of the whole store: some fifteen sessions of a million tokens each."""
_BETWEEN = "~"
"""Between a session's folder and the rest of a name; no folder has it."""


class StudyFiles:
    """`ports.store.Store` says what each call promises."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._folder = os.path.join(home.root, STUDIES)

    def keep(self, session: str, tombstones: TombstoneFile, name: str, data: bytes, keys: Collection[str]) -> bool:
        """Put a file in its place; the caller holds the session's commit lock, so that no purge begins meanwhile.

        Args:
            session: path of its folder.
            keys: of the contents that are quoted in it.

        Returns:
            False, and nothing of that name is there, where one of them was purged or it cannot be written.
        """
        path = os.path.join(self._folder, f"{os.path.basename(session)}{_BETWEEN}{name}{SUFFIX}")
        with suppress(OSError, PalimpsestError):
            if tombstones.forgotten().keys.isdisjoint(keys) and len(data) <= MOST_BYTES:
                self._home.refuse_overfull(len(data))
                self._home.make(self._folder, flushed=False)
                self._home.replace(path, data, durable=False)
                self._make_room(path)
                return True
            self._home.disk.remove(path)
        return False

    def of(self, session: str) -> list[bytes]:
        """Those of a session, as far as they can be read, in no order."""
        found: list[bytes] = []
        with suppress(OSError):
            for path, _ in self._files(session):
                with suppress(OSError):
                    found.append(read_from(self._home.disk, path))
        return found

    def drop(self, session: str) -> None:
        """Remove those of a session; what a writer that was killed left, too.

        Raises:
            OSError: some are still there.
        """
        paths = [path for path, _ in self._files(session, suffix="")]
        for path in paths:
            with suppress(FileNotFoundError):
                self._home.disk.remove(path)
        if paths:
            self._home.disk.flush_folder(self._folder)

    def _make_room(self, newest: str) -> None:
        files = sorted(self._files(suffix=""), key=lambda one: one[1].modified)
        size = sum(found.size for _, found in files)
        for path, found in files:
            if size <= MOST_BYTES:
                return
            if path != newest:
                size -= found.size
                with suppress(FileNotFoundError):
                    self._home.disk.remove(path)

    def _files(self, session: str = "", *, suffix: str = SUFFIX) -> Iterator[tuple[str, Found]]:
        folder = self._home.disk.look(self._folder)
        if folder is None or folder.kind != "folder":
            return
        begin = f"{os.path.basename(session)}{_BETWEEN}" if session else ""
        for name, found in self._home.disk.scan(self._folder):
            if found.kind == "file" and name.startswith(begin) and name.endswith(suffix):
                yield os.path.join(self._folder, name), found
