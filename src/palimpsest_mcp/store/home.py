"""The store's root folder: its version, and folders whose names are on disk before anything in them is acknowledged.

`witness/`: how long each file of the store was and the hash of its bytes, kept apart from it.

What is missing cannot say so itself. A witness is written after its file, and is not flushed: after a power cut it may
be behind or gone, never ahead of what was acknowledged. It says less then, and nothing that is not true.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
import threading
import zlib
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from ..errors import InvalidArgument, LockTimeout, StoreNewer, StoreUnusable, WriteFailed
from ..models.events import SessionKey
from ..ports.seams import RandomHex
from .disk import Disk, Found, read_from, reads, replace_whole, writes

WITNESSES = "witness"
_LINE = b'{"size":%-16d,"lines":%-12d,"safe":%-16d,"sha256":"%s","safe_sha256":"%s"'


class Witness(NamedTuple):
    """What a file was when it was last written."""

    size: int
    lines: int
    safe: int
    """How many of its bytes were flushed."""
    sha256: str
    """Of the first `size` bytes; a file of lines may have grown since."""
    safe_sha256: str
    """Of the first `safe` bytes."""


def witness_of(data: bytes) -> Witness:
    """Of a file that is flushed."""
    sha256 = hashlib.sha256(data).hexdigest()
    return Witness(len(data), data.count(b"\n"), len(data), sha256, sha256)


def encoded(witness: Witness) -> bytes:
    """One line with its checksum, always of the same length: it is written over the one before."""
    hashes = witness.sha256.encode(), witness.safe_sha256.encode()
    head = _LINE % (witness.size, witness.lines, witness.safe, *hashes)
    return b'%s,"_c":"%08x"}\n' % (head, zlib.crc32(head))


class Witnesses:
    """Writes witnesses. Putting one never fails: without it less is noticed, and that is all."""

    def __init__(self, disk: Disk, root: str) -> None:
        self._disk = disk
        self._root = root
        self._folders: set[str] = set()

    def put(self, path: str, witness: Witness) -> None:
        """Say what a file is now. One write in place, of always the same length."""
        if (name := self._name(path)) is None:
            return
        with suppress(OSError):
            folder, line = os.path.dirname(name), encoded(witness)
            if folder not in self._folders:
                self._make(folder)
            try:
                self._disk.overwrite(self._path(name), line)
            except FileNotFoundError:  # somebody took the folder away
                self._make(folder)
                self._disk.overwrite(self._path(name), line)

    def put_whole(self, path: str, data: bytes) -> None:
        """The same for a file whose bytes were just written and flushed."""
        self.put(path, witness_of(data))

    def put_name(self, path: str) -> None:
        """Say that there is a file, and nothing of what is in it."""
        self.put(path, witness_of(b""))

    def put_again(self, path: str) -> None:
        """The same for a file as it stands; nothing where it cannot be read."""
        with suppress(OSError):
            self.put_whole(path, read_from(self._disk, path))

    def stands(self, path: str) -> bool:
        """Whether there is a witness of a file."""
        name = self._name(path)
        return name is not None and self._disk.look(self._path(name)) is not None

    def strike(self, path: str) -> None:
        """The file is about to go: flushed, so that no crash makes it missed.

        Raises:
            OSError: it would be missed; leave it where it is.
        """
        if self.stands(path):
            witness = self._path(self._name(path) or "")
            self._disk.remove(witness)
            self._disk.flush_folder(os.path.dirname(witness))

    def _name(self, path: str) -> str | None:
        """The path from the root, with `/`; None for what stands elsewhere."""
        root = self._root + os.sep
        return path[len(root) :].replace(os.sep, "/") if path.startswith(root) else None

    def _path(self, name: str) -> str:
        return os.path.join(self._root, WITNESSES, *name.split("/"))

    def _make(self, folder: str) -> None:
        """Folders that are looked at once a process: a link in the place of one is not followed."""
        path = self._root
        for part in [WITNESSES, *filter(None, folder.split("/"))]:
            path = os.path.join(path, part)
            found = self._disk.look(path)
            if found is None:
                with suppress(FileExistsError):
                    self._disk.mkdir(path)
            elif found.kind != "folder":
                raise NotADirectoryError(path)
        self._folders.add(folder)


FORMAT_VERSION = 1
"""What this program writes. It reads every lower one and refuses a higher one."""

SESSIONS, LEDGER, ARCHIVE, STUDIES = "session", "ledger", "offloaded", "studies"
VERSION, SECRET = "VERSION", "secret"
SECRET_BYTES = 32
SMALL_BYTES = 16 << 10
"""What is no larger is written whatever the store holds."""
_OTHERS, _OTHERS_WRITE = 0o077, 0o002
_BEFORE_A_STORE = {"config.toml", "memory", "skills", "claude-code", "statusline.json", "lost+found", ".DS_Store"}
"""What may stand in a home before the store is made: what users put there, notes of a hook, what systems put there."""
_SPARE = ("VERSION.", "secret.")
"""How the names of what a killed program left begin."""


class Home:
    """Where everything of one store stands.

    Args:
        root: need not exist; it is made with the first write.
        random_hex: names spare files.
        most_bytes: that the store may take on disk; 0 for no limit.
    """

    def __init__(self, root: Path, disk: Disk, random_hex: Callable[[int], str], *, most_bytes: int = 0) -> None:
        self._most_bytes = most_bytes
        self._used = -1
        """Bytes of the store as this process knows them; -1 unknown."""
        self.root = disk.real(str(root))
        disk.guard(self.root)
        self.disk = disk
        self._random_hex = random_hex
        self._lock = threading.RLock()
        self._made: set[str] = set()
        self._unflushed: set[str] = set()
        """Made by us, but their names are not safe yet."""
        self._checked = False
        self.witnesses = Witnesses(disk, self.root)
        self.flushed: dict[str, int] = {}
        """Segments that this process wrote -> how many bytes of them it has flushed."""

    def session_folder(self, key: SessionKey) -> str:
        """Path of a session's folder, whether it exists or not."""
        return os.path.join(self.root, SESSIONS, folder_name(key))

    def check(self) -> None:
        """Look whether this can be a store at all. Writes nothing.

        Raises:
            StoreUnusable: not a folder, open to other users, full of other things, or its version cannot be read.
            StoreNewer: a newer program wrote it.
        """
        if self._checked:
            return
        with reads("the store's folder"):
            found = self.disk.look(self.root)
            if found is not None:
                _refuse_unfit(found)
                self._refuse_newer()
                self._refuse_other_things()
        self._checked = found is not None  # one that does not exist yet may be made by a newer program

    def stands(self, folder: str) -> bool:
        """Whether a session's folder is there. A link, file or pipe in its place is refused, never followed.

        Raises:
            StoreUnusable: something else stands there, or the disk does not say.
        """
        with reads("the session's folder"):
            found = self.disk.look(folder)
        if found is not None and found.kind != "folder":
            raise _not_a_folder(folder)
        return found is not None

    def make(self, folder: str, *, flushed: bool = True) -> None:
        """See to it that a folder under the root exists, and that its name and those above it are flushed.

        Each process flushes each level once even where it finds the folder: its maker may have died before.

        Args:
            flushed: False for one of which nothing is lost with its name.

        Raises:
            StoreUnusable: something else stands in its place.
            OSError: it cannot be made or flushed.
        """
        with self._lock:
            if folder in self._made:
                if self.stands(folder):
                    return
                self.forget_made()
            if folder == self.root:
                self._make_root()
            else:
                self.make(os.path.dirname(folder))
                self._make_level(folder)
                if not flushed:
                    return
                self.disk.flush_folder(os.path.dirname(folder))
                self._unflushed.discard(folder)
            self._made.add(folder)

    def forget_made(self) -> None:
        """Somebody moved or removed folders under us: look at them again."""
        with self._lock:
            self._made.clear()
            self._checked = False

    def replace(self, path: str, data: bytes, *, durable: bool = True, witness: bool = True) -> None:
        """Put a whole small file in its place; flushed, and with a witness, unless it can be made again.

        Raises:
            OSError: the old one, if any, is still there.
        """
        replace_whole(self.disk, path, data, self._random_hex, durable=durable)
        if durable and witness:
            self.witnesses.put_whole(path, data)

    def size_of(self, folder: str) -> int:
        """Bytes of all files under a folder."""
        found = self.disk.look(folder)
        if found is None or found.kind != "folder":
            return 0
        entries = self.disk.scan(folder)
        return sum(
            self.size_of(os.path.join(folder, name)) if entry.kind == "folder" else entry.size
            for name, entry in entries
        )

    def refuse_overfull(self, more: int) -> None:
        """Whether so many bytes still fit below the limit that the user set. What is small always fits: tombstones and
        decisions, by which a full store gets room again. What other processes write is seen once the limit is near.

        Raises:
            WriteFailed: they do not.
            OSError: the store cannot be measured.
        """
        if not self._most_bytes or more <= SMALL_BYTES:
            return
        if self._used < 0 or self._used + more > self._most_bytes:
            self._used = self.size_of(self.root)
        if self._used + more > self._most_bytes:
            raise WriteFailed(
                f"The store has {self._used:,} of the {self._most_bytes:,} bytes that max_store_mb allows, and this "
                f"would add {more:,}; nothing was written.",
                next="Raise PALIMPSEST_MAX_STORE_MB, or make room: `palimpsest-mcp purge --older-than DAYS`.",
            )
        self._used += more

    @contextmanager
    def locked(self, path: str, timeout_s: float, busy: Callable[[], Exception]) -> Generator[None]:
        """Hold a lock over threads and processes while the block runs.

        Args:
            busy: makes what is raised when somebody else holds it for too long.
        """
        release = self.disk.lock(path, timeout_s)
        if release is None:
            raise busy()
        try:
            yield
        finally:
            release()

    @property
    def random_hex(self) -> Callable[[int], str]:
        """What names spare files."""
        return self._random_hex

    def _make_root(self) -> None:
        self.check()
        self._make_upward(self.root)
        if self.disk.look(self._version_path) is None:
            found = self.disk.look(self.root)
            if found is not None and os.name == "posix" and found.mode & _OTHERS:
                with suppress(OSError):  # it is there already and not ours: `doctor` says so
                    self.disk.tighten(self.root)
            self.replace(self._version_path, b"%d\n" % FORMAT_VERSION)

    def _make_upward(self, folder: str) -> None:
        """The root and all levels above it: whoever made them may have died before their names were safe."""
        above = os.path.dirname(folder)
        if above == folder:
            return
        self._make_upward(above)
        self._make_level(folder)
        try:
            self.disk.flush_folder(above)
        except PermissionError:
            if folder in self._unflushed:
                raise
            return  # it was there before us, in a folder that is not ours to open
        self._unflushed.discard(folder)

    def _make_level(self, folder: str) -> None:
        if self.disk.look(folder) is None:
            with suppress(FileExistsError):  # another process may be quicker
                self.disk.mkdir(folder)
                self._unflushed.add(folder)
        self.stands(folder)

    @property
    def _version_path(self) -> str:
        return os.path.join(self.root, VERSION)

    def _refuse_other_things(self) -> None:
        if is_of_something_else(self.disk, self.root):
            raise StoreUnusable(
                f"The folder {self.root} is not empty and holds no store.",
                next="Name a new or empty folder with --home or PALIMPSEST_HOME.",
            )

    def _refuse_newer(self) -> None:
        if self.disk.look(self._version_path) is None:
            return
        text = read_from(self.disk, self._version_path).strip()
        if not (text.isdigit() and len(text) < 9):
            raise StoreUnusable(
                "The store's file VERSION does not hold a number.",
                next=f"If this program wrote the store, write {FORMAT_VERSION} into it; else restore it from a backup.",
            )
        if int(text) > FORMAT_VERSION:
            raise StoreNewer(
                f"The store has format {int(text)}, this program knows up to {FORMAT_VERSION}.",
                next="Install a newer palimpsest-mcp, or name another folder with --home or PALIMPSEST_HOME.",
            )


def is_of_something_else(disk: Disk, root: str) -> bool:
    """Whether a folder is in use, but not as a store; a store that lost its `VERSION` is still one.

    Raises:
        OSError: it cannot be read.
    """
    version = os.path.join(root, VERSION)
    if disk.look(version) is not None:
        return False
    here = dict(disk.scan(root))
    session, secret = here.get(SESSIONS) or here.get(WITNESSES), here.get(SECRET)
    if (session and session.kind == "folder") or (secret and secret.size == SECRET_BYTES):
        return False
    others = any(name not in _BEFORE_A_STORE and not name.startswith(_SPARE) for name in here)
    return (
        others and disk.look(version) is None
    )  # `VERSION` is written first: the store may be younger than our first look


def _refuse_unfit(found: Found) -> None:
    elsewhere = "name another folder with --home or PALIMPSEST_HOME."
    if found.kind != "folder":
        raise StoreUnusable("The store's home is not a folder.", next=f"Move it away, or {elsewhere}")
    if os.name == "posix" and found.mode & _OTHERS_WRITE:
        raise StoreUnusable(
            "Every user of this machine may write to the store's folder.", next=f"Run chmod 700 on it, or {elsewhere}"
        )


def _not_a_folder(path: str) -> StoreUnusable:
    return StoreUnusable(
        f"Something that is not a folder stands at {path}.",
        next="Move it away, or name another folder with --home or PALIMPSEST_HOME.",
    )


# The store's secret: 32 random bytes, made once, the key of redaction marks (D12).


LOCK_TIMEOUT_S = 10.0


class Secret:
    """The file `secret`. Whoever comes first makes it; all others read the same."""

    def __init__(self, home: Home, random_hex: RandomHex) -> None:
        self._home = home
        self._random_hex = random_hex
        self._path = os.path.join(home.root, SECRET)
        self._known = b""

    def get(self) -> bytes:
        """Read it, or make it.

        Raises:
            StoreUnusable: the file is damaged or not a plain file.
            WriteFailed, LockTimeout: it cannot be made.
        """
        if not self._known:
            self._home.check()
            self._known = self._read() or self._make()
        return self._known

    def take(self, secret: bytes) -> bytes:
        """Make it of these bytes, where there is none. Returns what it is now.

        Raises:
            StoreUnusable, WriteFailed, LockTimeout: as `get`.
        """
        self._home.check()
        self._known = self._read() or self._make(secret)
        return self._known

    def if_made(self) -> bytes:
        """Read it; empty where nobody made one yet.

        Raises:
            StoreUnusable: the file is damaged or not a plain file.
        """
        self._home.check()
        return self._known or self._read()

    def _read(self) -> bytes:
        """Its bytes; empty where there is no such file yet."""
        with reads("the store's secret"):
            if self._home.disk.look(self._path) is None:
                return b""
            secret = read_from(self._home.disk, self._path)
        if len(secret) != SECRET_BYTES:
            raise StoreUnusable(
                "The store's file `secret` is damaged.",
                next="Restore it from a backup, or remove it: new redaction marks will then differ from older ones.",
            )
        return secret

    def _make(self, given: bytes = b"") -> bytes:
        def busy() -> LockTimeout:
            return LockTimeout("Another process is making the store's secret.", next="Try again.")

        with writes("the store's secret"):
            self._home.make(self._home.root)
            with self._home.locked(self._path + ".lock", LOCK_TIMEOUT_S, busy):
                if found := self._read():
                    return found
                made = given or bytes.fromhex(self._random_hex(SECRET_BYTES))
                lost = self._home.witnesses.stands(self._path)
                self._home.replace(self._path, made, witness=not lost)  # `verify` goes on to miss the first one
                return made


# Names on disk: session folders and segment files. An id becomes a path only where every file system takes it.


SEGMENT_SUFFIX = ".jsonl"
_SAFE = re.compile(r"[a-z0-9]([a-z0-9_-]{0,62}[a-z0-9])?")
_DEVICES = frozenset({"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))})
_HASHED = "h-"


def folder_name(key: SessionKey) -> str:
    """The folder of a session: its own id where that is safe on every file system, else `h-` and a hash.

    Safe: lower-case letters, digits, `-`, `_`, at most 64, not a Windows device, and not itself starting with `h-`.
    A principal always gives a hash, of both.

    Raises:
        InvalidArgument: the id is not a string, or empty.
    """
    if not isinstance(key.session_id, str) or not isinstance(key.principal, str) or not key.session_id:  # pyright: ignore[reportUnnecessaryIsInstance]  # foreign values reach this
        raise InvalidArgument("A session id is a string that is not empty.", next="Give a session id.")
    name = key.session_id
    if not key.principal and _SAFE.fullmatch(name) and name not in _DEVICES and not name.startswith(_HASHED):
        return name
    return _HASHED + key_hash(key)[:32]


def key_digest(key: SessionKey) -> bytes:
    """SHA-256 of a key. The principal's length goes in, so that no two keys run together."""
    principal = key.principal.encode("utf-8", "surrogatepass")
    return hashlib.sha256(
        b"%d:" % len(principal) + principal + key.session_id.encode("utf-8", "surrogatepass")
    ).digest()


def key_hash(key: SessionKey) -> str:
    """The digest in base32, lower case, unpadded."""
    return base64.b32encode(key_digest(key)).decode().rstrip("=").lower()


def spare_handle(key: SessionKey) -> str:
    """A handle for a session whose own was lost with its first ledger line."""
    return "s" + key_hash(key)[:8]


def segment_name(now: datetime, writer: str) -> str:
    """`20261120T101500123456Z-<writer>.jsonl`: sorts by time, and every file system takes it."""
    stamp = now.astimezone(UTC).isoformat(timespec="microseconds").removesuffix("+00:00")
    return f"{re.sub('[-:.]', '', stamp)}Z-{writer}{SEGMENT_SUFFIX}"
