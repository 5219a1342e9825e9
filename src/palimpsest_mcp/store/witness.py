"""`witness/`: how long each file of the store was and the hash of its bytes, kept apart from it.

What is missing cannot say so itself. A witness is written after its file, and is not flushed: after a power cut it may
be behind or gone, never ahead of what was acknowledged. It says less then, and nothing that is not true.
"""

from __future__ import annotations

import hashlib
import os
import zlib
from contextlib import suppress
from typing import NamedTuple

from .disk import Disk, read_from

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
