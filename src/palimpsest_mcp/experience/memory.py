"""The experience of skills on a disk in memory, for tests and for library use that keeps nothing."""

from __future__ import annotations

import secrets
from pathlib import Path

from ..ports.text import RandomHex
from ..store.memory import MemoryDisk
from .disk import DiskExperience


class MemoryExperience(DiskExperience):
    """Keeps everything until the process ends."""

    def __init__(self, *, random_hex: RandomHex = secrets.token_hex, lock_timeout_s: float = 10.0) -> None:
        super().__init__(Path("memory:"), (), random_hex=random_hex, disk=MemoryDisk(), lock_timeout_s=lock_timeout_s)
