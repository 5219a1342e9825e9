"""The order of files in a summary: whole paths first, then folder by folder, files with the same fate side by side."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from ..models.summaries import ChangedFile


def arranged(files: Iterable[ChangedFile]) -> tuple[ChangedFile, ...]:
    """The same files; within a folder in the order in which they, or others with the same steps, first came."""
    given = list(files)
    first: dict[Hashable, int] = {}
    for place, one in enumerate(given):
        first.setdefault(one.folder, place)
        first.setdefault(_fate(one), place)
    return tuple(sorted(given, key=lambda one: (bool(one.folder), first[one.folder], first[_fate(one)])))


def _fate(one: ChangedFile) -> Hashable:
    """Files with equal steps share a line where they stand in one folder; whole paths keep their own order."""
    return (one.folder, one.steps) if one.folder else (one.path, one.folder)
