"""From one token to its specifics: the whole first, then what stands between ever stronger joints.

A token is a run of text without layout (white space, quotes, brackets, bars). What is found in a token depends on the
token alone, so it is the same wherever the token stands. A string that is a specific as a whole is never opened, hence
the longest span wins; one that is not falls apart at its weakest joints, and each part is tried as a whole again. Every
level reads each character once.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, NamedTuple

from . import shapes
from .paths import WINDOWS, path
from .shapes import WORD
from .vocabulary import TRIGGERS


class Hit(NamedTuple):
    """A find inside a token; `reach` says how it may go on after the token (`phrases.py`)."""

    start: int
    end: int
    cls: str
    reach: int = 0


NO_REACH: Final = 0
REACH_URL: Final = 1
REACH_NUMBER: Final = 2
REACH_DATE: Final = 3
REACH_WORD: Final = 4
REACH_ERROR: Final = 5

LONGEST: Final = 512
"""Characters; a longer run without layout or punctuation is a blob, and nothing in it is copied by hand."""

_HIDDEN = "-"
_DIGIT = re.compile(r"[0-9]")
_PLAIN = re.compile(r"[A-Z]?[a-z]+[.,:;!?]?")
_REDACTED = re.compile(r"redacted:[0-9A-Za-z_.-]{1,60}:[0-9a-f]{8}")
_ESCAPES = re.compile(r"\\+(?:u[0-9A-Fa-f]{4}|[nrtbfv])?")
_CLOSERS = re.compile(r"</[A-Za-z][0-9A-Za-z:-]*")
_SCHEME = re.compile(r"[A-Za-z][0-9A-Za-z+.-]*$")
_URL_IN_TOKEN = re.compile(r"[^<>\\^\x00-\x1f\u3000-\u303f\uff00-\uff65]+")
_GROUPED = re.compile(
    rf"(?<![{WORD}.])[-+~]?[$\u20ac\u00a3\u00a5]?[0-9]{{1,3}}(?:,[0-9]{{3}})+(?:\.[0-9]+)?"
    rf"(?:[%\u20ac\u00a3\u00a5]|[A-Za-z\u00b0\u00b5\u03bc/]{{1,8}})?(?![{WORD}])"
)
_ATOM = re.compile(rf"(?:>=|<=|~=|\^)?[{WORD}.\-+/:@#%$\u20ac\u00a3\u00a5~\u00b0\u00b5]+")
_COLONS = re.compile(r"[^:]+(?::[0-9]+(?:-[0-9]+)?(?=:|$))*")
_LEVELS = tuple(re.compile(rf"[{WORD}{joints}]+") for joints in (r".\-+", ".", ""))
_STAMP = re.compile(rf"(?<![{WORD}])(?:19|20)\d\d-[01]\d-[0-3]\dT[0-9:.,]+(?:Z|[+-]\d\d:?\d\d)?(?![{WORD}])")


def lex(token: str) -> tuple[Hit, ...]:
    """Finds of one token, in order, not overlapping."""
    if token in TRIGGERS:
        return (Hit(0, len(token), "version" if "/" in token else "", REACH_WORD),)
    if _PLAIN.fullmatch(token):
        return ()
    out: list[Hit] = []
    if "://" in token:
        _urls(token, out)
    else:
        _plain_run(token, 0, out)
    return tuple(out)


def _urls(token: str, out: list[Hit]) -> None:
    done = 0
    while (mark := token.find("://", done)) >= 0:
        head = _SCHEME.search(token, max(done, mark - 16), mark)
        body = _URL_IN_TOKEN.match(token, mark + 3)
        if head is None or body is None or (head.start() and token[head.start() - 1].isalnum()):
            _plain_run(token[done : mark + 3], done, out)
            done = mark + 3
            continue
        _plain_run(token[done : head.start()], done, out)
        out.append(Hit(head.start(), body.end(), "url", REACH_URL))
        done = body.end()
    _plain_run(token[done:], done, out)


def _blank(found: re.Match[str]) -> str:
    return " " * len(found[0])


def _plain_run(run: str, at: int, out: list[Hit]) -> None:
    if "\\" in run:
        done = 0
        for found in WINDOWS.finditer(run):
            _atoms(_ESCAPES.sub(_blank, run[done : found.start()]), at + done, out)
            end = found.start() + len(found[0].rstrip(".\\"))
            out.append(Hit(at + found.start(), at + end, "path"))
            done = found.end()
        run, at = _ESCAPES.sub(_blank, run[done:]), at + done
    if "</" in run:
        run = _CLOSERS.sub(_blank, run)
    if "," not in run:
        _atoms(run, at, out)
        return
    done = 0
    for found in _GROUPED.finditer(run):
        cls = whole(found[0])
        if cls:
            _atoms(run[done : found.start()], at + done, out)
            out.append(Hit(at + found.start(), at + found.end(), cls, _REACH.get(cls, 0)))
            done = found.end()
    _atoms(run[done:], at + done, out)


def _atoms(run: str, at: int, out: list[Hit]) -> None:
    for found in _ATOM.finditer(run):
        if found.end() - found.start() <= LONGEST:
            _atom(found[0], at + found.start(), out)


def _atom(atom: str, at: int, out: list[Hit]) -> None:
    core = atom.rstrip(".:")
    lead = len(core) - len(core.lstrip(":"))
    if core.startswith("..") and not core.startswith("../"):
        lead = len(core) - len(core.lstrip("."))
    core = core[lead:]
    if not core or _take(core, at + lead, out):
        return
    stamp = _STAMP.search(core) if "T" in core else None
    if stamp and shapes.DATE.fullmatch(stamp[0]):
        _joints(core[: stamp.start()], at + lead, 0, out)
        out.append(Hit(at + lead + stamp.start(), at + lead + stamp.end(), "date"))
        _joints(core[stamp.end() :], at + lead + stamp.end(), 0, out)
        return
    for part in _COLONS.finditer(core) if ":" in core else ():
        if not _take(part[0], at + lead + part.start(), out):
            _joints(part[0], at + lead + part.start(), 0, out)
    if ":" not in core:
        _joints(core, at + lead, 0, out)


def _joints(run: str, at: int, level: int, out: list[Hit]) -> None:
    for part in _LEVELS[level].finditer(run):
        text = part[0].strip(".+-") if level == 0 else part[0].strip(".")
        if not text:
            continue
        start = at + part.start() + part[0].index(text)
        if not _take(text, start, out) and level + 1 < len(_LEVELS):
            _joints(text, start, level + 1, out)


def _take(text: str, at: int, out: list[Hit]) -> bool:
    cls = whole(text)
    if cls is None:
        return False
    if cls != _HIDDEN:
        out.append(Hit(at, at + len(text), cls, _REACH.get(cls, NO_REACH)))
    return True


_REACH = {
    "number": REACH_NUMBER, "integer": REACH_NUMBER, "score": REACH_NUMBER, "": REACH_NUMBER,
    "date": REACH_DATE, "error": REACH_ERROR,
}  # fmt: skip

_Shape = Callable[[str], object]
_WITH_DIGIT: tuple[tuple[str, _Shape], ...] = (
    ("integer", shapes.INTEGER.fullmatch),
    ("score", shapes.SCORE.fullmatch),
    ("number", shapes.NUMBER.fullmatch),
    ("error", shapes.error),
    ("issue", shapes.ISSUE.fullmatch),
    ("uuid", shapes.UUID.fullmatch),
    ("hash", shapes.HASH.fullmatch),
    ("date", shapes.DATE.fullmatch),
    ("host", shapes.IP.fullmatch),
    ("version", shapes.VERSION.fullmatch),
    ("money", shapes.MONEY.fullmatch),
    ("quantity", shapes.QUANTITY.fullmatch),
    ("path", path),
    ("host", shapes.host),
    ("id", shapes.mixed_id),
    ("constant", shapes.CONSTANT.fullmatch),
    ("name", shapes.name),
    ("handle", shapes.handle),
)
_WITHOUT_DIGIT: tuple[tuple[str, _Shape], ...] = (
    ("error", shapes.error),
    ("path", path),
    ("host", shapes.host),
    ("constant", shapes.CONSTANT.fullmatch),
    ("name", shapes.name),
    ("handle", shapes.handle),
)


def whole(text: str) -> str | None:
    """The class of a string as a whole: `None` when it is none, `""` for a lone digit, `-` for what hides its parts."""
    if len(text) == 1:
        return "" if text.isdigit() and text.isascii() else None
    if "@" in text and shapes.EMAIL.fullmatch(text) or text.startswith("redacted:") and _REDACTED.fullmatch(text):
        return _HIDDEN
    for cls, fits in _WITH_DIGIT if _DIGIT.search(text) else _WITHOUT_DIGIT:
        if fits(text):
            return cls
    return None
