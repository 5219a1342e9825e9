"""The numbers that tools which show files put before every line: without them the lines are what the file holds."""

from __future__ import annotations

import re
from collections.abc import Sequence

_NUMBER = re.compile(r"\s*+(\d{1,7})(?:\t|→|\| ?|: ?|$)")
_MOST = 0.8


def unnumbered(lines: Sequence[str]) -> Sequence[str]:
    """The lines without their numbers, where most have the number that follows the last; else the same object."""
    found: list[re.Match[str] | None] = []
    spare = (1 - _MOST) * (len(lines) - 1)
    for line in lines:
        match = _NUMBER.match(line)
        found.append(match)
        if match is None and line.strip():
            spare -= 1
            if spare < 0:
                return lines
    numbers = [int(match[1]) for match in found if match]
    follow = sum(after == before + 1 for before, after in zip(numbers, numbers[1:], strict=False))
    if len(numbers) < 3 or follow < _MOST * (sum(1 for line in lines if line.strip()) - 1):
        return lines
    return [line[match.end() :] if match else line for line, match in zip(lines, found, strict=True)]


__all__ = ["unnumbered"]
