"""x"""

from __future__ import annotations

import os
import re
import signal
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from random import Random
from typing import Literal

from ..store.disk import Found, Release
from ..store.memory import MemoryDisk, Node
from ..store.real_disk import RealDisk

BLOCK = 64
"""Bytes that stay or vanish together; small, so that short lines tear too."""
CHANGES = frozenset(
    {"create", "write", "overwrite", "truncate", "flush", "flush_others", "flush_folder", "mkdir", "replace", "remove"}
)
"""Calls after which a crash finds another disk than before."""


class Crash(BaseException):
    """The machine stops here. Not an Exception, so that nothing handles it."""


class SimulatedDisk(MemoryDisk):
    """A disk in memory whose calls are counted.

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
        super().__init__(root)
        self.calls: list[str] = []
        """Names of the calls so far."""
        self.process = process
        self._crash_at = crash_at
        self._faults = dict(faults or {})

    @property
    def open_files(self) -> int:
        """How many files are open."""
        return len(self._open)

    def pid(self) -> int:
        return self.process

    def write(self, fd: int, data: memoryview) -> int:
        number = len(self.calls) + 1
        if number == self._crash_at:
            self._open[fd].data += data[: len(data) // 2]
        short = self._faults.get(number) == "short"
        return super().write(fd, data[: max(1, len(data) // 2)] if short else data)

    def flush(self, fd: int) -> None:
        self._make_safe(self._open[fd], "flush")

    def flush_others(self, path: str) -> None:
        self._make_safe(self._existing(path), "flush_others")

    def _make_safe(self, node: Node, call: str) -> None:
        if isinstance(self._faults.get(len(self.calls) + 1), OSError):
            node.doubtful = len(node.data) > len(node.safe)
        self._call(call)
        if node.doubtful and len(node.data) > len(node.safe):
            return  # the system takes the bytes for clean, and says yes
        node.safe = bytes(node.data)

    def flush_folder(self, path: str) -> None:
        self._call("flush_folder")
        node = self._existing(path)
        node.safe_names = dict(node.names)

    def close(self, fd: int) -> None:
        super().close(fd)  # also when it fails, as Linux does
        self._call("close")

    def lock(self, path: str, timeout_s: float) -> Release | None:
        return super().lock(path, 0)  # whoever holds it is no other thread: waiting changes nothing

    def hold(self, fd: int, timeout_s: float) -> bool:
        return super().hold(fd, 0)

    def killed(self) -> SimulatedDisk:
        """The disk as another process finds it after a kill: nothing is lost or safer, locks are free."""
        return SimulatedDisk(_copy(self.root, {}), process=self.process + 1)

    def power_cuts(self, random: Random, count: int) -> Iterator[SimulatedDisk]:
        """Disks that a power cut may leave: first what is safe and no more, then everything, then mixtures."""
        for number in range(count):
            keep = {0: 0.0, 1: 1.0}.get(number)
            yield SimulatedDisk(_after_cut(self.root, random, keep), process=self.process + 1)

    def _call(self, name: str) -> AbstractContextManager[object]:
        self.calls.append(name)
        if len(self.calls) == self._crash_at:
            raise Crash
        fault = self._faults.get(len(self.calls))
        if isinstance(fault, OSError):
            raise type(fault)(*fault.args)
        return super()._call(name)


def _copy(node: Node, copies: dict[int, Node]) -> Node:
    """Everything as it is, what is safe and what is not included."""
    if (copy := copies.get(node.number)) is not None:
        return copy
    copy = copies[node.number] = Node(node.kind)
    copy.number = node.number
    copy.data, copy.safe, copy.doubtful = bytearray(node.data), node.safe, node.doubtful
    copy.names = {name: _copy(child, copies) for name, child in node.names.items()}
    copy.safe_names = {name: _copy(child, copies) for name, child in node.safe_names.items()}
    return copy


def _settled(node: Node, data: bytes, names: dict[str, Node]) -> Node:
    new = Node(node.kind)
    new.data, new.safe = bytearray(data), data
    new.names, new.safe_names, new.number = names, dict(names), node.number
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


Fault = OSError | Literal["kill", "short"]
"""`kill`: the process dies by SIGKILL in the call. `short`: a write takes a part of its bytes."""

_SPARE = re.compile(r"\.\d+-[0-9a-f]+\.tmp$")
_KINDS: tuple[tuple[str, str], ...] = (
    (r"witness(/.*)?", "witness"),
    (r"session/[^/]+/ledger(/.*)?", "ledger"),
    (r"session/[^/]+/offloaded(/.*)?", "archive"),
    (r"session/[^/]+/pass\.lock", "pass"),
    (r"session/[^/]+/commit\.lock", "commit"),
    (r"session/[^/]+/summary.*", "summary"),
    (r"session/[^/]+/purged\.jsonl.*", "tombstones"),
    (r"session/[^/]+/(session|status|start)\.json.*", "cache"),
    (r"session(/[^/]+)?", "session"),
    (r"index\.sqlite3.*", "index"),
    (r"secret.*", "secret"),
    (r"VERSION.*", "version"),
    (r"memory(/.*)?", "handoffs"),
    (r"(skills|experience)(/.*)?", "experience"),
    (r"claude-code(/.*)?|statusline\.json.*", "notes"),
    (r"", "home"),
)


class FaultyDisk(RealDisk):
    """A real disk that counts what is done where.

    Args:
        root: of the store; what stands outside is `elsewhere`, `skills` or `backup`, by its path.
        faults: site -> which of its calls fails, from 1, and how. Each fails once.
        flush_s: how long every flush takes, beside what it really takes.
    """

    def __init__(
        self, root: Path | str, *, faults: dict[str, tuple[int, Fault]] | None = None, flush_s: float = 0.0
    ) -> None:
        super().__init__()
        self._root = os.path.realpath(root)
        self._faults = dict(faults or {})
        self._flush_s = flush_s
        self._kinds: dict[int, str] = {}
        self.calls: Counter[str] = Counter()
        """Site -> how often it was reached."""
        self.hit: list[str] = []
        """Sites whose fault was injected."""

    def look(self, path: str) -> Found | None:
        self._at("look", path)
        return super().look(path)

    def scan(self, folder: str) -> list[tuple[str, Found]]:
        self._at("scan", folder)
        return super().scan(folder)

    def database(self, path: str) -> str:
        self._at("open", path)
        return super().database(path)

    def mkdir(self, path: str) -> None:
        self._at("mkdir", path)
        super().mkdir(path)

    def create(self, path: str) -> int:
        self._at("create", path)
        return self._noted(super().create(path), path)

    def extend(self, path: str) -> int:
        self._at("extend", path)
        return self._noted(super().extend(path), path)

    def open(self, path: str) -> int:
        self._at("open", path)
        return self._noted(super().open(path), path)

    def found(self, fd: int) -> Found:
        self._on("found", fd)
        return super().found(fd)

    def write(self, fd: int, data: memoryview) -> int:
        short = self._on("write", fd) == "short"
        return super().write(fd, data[: max(1, len(data) // 2)] if short else data)

    def overwrite(self, path: str, data: bytes) -> None:
        self._at("overwrite", path)
        super().overwrite(path, data)

    def read(self, fd: int, size: int, offset: int) -> bytes:
        short = self._on("read", fd) == "short"
        return super().read(fd, max(1, size // 2) if short else size, offset)

    def truncate(self, fd: int, size: int) -> None:
        self._on("truncate", fd)
        super().truncate(fd, size)

    def flush(self, fd: int) -> None:
        self._on("flush", fd)
        self._wait()
        super().flush(fd)

    def flush_others(self, path: str) -> None:
        self._at("flush_others", path)
        self._wait()
        super().flush_others(path)

    def flush_folder(self, path: str) -> None:
        self._at("flush_folder", path)
        self._wait()
        super().flush_folder(path)

    def close(self, fd: int) -> None:
        kind = self._kinds.pop(fd, "elsewhere")
        super().close(fd)  # also when it fails, as Linux does
        self._reach(f"close of {kind}")

    def replace(self, source: str, target: str) -> None:
        self._at("rename", target)
        super().replace(source, target)

    def remove(self, path: str) -> None:
        self._at("remove", path)
        super().remove(path)

    def lock(self, path: str, timeout_s: float) -> Release | None:
        self._at("lock", path)
        return super().lock(path, timeout_s)

    def hold(self, fd: int, timeout_s: float) -> bool:
        self._on("hold", fd)
        return super().hold(fd, timeout_s)

    def let_go(self, fd: int) -> None:
        self._on("let_go", fd)
        super().let_go(fd)

    def _noted(self, fd: int, path: str) -> int:
        self._kinds[fd] = self._kind(path)
        return fd

    def _wait(self) -> None:
        if self._flush_s:
            time.sleep(self._flush_s)

    def _kind(self, path: str) -> str:
        path = _SPARE.sub("", path)
        if path != self._root and not path.startswith(self._root + os.sep):
            outside = (name for name in ("skills", "backup") if f"/{name}" in path)
            return next(outside, "elsewhere")
        name = path[len(self._root) + 1 :].replace(os.sep, "/")
        return next((kind for pattern, kind in _KINDS if re.fullmatch(pattern, name)), "elsewhere")

    def _at(self, call: str, path: str) -> None:
        self._reach(f"{call} of {self._kind(path)}")

    def _on(self, call: str, fd: int) -> Fault | None:
        return self._reach(f"{call} of {self._kinds.get(fd, 'elsewhere')}")

    def _reach(self, site: str) -> Fault | None:
        self.calls[site] += 1
        number, fault = self._faults.get(site, (0, "short"))
        if number != self.calls[site]:
            return None
        self.hit.append(site)
        if fault == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if isinstance(fault, OSError):
            raise type(fault)(*fault.args)
        return fault
