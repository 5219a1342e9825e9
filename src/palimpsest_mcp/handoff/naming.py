"""Names of handoffs: a slug that is the task's identity, and the file name made of it."""

from __future__ import annotations

import hashlib
import re
import unicodedata

from ..models.handoffs import Phase
from ..models.plain_text import plain_line

MAX_TITLE = 100
"""Characters of a title: a longer task stands whole in its own section."""
MAX_SLUG = 60
_HASH_DIGITS = 6
_RUN = re.compile(r"[^a-z0-9]+")
_DEVICES = frozenset({"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))})


def title_of(task: str) -> str:
    """The task as a title."""
    return plain_line(task, MAX_TITLE)


def slug_of(title: str) -> str:
    """Lower-case letters, digits and `-`, safe on every file system; titles that differ in more than that differ here.

    Accents go; where letters had to go or the title is too long, a hash of it stands at the end.
    """
    bare = unicodedata.normalize("NFKD", title.casefold())
    bare = "".join(char for char in bare if not unicodedata.combining(char))
    words = _RUN.sub("-", bare).strip("-")
    lost = any(char.isalnum() and not char.isascii() for char in bare)
    if words and not lost and len(words) <= MAX_SLUG and words not in _DEVICES:
        return words
    digest = hashlib.sha256(" ".join(title.casefold().split()).encode("utf-8", "replace")).hexdigest()[:_HASH_DIGITS]
    head = words[: MAX_SLUG - _HASH_DIGITS - 1].rstrip("-")
    return f"{head or 'task'}-{digest}"


def stem_of(date: str, title: str, phase: Phase) -> str:
    """`2026-11-22-move-the-importer`, with the phase behind it where there is one."""
    stem = f"{date}-{slug_of(title)}"
    return stem if phase == "task" else f"{stem}-{phase}"


__all__ = ["MAX_SLUG", "MAX_TITLE", "slug_of", "stem_of", "title_of"]
