"""When two texts mean the same, and how a caller names one of several."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence

from ..errors import InvalidArgument
from ..models.plain_text import plain

LEAST_PART = 4
"""Characters that a part of a text needs to name it."""


def tidy(text: str) -> str:
    """A text as a summary may hold it: nothing that moves a cursor or hides, no white space around it."""
    return plain(text).strip()


def fold_text(text: str) -> str:
    """What is compared: letters without case, white space as one space, no stop or question mark at the end."""
    return " ".join(text.casefold().split()).rstrip(".!?; ")


def joined_path(folder: str, path: str) -> str:
    """The whole path of one named inside a folder; the path itself where it is whole already."""
    if not folder or path.startswith(("/", "~")):
        return path
    return posixpath.normpath(posixpath.join(folder, path))


def pick(name: str, among: Sequence[str], what: str) -> str:
    """The one text that a caller means: by its text, its number from 1, or a part that no other has.

    Raises:
        InvalidArgument: none or several fit; the message lists them.
    """
    wanted = fold_text(name)
    exact = [text for text in among if fold_text(text) == wanted]
    number = wanted.removeprefix("#")
    if not exact and number.isascii() and number.isdigit() and 1 <= int(number[:6]) <= len(among):
        exact = [among[int(number) - 1]]
    if not exact and len(wanted) >= LEAST_PART:
        exact = [text for text in among if wanted in fold_text(text)]
    if len(exact) == 1:
        return exact[0]
    listed = "; ".join(f"{place}. {text[:80]}" for place, text in enumerate(among[:20], 1)) or "there is none"
    raise InvalidArgument(
        f"{'Several' if exact else 'No'} {what}{'s fit' if exact else ' fits'} one of the names given.",
        next=f"Name it by its text or its number: {listed}.",
    )
