"""A disk in memory that can crash at any call, fail at any call, and lose what was not flushed.

The model is a pessimistic reading of POSIX: bytes of a file are safe only after a flush of the file, a name only after
a flush of its folder. What is not safe may be there after a power cut, in part, as zeros, or not at all, each file and
each name on its own. After a failed flush nobody can say which bytes are there, and a later flush does not help.
"""

from __future__ import annotations

import errno
import itertools
import os
from collections.abc import Iterator, Mapping
from random import Random
from typing import Literal

from ..store.disk import Found, Release

BLOCK = 64
"""Bytes that stay or vanish together; small, so that short lines tear too."""
CHANGES = frozenset(
    {"create", "write", "truncate", "flush", "flush_others", "flush_folder", "mkdir", "replace", "remove"}
)
"""Calls after which a crash finds another disk than before."""


class Crash(BaseException):
    """The machine stops here. Not an Exception, so that nothing handles it."""


class Node:
    """A file or folder: how it looks now, and what is safe."""

    numbers = itertools.count(1)

    def __init__(self, kind: Literal["file", "folder"]) -> None:
        self.kind: Literal["file", "folder"] = kind
        self.number = next(self.numbers)
        self.data = bytearray()
        self.safe = b""
        self.doubtful = False
        """A flush failed: the bytes that were not safe then may be anything, for good."""
        self.names: dict[str, Node] = {}
        self.safe_names: dict[str, Node] = {}


class SimulatedDisk:
    """Implements `palimpsest_mcp.store.disk.Disk`.

    Args:
        root: what is on the disk; None for an empty one.
        crash_at: the call, counted from 1, in which the machine stops. A write stops half-way.
        faults: call -> the error it fails with, or `short` for a write that takes only a part.
        process: what `pid` says.
    """

    def __init__(
        self,
        root: Node | None = None,
        *,
        crash_at: int = 0,
        faults: Mapping[int, OSError | Literal["short"]] | None = None,
        process: int = 1,
    ) -> None:
        self.root = root or Node("folder")
        self.calls: list[str] = []
        """Names of the calls so far."""
        self.process = process
        self._crash_at = crash_at
        self._faults = dict(faults or {})
        self._open: dict[int, Node] = {}
        self._fds = itertools.count(3)
        self._locked: set[str] = set()
        self._held: dict[int, int] = {}
        """Number of a file -> descriptor that holds it."""

    @property
    def open_files(self) -> int:
        """How many files are open."""
        return len(self._open)

    def pid(self) -> int:
        return self.process

    def look(self, path: str) -> Found | None:
        self._call("look")
        node = self._node(path)
        return None if node is None else _found(node)

    def scan(self, folder: str) -> list[tuple[str, Found]]:
        self._call("scan")
        node = self._node(folder)
        if node is None:
            return []
        if node.kind != "folder":
            raise NotADirectoryError(errno.ENOTDIR, "not a folder")
        return sorted((name, _found(child)) for name, child in node.names.items())

    def mkdir(self, path: str) -> None:
        self._call("mkdir")
        self._add(path, Node("folder"))

    def create(self, path: str) -> int:
        self._call("create")
        return self._opened(self._add(path, Node("file")))

    def extend(self, path: str) -> int:
        self._call("extend")
        node = self._node(path)
        if node is None:
            raise FileNotFoundError(errno.ENOENT, "no such file")
        return self._opened(node)

    def open(self, path: str) -> int:
        self._call("open")
        node = self._node(path)
        if node is None:
            raise FileNotFoundError(errno.ENOENT, "no such file")
        return self._opened(node)

    def found(self, fd: int) -> Found:
        self._call("found")
        return _found(self._open[fd])

    def write(self, fd: int, data: memoryview) -> int:
        node, number = self._open[fd], len(self.calls) + 1
        half = max(1, len(data) // 2)
        if number == self._crash_at:
            node.data += data[: len(data) // 2]
        if self._faults.get(number) == "short":
            self.calls.append("write")
            node.data += data[:half]
            return half
        self._call("write")
        node.data += data
        return len(data)

    def read(self, fd: int, size: int, offset: int) -> bytes:
        self._call("read")
        return bytes(self._open[fd].data[offset : offset + size])

    def truncate(self, fd: int, size: int) -> None:
        self._call("truncate")
        del self._open[fd].data[size:]

    def flush(self, fd: int) -> None:
        self._flush(self._open[fd], "flush")

    def flush_others(self, path: str) -> None:
        node = self._node(path)
        if node is None:
            raise FileNotFoundError(errno.ENOENT, "no such file")
        self._flush(node, "flush_others")

    def _flush(self, node: Node, call: str) -> None:
        if isinstance(self._faults.get(len(self.calls) + 1), OSError):
            node.doubtful = len(node.data) > len(node.safe)
        self._call(call)
        if node.doubtful and len(node.data) > len(node.safe):
            return  # the system takes the bytes for clean, and says yes
        node.safe = bytes(node.data)

    def flush_folder(self, path: str) -> None:
        self._call("flush_folder")
        node = self._node(path)
        if node is None:
            raise FileNotFoundError(errno.ENOENT, "no such folder")
        node.safe_names = dict(node.names)

    def close(self, fd: int) -> None:
        self.let_go(fd)
        del self._open[fd]  # also when it fails, as Linux does
        self._call("close")

    def replace(self, source: str, target: str) -> None:
        self._call("replace")
        parent, name = self._parent(source)
        if name not in parent.names:
            raise FileNotFoundError(errno.ENOENT, "no such file")
        node = parent.names.pop(name)
        parent, name = self._parent(target)
        parent.names[name] = node

    def remove(self, path: str) -> None:
        self._call("remove")
        parent, name = self._parent(path)
        if name not in parent.names:
            raise FileNotFoundError(errno.ENOENT, "no such file")
        del parent.names[name]

    def lock(self, path: str, timeout_s: float) -> Release | None:
        self._call("lock")
        if path in self._locked:
            return None
        if self._node(path) is None:
            self._add(path, Node("file"))
        self._locked.add(path)
        return lambda: self._locked.discard(path)

    def hold(self, fd: int, timeout_s: float) -> bool:
        self._call("hold")
        node = self._open[fd].number
        if self._held.get(node, fd) != fd:
            return False
        self._held[node] = fd
        return True

    def let_go(self, fd: int) -> None:
        self._held = {node: holder for node, holder in self._held.items() if holder != fd}

    def killed(self) -> SimulatedDisk:
        """The disk as another process finds it after a kill: nothing is lost or safer, locks are free."""
        return SimulatedDisk(_copy(self.root, {}), process=self.process + 1)

    def power_cuts(self, random: Random, count: int) -> Iterator[SimulatedDisk]:
        """Disks that a power cut may leave: first what is safe and no more, then everything, then mixtures."""
        for number in range(count):
            keep = {0: 0.0, 1: 1.0}.get(number)
            yield SimulatedDisk(_after_cut(self.root, random, keep), process=self.process + 1)

    def _call(self, name: str) -> None:
        self.calls.append(name)
        if len(self.calls) == self._crash_at:
            raise Crash
        fault = self._faults.get(len(self.calls))
        if isinstance(fault, OSError):
            raise type(fault)(*fault.args)

    def _opened(self, node: Node) -> int:
        fd = next(self._fds)
        self._open[fd] = node
        return fd

    def _node(self, path: str) -> Node | None:
        node: Node | None = self.root
        for part in _parts(path):
            node = node.names.get(part) if node is not None else None
        return node

    def _parent(self, path: str) -> tuple[Node, str]:
        parent = self._node(os.path.dirname(path))
        if parent is None or parent.kind != "folder":
            raise FileNotFoundError(errno.ENOENT, "no such folder")
        return parent, os.path.basename(path)

    def _add(self, path: str, node: Node) -> Node:
        parent, name = self._parent(path)
        if name in parent.names:
            raise FileExistsError(errno.EEXIST, "it is there already")
        parent.names[name] = node
        return node


def _parts(path: str) -> list[str]:
    return [part for part in path.split(os.sep) if part]


def _found(node: Node) -> Found:
    return Found(node.kind, len(node.data), (1, node.number), 0o700 if node.kind == "folder" else 0o600)


def _copy(node: Node, copies: dict[int, Node]) -> Node:
    """Everything as it is, what is safe and what is not included."""
    if (copy := copies.get(node.number)) is not None:
        return copy
    copy = copies[node.number] = Node(node.kind)
    copy.data, copy.safe, copy.doubtful = bytearray(node.data), node.safe, node.doubtful
    copy.names = {name: _copy(child, copies) for name, child in node.names.items()}
    copy.safe_names = {name: _copy(child, copies) for name, child in node.safe_names.items()}
    return copy


def _settled(node: Node, data: bytes, names: dict[str, Node]) -> Node:
    new = Node(node.kind)
    new.data, new.safe = bytearray(data), data
    new.names, new.safe_names = names, dict(names)
    return new


def _after_cut(node: Node, random: Random, keep: float | None) -> Node:
    """One legal state after a power cut. `keep`: how likely the unsafe stays; None draws it anew for each thing."""
    names: dict[str, Node] = {}
    for name in sorted({*node.names, *node.safe_names}):
        safe, now = node.safe_names.get(name), node.names.get(name)
        kept = now if random.random() < (random.random() if keep is None else keep) else safe
        if kept is not None:
            names[name] = _after_cut(kept, random, keep)
    return _settled(node, _bytes_after_cut(node, random, keep), names)


def _bytes_after_cut(node: Node, random: Random, keep: float | None) -> bytes:
    safe, now = node.safe, bytes(node.data)
    if keep is not None:
        return now if keep else safe
    if len(now) <= len(safe) or node.doubtful and random.random() < 0.5:
        return random.choice((safe, now))
    tail = now[len(safe) :]
    if random.random() < 0.5:
        return safe + tail[: random.randrange(len(tail) + 1)]
    blocks = (tail[at : at + BLOCK] for at in range(0, len(tail), BLOCK))
    return safe + b"".join(block if random.random() < 0.5 else bytes(len(block)) for block in blocks)
