"""Lines that differ in a few places only: said once, with slots, and then row by row what stood in them.

    [3 of 2,100 like] probe host <1> ok rtt=<2>
     edge-11|30ms

It expands to lines of the source without loss, so every value keeps its owner. A template may run over consecutive
lines (a section with its sentences, a file of a diff), joined by ` ⏎ `.

Lines are alike when they have the same skeleton: the line without its words that hold a digit. What is equal in all of
them goes back into the template; slots that always hold the same share a number. Values stay whole words, except where
one number tells all that differs: then the template has one slot for it, and runs are said as `100–119`.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import msgspec

from .records import Record

LEAST = 3
"""Lines alike from which they are a template."""
LINES = 12
"""Consecutive lines that a template runs over, at most."""
BREAK = " ⏎ "
_SAVES = 0.85
"""Of the characters of the lines themselves, at most, that template and rows may take."""
_VARIABLE = re.compile(
    r"(?<![\w.+:/@%$#~=-])(?:[^\W\d]|[.+:/@%$#~=-])*+\d(?:[\w.+:/@%$#~=-]|(?<=\d),(?=\d))*+"  # from its beginning only
)
"""A word that holds a digit, with what is joined to it."""
_WORD = re.compile(r"[^\W_]+(?:[-_'.@/][^\W_]+)*")
_EITHER = re.compile(f"{_VARIABLE.pattern}|{_WORD.pattern}")
"""A word of either sort: a time of day is one value, not three."""
_NAMED = re.compile(r"[\w.@/-]+:")
_SPLIT = re.compile(r"\d+|\D+")
_FOLDER = re.compile(r"(?:[^\s/]*/)+(?=[^\s/]+$)")
_HIT = re.compile(r"((?:[A-Za-z]:)?[^\s:|][^\s:|./]*+[./][^\s:|]*+):(\d+):(\s*)(\S.*)")
_UNNUMBERED = re.compile(r"((?:[A-Za-z]:)?[^\s:|][^\s:|./]*+[./][^\s:|]*+):(\s*)(?!\d+:)(\S.*)")
"""A hit of a search that says no line."""
_BLANKS = re.compile(r"\s+")
_HOLE = "\0"
_SLOT = re.compile(r"<\d+>")
_SAID = re.compile(r"\w")
"""Lines that have no word in common are not alike."""
_STAMP = re.compile(r"\d{1,2}:\d\d|\d{4}([-/])\d{1,2}\1\d{1,2}(?!\d)|\d{1,2}([-/])\d{1,2}\2\d{2,4}(?!\d)")
"""How a date or a time begins: one number of it is no value. `3-17` is two numbers."""
_OURS = re.compile(r"<\d+>|⏎|\0")
"""A line that holds one of our marks stands for itself."""


class Template(msgspec.Struct, array_like=True):
    """Records that are alike, and what differs."""

    text: str
    """With `<1>`, `<2>` … where the values stand."""
    rows: list[tuple[tuple[int, ...], tuple[str, ...]]]
    """The records that each row stands for, consecutive ones, and its values."""
    run: bool = False
    """Its one slot holds numbers that may be said as `first–last`."""


def mined(records: Sequence[Record], free: Sequence[int]) -> list[Template]:
    """The templates of the records that are `free`, each in one at most; in source order."""
    free = [n for n in free if not _OURS.search(records[n].text)]
    skeletons = {n: _skeleton(records[n]) for n in free}
    found = list(_over_lines(records, free, skeletons))
    used = {n for one in found for covered, _ in one.rows for n in covered}
    for groups in (_hits(records, free), _folders(records, free), _alike(records, free, skeletons)):
        for group in groups:
            rows = [(n, parts) for n, parts in group if n not in used]
            made = _template([((n,), parts) for n, parts in rows], records)
            if made is not None:
                used.update(n for n, _ in rows)
                found.append(made)
    return sorted(found, key=lambda one: one.rows[0][0])


_Parts = tuple[tuple[str, ...], tuple[str, ...]]
"""Of a line: what stands around its holes, and what stands in them."""


def _skeleton(record: Record) -> str:
    return _BLANKS.sub(" ", _mask(record).sub(_HOLE, record.text))


def _mask(record: Record) -> re.Pattern[str]:
    return _WORD if record.kind == "heading" or _NAMED.fullmatch(record.text) else _VARIABLE


def _parts(record: Record, mask: re.Pattern[str]) -> _Parts:
    return tuple(mask.split(record.text)), tuple(found[0] for found in mask.finditer(record.text))


def _over_lines(records: Sequence[Record], free: Sequence[int], skeletons: dict[int, str]) -> Iterable[Template]:
    """Templates over several consecutive lines that begin with the same one."""
    places: dict[tuple[str, int], list[int]] = defaultdict(list)
    depths = {-1: 0}
    for n, record in enumerate(records):
        depths[n] = depths.get(record.under, 0) + 1
    for place, n in enumerate(free):
        places[skeletons[n], depths[n]].append(place)
    used = set[int]()
    for starts in places.values():
        starts = [place for place in starts if free[place] not in used]
        if len(starts) < LEAST:
            continue
        ends = [*starts[1:], len(free)]
        shapes = Counter(
            tuple(skeletons[n] for n in free[start : min(end, start + LINES + 1)])
            for start, end in zip(starts, ends[:-1], strict=False)
        )
        shape, times = shapes.most_common(1)[0]
        size = len(shape)
        if times < LEAST - 1 or not 1 < size <= LINES or times < len(starts) // 2:
            continue
        chunks: list[tuple[int, ...]] = []
        for start in starts:
            chunk = tuple(free[start : start + size])
            if (
                tuple(skeletons[n] for n in chunk) == shape
                and chunk[-1] - chunk[0] == size - 1
                and all(depths[n] > depths[chunk[0]] or records[n].under == records[chunk[0]].under for n in chunk)
                and used.isdisjoint(chunk)
            ):
                chunks.append(chunk)
        if len(chunks) >= LEAST:
            rows = [(chunk, _joined([_parts(records[n], _mask(records[n])) for n in chunk])) for chunk in chunks]
            made = _template(rows, records)
            if made is not None:
                used.update(n for chunk in chunks for n in chunk)
                yield made


def _joined(lines: Sequence[_Parts]) -> _Parts:
    """Consecutive lines as one."""
    around: list[str] = [""]
    inside: list[str] = []
    for number, (texts, values) in enumerate(lines):
        around[-1] += (BREAK if number else "") + texts[0]
        around += texts[1:]
        inside += values
    return tuple(around), tuple(inside)


_Groups = Iterable[list[tuple[int, _Parts]]]


def _alike(records: Sequence[Record], free: Sequence[int], skeletons: dict[int, str]) -> _Groups:
    """Lines with the same skeleton; of those that have no like, lines that differ in their words only."""
    for masks in (None, _EITHER):
        groups: dict[str, list[int]] = defaultdict(list)
        for n in free:
            if masks is None or records[n].kind != "entry":  # what is called so or so is no row of numbers
                groups[skeletons[n] if masks is None else masks.sub(_HOLE, records[n].text)].append(n)
        for key, group in groups.items():
            if len(group) >= LEAST and _HOLE in key:
                yield [(n, _parts(records[n], masks or _mask(records[n]))) for n in group]


def _folders(records: Sequence[Record], free: Sequence[int]) -> _Groups:
    """Paths, one a line, by the folder that they are in."""
    groups: dict[str, list[tuple[int, _Parts]]] = defaultdict(list)
    for n in free:
        folder = _FOLDER.match(records[n].text)
        if folder is not None:
            groups[folder[0]].append((n, ((folder[0], ""), (records[n].text[folder.end() :],))))
    return (group for group in groups.values() if len(group) >= LEAST)


def _hits(records: Sequence[Record], free: Sequence[int]) -> _Groups:
    """Hits of a search, by their file."""
    groups: dict[tuple[str, str], list[tuple[int, _Parts]]] = defaultdict(list)
    for n in free:
        if hit := _HIT.fullmatch(records[n].text):
            path, line, gap, text = hit.groups()
            gap = " " if gap else ""
            groups[path, gap].append((n, ((f"{path}:", f":{gap}", ""), (line, text))))
        elif records[n].kind == "hit" and (hit := _UNNUMBERED.fullmatch(records[n].text)):
            path, gap, text = hit.groups()
            gap = " " if gap else ""
            groups[path, f"{gap}?"].append((n, ((f"{path}:{gap}", ""), (text,))))
    return (group for group in groups.values() if len(group) >= LEAST)


def _template(rows: Sequence[tuple[tuple[int, ...], _Parts]], records: Sequence[Record]) -> Template | None:
    """The template of lines with equal surroundings, where it is shorter than they are."""
    if len(rows) < LEAST:
        return None
    around = _surroundings([parts[0] for _, parts in rows])
    columns = list(zip(*(values for _, (_, values) in rows), strict=True))
    if not columns:
        return None
    lone = _one_number(around, columns)
    text, values = lone or _slotted(around, columns)
    before = sum(len(records[n].text) + 1 for covered, _ in rows for n in covered)
    said = _SAID.search(_SLOT.sub("", text))
    after = len(text) + 16 + sum(sum(map(len, value)) + len(value) + 1 for value in values)
    if not values[0] or (after > _SAVES * before and lone is None) or not said:
        return None
    return Template(
        text, [(covered, value) for (covered, _), value in zip(rows, values, strict=True)], lone is not None
    )


def _surroundings(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """What stands around the holes of lines that are equal but for their blanks: as it stands, else with one blank for
    each run of them, and two where none has fewer, since numbers on both sides of one blank may be one number."""
    if len(set(rows)) == 1:
        return list(rows[0])
    found: list[str] = []
    for texts in zip(*rows, strict=True):
        least = [min(map(len, runs)) for runs in zip(*map(_BLANKS.findall, texts), strict=True)]
        blanks = iter("  " if one > 1 else " " for one in least)
        found.append(_BLANKS.sub(lambda _run, blanks=blanks: next(blanks), texts[0]))
    return found


def _slotted(around: list[str], columns: list[tuple[str, ...]]) -> tuple[str, list[tuple[str, ...]]]:
    """Slots for the columns that vary, whole words in them: what stands before a `=` in all of them, and marks around
    all of them, go into the template."""
    text = around[0]
    slots: dict[tuple[str, ...], int] = {}
    for column, behind in zip(columns, around[1:], strict=True):
        head, values, tail = _trimmed(column)
        if len(set(values)) == 1:
            text += f"{head}{values[0]}{tail}{behind}"
            continue
        number = slots.setdefault(values, len(slots) + 1)
        text += f"{head}<{number}>{tail}{behind}"
    return text, list(zip(*slots, strict=True)) if slots else [() for _ in columns[0]]


def _trimmed(column: tuple[str, ...]) -> tuple[str, tuple[str, ...], str]:
    head = _common_start(column)
    head = head[: max(head.rfind("=") + 1, len(head) - len(head.lstrip(":#")) if len(set(column)) > 1 else 0)]
    shortest = min(map(len, column)) - len(head)
    tail = _common_start([one[len(head) :][::-1] for one in column])[::-1]
    tail = tail[len(tail.rstrip(".,:;=/")) :][-max(0, shortest - 1) :] if shortest > 1 else ""
    return head, tuple(one[len(head) : len(one) - len(tail)] for one in column), tail


def _common_start(texts: Sequence[str]) -> str:
    """What all of them begin with."""
    first, last = min(texts), max(texts)
    return first[: next((n for n, pair in enumerate(zip(first, last, strict=False)) if pair[0] != pair[1]), len(first))]


def _one_number(around: list[str], columns: list[tuple[str, ...]]) -> tuple[str, list[tuple[str, ...]]] | None:
    """Everything that varies as one number: `s100`, `1000` and `r100` as `s<1>`, `<1>0` and `r<1>`."""
    text = around[0]
    number: tuple[str, ...] | None = None
    for column, behind in zip(columns, around[1:], strict=True):
        split = [_SPLIT.findall(value) for value in column]
        if len({len(pieces) for pieces in split}) > 1 or (len(set(column)) > 1 and _STAMP.match(column[0])):
            return None
        for pieces in zip(*split, strict=True):
            if len(set(pieces)) == 1:
                text += pieces[0]
                continue
            if not all(map(str.isdecimal, pieces)):
                return None
            number = number or _core(pieces, columns)
            frame = _frame(pieces, number)
            if frame is None:
                return None
            text += f"{frame[0]}<1>{frame[1]}"
        text += behind
    return (text, [(one,) for one in number]) if number else None


def _core(pieces: tuple[str, ...], columns: list[tuple[str, ...]]) -> tuple[str, ...]:
    """The shortest number that varies: others hold it."""
    every = [
        column
        for one in columns
        for column in zip(*map(_SPLIT.findall, one), strict=False)
        if len(set(column)) > 1 and all(map(str.isdecimal, column))
    ]
    return min((pieces, *every), key=lambda column: sum(map(len, column)))


def _frame(pieces: tuple[str, ...], number: tuple[str, ...]) -> tuple[str, str] | None:
    """What stands before and behind the number in all of them."""
    at = pieces[0].find(number[0])
    if at < 0:
        return None
    frame = pieces[0][:at], pieces[0][at + len(number[0]) :]
    return frame if all(f"{frame[0]}{n}{frame[1]}" == one for one, n in zip(pieces, number, strict=True)) else None
