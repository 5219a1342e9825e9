"""From one token to its specifics: the whole first, then what stands between ever stronger joints.

A token is a run of text without layout (white space, quotes, brackets, bars). What is found in a token depends on the
token alone, so it is the same wherever the token stands. A string that is a specific as a whole is never opened, hence
the longest span wins; one that is not falls apart at its weakest joints, and each part is tried as a whole again. Every
level reads each character once.
"""

from __future__ import annotations

import re
from typing import Final

from ...models.text import late
from . import patterns as shapes
from .patterns import WINDOWS, WORD, is_file, path
from .vocabulary import FILE_NAMES, TECH_WORDS, TRIGGERS

Hit = tuple[int, int, str, int]
"""A find inside a token: start, end, class, and how it may go on after the token (`patterns.py`).

A plain tuple: there are hundreds of thousands, and the collector lets go of these at once.
"""

NO_REACH: Final = 0
REACH_URL: Final = 1
REACH_NUMBER: Final = 2
REACH_DATE: Final = 3
REACH_WORD: Final = 4
REACH_ERROR: Final = 5
REACH_PATH: Final = 6
REACH_MONEY: Final = 7
REACH_COMMA: Final = 8
REACH_DOI: Final = 9

PROMPT = late(
    r"[0-9A-Za-z_.-]{1,60}@[0-9A-Za-z_.-]{1,60}:[^\s:]{1,200}[$#]|(?:ba|z)?sh-\d\.\d[$#]|[A-Z]:\\[^\s:]{0,200}>"
)
"""What shells put before a command: `ada@host:~/src$`, `bash-5.2#`, `C:\\src>`."""
LONGEST: Final = 512
"""Characters; a longer run without layout or punctuation is a blob, and nothing in it is copied by hand."""

_HIDDEN = "-"
_DIGIT = late(r"[0-9]")
# Cheap answers first: without a digit, a specific has a joint inside, or a capital behind a letter.
_DULL = late(r"[^0-9A-Z_./\\:@]*(?:(?<![a-z])[A-Z][^0-9A-Z_./\\:@]*)?[.:]*")
_SPEAKING = late(rf"[0-9/\\@]|\.[{WORD}]|::|[0-9A-Za-z]_[^_]|[a-z][A-Z]|[A-Z][^A-Z]*[A-Z]")
_REDACTED = late(r"redacted:[0-9A-Za-z_.-]{1,60}:[0-9a-z]{8}")
_ESCAPES = late(r"\\+(?:u[0-9A-Fa-f]{4}|[nrtbfv])?")
_CLOSERS = late(r"</[A-Za-z][0-9A-Za-z:-]*")
_LAST_WORD = late(rf"(?<=[^{WORD}./:@#$\\-])(?:HTTP/[123](?:\.[01])?|[A-Za-z]{{2,9}}\.?|[\u20ac\u00a3\u20b9])$")
_LONGEST_LAST = 10
_LAST_LETTERS = frozenset("".join(trigger[-1:] for trigger in TRIGGERS))
_IN_WORD = late(f"[{WORD}]")
_SCHEME = late(r"[A-Za-z][0-9A-Za-z+.-]*$")
_URL_IN_TOKEN = late(r"[^<>\\^\x00-\x1f\u00ab\u00bb\u2014\u2018-\u201f\u2026\u3000-\u303f\uff00-\uff65]+")
_EASTERN = "\u4e07\u5104\u4ebf\u842c\u5146"
"""Ten thousand, a hundred million, and above, as East Asian numbers are grouped."""
_EASTERN_MONEY = "\u5186\u5143"
_JOINED = late(
    rf"(?<![{WORD}.,])(?P<east>[-+]?[0-9][0-9,]*(?:\.[0-9]+)?(?:(?:[{_EASTERN}][0-9,]*)+(?<!,)[{_EASTERN_MONEY}]?|[{_EASTERN_MONEY}]))"
    rf"|(?<![{WORD}.])(?<![0-9]:)(?<![0-9]{{2}}-[0-9]{{2}}-)[-+~]?(?:{shapes.DOLLARS}(?=\$))?"
    rf"(?:[{shapes.SIGNS}]?[0-9]{{1,3}}(?:(?:,[0-9]{{3}})+|(?:,[0-9][0-9]){{1,4}},[0-9]{{3}})(?:\.[0-9]+)?"
    rf"(?:[%{shapes.SIGNS[1:]}]|[A-Za-z\u00b0\u00b5\u03bc/]{{1,8}})?"
    rf"|[{shapes.SIGNS}]?[0-9]{{1,3}}(?:\.[0-9]{{3}})+,[0-9][0-9][{shapes.SIGNS[1:]}]?"
    rf"|(?<!,)(?P<comma>[0-9]{{1,4}},[0-9]{{1,2}}(?:[%{shapes.SIGNS[1:]}]|[A-Za-z\u00b0\u00b5\u03bc/]{{1,8}}|$)))"
    rf"(?![{WORD}])"
    "|(?<![0-9])(?:[0-9]{2,4}\u5e74)?[0-9]{1,2}\u6708(?:[0-9]{1,2}[\u65e5\u53f7])?"
)
_GROUPED = late(f"[,\u6708{_EASTERN}{_EASTERN_MONEY}]")
_DECIMAL = late(r"(?:^|(?<==))[-+~]?[0-9]{1,9},(?:[0-9]{1,2}|[0-9]{4,9})(?=[.:,!?]*$)")
_ATOM = late(
    rf"(?:>=|<=|~=|(?<![{WORD}])\^)?[{WORD}.\-+/:@#%{shapes.SIGNS}~\u00a2\u00b0\u00b5\u00d7]+(?:(?<=[0-9A-Za-z+/]{{20}})={{1,2}})?"
)
_ONE_ATOM = late(rf"[0-9A-Za-z_.\-/:@#]{{1,{LONGEST}}}[,;]*")
"""What most tokens are. Behind none of its signs begins a word that ends a token by itself."""
_EAST = "\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
_ATOM_EAST = late(rf"(?:{_ATOM.pattern}(?:(?<=/)[{_EAST}{WORD}-]{{1,80}}(?=[/.][{WORD}{_EAST}]))?)+")
"""East Asian script belongs to an atom as a step of a path only."""
_KEY = late(r"[A-Za-z_][A-Za-z_.-]{0,60}")
_COLONS = late(r"[^:]+(?::[0-9]+(?:-[0-9]+)?(?=:|$))*")
_LEVELS = (
    late(rf"[{WORD}]+(?:[.+-][{WORD}]+)*"),
    late(rf"[{WORD}]+(?:\.[{WORD}]+)*"),
    late(rf"[{WORD}]+"),
)
_LAST = len(_LEVELS)
_STAMP = late(rf"(?<![{WORD}])\d{{4}}-\d\d-\d\dT[0-9:.,]+(?:Z|[+-]\d\d:?\d\d)?(?![{WORD}])")


def lex(token: str) -> tuple[Hit, ...]:
    """Finds of one token, in order, not overlapping."""
    if token[-1:] in "$#>" and len(token) > 1 and PROMPT.fullmatch(token):
        where = token.find(":") + 1 if "@" in token else 0  # whose machine it is, is no address
        hits = ((begin + where, end + where, cls, reach) for begin, end, cls, reach in lex(token[where:-1]))
        return (*hits, (len(token) - 1, len(token), "", REACH_WORD))
    if token in TRIGGERS:
        return ((0, len(token), "version" if "/" in token else "", REACH_WORD),)
    if token.islower() and token.isalpha() and token.isascii():
        return ()
    one_atom = _ONE_ATOM.fullmatch(token) is not None and "://" not in token
    last = 0 if one_atom else _last_word(token)
    if (
        not last
        and "=" not in token
        and "file" not in token
        and (_DULL.fullmatch(token) or not _SPEAKING.search(token))
    ):
        return ()
    out: list[Hit] = []
    if one_atom:
        _atom(token.rstrip(",;"), 0, out)
    elif last:
        _urls(token[:last], out)
        out.append((last, len(token), "version" if "/" in token[last:] else "", REACH_WORD))
    else:
        _urls(token, out)
    return tuple(out)


def _last_word(token: str) -> int:
    """Where the word that ends a token begins, if a phrase may begin with it (`<td>Nov`, `k=exit`); else 0."""
    if token[-1:] not in _LAST_LETTERS:
        return 0
    found = _LAST_WORD.search(token, max(0, len(token) - _LONGEST_LAST))
    return found.start() if found and found[0] in TRIGGERS else 0


def _urls(token: str, out: list[Hit]) -> None:
    done = 0
    while (mark := token.find("://", done)) >= 0:
        head = _SCHEME.search(token, max(done, mark - 16), mark)
        escaped = head is not None and token[head.start()] in "nrt" and token[head.start() - 1 : head.start()] == "\\"
        if head and escaped:
            head = _SCHEME.match(token, head.start() + 1, mark)  # an escaped line break is no part of it
        body = _URL_IN_TOKEN.match(token, mark + 3) if head else None
        if (
            head is None
            or body is None
            or (not escaped and head.start() > done and _IN_WORD.match(token[head.start() - 1]))
        ):
            _plain_run(token[done : mark + 3], done, out)
            done = mark + 3
            continue
        _plain_run(token[done : head.start()], done, out)
        out.append((head.start(), body.end(), "url", REACH_URL))
        done = body.end()
    _plain_run(token[done:], done, out)


def _blank(found: re.Match[str]) -> str:
    return " " * len(found[0])


def _plain_run(run: str, at: int, out: list[Hit]) -> None:
    if "\\" in run:
        done = 0
        for found in WINDOWS.finditer(run):
            text = found[0].rstrip(".!\\")
            if "\\" not in text or (found["relative"] and not is_file(text)):
                continue  # one with slashes alone must be found where no backslash stands behind it, too
            _atoms(_ESCAPES.sub(_blank, run[done : found.start()]), at + done, out)
            if len(text) > 3:
                out.append((at + found.start(), at + found.start() + len(text), "path", REACH_PATH))
            done = found.end()
        run, at = _ESCAPES.sub(_blank, run[done:]), at + done
    if "</" in run:
        run = _CLOSERS.sub(_blank, run)
    done = 0
    if ";" in run and _GROUPED.search(run):
        for piece in run.split(";"):
            _plain_run(piece, at, out)
            at += len(piece) + 1
        return
    if _GROUPED.search(run):
        if alone := _DECIMAL.search(run):  # as it stands it is true of a decimal and of a pair
            _atoms(run[: alone.start()], at, out)
            out.append((at + alone.start(), at + alone.end(), "number", REACH_COMMA))
            return
        for found in _JOINED.finditer(run):
            if found["east"]:
                _atoms(run[done : found.start()], at + done, out)
                money = found[0][-1] in _EASTERN_MONEY
                out.append((at + found.start(), at + found.end(), "money" if money else "number", NO_REACH))
                done = found.end()
                continue
            if "," in found[0] and (
                run[found.start() - 1 : found.start()] == ","
                or run[found.end() :][:1] == ","
                and run[found.end() + 1 :][:1]
            ):
                continue  # one of a list
            decimal = found["comma"]
            cls = whole(found[0].replace(",", ".") if decimal else found[0]) if len(found[0]) <= LONGEST else None
            if decimal and decimal[-1].isdigit():  # its unit may follow; else these are two numbers
                _atoms(run[done : found.start()], at + done, out)
                out.append((at + found.start(), at + found.end(), "", REACH_COMMA))
                done = found.start()
            elif cls and not (decimal and cls == "id"):
                _atoms(run[done : found.start()], at + done, out)
                out.append((at + found.start(), at + found.end(), cls, _REACH.get(cls, NO_REACH)))
                done = found.end()
    _atoms(run[done:], at + done, out)


def _atoms(run: str, at: int, out: list[Hit]) -> None:
    for found in (_ATOM if run.isascii() else _ATOM_EAST).finditer(run):
        if found.end() - found.start() <= LONGEST:
            _atom(found[0], at + found.start(), out)


def _atom(atom: str, at: int, out: list[Hit]) -> None:
    core = atom.rstrip(".:")
    if core.endswith("=") and not shapes.blob(core) and not shapes.HASH.fullmatch(core):
        core = core.rstrip(".:=")
    lead = 0
    if core.startswith(":"):
        lead = len(core) - len(core.lstrip(":"))
    elif core.startswith("..") and not core.startswith("../"):
        lead = len(core) - len(core.lstrip("."))
    core = core[lead:]
    if lead > 1 and core.startswith("1") and core.isdigit() and atom.startswith("::"):
        core, lead = "::" + core, lead - 2  # the loopback address, all that a pair of colons begins
    if not core or _take(core, at + lead, out):
        return
    stamp = _STAMP.search(core) if "T" in core and "-" in core else None
    if stamp and shapes.DATE.fullmatch(stamp[0]):
        _joints(core[: stamp.start()], at + lead, out)
        out.append((at + lead + stamp.start(), at + lead + stamp.end(), "date", REACH_DATE))
        _joints(core[stamp.end() :], at + lead + stamp.end(), out)
        return
    if ":" not in core:
        _joints(core, at + lead, out)
        return
    key, _, value = core.partition(":")
    if value and _KEY.fullmatch(key) and whole(value) is not None:
        if not _take(key, at + lead, out):
            _joints(key, at + lead, out)
        _take(value, at + lead + len(key) + 1, out)
        return
    for part in _COLONS.finditer(core):
        text = part[0].rstrip(".")
        if text and not _take(text, at + lead + part.start(), out):
            _joints(text, at + lead + part.start(), out)


def _joints(run: str, at: int, out: list[Hit], level: int = 0) -> None:
    """Try the parts of a run that is no specific as a whole."""
    if level == _LAST or run.isalpha():
        return
    for part in _LEVELS[level].finditer(run):
        text = part[0]
        if len(text) == len(run):  # no such joint in it, so try the next kind
            return _joints(run, at, out, level + 1)
        if not _take(text, at + part.start(), out):
            _joints(text, at + part.start(), out, level + 1)


def _take(text: str, at: int, out: list[Hit]) -> bool:
    cls = whole(text)
    if cls is None:
        return False
    if cls != _HIDDEN:
        reach = _REACH.get(cls, NO_REACH) if cls or text[0].isdigit() else REACH_MONEY
        out.append((at, at + len(text), cls, REACH_DOI if reach == NO_REACH and text.startswith("10.") else reach))
    return True


_REACH = {
    "": REACH_NUMBER,
    "number": REACH_NUMBER,
    "integer": REACH_NUMBER,
    "score": REACH_NUMBER,
    "date": REACH_DATE,
    "error": REACH_ERROR,
    "path": REACH_PATH,
    "money": REACH_MONEY,
}
_BY_PATTERN = late(
    "|".join(
        f"(?P<{cls}>{pattern.pattern})"
        for cls, pattern in (
            ("issue", shapes.ISSUE),
            ("uuid", shapes.UUID),
            ("hash", shapes.HASH),
            ("date", shapes.DATE),
            ("host", shapes.IP),
            ("version", shapes.VERSION),
            ("money", shapes.MONEY),
            ("score", shapes.SCORE),
            ("quantity", shapes.QUANTITY),
            ("number", shapes.NUMBER),
            ("integer", shapes.INTEGER),
            ("id", shapes.DASHED),
        )
    )
)
"""Classes that need a digit and that one pattern decides, in registry order."""


def whole(text: str) -> str | None:
    """The class of a string as a whole: `None` when it is none, `""` for a lone digit, `-` for what hides its parts."""
    if text.isalpha() and text.islower():
        return None
    if text.isdigit() and text.isascii():
        return ("", "integer", "integer", "integer", "number")[min(len(text), 5) - 1]
    if len(text) == 1:
        return None
    if "@" in text and text[0] != "@":
        if shapes.EMAIL.fullmatch(text):
            return "email"
        if ":" in text and shapes.SCP.fullmatch(text):
            return "url"
    if text.startswith("redacted:") and _REDACTED.fullmatch(text):
        return _HIDDEN
    has_digit = _DIGIT.search(text) is not None
    if has_digit:
        if text[-2] == "$" and shapes.LONE_MONEY.fullmatch(text):
            return ""
        if shapes.blob(text):
            return _HIDDEN
    if "/" in text:
        if text.startswith("10.") and shapes.DOI.fullmatch(text):
            return "id"
        if path(text):
            return "path"
    if has_digit:
        found = _BY_PATTERN.fullmatch(text)
        if found:
            return found.lastgroup
    elif not _SPEAKING.search(text) and "file" not in text:
        return None
    return _by_form(text, has_digit=has_digit)


def _by_form(text: str, *, has_digit: bool) -> str | None:
    """Classes that take more than a pattern to tell, in registry order."""
    if shapes.error(text):
        return "error"
    if ("." in text or text in FILE_NAMES) and "/" not in text and path(text):
        return "path"
    if (":" in text or "." in text) and shapes.host(text):
        return "host"
    if text.startswith(("arn:", "urn:")) and shapes.RESOURCE.fullmatch(text):
        return "id"
    if has_digit and text in TECH_WORDS:
        return _HIDDEN
    if has_digit and shapes.mixed_id(text):
        return "id"
    if "_" in text and shapes.CONSTANT.fullmatch(text):
        return "constant"
    if shapes.name(text):
        return "name"
    return "handle" if text.startswith("@") and shapes.handle(text) else None
