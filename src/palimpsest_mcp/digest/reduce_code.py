"""Code by its outline, diffs by files, hunks and changed lines."""

from __future__ import annotations

import re

from .commands import is_command

_OUTLINE = re.compile(
    r"\s*+(?:\d+(?:\t|→))?(\s*+)"
    r"(?:export |default |public |private |protected |static |abstract |async |pub(?:\(\w+\))? |unsafe |final )*"
    r"(?:def|class|function\*?|func|fn|interface|struct|enum|trait|impl|type|module|namespace|object)\b[ *(<]*[\w(<&'*]"
)
_CONST = re.compile(r"\s*+(?:\d+(?:\t|→))?(?:export )?(?:const|let|var|val)? ?[A-Z][A-Z0-9_]{2,}\b.*[=:]")
_IMPORT = re.compile(r"\s*+(?:\d+(?:\t|→))?(?:import |from \S+ import|use |#include|require\(|package )")
_RAISE = re.compile(r"\b(?:raise|throw|panic!|TODO|FIXME|XXX|HACK|deprecated)\b", re.IGNORECASE)
_DOC = re.compile(r"\s*+(?:\d+(?:\t|→))?\s*+(?:\"\"\"|'''|/\*\*|//!|#!)\s*\w")


def code_gist(text: str) -> float:
    """Outline lines first, then constants, documentation, what is raised, imports."""
    outline = _OUTLINE.match(text)
    if outline:
        return 2.0 if len(outline.group(1)) < 2 else 1.3
    if _CONST.match(text):
        return 0.7
    if _DOC.match(text):
        return 1.0
    if is_command(text):
        return 1.3
    if _IMPORT.match(text):
        return 0.3
    return 0.5 if _RAISE.search(text) else 0.0


def diff_gist(text: str) -> float:
    """Which file, where in it, then what was taken out and put in."""
    if text.startswith(("diff --git ", "Index: ")):
        return 2.5
    if text.startswith("@@"):
        return 0.9
    if text.startswith(("+++ ", "--- ", "index ")):
        return 0.1
    if text.startswith(("rename ", "new file", "deleted file", "Binary files")):
        return 1.0
    return 0.6 if text[:1] in "+-" and len(text.strip("+- \t")) > 8 else 0.0


__all__ = ["code_gist", "diff_gist"]
