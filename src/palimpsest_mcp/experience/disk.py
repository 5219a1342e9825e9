"""Experience on disk: the log in the skill's folder, everything else under our own root (`docs/experience.md`).

In a skill's folder this writes `experience.md`, appends to `experience/patterns.jsonl`, and gives that file the name of
an archive. Nothing else, not even a spare file, unless our root is on another file system.

The experience of skills on a disk in memory, for tests and for library use that keeps nothing.
"""

from __future__ import annotations

import asyncio
import errno
import hashlib
import os
import secrets
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from ..errors import StoreUnusable
from ..ports.seams import RandomHex
from ..store.disk import (
    Disk,
    Release,
    hop,
    in_thread,
    read_from,
    read_span,
    reads,
    replace_whole,
    unreadable,
    write_all,
    writes,
)
from ..store.home import Home
from ..store.memory import MemoryDisk
from ..store.real_disk import RealDisk
from ..store.rewrite import blanked
from .models import ARCHIVE_FOLDER, LIVE_LOG, LogPart, SkillFile, SkillPlace
from .skills import DIGEST_NAME, SkillFolders, SkillPlaces, busy

# A skill's log on disk: lines appended to `experience/patterns.jsonl`, which a rotation gives an archive's name.


BLOCK_BYTES = 1024 * 1024
_HEAD_BYTES = 64 * 1024
_LISTINGS = 10
"""Looks without the lock at a log that somebody else rotates, until two of them agree."""


_IGNORED = b"# Events are for this machine, the rules in experience.md for all.\npatterns.jsonl\narchive/\n"


class DiskLog:
    """See `experience.models.ExperienceLog`."""

    def __init__(self, folders: SkillFolders) -> None:
        self._folders = folders
        self._disk = folders.disk

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

    @in_thread
    def append(self, place: SkillPlace, line: bytes) -> None:
        with writes("the event"), self._folders.locked_log(place):
            self._folders.make_skill_folder(place, LIVE_LOG)
            path = self._folders.of_skill(place, LIVE_LOG)
            torn = self._is_torn(path)
            if torn is None:
                self._keep_from_git(place, os.path.dirname(path))
            fd = self._disk.create(path) if torn is None else self._disk.extend(path)
            try:
                write_all(self._disk, fd, b"\n" + line if torn else line)
                self._disk.flush(fd)
            finally:
                self._disk.close(fd)
            # Each time: whoever made this file may have died before its name was on disk.
            self._disk.flush_folder(os.path.dirname(path))
            self._folders.home.witnesses.put_again(path)

    def _keep_from_git(self, place: SkillPlace, folder: str) -> None:
        """The rules of a skill are for everybody who works on it; what people said while it was used is not. A file
        that is there stays as it is."""
        path = os.path.join(folder, ".gitignore")
        if place.folder.startswith(self._folders.home.root + os.sep) or self._disk.look(path) is not None:
            return
        fd = self._disk.create(path)
        try:
            write_all(self._disk, fd, _IGNORED)
            self._disk.flush(fd)
        finally:
            self._disk.close(fd)

    def _is_torn(self, path: str) -> bool | None:
        """Whether a log ends in the middle of a line; None when there is no log."""
        found = self._disk.look(path)
        if found is None:
            return None
        return found.size > 0 and read_from(self._disk, path, found.size - 1) != b"\n"

    @in_thread
    def parts(self, place: SkillPlace) -> tuple[LogPart, ...]:
        with reads("the skill's log"):
            for _ in range(_LISTINGS):
                if (parts := self._listed(place)) is not None:
                    return parts
            with self._folders.locked_log(place):
                if (parts := self._listed(place)) is not None:
                    return parts
        raise busy("A program that takes no lock renames this skill's log again and again.")

    def _listed(self, place: SkillPlace) -> tuple[LogPart, ...] | None:
        """Every part; None where a rotation between two looks would show the log in both places, or in neither."""
        archive = os.path.dirname(self._folders.of_skill(place, f"{ARCHIVE_FOLDER}/x"))
        names = self._archived(archive)
        try:
            parts = [self._part(place, name) for name in (*names, LIVE_LOG)]
        except FileNotFoundError:
            return None
        return tuple(part for part in parts if part is not None) if names == self._archived(archive) else None

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

    @in_thread
    def blank(self, place: SkillPlace, mask: Callable[[str], str]) -> bool:
        changed = False
        with writes("the skill's log"), self._folders.locked_log(place):
            for part in self._listed(place) or ():
                path = self._folders.of_skill(place, part.name)
                data = read_from(self._disk, path)
                new = blanked(data, mask)
                if new != data:
                    self._folders.home.replace(path, new)
                    changed = True
        return changed

    @in_thread
    def rotate(self, place: SkillPlace, month: str) -> str:
        with writes("the archive of the log"), self._folders.locked_log(place):
            live = self._folders.of_skill(place, LIVE_LOG)
            if self._disk.look(live) is None:
                return ""
            self._folders.make_skill_folder(place, f"{ARCHIVE_FOLDER}/x")
            name = self._free_name(place, month)
            path = self._folders.of_skill(place, name)
            self._folders.home.witnesses.strike(live)
            self._disk.replace(live, path)
            self._disk.flush_folder(os.path.dirname(path))
            self._folders.home.witnesses.put_again(path)
            self._disk.close(self._disk.create(live))
            self._disk.flush_folder(os.path.dirname(live))
            return name

    def _free_name(self, place: SkillPlace, month: str) -> str:
        name, number = f"{ARCHIVE_FOLDER}/{month}.jsonl", 1
        while self._disk.look(self._folders.of_skill(place, name)) is not None:
            number += 1
            name = f"{ARCHIVE_FOLDER}/{month}-{number}.jsonl"
        return name


SKILLS = "skills"
_POLL_S = 0.02


class DiskExperience:
    """See `experience.models.Experience`. Making one touches nothing.

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
        self._folders = SkillFolders(self._home, lock_timeout_s)
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
        while (release := self._taken(path)) is None:
            if left_s <= 0:
                raise busy("Another compaction of this skill is running.")
            await asyncio.sleep(_POLL_S)
            left_s -= _POLL_S
        try:
            yield
        finally:
            release()

    def _taken(self, path: str) -> Release | None:
        with writes("the skill's lock"):
            return self._home.disk.lock(path, 0)


class DiskFiles:
    """See `experience.models.ExperienceFiles`."""

    def __init__(self, folders: SkillFolders, random_hex: Callable[[int], str]) -> None:
        self._folders = folders
        self._disk = folders.disk
        self._random_hex = random_hex

    async def snapshot(self, place: SkillPlace, name: str) -> bytes | None:
        return await hop(self._read, self._snapshot_path(place, name))

    @in_thread
    def read(self, place: SkillPlace, file: SkillFile) -> bytes | None:
        if file == "side":
            return self._read(self._folders.own(place, "side.json"))
        found = self._read(self._folders.of_skill(place, DIGEST_NAME))
        return self._read(os.path.join(place.seed, DIGEST_NAME)) if found is None and place.seed else found

    def _read(self, path: str) -> bytes | None:
        with reads("a file of the skill's experience"):
            return read_from(self._disk, path) if self._disk.look(path) is not None else None

    @in_thread
    def replace(self, place: SkillPlace, file: SkillFile, data: bytes | None) -> None:
        own = file == "side"
        path = self._folders.own(place, "side.json") if own else self._folders.of_skill(place, DIGEST_NAME)
        with writes("a file of the skill's experience"):
            self._folders.home.make(self._folders.own(place))
            if data is None:
                self._remove(path)
            elif own:
                self._folders.home.replace(path, data)
            else:
                self._folders.make_skill_folder(place, DIGEST_NAME)
                self._replace_digest(place, path, data)

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
        self._folders.home.witnesses.put_whole(path, data)

    def _remove(self, path: str) -> None:
        if self._disk.look(path) is not None:
            self._folders.home.witnesses.strike(path)
            self._disk.remove(path)
            self._disk.flush_folder(os.path.dirname(path))

    @in_thread
    def snapshots(self, place: SkillPlace) -> tuple[str, ...]:
        with reads("the snapshots"):
            names = self._disk.scan(self._folders.own(place, "snapshots"))
        return tuple(name for name, found in names if found.kind == "file" and name.endswith(".json"))

    def _snapshot_path(self, place: SkillPlace, name: str) -> str:
        return self._folders.own(place, "snapshots", os.path.basename(name))

    @in_thread
    def keep_snapshot(self, place: SkillPlace, name: str, data: bytes | None) -> None:
        path = self._snapshot_path(place, name)
        with writes("a snapshot of the digest"):
            self._folders.home.make(os.path.dirname(path))
            if data is None:
                self._remove(path)
            else:
                self._folders.home.replace(path, data)


class MemoryExperience(DiskExperience):
    """Keeps everything until the process ends."""

    def __init__(self, *, random_hex: RandomHex = secrets.token_hex, lock_timeout_s: float = 10.0) -> None:
        super().__init__(Path("memory:"), (), random_hex=random_hex, disk=MemoryDisk(), lock_timeout_s=lock_timeout_s)
