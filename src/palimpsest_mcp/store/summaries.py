"""`session/<id>/summary.md`: read as it is, replaced as a whole, and only by one that was read back from the disk."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager

from ..errors import InvalidArgument, LockTimeout, StoreUnusable, SummaryChanged, WriteFailed
from ..memory.summary.sections import NotASummary, from_markdown, to_markdown
from ..models.events import SessionKey
from ..models.reports import Forgotten
from ..models.summaries import AnchoredSummary
from ..ports.store import StoredSummary
from .disk import hop, put_compared, read_from, reads, writes
from .home import Home
from .ledger import LedgerFiles
from .rewrite import forget_in

# A summary as the bytes that are kept.


def version_of(data: bytes | None) -> str:
    """SHA-256 of what is kept; empty for nothing."""
    return "" if data is None else hashlib.sha256(data).hexdigest()


def encoded(summary: AnchoredSummary) -> bytes:
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


def decoded(data: bytes | None) -> StoredSummary:
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
LOCK_NAME = "summary.lock"


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
        return decoded(self._read(self._home.session_folder(key)))

    def put(self, key: SessionKey, summary: AnchoredSummary, *, after: str) -> str:
        data = encoded(summary)
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
                if kept is not None and decoded(kept).note:
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

        with self._writing, self._home.locked(os.path.join(folder, LOCK_NAME), self._lock_timeout_s, busy):
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
