"""The real disk with one call that fails, named by its site: what is done, and to which kind of file.

`flush of ledger`, `lock of pass`, `rename of summary`. A site stays the same where code before it gains or loses a
call, so a fault goes where it is meant to go, and the disk says whether it got there.
"""

from __future__ import annotations

import os
import re
import signal
import time
from collections import Counter
from pathlib import Path
from typing import Literal

from ..store.disk import Found, Release
from ..store.real_disk import RealDisk

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
