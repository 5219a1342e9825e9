"""A skill's log on disk: lines appended to `experience/patterns.jsonl`, which a rotation gives an archive's name."""

from __future__ import annotations

import hashlib
import os
from collections.abc import AsyncIterator, Callable

from ..errors import StoreUnusable
from ..ports.experience import ARCHIVE_FOLDER, LIVE_LOG, LogPart, SkillPlace
from .failures import unreadable, write_failed
from .hop import hop
from .other_files import blanked
from .skill_folders import SkillFolders, busy
from .whole_files import read_from, read_span, replace_whole, write_all

BLOCK_BYTES = 1024 * 1024
_HEAD_BYTES = 64 * 1024
_LISTINGS = 10
"""Looks without the lock at a log that somebody else rotates, until two of them agree."""


class DiskLog:
    """See `ports.experience.ExperienceLog`."""

    def __init__(self, folders: SkillFolders) -> None:
        self._folders = folders
        self._disk = folders.disk

    async def append(self, place: SkillPlace, line: bytes) -> None:
        await hop(self._append, place, line)

    async def parts(self, place: SkillPlace) -> tuple[LogPart, ...]:
        return await hop(self._parts, place)

    async def blank(self, place: SkillPlace, mask: Callable[[str], str]) -> bool:
        return await hop(self._blank, place, mask)

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
            for _ in range(_LISTINGS):
                if (parts := self._listed(place)) is not None:
                    return parts
            with self._folders.locked_log(place):
                if (parts := self._listed(place)) is not None:
                    return parts
        except OSError as error:
            raise unreadable(error, "the skill's log") from error
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

    def _blank(self, place: SkillPlace, mask: Callable[[str], str]) -> bool:
        changed = False
        try:
            with self._folders.locked_log(place):
                for part in self._listed(place) or ():
                    path = self._folders.of_skill(place, part.name)
                    data = read_from(self._disk, path)
                    new = blanked(data, mask)
                    if new != data:
                        replace_whole(self._disk, path, new, self._folders.home.random_hex)
                        changed = True
        except OSError as error:
            raise write_failed(error, "the skill's log") from error
        return changed

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
