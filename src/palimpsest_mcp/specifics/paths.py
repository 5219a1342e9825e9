"""Which strings are paths: absolute, relative, bare file names, each with an optional line and column."""

from __future__ import annotations

import re

from .shapes import WORD
from .vocabulary import DOMAINS, FILE_NAMES, FILE_SUFFIXES, FOLDERS

_PLACE = re.compile(r"(?::\d{1,7}(?:-\d{1,7})?){1,2}")
_WINDOWS = re.compile(
    r"[A-Za-z]:(?:\\{1,2}|/(?!/))[^\s\"'`<>|*?:;,=(){}\[\]\u00ab\u00bb\u2014\u2018-\u201f\u2026\u3000-\u303f\uff00-\uff65]+|\\\\[0-9A-Za-z.$-]+\\[^\s\"'`<>|*?:;,=(){}\[\]\u00ab\u00bb\u2014\u2018-\u201f\u2026\u3000-\u303f\uff00-\uff65]+"
)
_CHARS = re.compile(r"[^:$\u20ac\u00a3\u00a5]+")
_ANCHOR = re.compile(r"#[0-9A-Za-z_.-]{1,80}")
_PARAMETER = re.compile(r"/:(?=[A-Za-z_])")
"""Of a route: `/users/:id`."""
_VARIABLE = re.compile(r"\$[A-Za-z_][0-9A-Za-z_]*/")
_HOSTED = re.compile(r"//[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)+/")
_ENV = re.compile(r"\.env(?:\.[0-9A-Za-z_-]{1,40}){1,3}")
_LETTER = re.compile(r"[^\W\d_]")
_ALL_DIGITS = re.compile(r"[\d./+-]+")

_STEP = r"[0-9A-Za-z_.@~-]+"
# Behind a single backslash these make an escape (`a\nb.py`), unless the step is one that many projects have.
_USUAL = "|".join(sorted(folder for folder in FOLDERS if folder[0] in "nrtbfv"))
_SINGLE = rf"\\(?:(?![\\nrtbfv0]|u[0-9A-Fa-f]{{4}}|x[0-9A-Fa-f]{{2}})|(?=(?:{_USUAL}|test_{_STEP})(?![0-9A-Za-z_-])))"
_RELATIVE = rf"{_STEP}(?:(?:\\\\|{_SINGLE}){_STEP})+"

WINDOWS = re.compile(
    rf"(?<![0-9A-Za-z\\])(?:{_WINDOWS.pattern})(?::\d{{1,7}}){{0,2}}"
    rf"|(?<![{WORD}.@~/\\-])(?P<relative>{_RELATIVE})(?::\d{{1,7}}){{0,2}}"
)
"""Searched in a token that holds a backslash; what is relative must end in a file name (`is_file`)."""


def is_file(s: str) -> bool:
    """True for a path whose last step is a file name by its ending or as a whole."""
    last = s.partition(":")[0].rpartition("\\")[2]
    return last in FILE_NAMES or _has_suffix(last)


def path(s: str) -> bool:
    """True for a string that is a path as a whole. `and/or`, `application/json`, `12/15` are none."""
    if "/:" in s:
        s = _PARAMETER.sub("/", s)
    body, colon, place = s.partition(":")
    if colon and _PLACE.fullmatch(colon + place) is None:
        return False
    if "#" in body:
        body, _, anchor = body.partition("#")
        if not _has_suffix(body) or _ANCHOR.fullmatch("#" + anchor) is None:
            return False
    if _VARIABLE.match(body):
        body = "." + body[body.index("/") :]
    told = (_slashed(body) or colon) if "/" in body else _is_file_name(body)
    return bool(told and _CHARS.fullmatch(body) and _LETTER.search(body) and not _ALL_DIGITS.fullmatch(body))


def _is_file_name(last: str) -> bool:
    return last in FILE_NAMES or _has_suffix(last) or _ENV.fullmatch(last) is not None


def _has_suffix(last: str) -> bool:
    stem, dot, suffix = last.rpartition(".")
    return bool(dot) and suffix.lower() in FILE_SUFFIXES and stem.strip(".") != "" and "@" not in stem


def _slashed(body: str) -> bool:
    if body.startswith("//"):
        return _HOSTED.match(body) is not None
    if "@" in body and "/" not in body[: body.index("@")] and not body.startswith("@"):
        return False
    if body.startswith(("./", "../", "~/")):
        return len(body) > 3
    first, _, rest = body.partition("/")
    if not first:
        return len(rest) >= 2
    if first.rpartition(".")[2] in DOMAINS and "." in first:
        return True
    last = body.rstrip("/").rpartition("/")[2]
    return rest.strip("/").count("/") >= 1 or first in FOLDERS or _has_suffix(last) or last in FILE_NAMES
