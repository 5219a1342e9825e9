"""What a person may read and change: `session/<id>/summary.md`, and handoffs in `memory/`.

A summary is read as it is and replaced as a whole, only by one that was read back from the disk; a handoff is added
whole and never overwritten: `memory/*.md`, `memory/archive/*.md`, and forks in the temporary folder.
"""

from __future__ import annotations

import hashlib
import os
import re
import threading
from collections.abc import Callable, Container, Generator
from contextlib import contextmanager
from typing import get_args

import msgspec

from ..errors import InvalidArgument, LockTimeout, StoreUnusable, SummaryChanged, WriteFailed
from ..memory.summary.sections import NotASummary, from_markdown, to_markdown
from ..models.events import SessionKey
from ..models.handoffs import Place
from ..models.reports import Forgotten
from ..models.summaries import AnchoredSummary
from ..ports.store import StoredHandoff, StoredSummary
from .disk import error_name, hop, in_thread, put_compared, read_from, reads, write_all, writes
from .home import Home, key_hash
from .ledger import LedgerFiles
from .rewrite import forget_in, traces

# A summary as the bytes that are kept.


def version_of(data: bytes | None) -> str:
    """SHA-256 of what is kept; empty for nothing."""
    return "" if data is None else hashlib.sha256(data).hexdigest()


def summary_bytes(summary: AnchoredSummary) -> bytes:
    """The markdown in UTF-8, which is known to read back equal.

    Raises:
        InvalidArgument: half a surrogate pair stands in it.
        WriteFailed: it would not read back as it is.
    """
    text = to_markdown(summary)
    try:
        data = text.encode()
    except UnicodeEncodeError:
        raise InvalidArgument(
            "The summary holds half of a surrogate pair, which UTF-8 cannot carry.", next="Leave that character out."
        ) from None
    if from_markdown(text) != summary:
        raise WriteFailed("The summary would not read back as it is.", next="Report this; the old summary stays.")
    return data


def summary_of(data: bytes | None) -> StoredSummary:
    """What the bytes say; a note where they say nothing that can be read.

    Raises:
        StoreNewer: a newer program wrote them.
    """
    version = version_of(data)
    if data is None:
        return StoredSummary(summary=None, version=version)
    try:
        return StoredSummary(summary=from_markdown(data.decode("utf-8-sig")), version=version)
    except UnicodeDecodeError:
        why = "it is not UTF-8 text"
    except NotASummary:
        why = "it has none of a summary's headings"
    except ValueError:
        why = "a value in it cannot be read"
    note = f"summary.md could not be read ({why}): it is kept aside, and the summary is made anew from the ledger"
    return StoredSummary(summary=None, version=version, note=note)


SUMMARY_NAME = "summary.md"
SUMMARY_LOCK = "summary.lock"


class SummaryFiles:
    """Step by step what `ports.store.Summaries` promises.

    Args:
        ledger: knows which sessions there are.
        lock_timeout_s: how long a put waits for another one.
    """

    def __init__(
        self, home: Home, ledger: LedgerFiles, random_hex: Callable[[int], str], *, lock_timeout_s: float = 10.0
    ) -> None:
        self._home = home
        self._ledger = ledger
        self._random_hex = random_hex
        self._lock_timeout_s = lock_timeout_s
        self._writing = threading.Lock()

    def get(self, key: SessionKey) -> StoredSummary:
        self._home.check()
        return summary_of(self._read(self._home.session_folder(key)))

    def put(self, key: SessionKey, summary: AnchoredSummary, *, after: str) -> str:
        data = summary_bytes(summary)
        self._home.check()
        folder = self._home.session_folder(key)
        with writes("the session's summary"):
            self._home.make(folder)
            with self._locked(folder):
                kept = self._read(folder)
                if version_of(kept) != after:
                    raise SummaryChanged(
                        "The session's summary was changed since it was read.", next="Read it again and merge anew."
                    )
                if kept is not None and summary_of(kept).note:
                    self._put(os.path.join(folder, f"summary-{after[:8]}.unreadable.md"), kept)
                self._put(os.path.join(folder, SUMMARY_NAME), data)
        return version_of(data)

    def forget(self, key: SessionKey, gone: Forgotten) -> list[str]:
        """Take out what has to go of the summary, and of those that were kept aside. Returns names of changed files.

        Raises:
            WriteFailed, LockTimeout: some of it may still be there.
        """
        folder = self._home.session_folder(key)
        if not self._home.stands(folder):
            return []
        with writes("the session's summary"), self._locked(folder):
            names = [
                name
                for name, found in self._home.disk.scan(folder)
                if found.kind == "file" and name.startswith("summary") and not name.endswith(".lock")
            ]
            return [name for name in names if forget_in(self._home, os.path.join(folder, name), gone)]

    def list(self, principal: str) -> tuple[str, ...]:
        keys = [SessionKey(info.session_id, principal) for info in self._ledger.sessions(principal)]
        return tuple(sorted(key.session_id for key in keys if self._stands(self._home.session_folder(key))))

    def _stands(self, folder: str) -> bool:
        found = self._home.disk.look(os.path.join(folder, SUMMARY_NAME))
        return found is not None and found.kind == "file"

    def _read(self, folder: str) -> bytes | None:
        """The bytes of the file; None without one. A link, folder or pipe in its place is refused."""
        if not self._home.stands(folder):
            return None
        path = os.path.join(folder, SUMMARY_NAME)
        with reads("the session's summary"):
            found = self._home.disk.look(path)
            if found is None:
                return None
            if found.kind != "file":
                raise StoreUnusable(
                    "Something that is no file stands in the place of summary.md.", next="Move it away, then try again."
                )
            return read_from(self._home.disk, path)

    def _put(self, path: str, data: bytes) -> None:
        put_compared(self._home.disk, path, data, self._random_hex, "the summary")
        self._home.witnesses.put_whole(path, data)

    @contextmanager
    def _locked(self, folder: str) -> Generator[None]:
        """One put at a time, over threads and processes.

        Raises:
            LockTimeout: somebody holds it for too long.
        """

        def busy() -> LockTimeout:
            return LockTimeout(
                "Another process holds the lock of this session's summary.",
                next="Try again; if it stays, look for a stopped process.",
            )

        with self._writing, self._home.locked(os.path.join(folder, SUMMARY_LOCK), self._lock_timeout_s, busy):
            yield


class DiskSummaries:
    """See `ports.store.Summaries`. Each call is one hop to a thread."""

    def __init__(self, files: SummaryFiles) -> None:
        self._files = files

    async def get(self, key: SessionKey) -> StoredSummary:
        return await hop(self._files.get, key)

    async def put(self, key: SessionKey, summary: AnchoredSummary, *, after: str) -> str:
        return await hop(self._files.put, key, summary, after=after)

    async def list(self, principal: str = "") -> tuple[str, ...]:
        return await hop(self._files.list, principal)


# Names of handoff files.


SUFFIX = ".md"
NO_TEXT = "is no UTF-8 text"
_STEM = re.compile(r"[a-z0-9]([a-z0-9_-]{0,118}[a-z0-9])?")


def checked_stem(stem: str) -> str:
    """The stem, if every file system takes it as a name.

    Raises:
        InvalidArgument: it does not.
    """
    if not _STEM.fullmatch(stem):
        raise InvalidArgument(
            "A handoff's file name is made of lower-case letters, digits and -.",
            next="Make it by `memory.handoff.files.stem_of`.",
        )
    return stem


def free_name(stem: str, taken: Container[str]) -> str:
    """The stem, or the stem with the lowest number from 2 that makes it new."""
    name, number = checked_stem(stem), 1
    while name in taken:
        number += 1
        name = f"{stem}-{number}"
    return name


def handoff_bytes(text: str) -> bytes:
    """The text in UTF-8.

    Raises:
        InvalidArgument: half a surrogate pair stands in it.
    """
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise InvalidArgument(
            "The handoff holds half of a surrogate pair, which UTF-8 cannot carry.", next="Leave that character out."
        ) from None


def handoff_text(data: bytes) -> str | None:
    """The text of a file; None where it is none."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None


MEMORY, ARCHIVE = "memory", "archive"
PLACES: tuple[Place, ...] = get_args(Place)
REMOVED_NAME = "removed.jsonl"
HANDOFF_LOCK = "memory.lock"
MAX_BYTES = 1024 * 1024
"""A longer file is no handoff, and is left alone."""
_OTHERS_WRITE = 0o022


class DiskHandoffs:
    """Step by step what `ports.store.Handoffs` promises.

    Args:
        temp: gives the folder for temporary files; forks stand in a folder of ours in it.
        lock_timeout_s: how long a change waits for another one.
    """

    def __init__(
        self, home: Home, temp: Callable[[], str], random_hex: Callable[[int], str], *, lock_timeout_s: float = 10.0
    ) -> None:
        self._home = home
        self._disk = home.disk
        self._temp = temp
        self._random_hex = random_hex
        self._lock_timeout_s = lock_timeout_s
        self._changing = threading.Lock()

    @in_thread
    def add(self, place: Place, stem: str, text: str, principal: str = "") -> StoredHandoff:
        data = handoff_bytes(text)
        self._home.check()
        with writes("the handoff"), self._locked(principal):
            self._make(place, principal)
            taken = self._taken(place, principal)
            taken |= self._taken("archive", principal) if place == "memory" else set()
            return self._put(place, free_name(stem, taken), data, principal)

    @in_thread
    def list(self, principal: str = "") -> tuple[StoredHandoff, ...]:
        self._home.check()
        with reads("the handoffs"):
            return tuple(
                found
                for place in PLACES
                for name in sorted(self._names(place, principal))
                if (found := self._read(place, name, principal)) is not None
            )

    @in_thread
    def archive(self, one: StoredHandoff, principal: str = "") -> StoredHandoff | None:
        """By a copy that is flushed before the file goes: no crash finds neither of them."""
        with writes("the archived handoff"), self._locked(principal):
            if one.place != "memory" or (data := self._same(one, principal)) is None:
                return None
            self._make("archive", principal)
            known = self._read("archive", one.name, principal)
            if known is None or known.sha256 != one.sha256:  # else: a crash came between copy and removal
                name = free_name(one.name, self._taken("archive", principal))
                known = self._put("archive", name, data, principal)
            self._remove(one, principal)
            return known

    @in_thread
    def remove(self, one: StoredHandoff, principal: str = "", *, note: str = "") -> bool:
        with writes("the note of what was deleted"), self._locked(principal):
            if self._same(one, principal) is None:
                return False
            if note:
                self._note(note, principal)
            self._remove(one, principal)
            return True

    def forget(self, gone: Forgotten, principal: str) -> list[str]:
        """Take out what has to go of every handoff, wherever it is, and of the notes about deleted ones. Gives paths.

        Raises:
            WriteFailed, LockTimeout: some of it may still be there.
        """
        changed: list[str] = []
        with writes("a handoff"), self._locked(principal):
            for place in PLACES:
                folder = self._folder(place, principal)
                for name, found in self._disk.scan(folder) if self._stands(place, principal) else ():
                    path = os.path.join(folder, name)
                    if (
                        found.kind == "file"
                        and name.endswith((SUFFIX, ".jsonl", ".tmp"))
                        and forget_in(self._home, path, gone)
                    ):
                        changed.append(path)
                if self._stands(place, principal):
                    self._disk.flush_folder(folder)  # also what a purge that was killed put there
        return changed

    def holds(self, holds: Callable[[str], bool], principal: str) -> list[str]:
        """Forks, which stand outside the store, that hold a text."""
        with reads("the handoffs"):
            return traces(self._home, self._folder("temp", principal), holds)

    @in_thread
    def removed(self, principal: str = "") -> tuple[str, ...]:
        path = os.path.join(self._folder("archive", principal), REMOVED_NAME)
        with reads("the notes of what was deleted"):
            if not self._stands("archive", principal) or self._disk.look(path) is None:
                return ()
            text = read_from(self._disk, path).decode("utf-8", "replace")
        # A power cut may leave zeros, or half a line: then the file that it was to name still stands.
        return tuple(line for line in text.split("\n")[:-1] if line and "\0" not in line)

    def _folder(self, place: Place, principal: str) -> str:
        owner = f"h-{key_hash(SessionKey(MEMORY, principal))[:32]}" if principal else ""
        if place == "temp":
            of = hashlib.sha256(f"{self._home.root}\0{owner}".encode("utf-8", "surrogateescape")).hexdigest()
            return os.path.join(self._temp(), f"palimpsest-{of[:12]}")
        memory = os.path.join(self._home.root, MEMORY, owner) if owner else os.path.join(self._home.root, MEMORY)
        return os.path.join(memory, ARCHIVE) if place == "archive" else memory

    def _path(self, place: Place, name: str, principal: str) -> str:
        return os.path.join(self._folder(place, principal), name + SUFFIX)

    def _make(self, place: Place, principal: str) -> None:
        folder = self._folder(place, principal)
        if place != "temp":
            self._home.make(folder)
        elif not self._stands(place, principal):
            self._disk.mkdir(folder)

    def _stands(self, place: Place, principal: str) -> bool:
        """Whether the folder is there. In the temporary folder, where anyone may make one, it must be ours alone."""
        folder = self._folder(place, principal)
        if not self._home.stands(folder):
            return False
        found = self._disk.look(folder)
        if place == "temp" and os.name == "posix" and found is not None and found.mode & _OTHERS_WRITE:
            raise StoreUnusable(
                f"Other users of this machine may write to {folder}.", next="Remove that folder, then try again."
            )
        return True

    def _names(self, place: Place, principal: str) -> set[str]:
        if not self._stands(place, principal):
            return set()
        found = self._disk.scan(self._folder(place, principal))
        return {name.removesuffix(SUFFIX) for name, what in found if what.kind == "file" and name.endswith(SUFFIX)}

    def _taken(self, place: Place, principal: str) -> set[str]:
        """Names that something has, be it no handoff: a link of the user's is not replaced either."""
        if not self._stands(place, principal):
            return set()
        return {name.removesuffix(SUFFIX) for name, _ in self._disk.scan(self._folder(place, principal))}

    def _read(self, place: Place, name: str, principal: str) -> StoredHandoff | None:
        path = self._path(place, name, principal)
        found = self._disk.look(path)
        if found is None or found.kind != "file":
            return None
        without = StoredHandoff(name=name, place=place, path=path, text=None, sha256="")
        if found.size > MAX_BYTES:
            return msgspec.structs.replace(without, why=f"is longer than {MAX_BYTES:,} bytes")
        try:
            data = read_from(self._disk, path)
        except FileNotFoundError:
            return None  # gone since its name was read
        except OSError as error:
            return msgspec.structs.replace(without, why=f"cannot be read ({error_name(error)})")
        text = handoff_text(data)
        why = "" if text is not None else NO_TEXT
        return msgspec.structs.replace(without, text=text, sha256=hashlib.sha256(data).hexdigest(), why=why)

    def _same(self, one: StoredHandoff, principal: str) -> bytes | None:
        """The bytes of a file that is still the one that was read."""
        self._home.check()
        now = self._read(one.place, one.name, principal) if self._stands(one.place, principal) else None
        if now is None or not now.sha256 or now.sha256 != one.sha256:
            return None
        return read_from(self._disk, self._path(one.place, one.name, principal))

    def _put(self, place: Place, name: str, data: bytes, principal: str) -> StoredHandoff:
        """Write a new file under a name that nobody has.

        Raises:
            WriteFailed, OSError: it is not there; only its name's flush may have failed.
        """
        path = self._path(place, name, principal)
        put_compared(self._disk, path, data, self._random_hex, "the handoff")
        self._home.witnesses.put_whole(path, data)
        sha256 = hashlib.sha256(data).hexdigest()
        return StoredHandoff(name=name, place=place, path=path, text=handoff_text(data), sha256=sha256)

    def _remove(self, one: StoredHandoff, principal: str) -> None:
        path = self._path(one.place, one.name, principal)
        self._home.witnesses.strike(path)
        self._disk.remove(path)
        self._disk.flush_folder(os.path.dirname(path))

    def _note(self, note: str, principal: str) -> None:
        """One line more in the list of what was deleted; a line that a crash cut off stays alone."""
        self._make("archive", principal)
        path = os.path.join(self._folder("archive", principal), REMOVED_NAME)
        known = self._disk.look(path)
        torn = known is not None and known.size > 0 and read_from(self._disk, path, known.size - 1) != b"\n"
        fd = self._disk.create(path) if known is None else self._disk.extend(path)
        try:
            write_all(self._disk, fd, (b"\n" if torn else b"") + handoff_bytes(note) + b"\n")
            self._disk.flush(fd)
        finally:
            self._disk.close(fd)
        self._disk.flush_folder(os.path.dirname(path))
        self._home.witnesses.put_again(path)

    @contextmanager
    def _locked(self, principal: str) -> Generator[None]:
        """One change at a time, over threads and processes.

        Raises:
            LockTimeout: somebody holds it for too long.
        """

        def busy() -> LockTimeout:
            return LockTimeout(
                "Another process holds the lock of the handoffs.",
                next="Try again; if it stays, look for a stopped process.",
            )

        with self._changing:
            memory = self._folder("memory", principal)
            self._home.make(memory)
            with self._home.locked(os.path.join(memory, HANDOFF_LOCK), self._lock_timeout_s, busy):
                yield
