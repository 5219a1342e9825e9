"""Where in its files a session worked: line ranges from reads, and from edits located in what was read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .calls import Call
from .trail import edits_of

KEPT = 4
"""Newest ranges of a file."""
NEAR = 4
"""Ranges so few lines apart are one."""
MAX_TEXT = 1_000_000
"""A longer file is not followed."""
_SHELL_VIEW = re.compile(r"\bsed -n ['\"]?(\d{1,7}),(\d{1,7})p['\"]? (?!-)(\S+)")
_NUMBERED = re.compile(r"^[ ]*(\d{1,7})(?:→|\t|: |\| )", re.MULTILINE)
_STARTS = ("offset", "start_line", "startLine", "line_start")
_ENDS = ("end_line", "endLine", "line_end")
_CONTENTS = ("content", "file_text", "text")
_REMINDER = re.compile(
    r"\n+(?:<system-reminder>|\[\d+ more lines?|\[Showing lines|\.\.\. \(\d+ more lines).*", re.DOTALL
)


class _File:
    """What is known of one file: a stretch of its text as of now, and ranges in it."""

    def __init__(self) -> None:
        self.start = 1
        self.text: str | None = None
        self.edited: list[tuple[int, int]] = []
        self.read: list[tuple[int, int]] = []

    def see(self, start: int, text: str, *, whole: bool) -> None:
        """A read of the file from a line on."""
        if len(text) <= MAX_TEXT and (whole or self.text is None or self.start > 1 or self.text == ""):
            self.start, self.text = start, text
        if not whole:
            _add(self.read, start, start + text.count("\n"))

    def edit(self, old: str, new: str) -> bool:
        """Follow a replacement; False where the old text is not in what is known."""
        place = self.text.find(old) if self.text is not None and old else -1
        if place < 0 or self.text is None:
            return False
        first = self.start + self.text.count("\n", 0, place)
        last, more = first + old.count("\n"), new.count("\n") - old.count("\n")
        self.text = self.text[:place] + new + self.text[place + len(old) :]
        for ranges in (self.edited, self.read):
            ranges[:] = [(a + more, b + more) if a > last else (a, b) for a, b in ranges]
        _add(self.edited, first, first + new.count("\n"))
        return True


def line_ranges(calls: Sequence[Call]) -> dict[str, str]:
    """Path -> where it was edited, else which parts of it were read; files that were only read as a whole have none."""
    files: dict[str, _File] = {}
    for call in calls:
        if not call.failed and call.answered:
            _follow(call, files)
    words = {path: _words(one.edited or one.read) for path, one in files.items()}
    return {path: text for path, text in words.items() if text}


def _follow(call: Call, files: dict[str, _File]) -> None:
    verb, path = call.action.verb, call.action.target
    if verb == "run":
        for first, last, name in _SHELL_VIEW.findall(path[:2_000]):
            _add(files.setdefault(name.strip("'\""), _File()).read, int(first), int(last))
    elif not path:
        return
    elif verb == "read":
        _see(call, files.setdefault(path, _File()))
    elif verb == "write":
        text = next((value for key in _CONTENTS if isinstance(value := call.args.get(key), str)), None)
        one = files[path] = _File()
        one.text = text if text is not None and len(text) <= MAX_TEXT else None
    elif verb == "edit":
        one = files.setdefault(path, _File())
        for old, new in edits_of(call.args):
            if not one.edit(old, new):
                numbers = [int(number) for number in _NUMBERED.findall(call.text)]
                if len(numbers) > 1:
                    _add(one.edited, numbers[0], numbers[-1])


def _see(call: Call, one: _File) -> None:
    text = _REMINDER.sub("", call.text[:MAX_TEXT])
    numbers = _NUMBERED.findall(text)
    first, last = _asked(call.args)
    if len(numbers) > text.count("\n") // 2:
        text, start = _NUMBERED.sub("", text), int(numbers[0])
    else:
        start = first or 1
    one.see(start, text, whole=first in (None, 0, 1) and last is None)


def _asked(args: Mapping[str, Any]) -> tuple[int | None, int | None]:
    """First line and end that a read asked for; None where it asked for neither."""
    span = args.get("view_range")
    if isinstance(span, list) and len(span) == 2 and all(isinstance(n, int) for n in span):  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        return int(span[0]), int(span[1])  # pyright: ignore[reportUnknownArgumentType]
    return _number(args, _STARTS), _number(args, (*_ENDS, "limit"))


def _number(args: Mapping[str, Any], keys: Iterable[str]) -> int | None:
    found = next((args[key] for key in keys if isinstance(args.get(key), int)), None)
    return found if found is None or 0 <= found < 10_000_000 else None


def _add(ranges: list[tuple[int, int]], first: int, last: int) -> None:
    """The range, joined with those it touches, as the newest."""
    apart: list[tuple[int, int]] = []
    for a, b in ranges:
        if b + NEAR < first or last + NEAR < a:
            apart.append((a, b))
        else:
            first, last = min(a, first), max(b, last)
    ranges[:] = [*apart, (first, last)]


def _words(ranges: Sequence[tuple[int, int]]) -> str:
    newest = sorted(ranges[-KEPT:])
    words = ", ".join(f"{a}-{b}" if b > a else f"{a}" for a, b in newest)
    return words + (f" and {len(ranges) - KEPT} more" if len(ranges) > KEPT else "")
