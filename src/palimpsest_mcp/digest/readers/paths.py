"""Paths as they stand in listings and search hits: what looks like one, and which nobody asks for."""

from __future__ import annotations

import re

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


def is_path(word: str) -> bool:
    """Whether a word says by itself that it is a path: a slash or an ending, and neither figures nor a URL."""
    if not _WORD.fullmatch(word) or "//" in word or _FIGURES.fullmatch(word):
        return False
    return "/" in word or "\\" in word or _ENDING.fullmatch(word) is not None


def is_dull(path: str) -> bool:
    """Whether it is made by a tool: a cache, a build, a lock file, a bundle."""
    parts = re.split(r"[/\\]", path.rstrip("/\\"))
    return _DULL_FILE.fullmatch(parts[-1]) is not None or any(map(_DULL_FOLDER.fullmatch, parts))


def is_test(path: str) -> bool:
    """Whether it is a test or belongs to tests."""
    return _TEST.search(path) is not None
