"""The folder that most paths of a handoff share: named once, `…/` in the paths themselves."""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Iterable
from typing import Any, TypeVar, cast

import msgspec

from ..models.handoffs import FileNote, Finding, Handoff

MARK = "…/"
LEAST_SAVED = 60
"""Characters that naming a root must save in all."""
T = TypeVar("T", bound=Handoff)


def best_root(paths: Iterable[str]) -> str:
    """The folder whose name, said once, saves the most; empty where it would not pay."""
    counts: Counter[str] = Counter()
    for path in set(paths):
        folder = posixpath.dirname(path)
        while path.startswith("/") and len(folder) > 1:
            counts[folder] += 1
            folder = posixpath.dirname(folder)
    saved = {folder: count * (len(folder) - 1) - len(folder) for folder, count in counts.items()}
    best = max(saved, key=lambda folder: (saved[folder], folder), default="")
    return best if best and saved[best] >= LEAST_SAVED else ""


def shortened(path: str, root: str) -> str:
    """`/srv/app/src/a.py` below `/srv/app` -> `…/src/a.py`; other paths as they are."""
    return MARK + path[len(root) + 1 :] if root and path.startswith(f"{root}/") else path


def with_whole_paths(handoff: T) -> T:
    """The handoff without a root: every path whole."""
    if not handoff.root:
        return handoff
    fields = {name: _whole(getattr(handoff, name), handoff.root) for name in handoff.__struct_fields__}
    return msgspec.structs.replace(handoff, **{**fields, "root": ""})


def _whole(value: Any, root: str) -> Any:
    if isinstance(value, str):
        return value.replace(f"`{MARK}", f"`{root}/")
    if isinstance(value, tuple):
        return tuple(_whole(entry, root) for entry in cast("tuple[Any, ...]", value))
    if isinstance(value, FileNote):
        return msgspec.structs.replace(value, path=_path(value.path, root))
    if isinstance(value, Finding):
        return msgspec.structs.replace(value, where=_path(value.where, root))
    return value


def _path(path: str, root: str) -> str:
    return f"{root}/{path.removeprefix(MARK)}" if path.startswith(MARK) else path


__all__ = ["MARK", "best_root", "shortened", "with_whole_paths"]
