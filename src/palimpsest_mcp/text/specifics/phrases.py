"""Specifics of several words: `exit code 2`, `12 ms`, `Nov 20 2026`, `EUR 3`, addresses with brackets, commands.

Words of a phrase are joined by exactly one space, and no phrase runs over a line. Each function looks only to the right
of where it is called, by a bounded number of characters (an address: up to its own end). It says where a find ends, and
of which class it is, once what follows its token is seen; class `""`: it is none.
"""

from __future__ import annotations

import re

from ...models.text import late
from . import patterns as shapes
from .patterns import WORD
from .vocabulary import PROGRAMS, PROMPTS, SPACED_UNITS

_STATUS = late(
    r"(?:[Ee]xit(?:ed)?(?: with)?(?: exit)?(?: (?:code|status))?|[Rr]eturn(?:ed)?(?: with)?(?: exit)? (?:code|status)"
    r"|[Ss]tatus(?: code)?|HTTP(?:/[123](?:\.[01])?)?(?: [Ss]tatus| [Ee]rror| [Rr]esponse)?(?: [Cc]ode)?"
    r"|[Ee]rrno|[Ee]rror(?: code)?|[Ss]ignal)"
    rf":? -?\d{{1,10}}(?![{WORD}/%-]|[.,:]\d)"
)
_CURRENCY = late(
    rf"(?:EUR|USD|GBP|CHF|JPY|CNY|INR|CAD|AUD|SEK|NOK|DKK|PLN|[\u20ac\u00a3\u20b9]) {shapes.PLAIN_NUMBER.pattern}"
    rf"(?:{shapes.SCALE_AFTER.pattern})?(?![{WORD}])"
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
_PLACE = late(r"\([0-9]{1,7}(?:, ?[0-9]{1,7})?\)")
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
_PHRASES = ((_STATUS, "status"), (shapes.MONTH_FIRST, "date"), (_CURRENCY, "money"), (_ISSUE, "issue"))


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
        found, grown = shapes.PERCENT_AFTER.match(text, end), "score"
    else:
        found, grown = shapes.UNIT_AFTER.match(text, end) if next_char in _UNIT_INITIALS else None, "quantity"
    if found is None and (next_char.isupper() or next_char in _CURRENCIES):
        found, grown = shapes.CURRENCY_AFTER.match(text, end), "money"
        if found is None and next_char in _MONTH_INITIALS:
            found, grown = shapes.MONTH_AFTER.match(text, end), "date"
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
    found = shapes.SCALE_AFTER.match(text, end)
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
    found = (shapes.ZONE_AFTER if timed else shapes.TIME_AFTER).match(text, end)
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
        found = (_THROUGH if text[end - 1] == "/" else _PLACE).match(text, end)
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
