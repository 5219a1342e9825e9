"""A user's own class, matched by RE2: linear time whatever the pattern and the text."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator, Sequence
from typing import Any

from .classes import SpecificClass, UserClass

_NAME = re.compile(r"[a-z][a-z0-9_-]{0,30}")


class BadUserClass(ValueError):
    """A class from the settings cannot be used.

    Attributes:
        name: of the class, as the user wrote it.
    """

    def __init__(self, name: str, why: str) -> None:
        super().__init__(f"specifics class {name!r}: {why}")
        self.name = name


class UserPattern:
    """One compiled class."""

    def __init__(self, user: UserClass, *, taken: Sequence[str]) -> None:
        if _NAME.fullmatch(user.name) is None:
            raise BadUserClass(user.name, "a name is a lower-case letter, then letters, digits, - or _")
        if user.name in taken:
            raise BadUserClass(user.name, "this name is built in")
        if not 0.5 <= user.weight <= 6:
            raise BadUserClass(user.name, "the weight is a number from 0.5 to 6")
        self.pattern = user.pattern
        self.described = SpecificClass(
            name=user.name,
            weight=user.weight,
            first_rank=user.first_rank,
            description=user.description,
            example=user.example,
        )
        self._compiled = _compile(user)

    def found(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Matches, line by line, none of them empty."""
        for found in self._compiled.finditer(text):
            if found.end() > found.start():
                yield found.start(), found.end(), self.described.name


def compiled(extra: Sequence[UserClass], *, taken: Sequence[str]) -> tuple[UserPattern, ...]:
    """All of a user's classes, in their order; `taken` are names in use.

    Raises:
        BadUserClass: for the first one that cannot be used.
    """
    names = [one.name for one in extra]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise BadUserClass(twice, "it is there twice")
    return tuple(UserPattern(one, taken=taken) for one in extra)


def _compile(user: UserClass) -> Any:
    re2: Any = importlib.import_module("re2")  # costs milliseconds that only those who add classes should pay
    options = re2.Options()
    options.never_nl = True
    options.log_errors = False
    try:
        return re2.compile("(?m)" + user.pattern, options)
    except re2.error as error:
        raise BadUserClass(user.name, f"RE2 refuses the pattern: {error}") from error
