"""What passes between the steps of a digest: lines with their specifics, candidates, tables."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import msgspec

from ..models.items import Specific
from .witness import Witness

Route: TypeAlias = str
"""What a stretch of text is, judged by its content: `json`, or the name of a form in `text_forms.py`."""


FORCED = 50.0
"""A unit that tells this much is shown whatever the budget."""


class Mark(msgspec.Struct, frozen=True, gc=False):
    """A specific inside one line: characters `start` up to `end`, and its number in the survey."""

    start: int
    end: int
    spec: int


class Line(msgspec.Struct, frozen=True, gc=False):
    """A whole piece of the source, fit to be shown, with the specifics that stand in it."""

    text: str
    marks: tuple[Mark, ...] = ()


class Unit(msgspec.Struct, gc=False):
    """A candidate for the digest: one whole piece, or a row made of pieces. Units are printed in source order.

    There are tens of thousands, and no cycles among them: the collector need not look at them.
    """

    text: str
    """Empty where the heading of its table is all that it shows."""
    kind: Literal["quote", "row"]
    specs: tuple[int, ...]
    """Numbers of the specifics it shows, each once."""
    gist: float = 0.0
    """How much it tells what the result was, apart from its specifics; 0 to 4."""
    table: int = -1
    """Which heading must stand above it; -1 for none."""
    under: int = -1
    """Which earlier unit says where it stands and is shown with it (a heading, the function it is in); -1 for none."""
    note: str = ""
    """A remark of ours to print before it, without brackets: `180 lines like`."""
    loud: bool = False
    """It cries out among many that do not (`loud.py`)."""
    spelled: str = ""
    """A row of records with the names of columns before values that say nothing alone; empty where there is none."""
    says: bool | None = None
    """Of a row of a text: whether each of its values has its key, or a rarest word of its line, in it."""
    words: float = 0.0
    """Task words in it."""
    cost: int = 0
    """Tokens of `text` with its newline; 0 until counted."""


@dataclass(slots=True)
class Table:
    """What stands once above units that belong together: column names, or the name of a long field."""

    lines: tuple[str, ...]
    specs: tuple[int, ...]
    rows: int
    cost: int = 0
    inline: bool = False
    """Its rows stand behind its heading, in the same line."""


@dataclass(slots=True)
class Reduced:
    """A source as candidates in source order."""

    units: list[Unit] = field(default_factory=list[Unit])
    tables: list[Table] = field(default_factory=list[Table])
    names: Counter[str] | None = None
    """How often each name stands in its lines (`words.names_of`), where that had to be known."""

    def add(self, other: Reduced, *, shift: bool = True) -> None:
        """Append another stretch of the same source.

        Args:
            shift: its tables are its own; else they are known here by their numbers.
        """
        tables = len(self.tables) if shift else 0
        before = len(self.units)
        for unit in other.units:
            if unit.table >= 0:
                unit.table += tables
            if unit.under >= 0:
                unit.under += before
        self.units += other.units
        self.tables += other.tables


@dataclass(slots=True)
class Judged:
    """What the verification found out about single lines for this item, and what it looks things up in.

    The lines of one draft are mostly those of the draft before: each is read once.
    """

    numbers: dict[tuple[str, str], int]
    """(class, text) -> number of the specific."""
    homes: dict[str, list[int]]
    """Text -> the lines that its specifics first stand in."""
    witness: Witness
    """The source, read a second time."""
    lines: dict[tuple[str, str], tuple[str, tuple[int, ...]]] = field(
        default_factory=dict[tuple[str, str], tuple[str, tuple[int, ...]]]
    )
    """(kind, text) of a line -> the rule it breaks, or the specifics it shows."""


class WordCounts(msgspec.Struct, frozen=True, gc=False):
    """How often what may be taken for a word stands in a source."""

    runs: Counter[str]
    """Runs of letters and digits: `read_file` is two."""
    names: Counter[str]
    """The same with underscores: `read_file` is one."""
    folded: Counter[str]
    """Runs in small letters."""


@dataclass(slots=True)
class Survey:
    """One source, read once: its specifics with weights, where they stand, and its candidates."""

    specs: list[Specific]
    """S of the item, each (class, text) once, with the first key it stands under; in order of first appearance."""
    keys: list[str]
    """Per specific: what stands before it as its key in the ledger; empty where it has none that is short and sure."""
    lines: list[Line]
    """Every piece, in order; where `home` points."""
    home: list[int]
    """Per specific: the first line it stands in."""
    pairs: set[tuple[str, str]]
    """Every (key, specific) of the source that stands in one piece."""
    reduced: Reduced
    routes: tuple[Route, ...]
    titles: int = 0
    """So many of the first lines are names of columns, which say what values are and are none themselves."""
    faint: set[int] = field(default_factory=set[int])
    """Specifics that stand only where nobody reads: in scripts, styles and drawings of a web page."""
    word_counts: WordCounts | None = None
    """How often each word stands in the source; counted on first use."""
    labels: dict[tuple[int, tuple[int, ...]], str] = field(default_factory=dict[tuple[int, tuple[int, ...]], str])
    """A line and those of its specifics that are in the ledger -> the word that stands beside them."""
    text: str = ""
    """The source itself, for whoever reads it a second time."""
    judged: Judged | None = None
    """Filled by `verify.py`."""


def mark_numbers(line: Line) -> tuple[int, ...]:
    """The specifics of a line, each once, in order."""
    marks = line.marks
    if len(marks) < 2:
        return (marks[0].spec,) if marks else ()
    return tuple(dict.fromkeys(mark.spec for mark in marks))


class Place(msgspec.Struct, frozen=True, gc=False):
    """What one line of a stretch tells, and where it stands."""

    gist: float
    under: int = -1
    """The earlier line that says where this one stands: `Unit.under`, counted in lines of the stretch."""


# Text fit to be shown: no control, invisible or direction-changing characters.
#
# Each run of such characters (terminal colours included) becomes one space, and specifics are taken from that view,
# so that what is shown and what is counted are the same text. A lone carriage return ends a line. Nothing else is
# changed.


_UNFIT = re.compile(
    "(?:\x1b\\[[0-?]{0,64}[ -/]{0,8}[@-~]|\x1b\\][^\x07\x1b\n]{0,2000}(?:\x07|\x1b\\\\)"
    "|[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ufffe\uffff"
    "\ud800-\udfff\U000e0000-\U000e0fff])+"
)


_ANY = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ufffe\uffff"
    "\ud800-\udfff\U000e0000-\U000e0fff]"
)
"""One of them: told ten times as fast as the run."""


def plain(text: str) -> str:
    """The text as it may be shown. Linear in the text; the same object when nothing had to change."""
    if text.isascii() and text.isprintable():
        return text
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _UNFIT.sub(" ", text) if _ANY.search(text) else text


# Over-long lines: cut into pieces between words, never inside a specific or a word, each cut marked.


LONG = 400
"""Characters from which a line is cut into pieces."""
_PIECE = 240
_WORD = 160
"""A run without layout longer than this is no word anybody reads: it is left out of the pieces whole."""
_BREAK = re.compile(r"(?<=[.!?;,}\]]) +|\s+|(?<=[;,}\]])(?=[\"'{\[(<])|(?<=>)(?=<)")
CUT = "…"


def shortened(line: Line) -> Iterator[Line]:
    """Pieces of a long line in order, with their specifics; `…` stands where more of the line went before or on."""
    text, marks = line.text, line.marks
    start = 0
    at = 0
    for end in _cuts(text, marks):
        piece = text[start:end].strip()
        if piece and not _is_blob(piece):
            inside: list[Mark] = []
            while at < len(marks) and marks[at].end <= end:
                if marks[at].start >= start:
                    inside.append(marks[at])
                at += 1
            shown = f"{CUT} {piece}" if start else piece
            yield Line(f"{shown} {CUT}" if end < len(text) else shown, tuple(inside))
        start = end


def _cuts(text: str, marks: tuple[Mark, ...]) -> Iterator[int]:
    """Places to cut: about every `_PIECE` characters, where a gap lies outside every specific."""
    last = 0
    candidate = 0
    at = 0
    for gap in _BREAK.finditer(text):
        place = gap.end()
        while at < len(marks) and marks[at].end <= gap.start():
            at += 1
        if at < len(marks) and marks[at].start < place:
            continue
        if place - last > _PIECE and candidate > last:
            yield candidate
            last = candidate
        candidate = place
    if candidate > last and len(text) - last > _PIECE:
        yield candidate
    yield len(text)


def _is_blob(piece: str) -> bool:
    return len(piece) > _PIECE + _WORD and not any(c.isspace() for c in piece[:_PIECE])


# Whether a form fits a stretch of lines, judged by a sample of them.


_SAMPLE = 120
"""Lines looked at to judge a stretch: spread over it, never only its head."""


def sample_of(lines: Sequence[str], start: int, end: int) -> list[str]:
    """Lines that are not blank, cut at 400 characters."""
    step = max(1, (end - start) // _SAMPLE)
    return [line for line in (lines[k][:400] for k in range(start, end, step)) if line.strip()]


def fits(sample: Sequence[str], pattern: Callable[[str], object], share: float) -> bool:
    """Whether a pattern fits so many of the lines; no longer looked at than until that is known."""
    left = share * len(sample)
    spare = len(sample) - left
    for line in sample:
        if pattern(line):
            left -= 1
            if left <= 0:
                return True
        else:
            spare -= 1
            if spare < 0:
                return False
    return False
