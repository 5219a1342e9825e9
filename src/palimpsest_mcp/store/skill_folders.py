"""Where the files of a skill's experience stand, and the lock that appends and the rotation take in turn."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager

from ..errors import LockTimeout
from ..ports.experience import SkillPlace
from .home import Home

EXPERIENCE = "experience"


class SkillFolders:
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

    def locked_log(self, place: SkillPlace) -> AbstractContextManager[None]:
        """Appends and the rotation take turns."""
        path = self.lock_path(place, "log.lock")
        return self.home.locked(path, self.lock_timeout_s, busy("Another process writes to this skill's log."))


def busy(message: str) -> LockTimeout:
    """Somebody else holds a lock of the skill."""
    return LockTimeout(message, next="Wait a moment, then try again.")
