"""Experience on disk: the log in the skill's folder, everything else under our own root (`docs/experience.md`).

In a skill's folder this writes `experience.md`, appends to `experience/patterns.jsonl`, and gives that file the name of
an archive. Nothing else, not even a spare file, unless our root is on another file system.
"""

from __future__ import annotations

import asyncio
import errno
import hashlib
import os
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from ..errors import LockTimeout, StoreUnusable
from ..ports.experience import ARCHIVE_FOLDER, LIVE_LOG, LogPart, SkillFile, SkillPlace
from .disk import Disk, RealDisk
from .failures import unreadable, write_failed
from .home import Home
from .hop import hop
from .skill_places import DIGEST_NAME, SkillPlaces
from .whole_files import read_from, read_span, replace_whole, write_all

EXPERIENCE, SKILLS = "experience", "skills"
BLOCK_BYTES = 1024 * 1024
_HEAD_BYTES = 64 * 1024
_POLL_S = 0.02
_LISTINGS = 10
"""Looks at a log that somebody else rotates, until two of them agree."""


class DiskExperience:
    """See `ports.experience.Experience`. Making one touches nothing.

    Args:
        home: the store's root; ours are `experience/` and `skills/` in it.
        roots: folders with skills; they need not exist.
        lock_timeout_s: how long an append or a compaction waits for another one.
    """

    def __init__(
        self,
        home: Path,
        roots: Sequence[Path],
        *,
        random_hex: Callable[[int], str],
        disk: Disk | None = None,
        lock_timeout_s: float = 10.0,
    ) -> None:
        self._home = Home(home, disk or RealDisk(), random_hex)
        own = os.path.join(self._home.root, SKILLS)
        self._places = SkillPlaces(self._home.disk, [str(root.expanduser()) for root in roots], own)
        self._folders = _Folders(self._home, lock_timeout_s)
        self.log = DiskLog(self._folders)
        self.files = DiskFiles(self._folders, random_hex)

    async def find(self, skill: str, *, create: bool = False) -> SkillPlace:
        return await hop(self._places.find, skill, create=create)

    async def skills(self) -> tuple[SkillPlace, ...]:
        return await hop(self._places.all)

    @asynccontextmanager
    async def lock(self, place: SkillPlace) -> AsyncGenerator[None]:
        path = await hop(self._folders.lock_path, place, "compact.lock")
        left_s = self._folders.lock_timeout_s
        # On the loop and without waiting: nothing can be cancelled between taking the lock and holding it.
        while (release := self._home.disk.lock(path, 0)) is None:
            if left_s <= 0:
                raise _busy("Another compaction of this skill is running.")
            await asyncio.sleep(_POLL_S)
            left_s -= _POLL_S
        try:
            yield
        finally:
            release()


class _Folders:
    """Where the files of a skill are, with every folder on the way looked at: a link is never followed."""

    def __init__(self, home: Home, lock_timeout_s: float) -> None:
        self.home = home
        self.disk = home.disk
        self.lock_timeout_s = lock_timeout_s
        self._flushed: set[str] = set()

    def own(self, place: SkillPlace, *below: str) -> str:
        """A path in our own folder for the skill."""
        return os.path.join(self.home.root, EXPERIENCE, place.key, *below)

    def of_skill(self, place: SkillPlace, name: str) -> str:
        """A path in the skill's folder.

        Raises:
            StoreUnusable: a folder on the way is something else.
        """
        path = place.folder
        self.home.stands(path)
        for part in name.split("/")[:-1]:
            path = os.path.join(path, part)
            self.home.stands(path)
        return os.path.join(place.folder, *name.split("/"))

    def make_skill_folder(self, place: SkillPlace, name: str) -> None:
        """See to it that the folder of a file in the skill's folder is there, and its name flushed once a process."""
        if place.folder.startswith(self.home.root + os.sep):
            self.home.make(place.folder)
        path = place.folder
        for part in name.split("/")[:-1]:
            above, path = path, os.path.join(path, part)
            if not self.home.stands(path):
                try:
                    self.disk.mkdir(path)
                except FileExistsError:
                    self.home.stands(path)
            if path not in self._flushed:
                self.disk.flush_folder(above)
                self._flushed.add(path)

    def lock_path(self, place: SkillPlace, name: str) -> str:
        self.home.make(self.own(place))
        return self.own(place, name)

    @contextmanager
    def locked_log(self, place: SkillPlace) -> Generator[None]:
        """Appends and the rotation take turns."""
        release = self.disk.lock(self.lock_path(place, "log.lock"), self.lock_timeout_s)
        if release is None:
            raise _busy("Another process writes to this skill's log.")
        try:
            yield
        finally:
            release()


class DiskLog:
    """See `ports.experience.ExperienceLog`."""

    def __init__(self, folders: _Folders) -> None:
        self._folders = folders
        self._disk = folders.disk

    async def append(self, place: SkillPlace, line: bytes) -> None:
        await hop(self._append, place, line)

    async def parts(self, place: SkillPlace) -> tuple[LogPart, ...]:
        return await hop(self._parts, place)

    async def rotate(self, place: SkillPlace, month: str) -> str:
        return await hop(self._rotate, place, month)

    async def blocks(self, place: SkillPlace, part: LogPart, start: int = 0) -> AsyncIterator[bytes]:
        rest, at = b"", start
        while at < part.size:
            chunk = await hop(self._read, place, part, at)
            if not chunk:
                break  # somebody cut the file since it was listed
            at += len(chunk)
            end = chunk.rfind(b"\n") + 1
            if end:
                yield rest + chunk[:end]
                rest = chunk[end:]
            else:
                rest += chunk
        if rest:
            yield rest

    def _append(self, place: SkillPlace, line: bytes) -> None:
        try:
            with self._folders.locked_log(place):
                self._folders.make_skill_folder(place, LIVE_LOG)
                path = self._folders.of_skill(place, LIVE_LOG)
                torn = self._is_torn(path)
                fd = self._disk.create(path) if torn is None else self._disk.extend(path)
                try:
                    write_all(self._disk, fd, b"\n" + line if torn else line)
                    self._disk.flush(fd)
                finally:
                    self._disk.close(fd)
                # Each time: whoever made this file may have died before its name was on disk.
                self._disk.flush_folder(os.path.dirname(path))
        except OSError as error:
            raise write_failed(error, "the event") from error

    def _is_torn(self, path: str) -> bool | None:
        """Whether a log ends in the middle of a line; None when there is no log."""
        found = self._disk.look(path)
        if found is None:
            return None
        return found.size > 0 and read_from(self._disk, path, found.size - 1) != b"\n"

    def _parts(self, place: SkillPlace) -> tuple[LogPart, ...]:
        try:
            archive = os.path.dirname(self._folders.of_skill(place, f"{ARCHIVE_FOLDER}/x"))
            parts: list[LogPart | None] = []
            for left in reversed(range(_LISTINGS)):
                names = self._archived(archive)
                try:
                    parts = [self._part(place, name) for name in (*names, LIVE_LOG)]
                except FileNotFoundError:
                    if not left:
                        raise
                    continue
                # A rotation between the two looks would show the log in both places, or in neither.
                if names == self._archived(archive):
                    break
            return tuple(part for part in parts if part is not None)
        except OSError as error:
            raise unreadable(error, "the skill's log") from error

    def _archived(self, archive: str) -> list[str]:
        return [f"{ARCHIVE_FOLDER}/{name}" for name, _ in self._disk.scan(archive) if name.endswith(".jsonl")]

    def _part(self, place: SkillPlace, name: str) -> LogPart | None:
        path = self._folders.of_skill(place, name)
        found = self._disk.look(path)
        if found is None:
            return None
        if found.kind != "file":
            raise StoreUnusable(f"{name} of the skill is not a plain file.", next="Put a plain file there.")
        first, newline, _ = self._span(path, 0, _HEAD_BYTES).partition(b"\n")
        whole = bool(newline) or len(first) >= _HEAD_BYTES
        return LogPart(name, found.size, hashlib.sha256(first).hexdigest()[:16] if whole else "")

    def _read(self, place: SkillPlace, part: LogPart, at: int) -> bytes:
        try:
            return self._span(self._folders.of_skill(place, part.name), at, min(BLOCK_BYTES, part.size - at))
        except FileNotFoundError:
            return b""
        except OSError as error:
            raise unreadable(error, "the skill's log") from error

    def _span(self, path: str, at: int, size: int) -> bytes:
        fd = self._disk.open(path)
        try:
            return read_span(self._disk, fd, at, size)
        finally:
            self._disk.close(fd)

    def _rotate(self, place: SkillPlace, month: str) -> str:
        try:
            with self._folders.locked_log(place):
                live = self._folders.of_skill(place, LIVE_LOG)
                if self._disk.look(live) is None:
                    return ""
                self._folders.make_skill_folder(place, f"{ARCHIVE_FOLDER}/x")
                name = self._free_name(place, month)
                path = self._folders.of_skill(place, name)
                self._disk.replace(live, path)
                self._disk.flush_folder(os.path.dirname(path))
                self._disk.close(self._disk.create(live))
                self._disk.flush_folder(os.path.dirname(live))
                return name
        except OSError as error:
            raise write_failed(error, "the archive of the log") from error

    def _free_name(self, place: SkillPlace, month: str) -> str:
        name, number = f"{ARCHIVE_FOLDER}/{month}.jsonl", 1
        while self._disk.look(self._folders.of_skill(place, name)) is not None:
            number += 1
            name = f"{ARCHIVE_FOLDER}/{month}-{number}.jsonl"
        return name


class DiskFiles:
    """See `ports.experience.ExperienceFiles`."""

    def __init__(self, folders: _Folders, random_hex: Callable[[int], str]) -> None:
        self._folders = folders
        self._disk = folders.disk
        self._random_hex = random_hex

    async def read(self, place: SkillPlace, file: SkillFile) -> bytes | None:
        return await hop(self._read_file, place, file)

    async def replace(self, place: SkillPlace, file: SkillFile, data: bytes | None) -> None:
        await hop(self._replace_file, place, file, data)

    async def snapshots(self, place: SkillPlace) -> tuple[str, ...]:
        return await hop(self._snapshots, place)

    async def snapshot(self, place: SkillPlace, name: str) -> bytes | None:
        return await hop(self._read, self._snapshot_path(place, name))

    async def keep_snapshot(self, place: SkillPlace, name: str, data: bytes | None) -> None:
        await hop(self._keep, place, name, data)

    def _read_file(self, place: SkillPlace, file: SkillFile) -> bytes | None:
        if file == "side":
            return self._read(self._folders.own(place, "side.json"))
        found = self._read(self._folders.of_skill(place, DIGEST_NAME))
        return self._read(os.path.join(place.seed, DIGEST_NAME)) if found is None and place.seed else found

    def _read(self, path: str) -> bytes | None:
        try:
            return read_from(self._disk, path) if self._disk.look(path) is not None else None
        except OSError as error:
            raise unreadable(error, "a file of the skill's experience") from error

    def _replace_file(self, place: SkillPlace, file: SkillFile, data: bytes | None) -> None:
        own = file == "side"
        path = self._folders.own(place, "side.json") if own else self._folders.of_skill(place, DIGEST_NAME)
        try:
            self._folders.home.make(self._folders.own(place))
            if data is None:
                self._remove(path)
            elif own:
                replace_whole(self._disk, path, data, self._random_hex)
            else:
                self._folders.make_skill_folder(place, DIGEST_NAME)
                self._replace_digest(place, path, data)
        except OSError as error:
            raise write_failed(error, "a file of the skill's experience") from error

    def _replace_digest(self, place: SkillPlace, path: str, data: bytes) -> None:
        """By way of a spare file in our own folder, so that a crash leaves nothing in the skill's."""
        found = self._disk.look(path)
        if found is not None and found.kind != "file":
            raise StoreUnusable("experience.md of the skill is not a plain file.", next="Put a plain file there.")
        spare = self._folders.own(place, "spare.md")
        replace_whole(self._disk, spare, data, self._random_hex)
        try:
            self._disk.replace(spare, path)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            replace_whole(self._disk, path, data, self._random_hex)
        self._disk.flush_folder(os.path.dirname(path))

    def _remove(self, path: str) -> None:
        if self._disk.look(path) is not None:
            self._disk.remove(path)
            self._disk.flush_folder(os.path.dirname(path))

    def _snapshots(self, place: SkillPlace) -> tuple[str, ...]:
        try:
            names = self._disk.scan(self._folders.own(place, "snapshots"))
        except OSError as error:
            raise unreadable(error, "the snapshots") from error
        return tuple(name for name, found in names if found.kind == "file" and name.endswith(".json"))

    def _snapshot_path(self, place: SkillPlace, name: str) -> str:
        return self._folders.own(place, "snapshots", os.path.basename(name))

    def _keep(self, place: SkillPlace, name: str, data: bytes | None) -> None:
        path = self._snapshot_path(place, name)
        try:
            self._folders.home.make(os.path.dirname(path))
            if data is None:
                self._remove(path)
            else:
                replace_whole(self._disk, path, data, self._random_hex)
        except OSError as error:
            raise write_failed(error, "a snapshot of the digest") from error


def _busy(message: str) -> LockTimeout:
    return LockTimeout(message, next="Wait a moment, then try again.")
