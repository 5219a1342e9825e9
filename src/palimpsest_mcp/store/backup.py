"""A copy of a store that is a store itself, taken while others write.

Ledgers are copied before archives, since a record is archived before a line of the ledger names it; files that only
grow are copied up to their last whole line. What differs from its witness in the store differs in the copy as well: a
copy hides no damage.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from ..errors import OutputRefused, StoreUnusable
from ..models.maintenance import BackupReport
from .disk import Disk, read_from, write_all
from .flaws import Comparison
from .home import ARCHIVE, LEDGER, SESSIONS, STUDIES, VERSION, Home
from .witness import WITNESSES, Witnesses

PARTIAL = ".partial-"
_CACHES = re.compile(
    r"index\.sqlite3.*|statusline\.json|claude-code(/.*)?|.*\.lock|.*\.tmp|session/[^/]+/(status|start)\.json"
)
"""What is made again from the rest, or belongs to processes."""
_GROWS = re.compile(r"session/[^/]+/(ledger|offloaded)/[^/]+\.jsonl|(memory|skills)/.*\.jsonl")
_TRIES = 20
"""Looks at a session whose files a purge or a packing writes anew meanwhile."""


class Backup:
    """Copies one store.

    Args:
        home: of the store.
    """

    def __init__(self, home: Home) -> None:
        self._home = home
        self._disk: Disk = home.disk
        self._files = self._bytes = 0

    def write(self, target: str) -> BackupReport:
        """Make the copy; it has its name only once all of it is flushed.

        Raises:
            OutputRefused: something stands at the target, or it is inside the store.
            StoreUnusable: there is no store, or it is written anew again and again.
            OSError: the disk refused; nothing stands at the target.
        """
        disk, home = self._disk, self._home
        home.check()
        if disk.look(os.path.join(home.root, VERSION)) is None:
            raise StoreUnusable("There is no store to back up.", next="Name its folder with --home.")
        target, named = disk.real(target), target
        if disk.look(target) is not None or disk.look(named) is not None:
            raise OutputRefused("Something stands at the backup's path already.", next="Name a path that is free.")
        if target.startswith(home.root + os.sep):
            raise OutputRefused("A backup inside the store would be part of it.", next="Name a path outside of it.")
        above = os.path.dirname(target)
        if disk.look(above) is None:
            raise OutputRefused("The folder that the backup is to stand in is not there.", next="Make it first.")
        part = f"{target}{PARTIAL}{home.random_hex(4)}"
        try:
            self._fill(part)
            disk.replace(part, target)
        except BaseException:
            self._remove(part)
            raise
        disk.flush_folder(above)
        return BackupReport(path=target, files=self._files, size_bytes=self._bytes)

    def _fill(self, part: str) -> None:
        flaws = {one.where for one in Comparison(self._home).flaws()}
        self._disk.mkdir(part)
        witnesses = Witnesses(self._disk, part)
        names = [
            name for name, found in self._disk.scan(os.path.join(self._home.root, SESSIONS)) if found.kind == "folder"
        ]
        for name in names:
            self._session(part, f"{SESSIONS}/{name}", witnesses, flaws)
        for name in self._under("", skip=(SESSIONS, WITNESSES, STUDIES)):
            self._copy(part, name, witnesses, flaws)
        for name in sorted(flaws):  # what is missing stays missed
            if self._disk.look(os.path.join(part, name)) is None:
                self._witness_as_it_is(part, name)
        for folder in self._folders(part):
            self._disk.flush_folder(folder)

    def _session(self, part: str, folder: str, witnesses: Witnesses, flaws: set[str]) -> None:
        """Ledger, then archive, then the rest; once more where a file was written anew under another name."""
        done: set[str] = set()
        for _ in range(_TRIES):
            gone = False
            for below in (f"{folder}/{LEDGER}", f"{folder}/{ARCHIVE}", folder):
                for name in list(self._under(below)):
                    if name not in done:
                        here = self._copy(part, name, witnesses, flaws)
                        gone = gone or not here
                        done.add(name)
            if not gone:
                return
        raise StoreUnusable(
            "A session is written anew again and again while it is copied.", next="Try again when the purge is done."
        )

    def _copy(self, part: str, name: str, witnesses: Witnesses, flaws: set[str]) -> bool:
        """One file, unless it is a cache. Returns False where it is gone since its name was read."""
        if _CACHES.fullmatch(name):
            return True
        try:
            data = read_from(self._disk, os.path.join(self._home.root, name))
        except FileNotFoundError:
            return False
        if _GROWS.fullmatch(name) and name not in flaws:
            data = data[: data.rfind(b"\n") + 1]  # what its writer is in the middle of is not promised yet
        path = os.path.join(part, name)
        self._make(os.path.dirname(path))
        fd = self._disk.create(path)
        try:
            write_all(self._disk, fd, data)
            self._disk.flush(fd)
        finally:
            self._disk.close(fd)
        if name in flaws:
            self._witness_as_it_is(part, name)
        else:
            witnesses.put_whole(path, data)
        self._files += 1
        self._bytes += len(data)
        return True

    def _witness_as_it_is(self, part: str, name: str) -> None:
        source = os.path.join(self._home.root, WITNESSES, name)
        if self._disk.look(source) is not None:
            target = os.path.join(part, WITNESSES, name)
            self._make(os.path.dirname(target))
            self._disk.overwrite(target, read_from(self._disk, source))

    def _under(self, folder: str, skip: tuple[str, ...] = ()) -> Iterator[str]:
        """Plain files under a folder, by their paths from the root; links and pipes are left out."""
        for name, found in self._disk.scan(os.path.join(self._home.root, folder)):
            path = f"{folder}/{name}" if folder else name
            if path in skip:
                continue
            if found.kind == "folder":
                yield from self._under(path)
            elif found.kind == "file":
                yield path

    def _make(self, folder: str) -> None:
        if self._disk.look(folder) is None:
            self._make(os.path.dirname(folder))
            self._disk.mkdir(folder)

    def _folders(self, folder: str) -> Iterator[str]:
        for name, found in self._disk.scan(folder):
            if found.kind == "folder":
                yield from self._folders(os.path.join(folder, name))
        yield folder

    def _remove(self, folder: str) -> None:
        for name, found in self._disk.scan(folder):
            path = os.path.join(folder, name)
            if found.kind == "folder":
                self._remove(path)
            else:
                self._disk.remove(path)
        if self._disk.look(folder) is not None:
            self._disk.remove_folder(folder)
