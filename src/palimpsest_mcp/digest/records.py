"""What a reader makes of a text: records in source order, and the tables that their rows belong to.

A record is one thing that a reader of the digest could want: a row, a log line, a search hit, a definition. It is shown
whole, or counted; never cut into values.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, TypeAlias

import msgspec

Kind: TypeAlias = Literal[
    "outcome",
    "error",
    "claim",
    "heading",
    "row",
    "field",
    "definition",
    "change",
    "hit",
    "entry",
    "frame",
    "line",
    "noise",
]
"""`outcome`: how it went; `claim`: a clause with a negation, an exception or a conclusion (D16); `heading`: others
stand under it; `row`: of a table, parsed; `field`: the scalar leaves of one object; `change`: a line of a diff; `hit`:
of a search; `entry`: of a listing; `noise`: nobody asks for it."""


MASKED = re.compile(r"(?:[^=|]*=)?\[redacted:[\w-]+(?::\w+)?\]")
"""A leaf, or `name=leaf`, that says nothing but that something is hidden."""
STATE = re.compile(
    r"(?:^|[^a-z])(?:status|state|ok|success|error|errors|level|severity|health|result|outcome|verdict)$", re.IGNORECASE
)
"""Names of fields and columns that say how their object or row went."""


class Record(msgspec.Struct, gc=False, array_like=True):
    """One line, sentence or row of a source, as it would be shown."""

    text: str
    """One whole line of the plain view without its outer blanks, or one whole sentence of a long one. Of a row: its
    cells joined by `|`. Never composed of anything else, never re-formatted."""
    kind: Kind = "line"
    worth: float = 1.0
    """Among records of its form: 0 noise, 1 plain, 2 more than its neighbours, 4 must be told."""
    under: int = -1
    """The earlier record, a heading, that says where this one stands (D15); -1: it stands for itself."""
    table: int = -1
    """The table that it is a row of; -1: of none."""
    cells: tuple[str, ...] = ()
    """Of a row: its values as written, without outer blanks, one for each column; a missing one is empty."""
    at: int = 0
    """Number of its first line in the source, from 0."""
    indent: str = ""
    """Blanks before it where they say what it stands in: of code, of a list within a list. Shown with it."""


class Table(msgspec.Struct, gc=False, array_like=True):
    """Rows that have the same columns."""

    columns: tuple[str, ...]
    """Names as they stand in the source; of nested JSON the path, `host.ip`. Empty: the rows have no names for them."""
    noun: str = "rows"
    key: int = 0
    """The column that names a row."""
    usual: dict[int, str] = {}
    """Columns in which nearly all rows have one value, with that: a row with another is an exception for it."""


Shape: TypeAlias = tuple[str, tuple[str, ...]]


class Object(msgspec.Struct, gc=False, array_like=True):
    """An object that stands alone in its text, as the row that it is among others of its shape."""

    columns: tuple[str, ...]
    cells: tuple[str, ...]
    noun: str
    """The path that it has, for which tables are named, too."""
    records: tuple[int, ...]
    """Those that tell it."""

    @property
    def shape(self) -> Shape:
        """Equal for objects that could be rows of one table."""
        return self.noun, self.columns


class Reading(msgspec.Struct, gc=False, array_like=True):
    """What one reader found in its lines."""

    records: list[Record]
    tables: list[Table] = []
    objects: list[Object] = []


class Reader(NamedTuple):
    """One way to read a text. A new one is a line in `readers.READERS`."""

    name: str
    claims: Callable[[Sequence[str], int], int]
    """Lines of the plain view and the number of one that nobody has claimed -> the end of the lines from there on that
    are this reader's; the same number where it does not read them. Refuses at once, and is linear in what it takes."""
    read: Callable[[Sequence[str]], Reading]
    """Reads lines that it has claimed; their numbers, and those of records and tables, begin at 0."""


# The view of a source that everything is read and checked in: no control, invisible or direction-changing characters.
#
# Each run of such characters (terminal colours included) becomes one space, so that what is shown and what is counted
# are the same text. A lone carriage return ends a line. Nothing else is changed.


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
