"""Text inside markdown and back: whatever it holds, it never forges a heading, a bullet or a mark of ours. And
patterns that are compiled late."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, AnyStr, cast

import msgspec

_BREAK = "⏎"
_MEANING = f"\\{_BREAK}&"
"""What means something behind a backslash: a backslash, the sign for a line break (`n` is left to the texts, which
often hold `\\n` themselves), and `&`, which stands for nothing at all."""
_UNFIT = re.compile('[`\n\r]|^"')
_COMMA = "\\u002c"
_STRUCTURE = re.compile(r"#|\\|```|~~~|<!--|={2,}\s*$|-{2,}\s*$")


def inline(text: str, special: str = "", *, guard: re.Pattern[str] | None = None) -> str:
    """One line for a text. A backslash is doubled only where it would mean something: `C:\\Users` stays as it is.

    Args:
        special: characters that would end the text where it stands.
        guard: how a text may not begin there; one that does gets `\\&` before it.
    """
    meaning = _MEANING + special + "\n"
    out: list[str] = []
    for place, char in enumerate(text):
        if char == "\n":
            out.append("\\" + _BREAK)
        elif char in special or (char == "\\" and (text[place + 1 : place + 2] or "\\") in meaning):
            out.append("\\" + char)
        else:
            out.append(char)
    line = "".join(out)
    return "\\&" + line if not line or (guard is not None and guard.match(line)) else line


def plain_inline(line: str, special: str = "") -> str:
    """The text that `inline` made the line of."""
    out: list[str] = []
    place = 0
    while place < len(line):
        after = line[place + 1 : place + 2]
        if line[place] == "\\" and after and after in _MEANING + special:
            out.append({_BREAK: "\n", "&": ""}.get(after, after))
            place += 2
        else:
            out.append(line[place])
            place += 1
    return "".join(out)


def find_stop(line: str, stop: str, start: int = 0) -> int:
    """Where `stop` stands unescaped; -1 when it does not."""
    place = start
    while place < len(line):
        if line[place] == "\\" and line[place + 1 : place + 2] in (*_MEANING, stop[0]):
            place += 2
        elif line.startswith(stop, place):
            return place
        else:
            place += 1
    return -1


def split(line: str, stop: str) -> list[str]:
    """The pieces between unescaped stops."""
    pieces: list[str] = []
    start = 0
    while (end := find_stop(line, stop, start)) >= 0:
        pieces.append(line[start:end])
        start = end + len(stop)
    return [*pieces, line[start:]]


def code(text: str, *, commas: bool = True) -> str:
    """A code span: the text as it is (paths keep their backslashes), else as a JSON string without backticks.

    Args:
        commas: whether commas may stand in it.
    """
    if text and not _UNFIT.search(text) and (commas or "," not in text):
        return f"`{text}`"
    quoted = json.dumps(text, ensure_ascii=False).replace("`", "\\u0060")
    return f"`{quoted if commas else quoted.replace(',', _COMMA)}`"


def plain_code(span: str) -> str:
    """The text of a code span, or of what stands there without backticks."""
    text = span[1:-1] if len(span) > 1 and span[0] == span[-1] == "`" else span
    if text[:1] == '"':
        try:
            return str(json.loads(text, strict=False))
        except ValueError:
            return text
    return text


def block(text: str, none: str, also: re.Pattern[str] | None = None) -> list[str]:
    """Lines of a text that stands alone under its heading.

    Args:
        none: the sentence that says there is no text.
        also: how else no line may begin.
    """
    if not text:
        return [none]
    lines = text.split("\n")
    ends = (0, len(lines) - 1)
    return [
        _line(line, none, also) if line.strip() or place not in ends else line + "\\"
        for place, line in enumerate(lines)
    ]


def plain_block(lines: list[str], none: str) -> str:
    """The text that `block` made the lines of; blank lines around it are nobody's."""
    first = next((place for place, line in enumerate(lines) if line.strip()), len(lines))
    last = next((place for place in range(len(lines), first, -1) if lines[place - 1].strip()), first)
    lines = lines[first:last]
    return "" if lines == [none] else "\n".join(map(_plain_line, lines))


def _line(line: str, none: str, also: re.Pattern[str] | None) -> str:
    start = len(line) - len(line.lstrip())
    rest = line[start:]
    if _STRUCTURE.match(rest) or line == none or (also is not None and also.match(line)):
        return f"{line[:start]}\\{rest}"
    return line


def _plain_line(line: str) -> str:
    start = len(line) - len(line.lstrip())
    return line[:start] + line[start + 1 :] if line[start : start + 1] == "\\" else line


# Bullets of a markdown section read back, in summaries and handoffs alike, also where a person edited them.


def without_left_out(lines: Iterable[str], left_out: re.Pattern[str]) -> tuple[list[str], int]:
    """The lines without those that count what did not fit, and the sum of their counts.

    Args:
        left_out: matches such a line behind its dash; its first group is the count.
    """
    kept: list[str] = []
    number = 0
    for line in lines:
        found = left_out.match(line[2:]) if line.startswith("- ") else None
        if found:
            number += int(found[1])
        else:
            kept.append(line)
    return kept, number


def bullets(lines: Sequence[str], none: str) -> list[str]:
    """Bullets without their dash. A person's indented lines belong to the bullet above, other lines are bullets.

    Args:
        none: the sentence that says there is nothing; it is no bullet.
    """
    found: list[str] = []
    for line in lines:
        if line.startswith("- "):
            found.append(line[2:])
        elif not line.strip() or line == none:
            continue
        elif line[0] in " \t" and found:
            found[-1] += "\\⏎" + line.strip()
        else:
            found.append(line[2:] if line.startswith(("* ", "+ ")) else line)
    return found


# The form in which stored text may be shown: nothing in it can move a cursor, hide, or turn a line around.


# Whole escape sequences first (CSI, then OSC and its kin up to their end), so that no tail of one stays behind as text.
_ESCAPES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[ -/]*[0-~]?")
_BREAKS = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
# C0 and C1 controls but for tab and newline; bidi marks, embeddings and isolates; zero-width spaces and the invisible
# operators; tag characters, which carry text that nobody sees. The two joiners stay: scripts and emoji need them.
_UNSEEN = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f"
    "\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
_CUT = re.compile(r"(?<=\S{8})\S{8,}…$")
_HALVES = re.compile("[\ud800-\udfff]")


def plain(text: str) -> str:
    """The text without control, ANSI, bidi and invisible characters; line breaks become newlines, tabs stay.

    Half a surrogate pair becomes U+FFFD, so the answer can always be written as UTF-8.
    """
    if text.isascii() and text.isprintable():
        return text
    text = _BREAKS.sub("\n", _ESCAPES.sub("", text))
    return _HALVES.sub("\ufffd", _UNSEEN.sub("", text))


def shown(value: object, limit: int = 80) -> str:
    """What a caller gave, as an error names it: one line between quotation marks, cut where it is long.

    Of a long word that is cut only the beginning stays: half a secret does not look like one any more.
    """
    line = plain_line(str(value), limit)
    return f'"{_CUT.sub("…", line)}"'


def plain_line(text: str, limit: int = 0) -> str:
    """The same as one line, white space folded; longer than `limit` characters (0: no limit) it ends in an ellipsis."""
    line = " ".join(plain(text).split())
    return line if not limit or len(line) <= limit else line[: limit - 1] + "…"


# Texts that say nothing: placeholders and open ends, which neither a summary nor a handoff may hold.


_OPEN_END = re.compile(
    r"\[(?:tbd|todo|fill[^\]]*|insert[^\]]*|your[^\]]*|placeholder|\.\.\.|…)\]|\btbd\b|<(?:placeholder|insert[^>]*|tbd|todo)>"
    r"|\betc\.?\W*$|(?:\.\.\.|…)\s*$|^\W*(?:n/?a|none|unknown|todo|xxx+|\?+|\.+|-+)\W*$|lorem ipsum",
    re.IGNORECASE,
)


def open_end(text: str) -> str:
    """The placeholder or open end in a text; empty where there is none."""
    found = _OPEN_END.search(text)
    return found[0].strip() if found else ""


def open_end_in(value: Any, *, except_in: str) -> str:
    """The first one in any text of a value: a text, an entry, or several.

    Args:
        except_in: a field of entries that quotes, and may hold anything.
    """
    return _first(msgspec.to_builtins(value), except_in)


def _first(value: Any, except_in: str) -> str:
    if isinstance(value, str):
        return open_end(value)
    if isinstance(value, dict):
        value = [part for name, part in cast("dict[str, Any]", value).items() if name != except_in]
    parts = cast("Sequence[Any]", value) if isinstance(value, (list, tuple)) else ()
    return next((found for part in parts if (found := _first(part, except_in))), "")


def each_text(value: Any, change: Callable[[str], str]) -> Any:
    """A JSON value with every text in it changed, in order; names of fields stay."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {name: each_text(part, change) for name, part in cast("dict[str, Any]", value).items()}
    if isinstance(value, (list, tuple)):
        return [each_text(part, change) for part in cast("Sequence[Any]", value)]
    return value


# Counted nouns: `1 batch`, `2,400 batches`. Every number that is printed before its noun goes through here.


_HISSING = re.compile(r"(?:s|x|z|ch|sh)$")
_ENDING_Y = re.compile(r"(?<=[^aeiou])y$")


def counted(number: int, noun: str) -> str:
    """`1 session`, `2,400 sessions`, `0 batches`, `3 fetched copies`.

    Args:
        noun: in the singular; its last word is what is counted.
    """
    return f"{number:,} {noun if number == 1 else plural(noun)}"


def plural(noun: str) -> str:
    """`batches` of `batch`, `retries` of `retry`."""
    if _HISSING.search(noun):
        return f"{noun}es"
    named, count = _ENDING_Y.subn("ies", noun)
    return named if count else f"{noun}s"


def verb(number: int, one: str, more: str) -> str:
    """`was` for one, else `were`; whatever the two forms are."""
    return one if number == 1 else more


# Regular expressions that are compiled when they are first used: a command that looks for nothing need not wait.


class _Late:
    """Stands for a pattern until somebody uses it; from then on its methods are the pattern's own."""

    def __init__(self, source: str | bytes, flags: int) -> None:
        self._source, self._flags = source, flags
        self.pattern = source
        """Others are put together of it, which is no use."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = re.compile(self._source, self._flags)
        self.__dict__.update({one: getattr(found, one) for one in dir(found) if not one.startswith("__")})
        return self.__dict__[name]


def late(source: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """As `re.compile`, save that a mistake in it shows at its first use.

    It is no `re.Pattern` by type: call its methods, hand it to no function of `re`.
    """
    return cast("re.Pattern[AnyStr]", _Late(source, flags))
