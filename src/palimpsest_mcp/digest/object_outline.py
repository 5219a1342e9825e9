"""An object and the rows of a list in a few words: values with the names of their fields, what tells most first."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from .blocks import Block
from .readers.json_tables import BEHIND
from .records import STATE, Object, Reading, Table

BRACKETS = re.compile(r"[\[\]]")
"""What has one is not said: in a note it could be taken for the note's end, and said with others it is not verbatim."""
UNFIT = re.compile(r"[\[\]=;]")
"""In a name or a value: it would read as the beginning of the next."""
_LISTED = re.compile(r'\["[^"\[\]\\]{1,40}"(?:, ?"[^"\[\]\\]{1,40}")*\]')
"""A short list of words in an object."""
_SHORT_VALUE = 40
"""Characters of a value that is told of an object of which nothing is shown."""
FEW_ROWS = 12
"""Rows of a list of which all are named where some are shown: a longer one is counted where it stands."""
_BESIDE, _BESIDE_CHARS = 0.5, 24
"""Worth of a value from which it stands beside the name of its row, and its characters: a date, an id, a version."""


class Ask(NamedTuple):
    """What is worth telling of an item (`rank.py`)."""

    worth: Callable[[int, int], float] = lambda _row, _column: 0.0
    """Number of a row's record, and column -> what showing that value is worth."""
    named: Callable[[str], bool] = lambda _name: False
    """Whether somebody asked for what a column is called."""
    called: Collection[tuple[str, str]] = ()
    """Names and values that the call above gives: said again under the same name they tell nothing."""
    in_view: Collection[str] = ()
    """Values that stand elsewhere for good: told after all others."""


UNASKED = Ask()
COLUMNS = 8
"""Values of a row that stand beside its name, at most."""
_AMOUNTS = 4
"""The same before an object's lesser fields are told: a day and an amount."""
_INNER = 3
"""Fields of an object within the object that are told."""
_CHOSEN_BY = re.compile(
    r"(?:^|[^a-z])(?:(?P<first>price|cost|fare|fee|amount|balance|total|paid|date|day|due|deadline)|time)s?(?:[^a-z]|$)",
    re.IGNORECASE,
)
"""Columns that say how much, on which day, or when: who chooses among rows chooses by them."""
_KEPT_BY_ITSELF = re.compile(r"(?:created|updated|modified)(?:_?(?:at|on|date|time))?", re.IGNORECASE)
"""Fields that a store adds to everything it keeps."""
_INNER_NAMES = 60
"""Characters of the names of its other fields that are said rather than counted."""
_LEFT_OUT = 100
"""Characters of the names of columns of which nothing is told; more are counted."""
_NUMBER = re.compile(r"\d{3}")
"""In an object within the object: an amount, an id."""
_EMPTY = frozenset({"0", "0.0", "false", "null", "none", "None"})
"""Values that are told after all others."""
OVER = 24
"""Characters beyond the room that the first column of a list may take: the next best is no stand-in for a date."""
_MARK = 60
"""The same of the names of columns that are left out: a reader takes what he sees for all that there is."""
_TINY = 14
"""Characters of a field with its value that always fit: `insurance=no`."""
_VALUE = 3
"""Characters that a field with its value may have above its name alone, to fit as its name would: `bags=0`."""
_DAY = 60
"""Characters beyond the room that what was paid may take, or the day on which an object was made."""
_NAMED = 3
"""Fields that are always named where they are not told."""
_SHARED = 0.5
"""Share of the room for what all rows of a list have."""
_LISTS = 0.6
"""Share of the room that an object's own fields leave to its lists."""


def rows_behind(reading: Reading, rows: Sequence[int], width: int, ask: Ask) -> str:
    """Rows that follow others, such as the second flight of a trip, behind the one that they follow; what they have is
    said of each the first time."""
    count = f"{len(rows):,} that follow"
    owners: dict[str, list[int]] = {}
    for n in rows:
        owners.setdefault(reading.records[n].cells[0], []).append(n)
    distinct = distinct_rows(reading, rows, 1)
    bare = sum(len(f"after {one}: ") for one in owners) + sum(len(_called_of(reading, n)) + 2 for n in rows)
    room = width - len(count) - bare + sum(len(_called_of(reading, n)) + 5 for n in distinct.values())
    told = _with_values(reading, list(distinct.values()), ask, room, most=COLUMNS, differing=True)
    names = dict(zip(distinct, told or [_called_of(reading, n) for n in distinct.values()], strict=True))
    often = Counter(_called_of(reading, n) for n in distinct.values())
    said = set[tuple[str, ...]]()
    parts: list[str] = []
    for owner, members in owners.items():
        group: list[str] = []
        for n in members:
            own = reading.records[n].cells[1:]
            name = _called_of(reading, n)
            group.append(names[own] if own not in said or often[name] > 1 else name)
            said.add(own)
        parts.append(f"after {owner}: {', '.join(group)}")
    fit = [n for n in range(len(parts) + 1) if len(count) + 2 + len("; ".join(parts[:n])) <= width]
    shown = "; ".join(parts[: fit[-1]]) if fit else ""
    if BRACKETS.search(shown) or not shown:
        return count
    return f"{count}: {shown}{'' if fit[-1] == len(parts) else ' …'}"


def distinct_rows(reading: Reading, rows: Sequence[int], start: int = 0) -> dict[tuple[str, ...], int]:
    """The first of rows that are equal from a column on, by their cells from there on."""
    found: dict[tuple[str, ...], int] = {}
    for n in rows:
        found.setdefault(reading.records[n].cells[start:], n)
    return found


def object_outline(
    reading: Reading,
    lists: Sequence[Block],
    fields: Sequence[str],
    width: int,
    ask: Ask,
    shown: Collection[int] = (),
) -> str:
    """An object's own fields with what they say, its lists by their rows' names, then the names of its other fields;
    without the records that are shown."""
    left = width
    lists = [one for one in lists if not BRACKETS.search(one.noun)]
    rows = [[n for n, one in enumerate(reading.records) if one.table == block.table] for block in lists]
    hidden = [[n for n in own if n not in shown] for own in rows]
    reserved = _LISTS * width * any(hidden)
    said: list[str] = []
    listed: dict[int, _List] = {}
    named: list[str] = []
    words: dict[str, list[str]] = {}
    own = next((one for one in reading.objects if one.noun == Table(()).noun), None)
    pairs = [pair for pair in zip(own.columns, own.cells, strict=True) if pair[0] in fields] if own else []
    called = {name for name, value in pairs if _is_called(name, value, ask)}
    pairs = [pair for pair in pairs if pair[0] not in called]
    fields = [name for name in fields if name not in called]
    # What says how it went, wherever it stands, right behind what it went so with.
    pairs = [*pairs[:1], *sorted(pairs[1:], key=lambda pair: STATE.search(pair[0]) is None)]
    nothing = {
        name
        for name, value in pairs
        if value in _EMPTY or value in ask.in_view or _KEPT_BY_ITSELF.fullmatch(name.rpartition(".")[2])
    }
    for name, value in pairs:
        if _LISTED.fullmatch(value):
            words[name] = value[2:-2].replace('", "', '","').split('","')
        elif (
            name not in nothing
            and len(value) <= _SHORT_VALUE
            and len(name) + len(value) + 3 <= left - reserved
            and not UNFIT.search(name + value)
        ):
            named.append(name)
            said.append(f"{name}={value}")
            left -= len(said[-1]) + 2
    said = [", ".join(said)] if said else []
    for noun, names in words.items():
        count = f"{len(names):,} {noun}"
        if left > len(count) and not BRACKETS.search(noun):
            said.append(joined_names(count, names, left - len(count)))
            left -= len(said[-1])
            named.append(noun)
    inner = {one.noun: _inner(one) for one in reading.objects if one is not own and one.noun in fields}
    plain = [bool(rest) and not _tells(reading, rest, ask) for rest in hidden]
    order = sorted(zip(plain, lists, rows, hidden, strict=True), key=lambda one: one[0])
    for is_plain, one, own_rows, rest in order:
        for noun in [noun for noun in inner if is_plain and _NUMBER.search(inner[noun]) and noun not in named]:
            if len(inner[noun]) + 2 <= left + _DAY:  # what was paid before who flies
                said.append(inner[noun])
                named.append(noun)
                left -= len(inner[noun]) + 2
        if rest and one.noun == BEHIND and left > 0:
            said.append(rows_behind(reading, rest, left, ask))
            left -= len(said[-1])
            named.append(one.noun)
            continue
        count = f"{one.total:,}" if len(rest) == len(own_rows) else f"{len(rest):,} of {one.total:,}"
        room = left - len(count) - len(one.noun) - 1
        if not rest or room <= 0:
            continue
        key = key_of(reading, rest[0], one.noun)
        chosen = chosen_columns(reading, rest, ask, room - len(key), most=1, differing=False)
        told = valued(reading, rest, chosen)
        names = told or [_called_of(reading, n) for n in rest]
        listed[len(said)] = _List(f"{count} {one.noun}", rest, key, chosen)
        said.append(joined_names(f"{count} {one.noun}", names, room - len(key) + OVER * bool(told), key))
        left -= len(said[-1])
        named.append(one.noun)
    left -= _widen(reading, said, listed, left, ask, _AMOUNTS)  # amounts before a user's id
    # What says a value takes hardly more room than the name of a field that is not told.
    short = {name: _pair(name, value) for name, value in pairs}
    # What was paid comes before whose it is.
    untold = [name for name in fields if name not in named]
    least = {name for name, value in pairs if value in _EMPTY or value in ask.in_view}
    for name in sorted(
        untold, key=lambda one: (one in least, _NUMBER.search(inner.get(one, "")) is None, one in nothing)
    ):
        told_by = short.get(name) or inner.get(name, "")
        # What was paid, and the day on which it was made, say more than whose it is, and that it has no bags.
        over = name not in least and (name in nothing or (name in inner and _CHOSEN_BY.search(inner[name]) is not None))
        room = left + _DAY if over else left
        if told_by and (len(told_by) + 2 <= room or len(told_by) <= max(_TINY, len(name) + _VALUE)):
            said.append(told_by)
            named.append(name)
            left -= len(told_by) + 2
    others = [name for name in fields if name not in named]
    if others:
        more = f"{len(others):,} {'more ' if named else ''}{'field' if len(others) == 1 else 'fields'}"
        few = sum(len(name) + 2 for name in others) if len(others) <= _NAMED else 0
        said.append(joined_names(more, others, max(few, left - len(more))))
        left -= len(said[-1])
    left -= _widen(reading, said, listed, left, ask, COLUMNS)
    for place, one in listed.items():  # of rows that are told by some of their columns
        more = columns_left_out(reading, one.rows, one.columns, ask) if one.columns else ""
        if more and "columns left out" not in said[place] and len(more) <= max(left, 0) + _MARK:
            said[place] += more
            left -= len(more)
    return "; ".join(said)


class _List(NamedTuple):
    """A list of rows as it is told."""

    counted: str
    rows: Sequence[int]
    key: str
    """What its rows are called by."""
    columns: Sequence[int]
    """Those of which values are told."""


def _widen(reading: Reading, said: list[str], listed: dict[int, _List], left: int, ask: Ask, most: int) -> int:
    """Tell more of the values of lists, up to so many a row, and what is left out of them; the room that this takes."""
    before = left
    for place, one in listed.items():
        room = left + len(said[place])
        chosen = chosen_columns(
            reading, one.rows, ask, room - len(one.counted) - len(one.key), most=most, differing=False
        )
        if len(chosen) > len(one.columns):
            said[place] = joined_names(one.counted, valued(reading, one.rows, chosen), room + OVER, one.key)
            listed[place] = one._replace(columns=chosen)
            left = room - len(said[place])
            if len(more := columns_left_out(reading, one.rows, chosen, ask)) <= left + _MARK:
                said[place] += more
                left -= len(more)
    return before - left


def _is_called(name: str, value: str, ask: Ask) -> bool:
    """Whether the call gives this value by this name: the same number elsewhere may be another thing's."""
    return (name.rpartition(".")[2], value) in ask.called


def _pair(name: str, value: str) -> str:
    """A field with its value; empty where that is long, or would read as something else."""
    return f"{name}={value}" if 0 < len(value) <= _BESIDE_CHARS and not UNFIT.search(name + value) else ""


def _inner(one: Object) -> str:
    """The first fields of an object, or of the only row of a list, that lies in another one."""
    pairs = [pair for pair in map(_pair, one.columns, one.cells) if pair][:_INNER]
    others = [name for name in one.columns if not any(pair.startswith(f"{name}=") for pair in pairs)]
    named = sum(map(len, others)) <= _INNER_NAMES and not UNFIT.search("".join(others))
    more = (f", also {', '.join(others)}" if named else f" and {len(others)} more") if others else ""
    return f"{one.noun}: {', '.join(pairs)}{more}" if pairs and not UNFIT.search(one.noun) else ""


def _tells(reading: Reading, rows: Sequence[int], ask: Ask) -> bool:
    """Whether rows have a name or a value that is worth showing."""
    return any(ask.worth(n, column) >= _BESIDE for n in rows for column in range(len(reading.records[n].cells)))


def _with_values(
    reading: Reading, rows: Sequence[int], ask: Ask, room: int, *, most: int = 1, differing: bool = False
) -> list[str]:
    """What rows are called, each with its values in the columns of `chosen_columns`; empty where it gives none."""
    return valued(reading, rows, chosen_columns(reading, rows, ask, room, most=most, differing=differing))


def chosen_columns(
    reading: Reading, rows: Sequence[int], ask: Ask, room: int, *, most: int, differing: bool
) -> list[int]:
    """The columns that tell most of these rows, in their order: at most `most`, and as many as fit the room; none where
    none tells much.

    First come amounts and days, then those whose values are worth most, then those that somebody asked for, then the
    others in which rows differ.

    Args:
        differing: no column whose one value is said of all rows.
    """
    table = reading.tables[reading.records[rows[0]].table]
    cells = _cells_of(reading, rows)
    called = [_called_of(reading, n) for n in rows]
    key = table.columns[table.key] if table.columns else ""
    ranks: dict[int, tuple[float, ...]] = {}
    for column, name in enumerate(table.columns):
        values = [row[column] for row in cells]
        if column == table.key or not name or name[:1] == "(" or UNFIT.search(name):
            continue
        if all(_is_called(name, one, ask) for one in values):
            continue
        if all(value.isidentifier() and row.startswith(value) for value, row in zip(values, called, strict=True)):
            continue  # `certificate` of `certificate_4856383`: what it is called says it
        told_of = [one for one in values if one]  # a card has no balance, a certificate has one
        if 2 * len(told_of) < len(values) and not _choice(name) and len(values) > FEW_ROWS:
            continue
        if not told_of or not all(0 < len(one) <= _BESIDE_CHARS and not UNFIT.search(one) for one in told_of):
            continue
        worth = sum(ask.worth(row, column) for row in rows) / len(rows)
        surname = key != name == key.replace("first", "last")
        tells = surname or ask.named(name) or worth >= _BESIDE
        differ = len(set(values)) > 1
        if differ or (tells and not differing):
            told = -worth if tells else 0.0
            ranks[column] = -float(surname), -_choice(name), told, -float(ask.named(name)), column
    left = room - sum(len(name) + 5 for name in called)
    chosen: list[int] = []
    groups: dict[str, list[int]] = {}
    for column in sorted(ranks, key=ranks.__getitem__):
        name = table.columns[column]
        groups.setdefault(_parent(name), []).append(column)
    for group in groups.values():  # of what lies in one object all or none, unless somebody chooses by it
        single = [[column] for column in group if any(ranks[column][:4])]
        for columns in [group, *single] if len(group) > 1 else [group]:
            size = sum(len(table.columns[n]) + 1 + sum(len(row[n]) + 2 for row in cells if row[n]) for n in columns)
            slack = OVER * (not chosen and len(columns) == 1)
            told = chosen or any(any(ranks[n][:4]) for n in columns)
            if told and size <= left + slack and len(chosen) + len(columns) <= most and not set(columns) & set(chosen):
                chosen += columns
                left -= size
    return sorted(chosen)


def valued(reading: Reading, rows: Sequence[int], chosen: Sequence[int]) -> list[str]:
    """What rows are called, each with its values in the chosen columns, whose names stand with the first of those that
    have the same; empty where no column is chosen."""
    if not chosen:
        return []
    cells = _cells_of(reading, rows)
    called = [_called_of(reading, n) for n in rows]
    columns = reading.tables[reading.records[rows[0]].table].columns
    found: list[str] = []
    named: list[int] = []
    for name, row in zip(called, cells, strict=True):
        has = [n for n in chosen if row[n]]
        if not has:
            found.append(name)
            continue
        values = [row[n] for n in has]
        if has != named:
            names = [columns[n] for n in has]
            names[1:] = [_beside(name, before) for before, name in pairwise(names)]
            values = [f"{column} {value}" for column, value in zip(names, values, strict=True)]
        found.append(f"{name} ({', '.join(values)})")
        named = has
    return found


def columns_left_out(reading: Reading, rows: Sequence[int], told: Collection[int], ask: Ask) -> str:
    """The columns of which nothing is told, an object of which nothing is by its name: else a reader takes what he sees
    for all that there is, seats in one class for the only ones."""
    table, cells = reading.tables[reading.records[rows[0]].table], _cells_of(reading, rows)
    seen = {table.columns[n] for n in {*told, table.key}}
    parents = {_parent(name) for name in seen}
    names = [
        name if _parent(name) in parents else _parent(name)
        for column, name in enumerate(table.columns)
        if not (name in seen or not name or name[0] == "(")
        and not all(_is_called(name, row[column], ask) for row in cells)
    ]
    others = list(dict.fromkeys(names))
    if not others:
        return ""
    named = ", ".join([others[0], *(_beside(name, before) for before, name in pairwise(others))])
    fits = len(named) <= _LEFT_OUT and not BRACKETS.search(named) and not UNFIT.search(named)
    return f"; columns left out: {named if fits else len(others)}"


def _parent(name: str) -> str:
    """What a column lies in; itself where it lies in nothing."""
    return name.rpartition(".")[0] or name


def _choice(name: str) -> float:
    """How much one chooses by a column: by amounts and days, then by times."""
    found = _CHOSEN_BY.search(name)
    return 0.0 if found is None else 2.0 if found["first"] else 1.0


def _beside(name: str, before: str) -> str:
    """The name of a column behind that of another one: what both lie in is said once."""
    parent, dot, last = name.rpartition(".")
    return last if dot and before.rpartition(".")[0] == parent else name


def key_of(reading: Reading, row: int, noun: str) -> str:
    """The name of the column that says what rows are called, for the first of them; empty where the list says it."""
    table = reading.tables[reading.records[row].table]
    name = table.columns[table.key] if table.columns else ""
    said = not name or UNFIT.search(name) or name in noun or len(name) > _BESIDE_CHARS
    return "" if said else f"{name} "


def _cells_of(reading: Reading, rows: Sequence[int]) -> list[tuple[str, ...]]:
    """The cells of rows of one table; those that a short row does not have are blank."""
    width = len(reading.tables[reading.records[rows[0]].table].columns)
    cells = (reading.records[n].cells for n in rows)
    return [(*row, *[""] * (width - len(row))) for row in cells]


def _called_of(reading: Reading, row: int) -> str:
    record = reading.records[row]
    return record.cells[reading.tables[record.table].key]


def shared_values(reading: Reading, block: Block, width: int, ask: Ask) -> dict[int, str]:
    """What all rows of a table have, by which a reader knows one search from another, by column; in half of the width.
    Of an object in which they differ nothing: three seats in business alone would hide those in economy."""
    table = reading.tables[block.table]
    cells = _cells_of(reading, [n for n, record in enumerate(reading.records) if record.table == block.table])
    told: dict[int, str] = {}
    differing = {_parent(name) for n, name in enumerate(table.columns) if len({row[n] for row in cells}) > 1}
    for column, name in enumerate(table.columns):
        value = cells[0][column] if column != table.key else ""
        pair = _pair(name, value) if name and not _is_called(name, value, ask) else ""
        same = pair and all(row[column] == value for row in cells)
        apart = "." in name and _parent(name) in differing
        if same and not apart and sum(len(one) + 2 for one in told.values()) + len(pair) <= width * _SHARED:
            told[column] = pair
    return told


def rest_of_objects(reading: Reading, rows: Sequence[int], told: Collection[int]) -> dict[int, str]:
    """Of objects in the rows of which all else is told the values that all rows have, by column: a price that two
    flights have in common was the one that was not told."""
    columns, cells = reading.tables[reading.records[rows[0]].table].columns, _cells_of(reading, rows)
    found: dict[int, str] = {}
    for column, name in enumerate(columns):
        beside = [n for n, other in enumerate(columns) if n != column and _parent(other) == _parent(name)]
        same = len({row[column] for row in cells}) == 1
        if "." in name and column not in told and same and beside and set(beside) <= set(told):
            found.update({column: pair} if (pair := _pair(name, cells[0][column])) else {})
    return found


def joined_names(count: str, names: Iterable[str], width: int, key: str = "") -> str:
    """The count and as many of its names as fit, none cut; before the first what they are called by."""
    shown: list[str] = []
    cut = ""
    for name in dict.fromkeys(" ".join(name.split()) for name in names):
        if BRACKETS.search(name):
            cut = " …"
            continue
        if sum(len(one) + 2 for one in shown) + len(name) > width:
            cut = " …"
            break
        shown += [name] if name else []
    return f"{count}: {key}{', '.join(shown)}{cut}" if shown else count
