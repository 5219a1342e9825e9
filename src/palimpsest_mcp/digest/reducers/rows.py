"""Lines of one skeleton as a table: the first one whole, of the others only what differs, in the same order.

    Requirement already satisfied: click>=8.0 in /usr/lib/site-packages (from …) (8.4.2)
    httpx>=0.27.0   0.27.2
    pyyaml>=6.0     6.0.3

What stands in all of them is said once. A cell is a stretch of its line as it is written, cut only where the registry
parts words too, never inside a specific; cells that were apart in the line stand a tab apart. A column that is
left out of the rows is left out of the first line too: `…` stands there.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from ..ledger_lines import names_of, runs_of, sayings
from ..lines import CUT, Line, Mark
from .skeletons import LEAST, Skeleton, Span, skeletons

# Cells of lines: a column is one stretch in each, a row what some columns have of a line.


_SEPARATOR = "\t"
"""A bar would take a token more before every number."""
Needs: TypeAlias = "Sequence[tuple[Mark, Sequence[str]]]"
"""Values of a line, and what says of each what it is: one of those should stand in its row."""


class Shown(NamedTuple):
    """What some columns show of a line."""

    text: str
    specs: tuple[int, ...]


class Row(NamedTuple):
    """What one line adds to its table."""

    line: str
    """What it stands for, whole."""
    text: str
    specs: tuple[int, ...]
    says: bool
    """Whether each value in it has its key there, or a rarest word of its line."""


def cells_of(lines: Sequence[Line], spans: Sequence[Span]) -> list[str]:
    return [line.text[start:end] for line, (start, end) in zip(lines, spans, strict=True)]


def whole(line: Line, span: Span) -> Span:
    """The span, grown to hold every specific that it cuts."""
    start, end = span
    for mark in line.marks:
        if mark.start >= end:
            break
        if mark.end > start:
            start, end = min(start, mark.start), max(end, mark.end)
    return start, end


def wholes(lines: Sequence[Line], columns: Iterable[Sequence[Span]]) -> list[list[Span]]:
    """Columns whose cells cut no specific."""
    return [list(map(whole, lines, spans)) for spans in columns]


def shown_of(lines: Sequence[Line], columns: Sequence[Sequence[Span]]) -> list[Shown]:
    """Row by row what some columns show of the lines."""
    return [_shown(line, [spans[n] for spans in columns]) for n, line in enumerate(lines)]


def _shown(line: Line, spans: Sequence[Span]) -> Shown:
    """The cells of one line, in order: as one where they touch, overlap, or only a single space parts them."""
    text = line.text
    cells: list[Span] = []
    for start, end in sorted(spans):
        if cells and (start <= cells[-1][1] or (text[cells[-1][1] : start] == " " and not _joins(text, start))):
            cells[-1] = (cells[-1][0], max(end, cells[-1][1]))
        else:
            cells.append((start, end))
    specs: dict[int, None] = {}
    at = 0
    for mark in line.marks:  # both in order, neither overlapping
        while at < len(cells) and cells[at][1] <= mark.start:
            at += 1
        if at < len(cells) and cells[at][0] <= mark.start and mark.end <= cells[at][1]:
            specs[mark.spec] = None
    return Shown(_SEPARATOR.join([text[start:end] for start, end in cells]), tuple(specs))


def _joins(text: str, start: int) -> bool:
    """Whether a cell could be taken for another group of the number before it: without what stood before both."""
    return text[start : start + 1].isdigit() and text[start - 2 : start - 1].isdigit()


def unsaid(shown: Shown, needs: Needs) -> list[Sequence[str]]:
    """For each value in a row that nothing beside it says what it is of: what could have."""
    return [
        words
        for mark, words in needs
        if words and mark.spec in shown.specs and not any(word in shown.text for word in words)
    ]


# What is kept in the rows of a table so that their values do not stand there alone: a key, or a word of their line.


_SHORT = 20
"""Characters of a word that may stand beside values, at most."""
_BESIDE = 2
"""Columns that are kept for what they say of the values in others, at most."""
_SAYS = 7
"""Characters of a word that says something."""
_UNSAID = 0.1
"""Share of the values in the rows without key and rarest word that is let be."""
_WORD = re.compile(r"[A-Za-z]{3,}")


def wordless(columns: Sequence[Sequence[str]]) -> int:
    """How many rows of these columns hold no word."""
    return sum(not any(map(_WORD.search, row)) for row in zip(*columns, strict=True))


def mostly_wordless(lines: Sequence[Line], columns: Sequence[Sequence[Span]]) -> bool:
    """Whether more than half of the rows would hold no word."""
    return 2 * wordless([cells_of(lines, spans) for spans in columns]) > len(lines)


def word_beside(
    lines: Sequence[Line],
    places: Sequence[Sequence[Span]],
    differing: Sequence[Sequence[Span]],
    shared: Mapping[str, int],
) -> list[Sequence[Span]]:
    """For rows that would say too little alone: one of the words that all lines have, one that few other skeletons
    have, and of those the nearest to a value."""
    first = cells_of([lines[0]] * len(places), [spans[0] for spans in places])
    differs = [spans in differing for spans in places]
    words = [
        (shared[word], not any(differs[max(0, n - 1) : n + 2]), n)
        for n, word in enumerate(first)
        if word in shared and len(word) <= _SHORT and _WORD.search(word)
    ]
    return [places[min(words)[2]]] if words else []


def columns_that_say(
    lines: Sequence[Line],
    needs: Sequence[Needs],
    kept: Sequence[Sequence[Span]],
    places: Sequence[Sequence[Span]],
    rows: Sequence[Shown],
) -> list[Sequence[Span]]:
    """Columns to be kept too, so that the values in the rows have their key or a rarest word of their line beside
    them: the one that this is for most values of, as long as that is worth it. `rows`: what is kept shows already."""
    added: list[Sequence[Span]] = []
    while len(added) < _BESIDE:
        rows = shown_of(lines, [*kept, *added]) if added else rows
        below = range(1, len(lines))
        values = sum(mark.spec in rows[nth].specs for nth in below for mark, _ in needs[nth])
        open_ones = [(nth, words) for nth in below for words in unsaid(rows[nth], needs[nth])]
        if len(open_ones) <= _UNSAID * values:
            break
        gains: list[tuple[int, bool, int, int, int]] = []
        edges = {at for spans in kept for at in (spans[1][0] - 1, spans[1][1] + 1)}
        for number, spans in enumerate(places):
            if spans in added:
                continue
            cells = cells_of(lines, spans)
            gain = sum(any(word in cells[nth] for word in words) for nth, words in open_ones)
            size = sum(map(len, cells)) // len(cells)
            gains.append((-gain, edges.isdisjoint(spans[1]), -min(size, _SAYS), size, number))
        gain, *_, number = min(gains)
        if -gain <= _UNSAID * values:
            break
        added.append(places[number])
    return added


_SAID_ONCE = 0.2
"""Share of the characters of the rows that must be the same in all: else the lines stay as they are."""
_MANY = 12
"""Rows from which a column that says nothing more is left out."""
_LONG, _MOST_OF_ROW = 10, 0.4
"""Characters of a cell, on average, and share of the rows' characters from which leaving a column out is worth it."""
_MOSTLY, _NEARLY_ALL = 0.5, 0.8
"""From this share of lines with the same long value on, or any value, they are the table, without the others."""
_TIMES = 3
"""So often those others are looked at again."""
_FRESH = 0.15
"""Share of its own characters that the words take that only it holds: where it is less, a column says little."""
_DEAR = 60
"""Characters of a cell, on average, that would keep the rest of the row from being shown."""
_PROSE = 3
"""Words of a cell, on average, that make it prose."""
_GUTTER = re.compile(r" *[0-9]+[\t\u2192]")
_OPENS = re.compile(r"(?:[^\s(\[{<\"'`]*[=,;|])?[(\[{<\"'`]*")
_JOINT = re.compile(r"::?(?=[^:]*\Z)")
_OPENER = {")": "(", "]": "[", "}": "{", ">": "<", '"': '"', "'": "'", "`": "`"}
_AFTER = ",;:"
_PART = re.compile(r"\w(?:[\w.:/@+~-]*\w)?")
_POSES = re.compile(r"[$\u276f] |[a-z][\w-]*: .*\w=")
"""What would be read as a command, or as a line of the ledger, where a key holds for all up to the next bar."""


class Family(NamedTuple):
    """Lines of one skeleton."""

    heading: str
    specs: tuple[int, ...]
    """Of the heading."""
    members: tuple[str, ...]
    """The lines it stands for, in order, the first one too."""
    rows: tuple[Row, ...]
    """In order; lines that differ in nothing shown share a row."""
    together: bool
    """The rows stand below the heading, whatever stood between their lines: hits that say the same."""
    inline: bool
    """The rows are nothing but places, and stand behind the heading in its line: it says what is there."""


def families(blocks: Iterable[tuple[Sequence[Line], bool]]) -> tuple[list[Family], Counter[str] | None]:
    """Tables among the lines of some stretches of a text, in order of their first lines, and how often each name stands
    in those stretches, where that had to be known. Linear in the number of lines.

    The flag says of a stretch that it is what a search found: each line begins with its file and line.
    """
    stretches = list(blocks)
    found = skeletons(stretches)
    if not found:
        return [], None
    names = names_of(line for block, _ in stretches for line in block)
    counts = runs_of(names)
    shared = Counter(word for skeleton in found for word in set(skeleton.words))
    families: list[Family] = []
    for _ in range(_TIMES):
        parted = [_alike_in_most(skeleton) for skeleton in found]
        families += [family for one, _ in parted if (family := _family(one, shared, counts))]
        found = [rest for _, rest in parted if rest is not None]
    return families, names


def _alike_in_most(skeleton: Skeleton) -> tuple[Skeleton, Skeleton | None]:
    """Those of its lines that have the value that nearly all have in its place, or most where it is long: the lines of
    one level, the frames in one file. And the others, where they are enough for a table of their own."""
    lines = skeleton.lines
    size = sum(len(line.text) for line in lines)
    chosen = list(range(len(lines)))
    if not _GUTTER.match(lines[0].text):
        for column in skeleton.cells():
            cells = column if len(chosen) == len(lines) else [column[n] for n in chosen]
            if cells.count(cells[0]) == len(cells):
                continue
            value, times = Counter(cells).most_common(1)[0]
            long = len(value) >= _LONG and times * len(value) >= _MOST_OF_ROW * size * _MOSTLY
            if max(LEAST, (_MOSTLY if long else _NEARLY_ALL) * len(cells)) <= times < len(cells):
                chosen = [n for n, cell in zip(chosen, cells, strict=True) if cell == value]
    if len(chosen) == len(lines):
        return skeleton, None
    others = sorted(set(range(len(lines))).difference(chosen))
    return skeleton.of(chosen), skeleton.of(others) if len(others) >= LEAST else None


def _family(skeleton: Skeleton, shared: Mapping[str, int], counts: Mapping[str, int]) -> Family | None:
    """The table of a skeleton; None where it would not be much shorter than its lines.

    Args:
        shared: how many skeletons have each word, to tell apart rows of several that stand among each other.
        counts: how often each word stands in the text.
    """
    lines, apart = skeleton.lines, skeleton.apart
    if _GUTTER.match(lines[0].text):
        return None
    places, cells = skeleton.columns(), skeleton.cells()
    differ = [n for n, column in enumerate(cells) if column.count(column[0]) < len(column)]
    if not 0 < len(differ) < len(places):
        return None
    differing = [places[n] for n in differ]
    columns = _apart(list(map(whole, lines, _trimmed(lines, places[n], cells[n]))) for n in differ)
    left_out = _dispensable([cells_of(lines, spans) for spans in columns])
    kept = [spans for n, spans in enumerate(columns) if n not in left_out]
    rows = shown_of(lines, kept)
    if not _saves(lines, rows):
        return None  # what is kept beside them makes no row shorter
    inline = skeleton.form == "hits" and len(kept) == 1 and kept[0] == places[0]
    needs: list[Needs] = [() if inline else sayings(line, counts) for line in lines]
    bare = len(kept)
    if not apart and not inline:
        if not left_out and mostly_wordless(lines, kept) and not mostly_wordless(lines, differing):
            kept += wholes(lines, differing)  # the keys of the values
            rows = shown_of(lines, kept)
        kept += wholes(lines, columns_that_say(lines, needs, kept, places, rows))
    if apart or mostly_wordless(lines, kept):
        kept += wholes(lines, word_beside(lines, places, differing, shared))
    if len(kept) > bare:
        rows = shown_of(lines, kept)
        if not _saves(lines, rows):
            return None
    first: dict[str, int] = {}
    for nth, row in enumerate(rows[1:], 1):
        first.setdefault(row.text, nth)
    if any(map(_POSES.match, first)):
        return None
    told = tuple(Row(lines[n].text, *rows[n], says=not unsaid(rows[n], needs[n])) for n in first.values())
    heading, specs = _cut_out(lines[0], [columns[n][0] for n in left_out])
    return Family(heading, specs, tuple(line.text for line in lines), told, skeleton.form == "hits", inline)


def _saves(lines: Sequence[Line], rows: Sequence[Shown]) -> bool:
    """Whether rows below a first line are much shorter than their lines."""
    size = sum([len(line.text) for line in lines[1:]])
    return size - sum([len(row.text) for row in rows[1:]]) >= _SAID_ONCE * size


def _trimmed(lines: Sequence[Line], spans: Sequence[Span], cells: Sequence[str]) -> Sequence[Span]:
    """A column without what all its cells have: brackets, quotes, `key=`, whole specifics: `(8.4.2)` is `8.4.2`."""
    start, end = _common_start(cells), _common_start([cell[::-1] for cell in cells])
    opening = _OPENS.match(start)
    before = opening.end() if opening else 0  # it matches nothing too
    if joint := _JOINT.search(start):
        ends = ({mark.end - at for mark in line.marks} for line, (at, _) in zip(lines, spans, strict=True))
        if joint.start() in set[int].intersection(*ends):
            before = max(before, joint.end())
    after = 0
    for char in end:
        if char not in _AFTER and not all(_closes_nothing(cell[before : len(cell) - after], char) for cell in cells):
            break
        after += 1
    if before + after >= min(map(len, cells)):
        return spans
    return [(start + before, end - after) for start, end in spans]


def _common_start(texts: Sequence[str]) -> str:
    low, high = min(texts), max(texts)
    for at, char in enumerate(low):
        if char != high[at]:
            return low[:at]
    return low


def _closes_nothing(cell: str, closer: str) -> bool:
    """Whether a bracket or quote at the end of a cell was opened outside of it."""
    opener = _OPENER.get(closer)
    if opener is None:
        return False
    return cell.count(closer) % 2 == 1 if opener == closer else cell.count(closer) > cell.count(opener)


def _apart(columns: Iterable[list[Span]]) -> list[list[Span]]:
    """Columns that parts of one specific stand in are one: a day, a time and a zone."""
    found: list[list[Span]] = []
    for spans in columns:
        if found and all(mine[0] < before[1] for mine, before in zip(spans, found[-1], strict=True)):
            found[-1] = [(min(a, c), max(b, d)) for (a, b), (c, d) in zip(found[-1], spans, strict=True)]
        else:
            found.append(spans)
    return found


def _dispensable(columns: Sequence[Sequence[str]]) -> list[int]:
    """Of a long table, the columns that take much and add little: values that stand in others too, or come again and
    again, addresses, prose."""
    if len(columns) < 2 or len(columns[0]) < _MANY:
        return []
    sizes = [sum(map(len, column)) for column in columns]
    found: list[int] = []
    for number, column in enumerate(columns):
        rest = [n for n in range(len(columns)) if n != number and n not in found]
        if sizes[number] < max(_LONG * len(column), _MOST_OF_ROW * sum(sizes[n] for n in (number, *rest))):
            continue
        is_prose = sum(cell.count(" ") for cell in column) >= (_PROSE - 1) * len(column)
        is_dear = sizes[number] >= _DEAR * len(column)
        if 2 * wordless([columns[n] for n in rest]) < len(column) and (
            is_prose or is_dear or _says_little(column, [columns[n] for n in rest])
        ):
            found.append(number)
    return found


def _says_little(column: Sequence[str], others: Sequence[Sequence[str]]) -> bool:
    """Whether little of what stands in a column stands there alone and once."""
    fresh = _words_of(column).difference(*map(_words_of, others))
    return sum(map(len, fresh)) < _FRESH * sum(map(len, column))


def _words_of(column: Sequence[str]) -> set[str]:
    return {word for cell in column for word in _PART.findall(cell)}


def _cut_out(line: Line, spans: Sequence[Span]) -> tuple[str, tuple[int, ...]]:
    """A line with a mark in place of what is cut out, and the specifics that are left in it."""
    text = line.text
    for start, end in reversed(spans):
        text = f"{text[:start]}{CUT}{text[end:]}"
    cut = {mark for span in spans for mark in _inside(line, span)}
    return text.strip(), tuple(dict.fromkeys(mark.spec for mark in line.marks if mark not in cut))


def _inside(line: Line, span: Span) -> list[Mark]:
    start, end = span
    return [mark for mark in line.marks if mark.start >= start and mark.end <= end]
