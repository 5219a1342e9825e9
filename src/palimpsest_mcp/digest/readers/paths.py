"""Paths as they stand in listings and search hits: what looks like one, what only does (base64), and which nobody asks
for."""

from __future__ import annotations

import re
from itertools import pairwise

PATH = r"(?:[A-Za-z]:[\\/])?[^\s:\"'`<>|*?;,=(){}]{1,400}"
"""One word that may be a path; the length keeps hostile lines linear."""

_WORD = re.compile(r"(?:[A-Za-z]:(?=[\\/]))?[^\s:!\"'`<>|*?;,=]{1,400}")
_ENDING = re.compile(r".*[\w)\]~-]\.[A-Za-z_][\w-]{0,9}")
_FIGURES = re.compile(r"v?\d[\d.,/:%-]*[a-z]{0,3}")

_DULL_FOLDER = re.compile(
    r"node_modules|__pycache__|\.git|\.?venv|\.[tn]ox|\.\w{0,20}[_-]?cache|\.next|\.nuxt|\.gradle|\.idea|\.turbo|dist|build"
    r"|target|coverage|htmlcov|site-packages|bower_components|_build|deps"
)
_DULL_FILE = re.compile(
    r"(?:package-lock\.json|npm-shrinkwrap\.json|pnpm-lock\.yaml|go\.sum|\.DS_Store|\.coverage|.{1,200}\.lock"
    r"|.{1,200}\.(?:pyc|pyo|o|class|map|min\.js|min\.css|log\.\d+|swp)|.{1,200}\.(?:egg|dist)-info)"
)
_TEST = re.compile(
    r"(?:^|[/\\])(?:tests?|__tests__|specs?|fixtures|__snapshots__)[/\\]|(?:^|[/\\])test_|[._](?:test|spec)\.\w+$"
)

_ARMOUR = 60
"""Characters of a line of it: what writes base64 breaks it at 60, 64 or 76."""
_BASE64 = re.compile(r"[A-Za-z0-9+/]{4,100}={0,2}")
_ARMOUR_ENDS = re.compile(r"-----(?:BEGIN|END) [A-Z0-9 ]{3,60}-----$")


def is_armour(line: str, before: str = "") -> bool:
    """A line of a key, a signature or a file in base64, also the last of it, which is shorter than the one before."""
    if not _BASE64.fullmatch(line):
        return _ARMOUR_ENDS.match(line) is not None
    mixed = sum(one.islower() != two.islower() for one, two in pairwise(line)) * 4 >= len(line)
    return mixed if len(line) >= _ARMOUR else len(before) > len(line) and is_armour(before)


def is_path(word: str) -> bool:
    """Whether a word says by itself that it is a path: a slash or an ending, and neither figures nor a URL."""
    if not _WORD.fullmatch(word) or "//" in word or _FIGURES.fullmatch(word) or is_armour(word):
        return False
    return "/" in word or "\\" in word or _ENDING.fullmatch(word) is not None


def is_dull(path: str) -> bool:
    """Whether it is made by a tool: a cache, a build, a lock file, a bundle."""
    parts = re.split(r"[/\\]", path.rstrip("/\\"))
    return _DULL_FILE.fullmatch(parts[-1]) is not None or any(map(_DULL_FOLDER.fullmatch, parts))


def is_test(path: str) -> bool:
    """Whether it is a test or belongs to tests."""
    return _TEST.search(path) is not None
