"""Experience in memory, for tests and for programs that want no files. It keeps the same contract as the disk."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

from ..errors import LockTimeout, SkillUnknown
from ..ports.experience import ARCHIVE_FOLDER, LIVE_LOG, LogPart, SkillFile, SkillPlace
from .other_files import blanked
from .skill_places import checked_name


class MemoryExperience:
    """See `ports.experience.Experience`.

    Args:
        skills: names of skills that exist from the start.
    """

    def __init__(self, skills: Sequence[str] = (), *, lock_timeout_s: float = 10.0) -> None:
        self._places = {name: SkillPlace(name, name, f"memory/{name}") for name in skills}
        self._locks: dict[str, asyncio.Lock] = {}
        self._lock_timeout_s = lock_timeout_s
        self.log = MemoryLog()
        self.files = MemoryFiles()

    async def find(self, skill: str, *, create: bool = False) -> SkillPlace:
        name = checked_name(skill)[-1]
        if name not in self._places and not create:
            raise SkillUnknown(f"No skill {skill!r} is known.", next="Record an event of it first.")
        return self._places.setdefault(name, SkillPlace(name, name, f"memory/{name}"))

    async def skills(self) -> tuple[SkillPlace, ...]:
        known = {*self.log.contents, *(key for key, file in self.files.contents if file == "digest")}
        return tuple(sorted((one for one in self._places.values() if one.key in known), key=lambda one: one.name))

    @asynccontextmanager
    async def lock(self, place: SkillPlace) -> AsyncGenerator[None]:
        lock = self._locks.setdefault(place.key, asyncio.Lock())
        try:
            await asyncio.wait_for(lock.acquire(), self._lock_timeout_s)
        except TimeoutError:
            raise LockTimeout(
                "Another compaction of this skill is running.", next="Wait a moment, then try again."
            ) from None
        try:
            yield
        finally:
            lock.release()


class MemoryLog:
    """See `ports.experience.ExperienceLog`."""

    def __init__(self) -> None:
        self.contents: dict[str, dict[str, bytearray]] = {}
        """Skill key -> name of the part -> bytes. Open, so that a test can put damage there."""

    async def append(self, place: SkillPlace, line: bytes) -> None:
        live = self.contents.setdefault(place.key, {}).setdefault(LIVE_LOG, bytearray())
        live += b"\n" + line if live and not live.endswith(b"\n") else line

    async def parts(self, place: SkillPlace) -> tuple[LogPart, ...]:
        held = self.contents.get(place.key, {})
        return tuple(_part(name, held[name]) for name in sorted(held, key=lambda name: (name == LIVE_LOG, name)))

    async def blocks(self, place: SkillPlace, part: LogPart, start: int = 0) -> AsyncIterator[bytes]:
        data = bytes(self.contents.get(place.key, {}).get(part.name, b"")[start : part.size])
        if data:
            yield data

    async def blank(self, place: SkillPlace, mask: Callable[[str], str]) -> bool:
        changed = False
        for data in self.contents.get(place.key, {}).values():
            old = bytes(data)
            new = blanked(old, mask)
            changed = changed or new != old
            data[:] = new
        return changed

    async def rotate(self, place: SkillPlace, month: str) -> str:
        held = self.contents.get(place.key, {})
        if LIVE_LOG not in held:
            return ""
        name, number = f"{ARCHIVE_FOLDER}/{month}.jsonl", 1
        while name in held:
            number += 1
            name = f"{ARCHIVE_FOLDER}/{month}-{number}.jsonl"
        held[name], held[LIVE_LOG] = held[LIVE_LOG], bytearray()
        return name


class MemoryFiles:
    """See `ports.experience.ExperienceFiles`."""

    def __init__(self) -> None:
        self.contents: dict[tuple[str, str], bytes] = {}

    async def read(self, place: SkillPlace, file: SkillFile) -> bytes | None:
        return self.contents.get((place.key, file))

    async def replace(self, place: SkillPlace, file: SkillFile, data: bytes | None) -> None:
        self._put(place, file, data)

    async def snapshots(self, place: SkillPlace) -> tuple[str, ...]:
        names = (name for key, name in self.contents if key == place.key and name.startswith("snapshots/"))
        return tuple(sorted(name.removeprefix("snapshots/") for name in names))

    async def snapshot(self, place: SkillPlace, name: str) -> bytes | None:
        return self.contents.get((place.key, f"snapshots/{name}"))

    async def keep_snapshot(self, place: SkillPlace, name: str, data: bytes | None) -> None:
        self._put(place, f"snapshots/{name}", data)

    def _put(self, place: SkillPlace, name: str, data: bytes | None) -> None:
        if data is None:
            self.contents.pop((place.key, name), None)
        else:
            self.contents[place.key, name] = data


def _part(name: str, data: bytearray) -> LogPart:
    first, newline, _ = bytes(data[: 64 * 1024]).partition(b"\n")
    return LogPart(name, len(data), hashlib.sha256(first).hexdigest()[:16] if newline else "")
