"""Experience on disk: the log in the skill's folder, everything else under our own root (`docs/experience.md`).

In a skill's folder this writes `experience.md`, appends to `experience/patterns.jsonl`, and gives that file the name of
an archive. Nothing else, not even a spare file, unless our root is on another file system.
"""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from ..errors import StoreUnusable
from ..ports.experience import SkillFile, SkillPlace
from .disk import Disk, RealDisk
from .failures import unreadable, write_failed
from .home import Home
from .hop import hop
from .skill_folders import SkillFolders, busy
from .skill_log import DiskLog
from .skill_places import DIGEST_NAME, SkillPlaces
from .whole_files import read_from, replace_whole

SKILLS = "skills"
_POLL_S = 0.02


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
        while (release := self._home.disk.lock(path, 0)) is None:
            if left_s <= 0:
                raise busy("Another compaction of this skill is running.")
            await asyncio.sleep(_POLL_S)
            left_s -= _POLL_S
        try:
            yield
        finally:
            release()


class DiskFiles:
    """See `ports.experience.ExperienceFiles`."""

    def __init__(self, folders: SkillFolders, random_hex: Callable[[int], str]) -> None:
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
