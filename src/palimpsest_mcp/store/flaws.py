"""Every file of a store against its witness: what is missing, cut, changed, or has none."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Annotated, TypeAlias

import msgspec

from ..models.text import counted
from ..ports.store import Flaw
from .disk import read_from
from .home import FORMAT_VERSION, SECRET, VERSION, WITNESSES, Home, Witness, witness_of
from .segments import is_whole

_KEPT = re.compile(
    r"VERSION|secret|index\.sqlite3"
    r"|session/[^/]+/(ledger|offloaded)/[^/]+\.jsonl|session/[^/]+/(summary[^/]*\.md|purged\.jsonl|session\.json)"
    r"|memory/([^/]+/){0,2}[^/]+\.(md|jsonl)"
    r"|experience/[^/]+/(side|snapshots/[^/]+)\.json"
    r"|skills/.+/(experience\.md|experience/(archive/)?[^/]+\.jsonl)"
)
"""What is more than a cache, a lock or a spare file, and so has a witness."""
_SEGMENT = re.compile(r"session/[^/]+/(ledger|offloaded)/[^/]+")
_INDEX = "index.sqlite3"
_CACHE = re.compile(r"session/[^/]+/session\.json|index\.sqlite3")
GARBLED = "its witness is garbled: what goes missing in it is not noticed"
_TRIES = 3
"""Looks at a file that is written meanwhile, until file and witness agree."""


_Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]


class _Line(msgspec.Struct, frozen=True):
    """A witness as its file has it."""

    size: _Count
    lines: _Count
    safe: _Count
    sha256: str
    safe_sha256: str


_LINES: msgspec.json.Decoder[_Line] = msgspec.json.Decoder(_Line)


def read_witness(data: bytes) -> Witness | None:
    """What a witness's file says; None where it is none, or cut off."""
    if not data.endswith(b"\n") or not is_whole(data[:-1]):
        return None
    try:
        return Witness(*msgspec.structs.astuple(_LINES.decode(data)))
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None


class Comparison:
    """Looks at a whole store."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._disk = home.disk
        self._root = home.root
        self._witnesses = home.witnesses

    def flaws(self) -> list[Flaw]:
        """What differs from what was written, over the whole store, while others may be writing.

        Raises:
            OSError: a folder cannot be read.
        """
        witnessed = set(self._files(WITNESSES))
        here = [name for name in self._names() if f"{WITNESSES}/{name}" not in witnessed]
        found = [self._compared(name.removeprefix(f"{WITNESSES}/")) for name in sorted(witnessed)]
        found += [self._unwitnessed(name) for name in here]
        return [flaw for flaw in found if flaw is not None]

    def accept(self, under: str, *, losses: bool = False) -> int:
        """Give a witness to what has none, or a garbled one, and to files that people may edit. What is missing stays
        missed, but for the store's version, which is known. Returns how many.

        Args:
            under: how the paths of those that are meant begin.
            losses: what is missing, cut or changed is not missed any more either.

        Raises:
            OSError: a folder cannot be read, or the version not be written.
        """
        flaws = [one for one in self.flaws() if one.where.startswith(under)]
        version = [one for one in flaws if one.where == VERSION and one.severity == "damage"]
        if version:
            self._home.replace(os.path.join(self._root, VERSION), b"%d\n" % FORMAT_VERSION)
        names = [one.where for one in flaws if one.acceptable or (losses and one.severity == "damage")]
        for name in names:
            if losses and self._disk.look(os.path.join(self._root, name)) is None:
                self._witnesses.strike(os.path.join(self._root, name))
                continue
            put = self._witnesses.put_name if name == _INDEX else self._witnesses.put_again
            put(os.path.join(self._root, name))
        return len(names) + len(version)

    def _compared(self, name: str) -> Flaw | None:
        flaw: Flaw | None = None
        for _ in range(_TRIES):
            known = self._read(name)
            flaw = self._difference(name, known)
            if flaw is None or self._read(name) == known:  # else: its writer came between
                break
        return flaw

    def _difference(self, name: str, known: Witness | None) -> Flaw | None:
        if known is None:
            if self._disk.look(self._path(name)) is None:
                return None  # struck meanwhile
            return _note(name, GARBLED, acceptable=True)
        path = os.path.join(self._root, name)
        found = self._disk.look(path)
        if found is None or found.kind != "file":
            return _gone(name, known)
        try:
            data = read_from(self._disk, path)
        except FileNotFoundError:
            return _gone(name, known)
        except OSError:
            return Flaw(where=name, what="the disk does not give it back", severity="damage")
        return _in_lines(name, data, known) if _SEGMENT.fullmatch(name) else _in_whole(name, data, known)

    def _unwitnessed(self, name: str) -> Flaw | None:
        found = self._disk.look(os.path.join(self._root, name))
        if found is None or not found.size or self._disk.look(self._path(name)) is not None:
            return None
        return _note(name, "has no witness: what goes missing in it is not noticed", acceptable=True)

    def _read(self, name: str) -> Witness | None:
        """None for one that is gone or garbled; one that is being written is read again."""
        for _ in range(_TRIES):
            with suppress(OSError):
                if known := read_witness(read_from(self._disk, self._path(name))):
                    return known
        return None

    def _names(self) -> Iterator[str]:
        """Every file that should have a witness."""
        for name, found in self._disk.scan(self._root):
            if found.kind == "folder":
                if name != WITNESSES:
                    yield from filter(_KEPT.fullmatch, self._files(name))
            elif _KEPT.fullmatch(name):
                yield name

    def _files(self, folder: str) -> Iterable[str]:
        """Plain files under a folder, by their paths from the root, with `/`."""
        for name, found in self._disk.scan(os.path.join(self._root, *folder.split("/"))):
            path = f"{folder}/{name}"
            if found.kind == "folder":
                yield from self._files(path)
            elif found.kind == "file":
                yield path

    def _path(self, name: str) -> str:
        return os.path.join(self._root, WITNESSES, *name.split("/"))


def differs(home: Home, path: str, data: bytes) -> bool:
    """Whether a segment's witness says anything else than its bytes, or there is none."""
    name = path[len(home.root) + 1 :].replace(os.sep, "/")
    try:
        known = read_witness(read_from(home.disk, os.path.join(home.root, WITNESSES, *name.split("/"))))
    except OSError:
        return True
    return known is None or _in_lines(name, data, known) is not None


def _gone(name: str, known: Witness) -> Flaw:
    if _CACHE.fullmatch(name):
        return _note(name, "is missing: it is made again when it is needed", acceptable=False)
    return Flaw(where=name, what="is missing", severity="damage", lines=known.lines, size=known.size)


def _in_lines(name: str, data: bytes, known: Witness) -> Flaw | None:
    """A segment only grows: what it was must be the beginning of what it is."""
    if len(data) >= known.size and _sha256(data[: known.size]) == known.sha256:
        return _if_forged(name, data[: known.size], known)
    if len(data) >= known.safe and _sha256(data[: known.safe]) == known.safe_sha256:
        what = "its end, which was not flushed yet, is not as it was written: a crash, or somebody cut it"
        return _note(name, what, acceptable=True)
    left = data.count(b"\n")
    if left < known.lines:
        what = f"only {left} left of {counted(known.lines, 'line')}"
    else:
        what = "its lines are not those that were written: one was changed, or they stand in another order"
    return Flaw(where=name, what=what, severity="damage", lines=max(0, known.lines - left), size=known.size)


def _in_whole(name: str, data: bytes, known: Witness) -> Flaw | None:
    grows = name.endswith(".jsonl") and name.startswith(("memory/", "skills/"))
    if name == _INDEX or (grows and len(data) > known.size):
        data = data[: known.size]
    if _sha256(data) == known.sha256:
        return _if_forged(name, data, known)
    if name in (VERSION, SECRET):
        what = "is not the one that the store was made with"
        return Flaw(where=name, what=what, severity="damage", acceptable=name == SECRET)
    return _note(name, "is not as it was last written: edited, cut off, or put back from elsewhere", acceptable=True)


def _if_forged(name: str, data: bytes, known: Witness) -> Flaw | None:
    """A witness of the right hash that is not right in all it says.

    Args:
        data: what the hash is of.
    """
    true = witness_of(data)
    safe = known.sha256 if known.safe == known.size else _sha256(data[: known.safe])
    said = (known.size, known.lines, known.safe_sha256)
    if said == (true.size, true.lines, safe) and known.safe <= known.size:
        return None
    return _note(name, GARBLED, acceptable=True)


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _note(name: str, what: str, *, acceptable: bool) -> Flaw:
    return Flaw(where=name, what=what, severity="note", acceptable=acceptable)
