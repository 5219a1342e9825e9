"""Comma-delimited text, told by its lines: its separators become tabs, so that two fields are never one number (D2).

A view of the same length. Only runs of records with the same number of fields are read so, only where a comma stands
between two digits (elsewhere nothing could be joined), and only where something says that commas part fields here:
names above, or a comma in every record that no number could hold.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from ...models.text import late

_SUSPECT = late(r"[0-9],[-+$\u20ac\u00a3(]?[0-9]")
_TAIL, _HEAD = late(r"[0-9][0-9.]*$"), late(r"[0-9][0-9.]*(?<!\.)")
_NUMBER = late(
    r"[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?|[0-9]{1,3}(?:,[0-9]{2}){1,3},[0-9]{3}(?:\.[0-9]+)?|[0-9]+,[0-9]+"
    r"|[0-9]{1,3}(?:\.[0-9]{3})+,[0-9]+"
)
"""With commas between groups, or before the decimals."""
_TUPLES = late(r"(?:\([^()\n]{1,400}\), ?)+\([^()\n]{1,400}\)")
_IN_TUPLE = late(r"'[^'\n]*'|\"[^\"\n]*\"|\), ?\(|(,)")
_NUMERIC = late(r"\s*[-+(]?[$\u20ac\u00a3]?[0-9][0-9.]*[%)]?\s*")
_NAME = late(r"\s*\"?[^\W\d][^\",;:={}\n]{0,60}\"?\s*")
_LONGEST: Final = 20_000
"""Characters of a record; a longer one is no row."""
_MOST_LINES: Final = 40
"""Of one record whose quoted field holds line breaks."""


def fields_apart(text: str) -> str:
    """The text with tabs for the commas that part its fields; the same object where there are none such."""
    found = _SUSPECT.search(text)
    if found is None:
        return text
    if "),(" in text or "), (" in text:
        text = _TUPLES.sub(_tuples_apart, text)
    places: list[int] = []
    done = 0
    while found is not None:
        run = _run_around(text, found.start(), done)
        done = run.end
        if run.rows:
            for row in run.rows:
                places += row.commas
        found = _SUSPECT.search(text, max(done, found.end()))
    if not places:
        return text
    chars = list(text)
    for place in places:
        chars[place] = "\t"
    return "".join(chars)


def _tuples_apart(found: re.Match[str]) -> str:
    if not _SUSPECT.search(found[0]):
        return found[0]
    return _IN_TUPLE.sub(lambda one: "\t" if one[1] else one[0], found[0])


class _Row:
    """One record: where it lies, and the commas outside of its quotes and brackets."""

    __slots__ = ("commas", "end", "fields", "start", "wrapped")

    def __init__(self, text: str, start: int, end: int) -> None:
        self.start, self.end = start, end
        line = text[start:end]
        inner, shift = _unwrapped(line)
        self.wrapped = inner is not line
        self.commas = [start + shift + at for at in _commas(inner)]
        edges = [start + shift - 1, *self.commas, start + shift + len(inner)]
        self.fields = [text[a + 1 : b] for a, b in zip(edges, edges[1:], strict=False)]


class _Run:
    __slots__ = ("end", "rows")

    def __init__(self, end: int, rows: list[_Row]) -> None:
        self.end, self.rows = end, rows


def _run_around(text: str, place: int, done: int) -> _Run:
    """The run of records around a place, from `done` on; without rows where it is none."""
    start = max(done, text.rfind("\n", done, place) + 1)
    first = _Row(text, start, _end_of(text, start))
    rows = [first]
    if not _may_be_row(first):
        return _Run(first.end + 1, [])
    at = start
    while at > done:  # upwards: quoted line breaks end the run there
        above = text.rfind("\n", done, at - 1) + 1 if at - 1 > done else done
        row = _Row(text, max(above, done), at - 1)
        if not _alike(row, first):
            break
        rows.insert(0, row)
        at = row.start
    at = first.end + 1
    while at < len(text):
        row = _Row(text, at, _end_of(text, at))
        if not _alike(row, first):
            break
        rows.append(row)
        at = row.end + 1
    return _Run(at, rows if _is_delimited(rows) else [])


def _end_of(text: str, start: int) -> int:
    """Where a record ends that begins here: quoted fields may hold line breaks."""
    end = text.find("\n", start)
    end = len(text) if end < 0 else end
    quotes = text.count('"', start, end)
    first = end
    for _ in range(_MOST_LINES):
        if quotes % 2 == 0 or end >= len(text):
            break
        more = text.find("\n", end + 1)
        more = len(text) if more < 0 else more
        quotes += text.count('"', end + 1, more)
        end = more
    return end if quotes % 2 == 0 and end - start <= _LONGEST else first


def _may_be_row(row: _Row) -> bool:
    return bool(row.commas) and row.end - row.start <= _LONGEST


def _alike(row: _Row, first: _Row) -> bool:
    return len(row.commas) == len(first.commas) and row.wrapped == first.wrapped and _may_be_row(row)


def _is_delimited(rows: list[_Row]) -> bool:
    if len(rows) < 2 or any(field[:1] == " " for row in rows for field in row.fields[1:]):
        return False
    if all(not row.fields[-1].strip() for row in rows) and len(rows[0].commas) == 1:
        return False  # lines that end in a comma
    if rows[0].wrapped:
        return True
    if any(all(any(mark in field for field in row.fields) for row in rows) for mark in ";\t|"):
        return False  # they part the fields
    if all(_NAME.fullmatch(field) for field in rows[0].fields):
        return True
    sure = [_has_sure_comma(row) for row in rows]
    if all(sure):
        return True
    return any(sure) and all(_NUMERIC.fullmatch(field) for row in rows for field in row.fields)


def _has_sure_comma(row: _Row) -> bool:
    """Whether some comma of a record stands in no number, however numbers are written."""
    return any(not _may_join(left, right) for left, right in zip(row.fields, row.fields[1:], strict=False))


def _may_join(left: str, right: str) -> bool:
    ends, begins = _TAIL.search(left), _HEAD.match(right)
    if ends is None or begins is None:
        return False
    before = left[ends.start() - 1 : ends.start()]
    if before and before in "-_/" and left[ends.start() - 2 : ends.start() - 1].isalnum():
        return False
    return not (before.isascii() and before.isalpha()) and _NUMBER.fullmatch(f"{ends[0]},{begins[0]}") is not None


def _unwrapped(line: str) -> tuple[str, int]:
    """What stands between the brackets of a tuple that is a line with a comma behind it, and where that begins."""
    bare = line.rstrip()
    if bare[-1:] in ",;" and bare[:-1].rstrip().endswith(")") and line.lstrip().startswith("("):
        start = line.index("(") + 1
        return line[start : bare.rindex(")")], start
    return line, 0


def _commas(line: str) -> Iterator[int]:
    if '"' not in line and "(" not in line and "[" not in line and "{" not in line:
        at = line.find(",")
        while at >= 0:
            yield at
            at = line.find(",", at + 1)
        return
    balanced = all(line.count(a) == line.count(b) for a, b in ("()", "[]", "{}"))
    quoted, depth = False, 0
    for at, char in enumerate(line):
        if char == '"':
            quoted = not quoted
        elif quoted:
            continue
        elif balanced and char in "([{":
            depth += 1
        elif balanced and char in ")]}":
            depth -= 1
        elif char == "," and depth <= 0:
            yield at


# Numbers in groups, and lists of numbers, made plain for the lexer: a view of the same length (D2).
#
# What parts the groups of a number (a space, a no-break or thin space, an apostrophe) becomes `_`, its decimal comma
# a point, the bracket before a negative amount a minus; the commas of a tuple become tabs. All is decided inside one
# line. Where a plain space may be either, two numbers or one, it is one: as it stands, it says what the source says.


_NO_BREAK: Final = "\u00a0\u202f\u2009"
_SIGNS: Final = "$\u20ac\u00a3\u00a5\u20b9"
_JOINED = late(
    rf"(?<![\w.'\u2019])(?:[0-9]{{1,3}}(?:[{_NO_BREAK}'\u2019][0-9]{{3}})+)"
    r"(?:\.[0-9]+|,[0-9]{1,2})?(?![0-9_]|[.,'\u2019][0-9])"
)
_SPACED = late(
    r"(?<![\w.#/])(?<![0-9][ :,])(?<![0-9]-)(?<![\])\"] )[0-9]{1,3}"
    rf"(?:(?: [0-9]{{3}}){{2,}}|(?: [0-9]{{3}})(?=,[0-9]{{1,2}}(?![0-9])|\.[0-9]| ?[{_SIGNS}%]| [^\W\d_]"
    r"|[.,:;!?)]?(?:\n|$)|\t|  |[.,;!?] | ?[|;]))"
    r"(?:\.[0-9]+|,[0-9]{1,2}(?![0-9]))?(?![0-9A-Za-z_]|[.,][0-9]| [0-9])"
)
"""A single group only where something says that it is one: a unit, a word or the end of a field behind it."""
_NEAR: Final = 80
_BEFORE = late(rf"(?:^|[\s,;|(\[\"]|(?:^|[\s,;|(\[\"])[A-Za-z_][\w.-]*[=:]|[^\x00-\x7f])[('\"\[]*[-+~{_SIGNS}]{{0,2}}$")
"""What may stand before a number that begins there: a field's edge, a key, a sign, a script without spaces."""
_MAYBE_SPACED = late(r"[0-9] [0-9]{3}(?![0-9])")
_BRACKETS = late(r"[(\[{]([^()\[\]{}\n]{3,400})[)\]}]")
_AMOUNT = late(
    rf"(?:[{_SIGNS}]|[A-Z]{{3}} )? ?"
    rf"(?:[0-9]{{1,3}}(?:[,'\u2019 {_NO_BREAK}][0-9]{{3}})+(?:\.[0-9]+)?|[0-9]+\.[0-9][0-9]"
    rf"|(?<=[{_SIGNS}])[0-9]+(?:\.[0-9]+)?)(?: ?[{_SIGNS}]| [A-Z]{{3}})?"
)
_ATOM = late(r"[-+]?[0-9][0-9.eE+_-]*|[A-Za-z_][\w.-]*|'[^']*'|\"[^\"]*\"|")
_COMMA_OF_LIST = late(r"[0-9],[0-9]")


def view(text: str) -> str:
    """The text as the lexer is to read it, character for character in the same places."""
    if "(" in text or "[" in text or "{" in text:
        text = _BRACKETS.sub(_bracketed, text)
    if not text.isascii():
        text = _without_no_break(text)
    if "'" in text or "\u2019" in text:
        text = _JOINED.sub(_plainly, text)
    if _MAYBE_SPACED.search(text):
        text = _SPACED.sub(_plainly, text)
    return text


def _without_no_break(text: str) -> str:
    if any(space in text for space in _NO_BREAK):
        text = _JOINED.sub(_plainly, text)
        for space in _NO_BREAK:
            text = text.replace(space, " ")
    return re.sub("\u2212(?=[0-9$\u20ac\u00a3])", "-", text) if "\u2212" in text else text


def _plainly(found: re.Match[str]) -> str:
    number, start = found[0], found.start()
    near = found.string[max(0, start - _NEAR) : start]
    if near and _BEFORE.search(near) is None:
        return number  # the end of something longer: `node-1 250 ms`, `/a?b=1 100 %`
    whole, mark, rest = number.rpartition(",") if "," in number else number.rpartition(".")
    if not mark:
        whole, rest = rest, ""
    return re.sub(r"[^0-9]", "_", whole) + ("." if mark else "") + rest


def _bracketed(found: re.Match[str]) -> str:
    inner, text, start, end = found[1], found.string, found.start(), found.end()
    before = text[start - 1 : start]
    if text[start] == "(" and text[end - 1] == ")" and _AMOUNT.fullmatch(inner):
        listed = text[max(0, start - 2) : start] == ")," or text[end : end + 2] == ",("
        if not listed and not (before and (before.isalnum() or before in "_)]([{")):
            return f"-{inner})"
    elif text[start] == "(" and _AMOUNT.fullmatch(inner) is None and "," not in inner:
        return found[0]
    if not _COMMA_OF_LIST.search(inner) or any(_ATOM.fullmatch(one) is None for one in inner.split(",")):
        return found[0]
    return text[start] + inner.replace(",", "\t") + text[end - 1]
