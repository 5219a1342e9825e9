"""What needs no folder: the stores on a disk in memory, for tests and for library use that keeps nothing."""

from __future__ import annotations

import secrets
from pathlib import Path

from ..ports.clock import RandomHex
from .disk_store import DiskStore
from .experience_files import DiskExperience
from .memory_disk import MemoryDisk

_ROOT, _TEMP = Path("memory:"), Path("memory:temp")
"""Named in what people read, such as a handoff's path."""


class MemoryStore(DiskStore):
    """Keeps everything until the process ends."""

    def __init__(self, *, random_hex: RandomHex = secrets.token_hex) -> None:
        disk = MemoryDisk()
        disk.mkdir(str(_TEMP))
        super().__init__(_ROOT, disk=disk, random_hex=random_hex, temp=_TEMP)

    @property
    def location(self) -> str:
        return "memory"


class MemoryExperience(DiskExperience):
    """The same for the experience of skills."""

    def __init__(self, *, random_hex: RandomHex = secrets.token_hex, lock_timeout_s: float = 10.0) -> None:
        super().__init__(_ROOT, (), random_hex=random_hex, disk=MemoryDisk(), lock_timeout_s=lock_timeout_s)


__all__ = ["MemoryExperience", "MemoryStore"]
