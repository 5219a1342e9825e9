"""Which folder a skill's name means: under the configured roots, never outside them, and never a guess."""

from __future__ import annotations

import hashlib
import os
import re
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from functools import partial

from ..errors import InvalidArgument, LockTimeout, SkillAmbiguous, SkillUnknown
from ..models.advice import Advice, Either
from ..models.text import counted, shown
from ..store.disk import Disk, Found
from ..store.home import Home
from .models import LIVE_LOG, SkillPlace

DIGEST_NAME = "experience.md"
_NAME = re.compile(r"\w[\w.+@-]{0,99}(?<!\.)")
_NEW_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}(?<!\.)")
_DEVICES = frozenset({"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))})
_NOT_SKILLS = frozenset({"experience", "node_modules", "__pycache__"})
_MARKERS = frozenset({"SKILL.md", DIGEST_NAME, "experience"})
_MAX_DEPTH, _MAX_FOLDERS = 8, 20_000
_ANY_WRITE = 0o222


def checked_name(skill: object) -> tuple[str, ...]:
    """The folders that a skill's name is made of, outermost first.

    Raises:
        InvalidArgument: it is no plain name, or path of plain names.
    """
    parts = tuple(skill.split("/")) if isinstance(skill, str) else ()
    if not 1 <= len(parts) <= _MAX_DEPTH or not all(map(_is_plain, parts)):
        raise InvalidArgument(
            f"{shown(skill)} is no skill name: it is made of letters, digits and . _ - +, with / between folders.",
            next="Give the name of the skill's folder, such as search-web or channels/search-web.",
        )
    return parts


def _is_plain(part: str) -> bool:
    stem = part.split(".")[0].lower()
    return bool(_NAME.fullmatch(part)) and stem not in _DEVICES and unicodedata.normalize("NFKC", part) == part


class SkillPlaces:
    """Finds skills below roots. No link is followed below a root; a root itself may be one.

    Args:
        own: our own root of skills, made when it is needed.
    """

    def __init__(self, disk: Disk, roots: Sequence[str], own: str) -> None:
        self._disk = disk
        self._own = own
        self._roots = tuple(dict.fromkeys([*map(disk.real, roots), own]))

    def find(self, skill: str, *, create: bool) -> SkillPlace:
        """See `ports.experience.Experience.find`."""
        wanted = checked_name(skill)
        found = self._matches(wanted)
        ours = [path for path, writable in found if writable]
        seeds = [path for path, writable in found if not writable]
        if len(ours) > 1 or (not ours and len(seeds) > 1):
            raise _ambiguous(skill, ours or seeds)
        if ours:
            return _place(ours[0], seed=seeds[0] if seeds and self._is_own(ours[0]) else "")
        if seeds or create:
            return _place(os.path.join(self._own, _new_name(wanted[-1])), seed=seeds[0] if seeds else "")
        raise SkillUnknown(
            f"No skill {skill!r} has a folder under {counted(len(self._roots), 'skills root')}.",
            next=Advice(
                "{}, or set PALIMPSEST_SKILLS_ROOTS to the folder of your skills.",
                Either(
                    command="`palimpsest-mcp experience status` lists those that have experience",
                    tool="Record an event of it (record_experience) to make it",
                    call="experience_status() lists those that have experience",
                ),
            ),
        )

    def all(self) -> tuple[SkillPlace, ...]:
        """Every skill that has a log or a digest which is not only a seed."""
        seeds: dict[str, str] = {}
        found: dict[str, None] = {}
        for path, status, names in self._walk():
            if not status.mode & _ANY_WRITE and DIGEST_NAME in names:
                seeds[os.path.basename(path)] = path
            if self._has_experience(path, status, names):
                found[path] = None
        places = [_place(one, seeds.get(os.path.basename(one), "") if self._is_own(one) else "") for one in found]
        return tuple(sorted(places, key=lambda place: (place.name, place.folder)))

    def _is_own(self, path: str) -> bool:
        return path.startswith(self._own + os.sep)

    def _matches(self, wanted: tuple[str, ...]) -> list[tuple[str, bool]]:
        """Folders of this name with whether they may be written; those that look like skills, if any do."""
        found: dict[str, tuple[bool, bool]] = {}
        for path, status, names in self._walk():
            if tuple(path.split(os.sep)[-len(wanted) :]) == wanted:
                found[path] = (bool(status.mode & _ANY_WRITE), bool(_MARKERS & names.keys()))
        marked = any(has_marker for _, has_marker in found.values())
        return [(path, writable) for path, (writable, has_marker) in found.items() if has_marker or not marked]

    def _has_experience(self, path: str, status: Found, names: dict[str, Found]) -> bool:
        if not status.mode & _ANY_WRITE:
            return False
        digest = names.get(DIGEST_NAME)
        log = self._disk.look(os.path.join(path, *LIVE_LOG.split("/"))) if "experience" in names else None
        return any(found is not None and found.kind == "file" for found in (digest, log))

    def _walk(self) -> Iterator[tuple[str, Found, dict[str, Found]]]:
        """Every folder below the roots: path, what it is, what is in it."""
        left = _MAX_FOLDERS
        for root in self._roots:
            todo = [(root, 0)]
            while todo and left > 0:
                folder, depth = todo.pop()
                try:
                    names = dict(self._disk.scan(folder))
                except OSError:
                    continue  # not ours to read: no skill of ours
                left -= 1
                for name, found in names.items():
                    inside = found.kind == "folder" and not name.startswith(".") and name not in _NOT_SKILLS
                    if inside and depth < _MAX_DEPTH:
                        todo.append((os.path.join(folder, name), depth + 1))
                if depth:
                    status = self._disk.look(folder)
                    if status is not None:
                        yield folder, status, names


def _place(folder: str, seed: str = "") -> SkillPlace:
    name = os.path.basename(folder)
    readable = name.lower() if _NEW_NAME.fullmatch(name) else "skill"
    hashed = hashlib.sha256(folder.encode("utf-8", "surrogateescape")).hexdigest()[:12]
    return SkillPlace(name, f"{readable}-{hashed}", folder, seed)


def _new_name(name: str) -> str:
    if not _NEW_NAME.fullmatch(name):
        raise InvalidArgument(
            "A new skill's name is made of ASCII letters, digits and . _ -, at most 64.",
            next="Make the skill's folder yourself, or choose such a name.",
        )
    return name


def _ambiguous(skill: str, folders: Sequence[str]) -> SkillAmbiguous:
    named = ", ".join(sorted(folders)[:4])
    return SkillAmbiguous(
        f"{len(folders)} folders are named {skill}: {named}.",
        next="Name one by more of its path, such as channels/search-web, or set PALIMPSEST_SKILLS_ROOTS to one root.",
    )


# Where the files of a skill's experience stand, and the lock that appends and the rotation take in turn.


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
        return self.home.locked(path, self.lock_timeout_s, partial(busy, "Another process writes to this skill's log."))


def busy(message: str) -> LockTimeout:
    """Somebody else holds a lock of the skill."""
    return LockTimeout(message, next="Wait a moment, then try again.")
