"""The printed form of a digest, read back without its source: what a reader of it sees.

A block of lines that are alike shows whole lines, a row of a table shows values under names. Who looks for something in
a digest (a probe, a later digest that may leave something to it) looks there, not among slots and counts.

Our own lines in a digest: its header, and what names an item. Everything else in it is the source's.

[3 results, 9,412 → 655 tokens · shows 12 of 70 rows, 41 of 130 specifics · all of it: restore_batch s7f3k offload_0007]
[12 of 70 rows shown · all of it: restore_batch s7f3k offload_0007]                     (one small result)
[item 2 Bash git log --stat: 340 lines]
[item 2 Bash ls: 340 lines; 70 rows code|name|pct: HAT001, HAT002 …]
[summary by MODEL, wording not verified: 3 lines]      (the next three lines are its own wording)
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TypeAlias

from ..models.records import DigestRequest, DigestSource, RecordCount, SpecificCounts
from ..models.text import counted
from .records import plain

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


_PROSE_NOTE = re.compile(r"\[summary by .*, wording not verified: (\d{1,4}) lines?\]")
_TARGET = 32
"""Characters of an item's target in its note."""
_BRIEF = 400
"""Tokens of a digest below which its header says only what it shows, and how the rest comes back."""
BRIEF_ITEM = 110
"""Tokens of a digest an item below which the call above its part says what it was."""
_NOUNS = 2
"""Kinds of records that the header counts one by one."""
_INTO = re.compile(r"(?:cd \S+ ?(?:&&|;) ?)+(?=\S)")
"""What a command begins with that says only where it ran."""
_FAR = re.compile(r"(?<=\s)/?[\w.@~-]+(?:/[\w.@~-]+)+(?=\s|$)")
"""A path that a command has as a word of its own."""
_SPACE = re.compile(r"\s+")


def header(request: DigestRequest, counts: SpecificCounts, tokens: int, *, shows: bool = True) -> str:
    """The first line of a batch's first part.

    Args:
        tokens: of the whole digest; 0 where it is not said.
        shows: whether anything of a source stands below, and not notes alone.
    """
    results = len(request.sources)
    said = [f"level {request.level}, stands for {', '.join(request.replaces)}"] if request.level > 1 else []
    brief = request.budget_tokens < _BRIEF
    if not brief and tokens:
        said.append(
            f"{counted(results, 'result')}, {sum(s.tokens for s in request.sources):,} → {counted(tokens, 'token')}"
        )
    elif results > 1:
        said.append(counted(results, "result"))
    some = sorted(counts.records.items(), key=lambda one: (one[0] == "line", -one[1].total, one[0]))[:_NOUNS]
    parts = [(one.shown, counted(one.total, noun)) for noun, one in some]
    if (not brief or not parts) and counts.total:
        parts.append((counts.shown, counted(counts.total, "specific")))
    if parts and shows:
        said.append(f"shows {', '.join(f'{shown:,} of {every}' for shown, every in parts)}")
    elif parts:
        said.append(f"notes only, of {', '.join(every for _, every in parts)}")
    for holder, n in sorted(counts.holders.items(), key=lambda one: (-one[1], one[0]))[:1]:
        if holder != request.batch_id:
            said.append(f"{n:,} more in {holder}")
    if counts.redacted:
        said.append(f"{counts.redacted:,} masked")
    said.append(f"all of it: restore_batch {request.handle} {request.batch_id}")
    return f"[{' · '.join(said)}]"


def lines_of(text: str) -> str:
    """How big a text is in lines; empty where it has only one. Of one that only holds blanks, and signs that print
    nothing, that."""
    shown = plain(text).strip("\n")
    if text and not shown.strip():
        return f"nothing to read in {counted(len(text), 'character')}"
    number = shown.count("\n") + 1
    return counted(number, "line") if number > 1 else ""


def item_note(
    source: DigestSource,
    number: int,
    lines: str,
    *,
    brief: bool = False,
    shape: str = "",
    errors: RecordCount | None = None,
) -> str:
    """The first line of an item's part (after the header, in the first part): what it was, and how big.

    Args:
        lines: how big it is, in its lines, or how much of it is shown; empty: of one line.
        brief: leave out what the call above the part says.
        shape: what is said of it where nothing of it is shown.
        errors: lines that say what went wrong, where not all of them are shown.
    """
    name = f"item {number}"
    if not brief:
        target = source.action.target if source.action else ""
        target = target or source.title or source.url or " ".join(value for _, value in source.arguments)
        target = _INTO.sub("", target, 1) if _INTO.match(target) else target
        if len(target) > _TARGET:
            target = _FAR.sub(lambda path: f"…/{path[0].rpartition('/')[2]}", target)
        target = _clean(target, _TARGET)
        name = " ".join(part for part in (name, _clean(source.tool_name or source.kind, 40), target) if part)
    facts = [lines] if lines else [] if brief else [counted(source.tokens, "token")]
    if errors and errors.total > 1:
        told = counted(errors.total, "error")
        facts.append(f"{errors.shown:,} of {told}" if errors.shown else told)
    elif source.is_error:
        facts.append("error")
    facts += [f"{source.redacted} masked"] if source.redacted and not brief else []
    said = f": {', '.join(facts)}" if facts else ""
    return f"[{name}{said}{f'; {shape}' if shape else ''}]"


def prose_note(author: str, lines: int, *, about: str = "") -> str:
    """Stands above prose lines: whose wording they are, and how many lines of it follow.

    Args:
        about: the items they are about, `items 1 to 3`, where it is not just the one of the part.
    """
    about = f", {about}" if about else ""
    return f"[summary by {_clean(author, 40)}{about}, wording not verified: {counted(lines, 'line')}]"


def prose_lines(line: str) -> int:
    """How many lines after this one are prose; 0 where it is no `prose_note`."""
    found = _PROSE_NOTE.fullmatch(line)
    return int(found[1]) if found else 0


def _clean(text: str, width: int) -> str:
    """One line, no square brackets, at most about `width` characters: words from the front, or the end of a path."""
    text = _SPACE.sub(" ", plain(text)).strip().replace("[", "(").replace("]", ")")
    if len(text) <= width:
        return text
    head, space, _ = text[:width].rpartition(" ")
    if space:
        return f"{head} …"
    _, slash, tail = text[-width:].partition("/")
    return f"…/{tail}" if slash and tail else "…"
