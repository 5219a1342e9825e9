"""Names of handoff files."""

from __future__ import annotations

import re
from collections.abc import Container

from ..errors import InvalidArgument

SUFFIX = ".md"
NO_TEXT = "is no UTF-8 text"
_STEM = re.compile(r"[a-z0-9]([a-z0-9_-]{0,118}[a-z0-9])?")


def checked_stem(stem: str) -> str:
    """The stem, if every file system takes it as a name.

    Raises:
        InvalidArgument: it does not.
    """
    if not _STEM.fullmatch(stem):
        raise InvalidArgument(
            "A handoff's file name is made of lower-case letters, digits and -.", next="Make it by `handoff.naming`."
        )
    return stem


def free_name(stem: str, taken: Container[str]) -> str:
    """The stem, or the stem with the lowest number from 2 that makes it new."""
    name, number = checked_stem(stem), 1
    while name in taken:
        number += 1
        name = f"{stem}-{number}"
    return name


def encoded(text: str) -> bytes:
    """The text in UTF-8.

    Raises:
        InvalidArgument: half a surrogate pair stands in it.
    """
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise InvalidArgument(
            "The handoff holds half of a surrogate pair, which UTF-8 cannot carry.", next="Leave that character out."
        ) from None


def decoded(data: bytes) -> str | None:
    """The text of a file; None where it is none."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
