"""The printed form of a digest, read back without its source: what a reader of it sees.

A block of lines that are alike shows whole lines, a row of a table shows values under names. Who looks for something in
a digest (a probe, a later digest that may leave something to it) looks there, not among slots and counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TypeAlias

SEPARATORS = "|¦‖"
ESCAPE, CUT, BREAK = "» ", "…", " ⏎ "
BETWEEN = f" {CUT} "
"""Between two pieces of one line."""
HEAD = re.compile(r"\[([0-9,]{1,12}) of ([0-9,]{1,12}) ([^\]·\n]{1,80})\](?: (.*))?")
AS = re.compile(r"(.{1,60}?) as item ([0-9]{1,6})")
"""What rows are, and the earlier item of the batch that says their columns."""
Heads: TypeAlias = dict[tuple[int, str], str]
"""Number of an item (from 0) and noun -> the columns that its first table of this noun has."""
ALL = re.compile(r"\[all ([0-9,]{1,12}) [^\]]{1,60}\] (.*)")
NAMED = 8
"""Columns that are named of those left out; of the others there is a count."""
LEFT = re.compile(r"\[columns left out: (.*?)(?: and ([0-9]{1,6}) more)?\]")
NAMES = "[names] "
"""Names that nothing above shows; at the end `…` where there are more of them."""
INSIDE = re.compile(rf"(.*) {CUT} \[([^\s\[\]]+(?: [^\s\[\]]+)*)\]")
"""A line of code, and names in the lines that are left out between it and the next one."""
SLOT = re.compile(r"<([0-9]{1,3})>")
PROSE_NOTE = re.compile(r"\[summary by .*, wording not verified: (\d{1,4}) lines?\]")
NOTE = re.compile(
    r"\[(?:[^\n]* · )?all of it: restore_batch \S+ \S+\]|\[item \d[^\n]*\](?<!but:\])|" + PROSE_NOTE.pattern
)
"""What we say of a result, and of somebody else's wording: it shows nothing."""
_RUN = re.compile(r"([0-9]{1,18})–([0-9]{1,18})")


def number_of(text: str) -> int:
    """`2,100` as a number."""
    return int(text.replace(",", "") or 0)


def spelled_out(row: str) -> Iterator[str]:
    """Values in a line, runs of numbers spelled out one by one as they are asked for."""
    for word in row.split():
        if found := _RUN.fullmatch(word):
            yield from (str(n).zfill(len(found[1])) for n in range(int(found[1]), int(found[2]) + 1))
        else:
            yield word


def expanded(part: str) -> str:
    """A part as its reader understands it: rows of a template as whole lines, rows of a table also as `name=value`.

    Notes of results stay, the counts of blocks and the columns that were left out do not. What stands in no block
    stays as it is.
    """
    lines = part.split("\n")
    found: list[str] = []
    at = 0
    while at < len(lines):
        head = HEAD.fullmatch(lines[at])
        at += 1
        if head is None:
            inside = INSIDE.fullmatch(lines[at - 1]) if lines[at - 1][: len(ESCAPE)] != ESCAPE else None
            found += inside.groups() if inside else [lines[at - 1].removeprefix(ESCAPE).removeprefix(NAMES)]
            continue
        end = at
        while end < len(lines) and (lines[end][:1] == " " or ALL.fullmatch(lines[end]) or LEFT.fullmatch(lines[end])):
            end += 1
        rows = [line[1:] for line in lines[at:end] if line[:1] == " "]
        if head[3] == "like":
            found += _alike(head[4] or "", rows, number_of(head[1]))
        else:
            found += [every[2] for line in lines[at:end] if (every := ALL.fullmatch(line))]
            found += _table(head[4] or "", rows)
        at = end
    return "\n".join(found)


def with_columns(parts: Sequence[str]) -> list[str]:
    """The parts of one batch, in its order, with the columns beside each table that takes them from an earlier item."""
    heads: Heads = {}
    found: list[str] = []
    for number, part in enumerate(parts):
        lines = part.split("\n")
        for at, line in enumerate(lines):
            head = HEAD.fullmatch(line)
            if head is None:
                continue
            if (other := AS.fullmatch(head[3])) and not head[4]:
                columns = heads.get((int(other[2]) - 1, other[1]), "")
                lines[at] = f"[{head[1]} of {head[2]} {other[1]}] {columns}" if columns else line
            elif head[4]:
                heads.setdefault((number, head[3]), head[4])
        found.append("\n".join(lines))
    return found


def _alike(template: str, rows: Sequence[str], said: int) -> Iterator[str]:
    """The lines that a template and its rows stand for, with the headings among them."""
    width = max((int(slot) for slot in SLOT.findall(template)), default=0)
    if width == 1 and len(rows) == 1 and said > 1:
        cells = [(value,) for value in islice(spelled_out(rows[0]), said)]
    elif width == 1:
        cells = [(row,) for row in rows]
    else:
        split = [next((cut for one in SEPARATORS if len(cut := row.split(one)) == width), [row]) for row in rows]
        cells = [tuple(one) for one in split]
    for row in cells:
        if len(row) == width:
            yield from _filled(template, row).split(BREAK)
        if len(row) != width or width == 1 and len(rows) > said:  # a heading, or perhaps one
            yield row[0]


def _filled(template: str, values: Sequence[str]) -> str:
    return SLOT.sub(lambda slot: values[int(slot[1]) - 1] if 0 < int(slot[1]) <= len(values) else slot[0], template)


def _table(head: str, rows: Sequence[str]) -> Iterator[str]:
    """Column names, each row as it stands, and each value beside the name of its column."""
    yield head
    separator = next((one for one in SEPARATORS if one in head), SEPARATORS[0])
    names = head.split(separator)
    for row in rows:
        cells = row.split(separator)
        yield row
        if len(cells) == len(names) > 1:
            yield from (f"{name}={cell}" for name, cell in zip(names, cells, strict=True) if name and cell)
