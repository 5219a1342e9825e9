"""Whether a result is replaced before it ever enters the context (design §9.16). Pure rules: unsure means leave."""

from __future__ import annotations

import re
from collections.abc import Collection

import msgspec

CUT_ABOVE_TOKENS = 25_000
CUT_ABOVE_CHARACTERS = 50_000
"""Beyond either, the host cuts a result or puts it into a file and shows a preview of 2 KB (client 2.1.328)."""

_READ_ONLY = "log txt out err csv tsv jsonl ndjson lock map snap har trace dump patch diff"
_FOREIGN = "node_modules site-packages dist-packages .venv venv dist build target .git tool-results"
_DATA = frozenset(_READ_ONLY.split())
"""Ends of names of files that are read for what they say. Anything else may well be edited next."""
_MADE = frozenset(_FOREIGN.split())
"""Folders with files that somebody else made."""


class Newborn(msgspec.Struct, frozen=True, kw_only=True):
    """A result that is about to enter the context."""

    characters: int
    tokens: int
    spilled: bool = False
    """The host put it into a file already."""
    target: str = ""
    """File that was read, where it was one."""


class Decision(msgspec.Struct, frozen=True):
    """What becomes of it, and why: a stable name."""

    replace: bool
    reason: str


def decide(newborn: Newborn, *, above_tokens: int | None = None, touched: Collection[str] = ()) -> Decision:
    """Whether a digest takes a result's place at birth.

    Args:
        above_tokens: the user's own threshold; None leaves only what the host would cut.
        touched: files that the session wrote or edited.
    """
    cut = newborn.spilled or newborn.tokens > CUT_ABOVE_TOKENS or newborn.characters > CUT_ABOVE_CHARACTERS
    long = above_tokens is not None and newborn.tokens > above_tokens
    if not cut and not long:
        return Decision(False, "the host takes it whole")
    if newborn.target and _same_file(newborn.target, touched):
        return Decision(False, "a file being edited")
    if newborn.target and not _only_read(newborn.target):
        return Decision(False, "a file that may be edited next")
    return Decision(True, "the host would cut it" if cut else "above the user's threshold")


def _same_file(target: str, touched: Collection[str]) -> bool:
    """Whether a session worked on a file; a relative path fits every file that ends so."""
    mine = _plain(target)
    others = [_plain(path) for path in touched]
    return any(mine == other or mine.endswith("/" + other) or other.endswith("/" + mine) for other in others)


def _plain(path: str) -> str:
    return re.sub(r"/(\./)+", "/", path.replace("\\", "/")).removeprefix("./")


def _only_read(target: str) -> bool:
    *folders, name = _plain(target).split("/")
    _, dot, suffix = name.rpartition(".")
    return bool(dot and suffix.lower() in _DATA) or not _MADE.isdisjoint(folders)
