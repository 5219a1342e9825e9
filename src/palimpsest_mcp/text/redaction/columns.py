"""Secrets by their place: cells below a column whose name means one, values of an `INSERT`, data of a Secret."""

from __future__ import annotations

from collections.abc import Iterator

from ...models.text import late
from .literals import Name, is_secret, is_stand_in, secret_name
from .passwords import is_password
from .patterns import Find, compiled
from .scan import Ranges

_RANK = 5200
_LONGEST_LINE = 1 << 14
_JUDGED = 512  # bytes of a cell that are enough to tell what it is
_NAMES = r"pass(?:word|wd|phrase|code|wort)?|pwd|secrets?|tokens?|key|credentials?|auth"
_HEADER = rf"(?i)(?:{_NAMES})\w*[\\\"'`]*[ \t\r]*[,;|\t\n]"
_CANDIDATES = compiled(_HEADER, groups=False)
_NUMBERED = late(rb"[ \t]{0,8}\d{1,7}(?:[ ]{0,16}\t|:|[ \t]{0,4}\|[ \t])")
_RULER = late(rb"[\s|+:=-]*$")
_CELL_NAME = late(rb"[A-Za-z_\x80-\xfe][\w .()/#%\x80-\xfe-]{0,60}$")
_PLAIN = {sign: late(rb'"(?:[^"]|"")*"|[^%s]*' % sign) for sign in (b",", b";", b"\t", b"|")}
_INSERT = late(rb"(?is)\(([^()]{3,2000})\)\s{0,20}VALUES\s{0,20}(?=\()")
_SQL_VALUE = late(rb"""\s*((?:\\+"[^"]*?\\+"|[NEB]?'(?:[^'\\]|''|\\.)*'|"(?:[^"\\]|\\.)*"|[^'",()]|\([^()]*\))*)\s*""")
_BETWEEN_TUPLES = late(rb"\s*\)\s*,\s*\(")
_AROUND = b" \t\r\"'`\\"
_STRING_BEGINS = late(rb"""\s*(?:\\*"\s*)?[{\[][^\n]{0,200}?[:\[]\s*\\*"(?!\s*\\*["}\]])""")  # of JSON
_STRING_ENDS = late(rb"""\\*"\s*[}\]]""")  # of the JSON around a table
_PROOFS = ("literal", "random", "strong", "pair")
Cells = list[tuple[int, int]]
"""Where each cell of a line stands."""


# A Secret of Kubernetes, in YAML or JSON: whatever its data is called, all of it is secret.

_SECRET = r"\bkind\\{0,7}[\"']?:\s?\\{0,7}[\"']?Secret\b"
_SECRETS = compiled(_SECRET, groups=False)
_OBJECT = late(rb"\bapiVersion\b|\n---")
_FAR = 1 << 14
_FIRST_LINES = 48
"""An object's version stands before its kind, or this near behind it."""
_DATA = late(rb"\b(?:stringData|data)\\*[\"']?:[ \t]*(\{)?")
_FIELD = (
    rb"[\w.-]{1,253}\\*[\"']?:[ \t]*(?:[|>][+-]?\s+)?"
    rb"\\*[\"']?(?P<value>[^\s\"'\\,{}$<|>][^\s\"'\\,{}]{3,4095})\\*[\"']?"
)
_IN_BRACES = late(rb"(?:\s|\\n|,)*\\*[\"']?" + _FIELD)
_NUMBER = rb"(?:[ \t]*\d{1,6}(?:\t|:|\xe2\x86\x92))?"
_BELOW = late(rb"[ \t\r]*\n" + _NUMBER + rb"(?P<indent>[ \t]*)\\*[\"']?" + _FIELD)
_INDENT = late(rb"(?:^|\n)" + _NUMBER + rb"([ \t]*)[\"']?$")


class Columns:
    """Finds what stands under names that mean a secret. Secrets in other columns have a form or are not known."""

    gates = (_HEADER, r"(?i)\)\s{0,20}VALUES\s{0,20}\(", _SECRET)

    def find(self, gate: int, text: bytes, ranges: Ranges) -> Iterator[Find]:
        """Secrets of the tables that begin in these ranges, wherever those end."""
        yield from (_in_tables, _in_inserts, _in_cluster_secrets)[gate](text, ranges)


def _in_tables(text: bytes, ranges: Ranges) -> Iterator[Find]:
    done = 0
    for start, end in ranges:
        for place, _ in _CANDIDATES.spans(text, start, end):
            if place < done:
                continue
            done = line_end = _line_end(text, place)
            begin = text.rfind(b"\n", max(0, place - _LONGEST_LINE), place) + 1
            if place - begin > _LONGEST_LINE or line_end - begin > _LONGEST_LINE:
                continue
            if (header := _header(text, begin, line_end)) is None:
                continue
            sign, first, count, named = header
            while (begin := line_end + 1) < len(text):
                line_end = _line_end(text, begin)
                if line_end == begin or not _RULER.match(text, begin, line_end):
                    cells = _cells(text, _behind_number(text, begin, line_end) if first else begin, line_end, sign)
                    if len(cells) != count or line_end - begin > _LONGEST_LINE:
                        break
                    yield from _judged(text, cells, named)
                done = line_end


def _header(text: bytes, begin: int, end: int) -> tuple[bytes, bool, int, list[tuple[int, Name]]] | None:
    """The separator of a table whose header this line is, whether its lines are numbered, how many cells a row has,
    and which of them hold secrets."""
    while opened := _STRING_BEGINS.match(text, begin, end):
        begin = opened.end()
    first = _behind_number(text, begin, end)
    line = text[first:end]
    sign = next((one for one in (b"|", b"\t", b",", b";") if one in line), b"")
    if not sign or (sign in b",;" and sign + b" " in line):  # prose
        return None
    cells = _cells(text, first, end, sign)
    names = [text[left:right] for left, right in cells]
    if len(names) < 2 or not all(map(_CELL_NAME.match, names[1:])):
        return None
    named = [
        (place, name)
        for place, spelled in enumerate(names)
        if (name := secret_name(spelled.decode("utf-8", "replace").replace(" ", "_"))) and name.proof in _PROOFS
    ]
    return (sign, first > begin, len(cells), named) if named else None


def _cells(text: bytes, left: int, right: int, sign: bytes) -> Cells:
    """The cells of a line, without the quotes and the white space around what stands in them."""
    cells: Cells = []
    if sign == b"|":
        left, right = left + len(text[left:right]) - len(text[left:right].lstrip()), _stripped(text, left, right)
        left += text.startswith(b"|", left)
        right -= text[right - 1 : right] == b"|" and right > left
    place = left
    while place <= right:
        found = _PLAIN[sign].match(text, place, right)
        end = found.end() if found else place
        end = end if end == right or text.startswith(sign, end) else _next(text, end, right, sign)
        begin = place + len(text[place:end]) - len(text[place:end].lstrip(_AROUND))
        around = _STRING_ENDS.search(text, begin, end)
        kept = text[begin : around.start() if around else end].rstrip(_AROUND)
        cells.append((begin, begin + len(kept)))
        place = end + 1
    return cells


def _next(text: bytes, place: int, right: int, sign: bytes) -> int:
    found = text.find(sign, place, right)
    return found if found >= 0 else right


def _stripped(text: bytes, left: int, right: int) -> int:
    return left + len(text[left:right].rstrip())


def _line_end(text: bytes, place: int) -> int:
    found = text.find(b"\n", place)
    return found if found >= 0 else len(text)


def _behind_number(text: bytes, begin: int, end: int) -> int:
    found = _NUMBERED.match(text, begin, end)
    return found.end() if found else begin


def _in_inserts(text: bytes, ranges: Ranges) -> Iterator[Find]:
    done = 0
    for start, end in ranges:
        for insert in _INSERT.finditer(text, max(done, start - 2_100), end):
            columns = [one.strip(b" \t\r\n\"'`[]\\").decode("utf-8", "replace") for one in insert.group(1).split(b",")]
            named = [(n, name) for n, one in enumerate(columns) if (name := secret_name(one)) and name.proof in _PROOFS]
            place = insert.end()
            while named and text.startswith(b"(", place):
                cells, done = _values(text, place + 1)
                if len(cells) != len(columns):
                    break
                yield from _judged(text, cells, named)
                more = _BETWEEN_TUPLES.match(text, done)
                place = more.end() - 1 if more else len(text)


def _values(text: bytes, place: int) -> tuple[Cells, int]:
    """The values of one tuple, without quotes, and where it ends."""
    cells: Cells = []
    while found := _SQL_VALUE.match(text, place, place + _LONGEST_LINE):
        left, right = found.span(1)
        if text[left : left + 2] in (b"N'", b"E'", b"B'"):
            left += 1
        left += len(text[left:right]) - len(text[left:right].lstrip(b"\\\"'"))
        cells.append((left, max(left, left + len(text[left:right].rstrip(b" \t\r\n\\\"'")))))
        if not text.startswith(b",", found.end()):
            return cells, found.end()
        place = found.end() + 1
    return cells, place


def _judged(text: bytes, cells: Cells, named: list[tuple[int, Name]]) -> Iterator[Find]:
    for place, name in named:
        left, right = cells[place]
        value = text[left : min(right, left + _JUDGED)]
        if b"\xff" in value or b" " in value:  # a mark, or words
            continue
        told = value.decode("utf-8", "replace")
        if is_password(told, "string") if name.proof == "literal" else is_secret(told, name.proof, quoted=True):
            yield Find(left, right, name.kind, _RANK)


def _in_cluster_secrets(text: bytes, ranges: Ranges) -> Iterator[Find]:
    done = 0
    for start, end in ranges:
        for place, behind in _SECRETS.spans(text, start, end):
            if place < done:
                continue
            left = max(done, place - _FAR)
            left = max((one.end() for one in _OBJECT.finditer(text, left, place)), default=left)
            right = _OBJECT.search(text, behind + _FIRST_LINES, behind + _FAR)
            done = right.start() if right else min(len(text), behind + _FAR)
            for data in _DATA.finditer(text, left, done):
                yield from _fields(text, data.start(), data.end(), done, in_braces=bool(data.group(1)))


def _fields(text: bytes, begin: int, place: int, limit: int, *, in_braces: bool) -> Iterator[Find]:
    head = _INDENT.search(text, max(0, begin - 200), begin)
    if not in_braces and head is None:
        return
    while field := (_IN_BRACES if in_braces else _BELOW).match(text, place, limit):
        if head is not None and not in_braces and len(field.group("indent")) <= len(head.group(1)):
            return
        if not is_stand_in(field.group("value").decode("utf-8", "replace")):
            yield Find(*field.span("value"), "secret", _RANK)
        place = field.end()
