"""What one class looks like when a string stands alone: patterns for a whole string, none of which can backtrack badly.

Every pattern is used with `fullmatch` on a run of characters that holds no layout. Repetitions are either of one
character class or separated by a character that the class does not hold, so each takes time linear in the run.
"""

from __future__ import annotations

import re

from ...models.text import late
from .vocabulary import (
    BRANDS,
    DECORATORS,
    DOMAINS,
    E_WORDS,
    FILE_NAMES,
    FILE_SUFFIXES,
    FOLDERS,
    SIGNALS,
    SPACED_UNITS,
    UNITS,
)

WORD = "0-9A-Za-z_\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u0370-\u03ff\u0400-\u04ff"
"""Characters that belong to a word. East Asian script is none: it stands beside values without a space."""

_ERROR_ENDS = ("Error", "Exception", "Warning", "Failure", "Fault", "Interrupt", "Panic")
_ERROR_NAMES = frozenset({"StopIteration", "StopAsyncIteration", "SystemExit", "GeneratorExit"}) | SIGNALS
_TROUBLE_ENDS = (
    "NotFound",
    "DoesNotExist",
    "Denied",
    "Expired",
    "Exceeded",
    "Refused",
    "Unavailable",
    "Killed",
    "BackOff",
)
_ENDS = _ERROR_ENDS + _TROUBLE_ENDS
_ERRNO = late(r"E[A-Z]{4,}")
_ERR_CODE = late(r"(?:ERR|ERROR)_[A-Z0-9_]{2,}|[A-Z0-9]+(?:_[A-Z0-9]+)*_(?:ERR|ERROR|FAILED|EXCEPTION)")
_DOTTED = late(r"[A-Za-z_][0-9A-Za-z_]*(?:(?:\.|::)[A-Za-z_][0-9A-Za-z_]*)*")


def error(s: str) -> bool:
    """Error types (`json.JSONDecodeError`), errno names, `ERR_…` codes."""
    if s.endswith(_ENDS) or s in _ERROR_NAMES:
        return s not in _ERROR_ENDS and s[0].isalpha() and _DOTTED.fullmatch(s) is not None and _has_cap_start(s)
    if not s.isupper():
        return False
    return (_ERRNO.fullmatch(s) is not None and s not in E_WORDS) or _ERR_CODE.fullmatch(s) is not None


def _has_cap_start(s: str) -> bool:
    last = s[max(s.rfind("."), s.rfind(":")) + 1 :]
    return last[:1].isupper() and last not in _ERROR_ENDS and last not in _TROUBLE_ENDS


ISSUE = late(
    r"(?!(?:UTF|SHA|ISO|GPT|COVID|UTC|GMT|RFC|IEEE|BASE|MD|AES|RSA|HTTP|TLS|SSL|IPV|WORD|INT|UINT|FLOAT|BF|FP|CP)-)(?:"
    r"#\d{1,8}|CVE-\d{4}-\d{4,9}|GHSA(?:-[0-9a-z]{4}){3}|[A-Z][A-Z0-9]{1,9}-\d{1,8}"
    r"|[0-9A-Za-z][0-9A-Za-z._-]{0,60}/[0-9A-Za-z._-]{1,100}#\d{1,8})"
)
UUID = late(r"[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}")
_BLOB = late(r"(?=[^A-Z]*[A-Z])(?=[^a-z]*[a-z])(?=[^0-9]*[0-9])[0-9A-Za-z+/]*[0-9A-Za-z]{24}[0-9A-Za-z+/]*={0,2}")
HASH = late(
    r"sha(?:1|256|384|512)-[0-9A-Za-z+/]{20,100}={0,2}"
    r"|(?:sha(?:1|256|384|512)[:-]|0x)?(?=\d+[a-f]|[a-f]+\d)[0-9a-f]{7,128}"
    r"|0x[0-9A-Fa-f]{2,64}|[0-9A-F]{32,128}|[0-9A-Za-z][0-9A-Za-z._/:-]{0,200}@sha256:[0-9a-f]{7,64}"
)
MONTH = (
    "(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?"
    "|Sept?(?:ember)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)"
)
# Shapes, not calendars: `2026-02-31` is no day, but whoever reads it in a result must find it in the digest.
_CLOCK = r"\d{1,2}:\d\d(?::\d\d(?:[.,]\d{1,9})?)?"
_TIME = rf"{_CLOCK}(?:am|pm|AM|PM)?"
_ZONE = r"(?:Z|[+-]\d\d:?\d\d|\+\d)"  # +1: on the next day, as timetables say it
_ZONE_NAME = r"(?:AM|PM|am|pm|UTC|GMT|EST|EDT|CST|CDT|MST|MDT|PST|PDT|CET|CEST|BST|IST|JST)"
DATE = late(
    rf"\d{{4}}-\d\d-\d\d(?:[T_]{_TIME}{_ZONE}?|[T_-]\d\d-\d\d-\d\d)?|(?:1[89]|2[01])\d\d-(?:0[1-9]|1[0-2])"
    r"|(?:0[1-9]|1[0-2])/(?:19|20)\d\d|\d{4}/\d{1,2}/\d{1,2}|\d{1,2}/\d{1,2}/(?:\d\d){1,2}|\d{1,2}-\d{1,2}-(?:1[89]|2[01])\d\d|(?:0?[1-9]|[12]\d|3[01])\.(?:0?[1-9]|1[0-2])\.(?:1[89]|2[01])\d\d"
    rf"|\d{{1,2}}[-/]{MONTH}[-/]\d{{4}}(?::\d\d:\d\d:\d\d)?"
    rf"|\d{{8}}T\d{{4}}(?:\d\d)?(?:\.\d{{1,6}})?Z?|T?{_TIME}{_ZONE}?"
    r"|(?:\d{2,4}\u5e74)?\d{1,2}\u6708(?:\d{1,2}[\u65e5\u53f7])?"
)
TIME_AFTER = late(rf" {_TIME}(?: ?{_ZONE}| {_ZONE_NAME})?(?![{WORD}])")
ZONE_AFTER = late(rf" (?:{_ZONE}|{_ZONE_NAME})(?![{WORD}])")
_STAMPED = rf" ?\d{{1,2}} \d\d:\d\d:\d\d(?: [A-Z]{{3,4}})?(?: \d{{4}})?(?: {_ZONE})?"  # syslog, ctime, git
MONTH_FIRST = late(
    rf"{MONTH}\.? (?:\d{{1,2}}(?:st|nd|rd|th)?,? \d{{4}}|{_STAMPED}| ?\d{{1,2}}(?:st|nd|rd|th)?|(?:1[89]|2[01])\d\d)"
    rf"(?![{WORD}/%-]|[.,:]\d)"
)
MONTH_AFTER = late(
    rf" {MONTH}(?:\.? \d{{4}}(?![{WORD}])|(?![{WORD}/=-]|[.:][{WORD}]| {{1,2}}\d{{1,2}}(?!\d?:)| {{1,2}}\d{{3}}))"
)
"""Before a day, a month belongs to what follows: `4096 Nov 20`."""
IP = late(
    r"\d{1,3}(?:\.\d{1,3}){3}(?:/\d{1,2})?(?::\d{1,5}){0,2}|(?:[0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}"
    r"|(?=[0-9A-Fa-f:.]*::|(?:[0-9A-Fa-f]{1,4}:){7})(?=[:A-Fa-f]*\d)[0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){2,7}(?:%[0-9a-z]{1,15})?(?:/\d{1,3})?"
)
_HOST = late(
    r"localhost:\d{1,5}|[0-9A-Za-z-]{1,63}(?:\.[0-9A-Za-z-]{1,63}){1,9}(?::\d{1,5})?|[A-Za-z][0-9A-Za-z-]{2,60}:\d{2,5}"
)
_PRE = (
    r"(?:[-.+]?(?:rc|alpha|beta|post|dev|pre|preview|canary|next|nightly|a|b|c|build|snapshot|SNAPSHOT|RELEASE|Final)"
    r"[-.]?\d*)"
)
_TAIL = r"(?:[-+~][0-9A-Za-z.+~-]{1,80})?"
_PRE_TAIL = rf"(?:{_PRE}){{0,3}}{_TAIL}"
_RANGED = rf"v?\d{{1,4}}(?:\.\d{{1,8}}){{0,5}}{_PRE_TAIL}"
VERSION = late(
    rf"(?:\d{{1,2}}:)?\d{{1,8}}(?:\.\d{{1,8}}){{2,5}}{_PRE_TAIL}"
    rf"|(?!\d+\.\d+-\d+\.\d+$)(?:\d{{1,2}}:)?\d{{1,8}}(?:\.\d{{1,8}}(?:{_PRE}|[-+~][0-9A-Za-z.+~-]{{1,80}})|~[0-9A-Za-z.+~-]{{1,80}})"
    rf"|[vV]\d{{1,4}}(?:\.\d{{1,8}}){{0,5}}{_PRE_TAIL}|(?:>=|<=|~=|\^|~(?!\d{{2,}}$)){_RANGED}"
    rf"|@?[A-Za-z][0-9A-Za-z._-]{{0,80}}(?:/[0-9A-Za-z._-]{{1,80}})?@[\^~]?{_RANGED}"
    r"|[A-Za-z][0-9A-Za-z-]{1,40}/v?\d{1,4}(?:\.\d{1,8}){1,5}"
    r"|(?![^:]*:\d{1,3}(?:\.\d{1,3}){3}$)(?:"
    rf"(?=[0-9a-z]*[./-])[0-9a-z][0-9a-z.-]{{0,60}}(?:/[0-9a-z._-]{{1,60}}){{0,5}}:v?\d{{1,4}}(?:\.\d{{1,8}}){{1,5}}{_PRE_TAIL}"
    rf"|[0-9a-z]{{1,60}}:v?\d{{1,4}}(?:(?:\.\d{{1,8}}){{2,5}}{_PRE_TAIL}|\.\d{{1,8}}-[a-z][0-9a-z.-]{{0,60}}))"
)
_INDIAN = r"\d{1,2}(?:,\d\d){1,4},\d{3}"
_NUM = rf"(?:\d{{1,3}}(?:,\d{{3}})+|{_INDIAN}|\d+(?:_\d{{3}})*)(?:\.\d+)?"
SIGNS = "$\u20ac\u00a3\u00a5\u20b9\u20a9\u20bd\u20ba\u20ab\u20b4\u20a6\u0e3f\u20bf"
"""Of currencies. A lone digit behind a dollar sign is a placeholder of SQL, shells and templates."""
DOLLARS = "(?:US|CA|AU|NZ|HK|[ACRS])?"
"""What may stand before a dollar sign."""
_EURO = r"\d{1,3}(?:\.\d{3})+,\d\d"
_SCALE = "(?:[kKmMBT]|bn|mn)"
MONEY = late(
    rf"[-+~]?{DOLLARS}[{SIGNS}](?:{_EURO}|(?:\d{{1,3}}(?:,\d{{3}})+|\d{{1,3}}(?:_\d{{3}})+|{_INDIAN}|\d{{2,}}|\d\.\d|\.\d\d)\d*(?:\.\d+)?{_SCALE}?|\d(?:{_SCALE}|(?=/[A-Za-z])))"
    rf"(?:/[A-Za-z0-9]{{1,12}})?|[-+~]?[{SIGNS[1:]}]\d|(?:{_EURO}|{_NUM})[{SIGNS[1:]}\u00a2]"
)
LONE_MONEY = late(rf"{DOLLARS}\$\d")
"""An amount only where a scale follows: `$5 million`."""
SCALE_AFTER = late(rf" (?:thousand|million|billion|trillion)(?![{WORD}])")
SCORE = late(rf"[-+~]?{_NUM}%|\d{{1,3}}(?:\.\d{{1,3}})?-{_NUM}%|[-+]?0?\.\d{{2,6}}|\d{{1,7}}(?:\.\d{{1,2}})?/\d{{1,7}}")
_ATTACHED = "|".join(sorted((re.escape(u) for u in UNITS if len(u) <= 7), key=lambda u: (-len(u), u)))
QUANTITY = late(
    rf"(?!0x)[-+~]?{_NUM}(?:{_ATTACHED})(?:(?:\d{{1,4}}(?:{_ATTACHED})){{0,4}})|PT(?:\d{{1,6}}[HMS]){{1,3}}"
    r"|[1-9]\d{1,4}[x\u00d7]\d{2,5}(?:[x\u00d7]\d{1,5})?"
)
UNIT_AFTER = late(
    " (?:"
    + "|".join(sorted((re.escape(u) for u in SPACED_UNITS), key=lambda u: (-len(u), u)))
    + rf")(?![{WORD}/=-]|[.:][{WORD}])"
)
PERCENT_AFTER = late(rf" %(?![{WORD}])")
CURRENCY_AFTER = late(
    rf" (?:[{SIGNS[1:]}](?![{WORD}])|(?:EUR|USD|GBP|CHF|JPY|CNY|INR|CAD|AUD|SEK|NOK|DKK|PLN)(?![{WORD}]))"
)
PLAIN_NUMBER = late(rf"[-+]?(?:{_EURO}|{_NUM})(?![.,]\d)")
NUMBER = late(
    rf"[-+~]?(?:\d{{5,}}|{_NUM}[eE][-+]?\d{{1,4}}|(?:\d{{1,3}}(?:,\d{{3}})+|{_INDIAN})(?:\.\d+)?|{_EURO}|\d{{1,3}}(?:_\d{{3}})+(?:\.\d+)?|\d+\.\d+[fFdD]?)"
    r"|[-+]?0[xX][0-9A-Fa-f]+(?:\.[0-9A-Fa-f]*)?[pP][-+]?\d{1,5}[fF]?|0[bB][01]{2,64}|0[oO][0-7]{2,22}"
    r"|\d+\.\d+-\d+\.\d+|\d{5,}-\d+|\d+-\d{5,}"
)
INTEGER = late(r"[-+~]?\d{2,4}|\d{1,4}-\d{1,4}")
DASHED = late(r"\d{1,8}(?:-\d{1,8}){2,6}|arXiv:\d{4}\.\d{4,5}(?:v\d{1,2})?")
DOI = late(r"10\.\d{4,9}/[0-9A-Za-z._;/:+-]{1,100}")
RESOURCE = late(r"(?:arn|urn):[0-9A-Za-z-]+(?::[0-9A-Za-z_./*@+-]*){1,7}:[0-9A-Za-z_./*@+-]+")
CONSTANT = late(r"_{0,2}[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+_{0,2}")
_CAMEL = late(
    r"_?[a-z][a-z0-9]+(?:[A-Z][a-z0-9]*)+|_?[a-z](?:[A-Z][a-z0-9]*){2,}|_?(?:[A-Z][a-z0-9]+){3,}[A-Z]*"
    r"|[a-z][A-Z][a-z]{3,}"
)
_SNAKE = late(r"_{0,2}[a-z][a-z0-9]*(?:_[a-z0-9]+)+_{0,2}")
_QUALIFIED = late(
    r"[A-Za-z_][0-9A-Za-z_]*(?:\.[A-Za-z_][0-9A-Za-z_]*){2,}"
    r"|[A-Za-z_][0-9A-Za-z_]*(?:::[A-Za-z_][0-9A-Za-z_]*)+(?:#[A-Za-z_][0-9A-Za-z_]*)?"
    r"|_?[A-Za-z][0-9A-Za-z_]+\.[A-Za-z_][0-9A-Za-z_]+|[a-z]\.[a-z_][0-9A-Za-z_]{2,}"
)
_KEBAB = late(r"[A-Za-z_][0-9A-Za-z_]*(?:-[0-9A-Za-z_]+)*(?:\.[A-Za-z_][0-9A-Za-z_]*(?:-[0-9A-Za-z_]+)*)+")
"""Tried on what holds a hyphen and a dot: style classes, packages, services."""
_SCOPED = late(r"@[0-9a-z][0-9a-z._-]{0,80}/[0-9a-z][0-9a-z._-]{0,80}")
HANDLE = late(r"@[A-Za-z][0-9A-Za-z_-]{2,38}")
SCP = late(
    r"[0-9A-Za-z_.-]{1,60}@[0-9A-Za-z-]{1,63}(?:\.[0-9A-Za-z-]{1,63}){0,8}:[0-9A-Za-z_~.-]*/[0-9A-Za-z_./~+-]*[0-9A-Za-z]"
)
"""Where git and scp fetch from: `git@host:owner/repo.git`."""
EMAIL = late(r"[0-9A-Za-z.+_-]{1,80}@[0-9A-Za-z-]{1,63}(?:\.[0-9A-Za-z-]{1,63}){0,8}\.[A-Za-z]{2,24}")


def name(s: str) -> bool:
    """Names with an inner structure; single words and brands such as `GitHub` are none."""
    if "::" in s:
        return _QUALIFIED.fullmatch(s) is not None
    if len(s) < 4:
        return False
    dotted = "." in s
    if not dotted and _SNAKE.fullmatch(s):
        return True
    if len(s) < 5:
        return False
    if not dotted and _CAMEL.fullmatch(s):
        return s not in BRANDS
    if s[0] == "@":
        return _SCOPED.fullmatch(s) is not None
    if dotted and "-" in s:
        return _KEBAB.fullmatch(s) is not None and not s.startswith("www.")
    return _QUALIFIED.fullmatch(s) is not None and not s.startswith("www.")


def handle(s: str) -> bool:
    """`@name`, unless it is a decorator or tag that every code base has."""
    return HANDLE.fullmatch(s) is not None and s[1:] not in DECORATORS


_LONG_RUN = late(r"[0-9]{3}")
_MIXED = late(r"[#_]?(?=[0-9._+-]*[A-Za-z])(?=[A-Za-z._+-]*\d)[0-9A-Za-z_]+(?:[-.+][0-9A-Za-z_]+)*[-_]?")
_NUMBERED = late(r"[A-Za-z]{3,40}-\d")
_BOOKING = late(r"[A-Z0-9]{5,12}")
_ORDINAL = late(r"\d{1,4}(?:st|nd|rd|th)")


def mixed_id(s: str) -> bool:
    """Letters and digits in one identifier: two digits at least, or one in a long one that is no plain variable."""
    if len(s) < 4 or _MIXED.fullmatch(s) is None or _ORDINAL.fullmatch(s):
        return False
    if _LONG_RUN.search(s) is None and (CONSTANT.fullmatch(s) or name(s)) or _QUALIFIED.fullmatch(s):
        return False
    digits = sum(c.isdigit() for c in s)
    return (
        digits > 1
        or _BOOKING.fullmatch(s) is not None
        or _NUMBERED.fullmatch(s) is not None
        or (len(s) >= 10 and s.count("-") + s.count("_") >= 2)
    )


def blob(s: str) -> bool:
    """A piece of encoded data, such as a line of base64: nobody copies it by hand, and its parts mean nothing."""
    if len(s) < 40 or (len(s) < 60 and not ("/" in s or "+" in s or "=" in s)):
        return False
    return _BLOB.fullmatch(s) is not None


def host(s: str) -> bool:
    """Host names under a known top-level domain, and host:port where the host cannot be a key."""
    name, colon, _ = s.partition(":")
    known = name.rpartition(".")[2] in DOMAINS or name.endswith(".cluster.local")
    if not (known or colon) or _HOST.fullmatch(s) is None:
        return False
    return known or "." in name or name == "localhost" or ("-" in name and any(c.isdigit() for c in name))


# Which strings are paths: absolute, relative, bare file names, each with an optional line and column.


_PLACE = late(r"(?::\d{1,7}(?:-\d{1,7})?){1,2}")
_WINDOWS = late(
    r"[A-Za-z]:(?:\\{1,2}|/(?!/))[^\s\"'`<>|*?:;,=(){}\[\]\u00ab\u00bb\u2014\u2018-\u201f\u2026\u3000-\u303f\uff00-\uff65]+|\\\\[0-9A-Za-z.$-]+\\[^\s\"'`<>|*?:;,=(){}\[\]\u00ab\u00bb\u2014\u2018-\u201f\u2026\u3000-\u303f\uff00-\uff65]+"
)
_CHARS = late(r"[^:$\u20ac\u00a3\u00a5]+")
_ANCHOR = late(r"#[0-9A-Za-z_.-]{1,80}")
_PARAMETER = late(r"/:(?=[A-Za-z_])")
"""Of a route: `/users/:id`."""
_VARIABLE = late(r"\$[A-Za-z_][0-9A-Za-z_]*/")
_HOSTED = late(r"//[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)+/")
_ENV = late(r"\.env(?:\.[0-9A-Za-z_-]{1,40}){1,3}")
_LETTER = late(r"[^\W\d_]")
_ALL_DIGITS = late(r"[\d./+-]+")

_STEP = r"[0-9A-Za-z_.@~-]+"
# Behind a single backslash these make an escape (`a\nb.py`), unless the step is one that many projects have.
_USUAL = "|".join(sorted(folder for folder in FOLDERS if folder[0] in "nrtbfv"))
_SINGLE = rf"\\(?:(?![\\nrtbfv0]|u[0-9A-Fa-f]{{4}}|x[0-9A-Fa-f]{{2}})|(?=(?:{_USUAL}|test_{_STEP})(?![0-9A-Za-z_-])))"
_RELATIVE = rf"{_STEP}(?:(?:\\\\|{_SINGLE}){_STEP})+"

WINDOWS = late(
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
