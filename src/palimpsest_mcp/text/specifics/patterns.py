"""What one class looks like when a string stands alone: patterns for a whole string, none of which can backtrack badly.

Every pattern is used with `fullmatch` on a run of characters that holds no layout. Repetitions are either of one
character class or separated by a character that the class does not hold, so each takes time linear in the run.

Specifics of several words: `exit code 2`, `12 ms`, `Nov 20 2026`, `EUR 3`, addresses with brackets, commands.

Words of a phrase are joined by exactly one space, and no phrase runs over a line. Each function looks only to the right
of where it is called, by a bounded number of characters (an address: up to its own end). It says where a find ends, and
of which class it is, once what follows its token is seen; class `""`: it is none.
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
    PROGRAMS,
    PROMPTS,
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


_STATUS = late(
    r"(?:[Ee]xit(?:ed)?(?: with)?(?: exit)?(?: (?:code|status))?|[Rr]eturn(?:ed)?(?: with)?(?: exit)? (?:code|status)"
    r"|[Ss]tatus(?: code)?|HTTP(?:/[123](?:\.[01])?)?(?: [Ss]tatus| [Ee]rror| [Rr]esponse)?(?: [Cc]ode)?"
    r"|[Ee]rrno|[Ee]rror(?: code)?|[Ss]ignal)"
    rf":? -?\d{{1,10}}(?![{WORD}/%-]|[.,:]\d)"
)
_CURRENCY = late(
    rf"(?:EUR|USD|GBP|CHF|JPY|CNY|INR|CAD|AUD|SEK|NOK|DKK|PLN|[\u20ac\u00a3\u20b9]) {PLAIN_NUMBER.pattern}"
    rf"(?:{SCALE_AFTER.pattern})?(?![{WORD}])"
)
_ISSUE = late(rf"(?:PR \d{{1,7}}|MR !?\d{{1,7}}|(?:[Ii]ssue|[Tt]icket|[Bb]ug) \d{{2,8}})(?![{WORD}/%-]|[.,:]\d)")
_SHORT_UNIT = late(rf" [mshglt](?![{WORD}/=-]|[.:][{WORD}])")
"""Behind a number with a decimal comma; behind another, a letter may be a column of its own."""
_REASON = late(
    rf" (?:OK|Created|Accepted|No Content|Moved Permanently|Bad Request|Unauthorized|Forbidden|Not Found|Gone|Conflict"
    r"|Method Not Allowed|Request Timeout|Payload Too Large|Unprocessable (?:Entity|Content)|Too Many Requests"
    r"|Internal Server Error|Not Implemented|Bad Gateway|Service Unavailable|Gateway Time-?out"
    rf"|(?:Client|Server) Error)(?![{WORD}])"
)
"""What HTTP says behind a status."""
_PROGRAM = late(
    rf"(?:sudo )?(?:{'|'.join(sorted(map(re.escape, PROGRAMS)))}|go (?:build|get|install|mod|run|test|vet))"
    r"(?= [^=:,]| *(?:\n|$))"
)
"""What must follow a mark that means other things too: headings, comments, quotes and added lines."""
_QUOTED = late(r": (?:'[0-9A-Za-z_.-]{1,60}'|\"[0-9A-Za-z_.-]{1,60}\")")
_COMMAND = late(r"[$\u276f#%>+] [0-9A-Za-z_./~][^\n]{0,198}")
_PROMPT = late(
    r"[ \t]*(?:\([0-9A-Za-z_.-]{1,40}\) ?)?"
    r"(?:\[?[0-9A-Za-z_.-]{1,60}@[0-9A-Za-z_.-]{1,60}[: ][^ \n]{1,200}|(?:ba|z)?sh-\d\.\d|PS [A-Z]:\\[^ \n]{0,200})?"
)
"""What may stand before the mark of a prompt in its line."""
_LONGEST_PROMPT = 340
_URL_PIECE = late(
    r"[^\s\"'`<>|\\^\x00-\x1f(){}\[\]\u00ab\u00bb\u2014\u2018-\u201f\u2026\u3000-\u303f\uff00-\uff65]+|[(){}\[\]]"
)
_SPACE_HEAD, _SPACED = ":\\Program", " Files"
_SPACED_REST = late(r" Files(?: \(x86\))?(?:\\{1,2}[0-9A-Za-z_.@~+-]*[0-9A-Za-z_@~+-])*")
"""The one folder with a blank in its name that everybody has."""
_LINE_AND_COLUMN = late(r"\([0-9]{1,7}(?:, ?[0-9]{1,7})?\)")
_BRACKETED = (
    r"(?:\[\[[0-9A-Za-z_.-]{1,40}\]\]|\[[0-9A-Za-z_.-]{1,40}\]|\([0-9A-Za-z_.-]{1,40}\)|\{[0-9A-Za-z_.-]{1,40}\})"
)
_THROUGH = late(
    rf"{_BRACKETED}(?:[0-9A-Za-z_./-]{{0,80}}/{_BRACKETED}){{0,8}}[0-9A-Za-z_./-]{{0,80}}(?<![./])(?::\d{{1,7}}){{0,2}}"
)
_DOI_REST = late(r"(?:\([0-9A-Za-z.-]{1,30}\)[0-9A-Za-z._;/:-]{0,60}(?<![.;:-])){1,3}")
_DEEPEST = 8
_CLOSES = {")": "(", "]": "[", "}": "{"}
_OPENS = frozenset(_CLOSES.values())
_MONTH_INITIALS, _CURRENCIES = frozenset("JFMASOND"), frozenset("\u20ac\u00a3\u00a5")
_UNIT_INITIALS = frozenset(unit[0] for unit in SPACED_UNITS)
_GUTTER, _BEHIND_GUTTER = 12, frozenset("\t\u2192")
_PHRASES = ((_STATUS, "status"), (MONTH_FIRST, "date"), (_CURRENCY, "money"), (_ISSUE, "issue"))


def after_word(text: str, start: int, end: int, cls: str) -> tuple[int, str]:
    """The phrase that begins with a trigger word, else what the word is by itself."""
    if text[start:end] in PROMPTS:
        far = _command_end(text, start)
        return (far, "command") if far else (end, cls)
    for pattern, grown in _PHRASES:
        found = pattern.match(text, start)
        if found:
            return after_date(text, start, found.end(), grown) if grown == "date" else (found.end(), grown)
    return end, cls


def _command_end(text: str, start: int) -> int:
    """Where the command ends whose prompt stands at `start`; 0 where there is none."""
    line = text.rfind("\n", max(0, start - _LONGEST_PROMPT - 1), start) + 1
    if start - line > _LONGEST_PROMPT or _PROMPT.fullmatch(text, line, start) is None:
        return 0
    found = _COMMAND.match(text, start)
    if found is None or (found.end() < len(text) and text[found.end()] not in "\r\n"):
        return 0
    bare = line == start or not text[line:start].strip(" \t")
    if text[start] not in "$\u276f" and bare and _PROGRAM.match(text, start + 2) is None:
        return 0
    return start + len(found[0].rstrip())


def after_number(text: str, start: int, end: int, cls: str) -> tuple[int, str]:
    """A number may go on with a space and its unit, per cent sign, currency, month and year, or a reason of HTTP.

    That of a line of a listing is layout.
    """
    following = text[end : end + 1]
    if following in _BEHIND_GUTTER and _in_gutter(text, start, end):
        return end, ""
    if following != " " or text[end - 1] == "%":
        return end, cls
    next_char = text[end + 1 : end + 2]
    if next_char == "%":
        found, grown = PERCENT_AFTER.match(text, end), "score"
    else:
        found, grown = UNIT_AFTER.match(text, end) if next_char in _UNIT_INITIALS else None, "quantity"
    if found is None and (next_char.isupper() or next_char in _CURRENCIES):
        found, grown = CURRENCY_AFTER.match(text, end), "money"
        if found is None and next_char in _MONTH_INITIALS:
            found, grown = MONTH_AFTER.match(text, end), "date"
            if found:
                return after_date(text, end, found.end(), grown)
        code = cls == "integer" and end > 2 and text[end - 3] in "12345" and not text[end - 4 : end - 3].isdigit()
        if found is None and code:
            found, grown = _REASON.match(text, end), "status"
    return (found.end(), grown) if found else (end, cls)


def _in_gutter(text: str, start: int, end: int) -> bool:
    """Line numbers of a listing, as `cat -n` (padded, then a tab) and editors (an arrow) print them, are layout."""
    if not text[start:end].isdigit():
        return False
    padding = text[max(0, start - _GUTTER) : start]
    at_start = start < _GUTTER or "\n" in padding
    padding = padding[padding.rfind("\n") + 1 :]
    return at_start and not padding.strip(" ") and (padding != "" or text[end] == "\u2192")


def after_money(text: str, start: int, end: int, cls: str) -> tuple[int, str]:
    """An amount may go on with its scale; a lone digit behind a dollar sign is one only then."""
    found = SCALE_AFTER.match(text, end)
    return (found.end(), "money") if found else (end, cls)


def after_comma(text: str, start: int, end: int, cls: str) -> tuple[int, str]:
    """`12,5` is one number where its unit follows, or (`cls` says so) where it stands alone; else two of a list."""
    far, grown = after_number(text, start, end, "")
    found = _SHORT_UNIT.match(text, end) if grown == "" else None
    return (found.end(), "quantity") if found else (far, grown or cls)


def after_doi(text: str, start: int, end: int, cls: str) -> tuple[int, str]:
    """The name of an article may go on with brackets."""
    found = _DOI_REST.match(text, end)
    return (found.end() if found else end), cls


def after_date(text: str, start: int, end: int, cls: str) -> tuple[int, str]:
    """A calendar date may go on with a space and a time of day, a time with its zone."""
    if text[end : end + 1] != " ":
        return end, cls
    timed = text.find(":", start, end) >= 0
    found = (ZONE_AFTER if timed else TIME_AFTER).match(text, end)
    return (found.end() if found else end), cls


def after_error(text: str, start: int, end: int, cls: str) -> tuple[int, str]:
    """An error type may go on with the one quoted name that it is about: `KeyError: 'user_id'`."""
    found = _QUOTED.match(text, end)
    return (found.end() if found else end), cls


def after_path(text: str, start: int, end: int, cls: str) -> tuple[int, str]:
    """A path may go on with `(line,column)`, or through a step in brackets: `app/[slug]/page.tsx`, `/users/{id}`.

    What begins with a slash right behind a bracket is the rest of a template and no path.
    """
    if text[start] == "/" and start and text[start - 1] in ")]}":
        return end, ""
    following = text[end : end + 1]
    if following in _OPENS:
        found = (_THROUGH if text[end - 1] == "/" else _LINE_AND_COLUMN).match(text, end)
    elif following == " " and text.startswith(_SPACED, end) and text.endswith(_SPACE_HEAD, start, end):
        found = _SPACED_REST.match(text, end)
    else:
        return end, cls
    return (found.end() if found else end), cls


def after_scheme(text: str, start: int, end: int, cls: str) -> tuple[int, str]:
    """An address goes on through brackets as long as they balance; closing punctuation is left out."""
    body = text.index("://", start) + 3
    far = body
    unclosed: list[int] = []
    while found := _URL_PIECE.match(text, far):
        piece = found[0]
        if piece in _CLOSES:
            if not unclosed or text[unclosed[-1]] != _CLOSES[piece]:
                break
            unclosed.pop()
        elif piece in _OPENS:
            unclosed.append(far)
            if len(unclosed) > _DEEPEST:  # or each of many open addresses would be read to the end of the line
                break
        far = found.end()
    bare = len(text[body : unclosed[0] if unclosed else far].rstrip(".,;:!?*_~'"))
    return (body + bare, cls) if bare else (end, "")
