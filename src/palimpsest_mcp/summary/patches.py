"""Which files a patch changes: the `*** Begin Patch` form of agents, and unified diffs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..models.summaries import Verb

_AGENT = re.compile(r"^\*\*\* (Add|Update|Delete) File: (.+)$|^\*\*\* Move to: (.+)$", re.MULTILINE)
_UNIFIED = re.compile(r"^--- (\S[^\t\n]*)(?:\t[^\n]*)?\n\+\+\+ (\S[^\t\n]*)", re.MULTILINE)
_VERBS: dict[str, Verb] = {"Add": "created", "Update": "edited", "Delete": "deleted"}


def is_patch(text: str) -> bool:
    """Whether a text holds a patch of either form."""
    return "*** Begin Patch" in text or _UNIFIED.search(text) is not None


def patch_effects(text: str) -> Iterator[tuple[str, Verb, str]]:
    """Path, what becomes of it, and where it moves, for every file of a patch, in order."""
    last = ""
    found = False
    for match in _AGENT.finditer(text):
        found = True
        if match[3]:
            if last:
                yield last, "moved", match[3].strip()
        else:
            last = match[2].strip()
            yield last, _VERBS[match[1]], ""
    if not found:
        yield from _unified(text)


def _unified(text: str) -> Iterator[tuple[str, Verb, str]]:
    for old, new in _UNIFIED.findall(text):
        before, after = _name(old), _name(new)
        if after == "/dev/null":
            yield before, "deleted", ""
        else:
            yield after, "created" if before == "/dev/null" else "edited", ""


def _name(path: str) -> str:
    path = path.strip()
    return path[2:] if path[:2] in ("a/", "b/") else path
