"""Stores: on disk, and in memory. Loads neither until it is asked for: a hook needs only a small file or two.

In: events, records, documents. Out: the same, checked against what was written. `disk_store.DiskStore` is the store in
a folder, `memory.MemoryStore` the same on a disk in memory, `postgres/` in a database; `ledger` and `archive` are its
halves, `segments` their files, `home` the folder, `disk` the one way to the operating system.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .disk_store import DiskStore
    from .memory import MemoryStore

__all__ = ["DiskStore", "MemoryStore"]


def __getattr__(name: str) -> Any:
    if name == "DiskStore":
        from .disk_store import DiskStore

        return DiskStore
    if name == "MemoryStore":
        from .memory import MemoryStore

        return MemoryStore
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
