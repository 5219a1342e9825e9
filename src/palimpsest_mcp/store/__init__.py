"""Stores: on disk, and in memory."""

from __future__ import annotations

from .disk_store import DiskStore
from .memory import MemoryStore

__all__ = ["DiskStore", "MemoryStore"]
