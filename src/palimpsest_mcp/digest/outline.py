"""What a result held, in a few words: for results of which too little fits to be of use.

A reader decides by it whether to fetch the result: names of fields, of sections, definitions and rows, as they
stand in the source, and how many of what.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from ..models.text import counted
from .blocks import Block, fields_of
from .object_outline import (
    BRACKETS,
    COLUMNS,
    FEW_ROWS,
    OVER,
    UNASKED,
    UNFIT,
    Ask,
    chosen_columns,
    columns_left_out,
    distinct_rows,
    joined_names,
    key_of,
    object_outline,
    rest_of_objects,
    rows_behind,
    shared_values,
    valued,
)
from .rank import called
from .readers.json_tables import BEHIND
from .records import Reading, Record, Table

_DEFINED = re.compile(
    r"\b(?:class|def|defp?|defmodule|defstruct|enum|fn|func|function|impl|interface|module|namespace|record|struct|trait"
    r"|type|const|let|var)\s+([A-Za-z_$][\w$.]*)"
)
_ASSIGNED = re.compile(r"([A-Za-z_$][\w$.]*)\s*=\s*(?:async\b\s*)?(?:function\b|(?:\([^()]*\)|\w+)\s*=>)")
"""A function by what it is assigned to."""
_CALLED = re.compile(r"([A-Za-z_$][\w$.]*)\s*\(")
_SPOKEN = re.compile(r"[a-z][\w.]* ?\(?\s*(?::([a-z]\w*)|[\"'`]([^\"'`]{2,100})[\"'`])")
"""A test or a block that is named by its first argument."""
_CLAUSE = re.compile(r"^defp?\s+\w+[!?]?\(\s*(\"[^\"\[\]=;]{2,40}\"|:\w{2,40})[,)]")
"""A clause of a function that is chosen by its first argument."""
_RULE = re.compile(r"([.#][\w-][\w.#: >-]{0,80}?) ?\{$")
"""A rule of a style sheet, by what it is for."""
_HEADING = re.compile(r"^[#=*\s]+|[#=*:\s]+$")
_AT = re.compile(r"(?:([^\s:]*[^\W\d_][^\s:]*):)?(?:(\d{1,7})[:-])?")
"""Before what a hit says: its file, its line."""
_TITLED = re.compile(r"(?:[-*+•]|\d{1,2}[.)]) +\*\*([^*\[\]=;]{2,60}?):?\*\*")
"""A point of a list with a title of its own."""
_ERROR_AT = re.compile(r"\W{0,3}(?:error: )?([^\s:()]*[^\W\d_]\.\w+)(?:[:(](\d{1,7}))")
"""The file of an error, and its line."""
_KEY = re.compile(r"^\W*([A-Za-z_][\w.-]*)[\"']?\s*[:=]")
_PATH = re.compile(r"([\w$.-]+): (?=[\w$.-]+=)")
"""Before the fields of an object: where it lies."""
_NAME = re.compile(r"[A-Za-z_]\w*")
"""Of a list in an object, which stands behind one of its fields."""
_LONG_FIELD = re.compile(r"([A-Za-z_][\w.-]*):")
"""What stands above the lines of a field that is a text by itself."""
_PLACE = re.compile(r"^\d{1,6}[→\t:|] ?")
_FILE = re.compile(r"[^\s/]*(?:/[^\s/]+)+")
"""An entry that is a path and nothing else."""
_FOREIGN = re.compile(r"(?:^|/)(?:node_modules|deps|vendor|third_party|site-packages|\.?venv|_build|target|dist)/")
"""Folders of what others wrote, or a program made."""
_UNCOUNTED = frozenset(("noise", "outcome", "error", "line", "claim", "heading"))
"""Kinds of records that say nothing of a shape; errors are counted beside it."""
_LEAST = 2
"""Names that make a list; one says no more than the count of lines."""
_NAMES_ONLY = 0.7
"""Share of the width that names may take without values: each tells less."""
_HITS = 60
"""Characters that say where the hits are that are not shown, at most."""
_ERRORS, _SAID = 150, 70
"""The same of errors, and of what most of a file say, which is how they are mended."""
_DEFINED_TOO = 60
"""Characters that name definitions of which nothing is shown: a class without two of its methods looks like another."""
_LISTED = 120
"""The same of entries that are whole paths, too long to be named one by one below."""
_BEHIND_PLACE = re.compile(r"[\d,:)\s-]*(?:error:?\s+)?")
_MOST_SECTIONS = 8
"""Sections of which nothing is shown that are named where much else is."""
_EXAMPLE = "example fields: "
_BEFORE = 0.65
"""Share of the room that rows take of those that follow them."""


def outline(
    reading: Reading, blocks: Sequence[Block], width: int, ask: Ask = UNASKED, *, one_shown: bool = False
) -> str:
    """At most about `width` characters; empty where nothing names what is in it. Equal names are said once, and counted
    each.

    Args:
        one_shown: an error stands below, so that these are the others.
    """
    records, tables = reading.records, reading.tables
    names_only = int(_NAMES_ONLY * width)
    lists = sorted((one for one in blocks if one.table >= 0 and one.total > 1), key=lambda one: -one.total)
    largest = lists[0] if lists else None
    noun = "rows" if largest and BRACKETS.search(largest.noun) else largest.noun if largest else ""
    rows = f"{largest.total:,} {noun}" if largest else ""
    named = (("section", _sections(records), _LEAST), ("definition", _definitions(records), 1))
    together = counted(sum(one.total for one in lists), "row"), counted(len(lists), "table")
    total = " in ".join(together) if len(lists) > 1 else rows
    for noun, names, least in named:
        if len(names) >= least:
            return joined_names(", ".join(filter(None, (counted(len(names), noun), total))), names, names_only)
    fields = _fields(records, tables, largest.table if largest else -1)
    if len(fields) >= _LEAST:
        return object_outline(reading, lists, fields, width, ask)
    if largest:
        behind = next((one for one in lists if one.noun == BEHIND and one is not largest), None)
        first, left_out = _rows(reading, largest, int(width * (_BEFORE if behind else 1)), rows, ask)
        members = [n for n, one in enumerate(records) if behind and one.table == behind.table]
        following = f"; {rows_behind(reading, members, width - len(first), ask)}" if members else ""
        return first + left_out + following
    errors = [n for n, one in enumerate(records) if one.kind == "error"]
    if len(errors) >= _LEAST and (places := _error_places(records, errors, min(names_only, _ERRORS))):
        return f"other {places}" if one_shown else places
    kinds = Counter(one.kind for one in records if one.kind not in _UNCOUNTED)
    if list(kinds) == ["entry"] and (names := _entries(records)):
        return joined_names(counted(kinds["entry"], "entry"), names, names_only)
    hits = [n for n, one in enumerate(records) if one.kind == "hit"]
    if list(kinds)[:1] == ["hit"] and (places := _places(records, hits, min(names_only, _HITS))):
        return places
    return ", ".join(counted(n, kind) for kind, n in kinds.most_common(1))


def _rows(reading: Reading, block: Block, width: int, rows: str, ask: Ask) -> tuple[str, str]:
    """The rows of a table by what they are called, and what they have; and what is left out of them. `rows`: how many
    there are."""
    members = [n for n, one in enumerate(reading.records) if one.table == block.table]
    same = shared_values(reading, block, width, ask)
    shared = f", all {', '.join(same.values())}" if same else ""
    distinct = list(distinct_rows(reading, members).values())
    key = key_of(reading, distinct[0], block.noun)
    room = width - len(rows) - len(shared) - len(key)
    chosen = chosen_columns(reading, distinct, ask, room, most=COLUMNS, differing=True)
    if chosen:
        same |= rest_of_objects(reading, distinct, {*chosen, *same})
        shared = f", all {', '.join(same.values())}" if same else ""
        told = joined_names(rows + shared, valued(reading, distinct, chosen), width + OVER - len(key), key)
        return told, columns_left_out(reading, distinct, {*chosen, *same}, ask)
    if block.head and 2 * len(block.head) <= width and not BRACKETS.search(block.head):
        rows = f"{rows} {block.head}"
    return joined_names(rows + shared, _keys(reading.records, reading.tables, block), int(_NAMES_ONLY * width)), ""


def unshown(
    reading: Reading,
    blocks: Sequence[Block],
    shown: Collection[int],
    width: int,
    ask: Ask = UNASKED,
    *,
    few: bool,
    rows: bool = True,
    page: bool = False,
    data: bool = True,
) -> str:
    """What a result holds beside all that is shown of it, at most about `width` characters: of an object its fields and
    the rows of its lists, whole tables, and where little is shown the sections of which nothing is. Empty where a
    reader sees something of everything.

    Args:
        shown: numbers of the records that are shown.
        few: so little is shown that what else there is must be said.
        rows: there is room to name those of a short list that stands alone.
        page: it comes from the web.
        data: it is no text for people, in which an object is an example: what that says was taken for what holds.
    """
    records, tables = reading.records, reading.tables
    seen = {records[n].table for n in shown}
    lists = sorted((one for one in blocks if one.table >= 0 and one.total > 1), key=lambda one: -one.total)
    hidden = [one for n, one in enumerate(records) if n not in shown and (data or one.kind != "field")]
    alone = {one.table for one in blocks if one.total == 1}
    own = [one for one in hidden if one.kind == "field" or one.table in alone]
    parts = len(lists) + bool(own) + any(one.total == 1 for one in blocks)
    told = _fields([records[n] for n in sorted(shown)], tables, -1) if own else ()
    whole_fields = any(one not in told for one in _fields(own, tables, -1))
    # In a text for people a list of an object is one of an example; its own tables hold what it says.
    examples = not (data or any(one.table not in seen and tables[one.table].noun == Table(()).noun for one in lists))
    built = example(records, tables, shown, width) if examples else ""
    if not built and (parts > 1 or whole_fields or (rows and any(one.total <= FEW_ROWS for one in lists))):
        lists = [one for one in lists if one.table not in seen or one.total <= FEW_ROWS]
        fields = _fields(hidden, tables, -1)
        lists_named = {one.noun for one in lists}
        others = [name for name in fields if name not in lists_named]
        named = hidden_sections(records, tables, shown, width, few=few, page=page, data=data, examples=False)
        return "; ".join(filter(None, (named, object_outline(reading, lists, others, width - len(named), ask, shown))))
    hits = [n for n, one in enumerate(records) if n not in shown and one.kind == "hit"]
    errors = [n for n, one in enumerate(records) if n not in shown and one.kind == "error"]
    if len(hits) >= _LEAST and (said := _places(records, hits, min(width, _HITS))):
        return said
    if len(errors) >= _LEAST and (said := _error_places(records, errors, min(width, _ERRORS))):
        return f"other {said}" if shown else said
    defined = [one for n, one in enumerate(records) if n not in shown and one.kind == "definition"]
    defined.sort(key=lambda one: one.under not in shown)  # methods of a class that a reader sees, before others
    if shown and defined:
        return joined_names(counted(len(defined), "definition"), _definitions(defined), min(width, _DEFINED_TOO))
    entries = [one for n, one in enumerate(records) if n not in shown and one.kind == "entry"]
    paths = [next(iter(called((one,))), "") for one in entries]
    if paths and all("/" in path for path in paths):  # else some would be counted and not named
        folders = {path.rpartition("/")[0] for path in paths}
        names = [path.rpartition("/")[2] if len(folders) == 1 else _end_of(path) for path in paths]
        return joined_names(counted(len(entries), "entry"), names, min(width, _LISTED))
    if few or not data:
        return hidden_sections(records, tables, shown, width, few=few, page=page, examples=not data)
    return ""


def hidden_sections(
    records: Sequence[Record],
    tables: Sequence[Table],
    shown: Collection[int],
    width: int,
    *,
    few: bool = False,
    page: bool = False,
    data: bool = False,
    examples: bool = True,
) -> str:
    """Sections and titled points of a text for people of which nothing is shown, since the rest looks like all of it,
    and how an example in it is built.

    Args:
        few: also where they are many.
        page: it comes from the web, where sections are for its visitors and names in it tell more.
        data: it is none as a whole; then only what Markdown marks as a section is one.
    """
    hidden = [one for n, one in enumerate(records) if n not in shown]
    own = [one for one in hidden if one.kind == "heading" and one.worth]
    own = [one for one in own if one.text[:1] == "#" or not (data or one.text[-1:] in ":：")]  # others lead to a list
    points = [] if data else [found[1] for one in hidden if (found := _TITLED.match(one.text))]
    built = (
        example(records, tables, shown, width) if examples else ""
    )  # first: what is written by it must have these fields
    said: list[str] = []
    for noun, names in (("section", _sections(own)), ("point", points)):
        if len(names) >= _LEAST and (few or len(names) <= _MOST_SECTIONS * (not page)):
            said.append(joined_names(counted(len(names), noun), names, width - len(built) - sum(map(len, said))))
    return "; ".join(filter(None, (*said, built)))


def example(records: Sequence[Record], tables: Sequence[Table], shown: Collection[int], width: int) -> str:
    """How an object is built that a text for people gives as an example: its fields and lists, with what lies in them
    where that fits; empty where nearly all stands there anyway."""
    inner: dict[str, dict[str, None]] = {}
    hidden = set[str]()
    for number, one in enumerate(records):
        if inner and one.table >= 0 and _NAME.fullmatch(noun := tables[one.table].noun):
            inner.setdefault(noun, {}).update(
                dict.fromkeys(name.partition(".")[0] for name in tables[one.table].columns)
            )
            hidden.update(() if number in shown else (noun,))
        if one.kind != "field":
            continue
        path = _PATH.match(one.text)
        said = one.text[path.end() :] if path else one.text
        for pair in fields_of(said)[2] or [said]:
            name, equals, _ = pair.partition("=")
            if not equals:
                continue
            top, *below = (f"{path[1]}.{name}" if path else name).split(".")
            inner.setdefault(top, {}).update(dict.fromkeys(below[:1]))
            if number not in shown:
                hidden.add(top)
    if len(hidden) < _LEAST or UNFIT.search("".join(inner)):
        return ""
    told = [*inner]
    left = width - len(_EXAMPLE) - sum(len(name) + 2 for name in told)
    if left < 0:
        return ""
    for place, (name, below) in enumerate(inner.items()):
        more = f" ({', '.join(below)})" if below and name in hidden else ""
        if more and len(more) <= left and not UNFIT.search(more):
            told[place] += more
            left -= len(more)
    return _EXAMPLE + ", ".join(told)


def _keys(records: Sequence[Record], tables: Sequence[Table], block: Block) -> list[str]:
    """What the rows of a table are called."""
    return [one.cells[tables[block.table].key] for one in records if one.table == block.table]


def _entries(records: Sequence[Record]) -> list[str]:
    """The ends of paths, those of a project's own files before those of what it depends on."""
    paths = [one.text for one in records if one.kind == "entry" and _FILE.fullmatch(one.text)]
    paths.sort(key=lambda path: _FOREIGN.search(path) is not None)
    return list(map(_end_of, paths))


def _places(records: Sequence[Record], hits: Sequence[int], width: int) -> str:
    """Where hits are: in which lines of which files, else how many in which; of one file in the lines that fit."""
    files: dict[str, list[str]] = {}
    for n in hits:
        found = _AT.match(records[n].text)
        above = records[records[n].under].text if records[n].under >= 0 else ""
        path, line = (found[1], found[2]) if found else ("", "")
        files.setdefault(path or above.removesuffix(":"), []).append(line or "")
    total = counted(len(hits), "hit")
    if exact := _in_lines(total, files, width):
        return exact
    if list(files) == [""]:
        return joined_names(f"{total} in lines", files[""], width) if all(files[""]) else ""
    return joined_names(total, [f"{_end_of(path)} ({len(lines):,})" for path, lines in _most(files)], width)


def _error_places(records: Sequence[Record], errors: Sequence[int], width: int) -> str:
    """Where errors are: in which lines of which files, else how many in which, and what most of these say; the note
    counts them. Empty where they say no place."""
    files: dict[str, list[str]] = {}
    said: dict[str, Counter[str]] = {}
    for n in errors:
        if found := _ERROR_AT.match(text := records[n].text):
            files.setdefault(found[1], []).append(found[2] or "")
            message = text[found.end() :]
            said.setdefault(found[1], Counter())[_BEHIND_PLACE.sub("", message, count=1)] += 1
    if not files or sum(map(len, files.values())) * 2 < len(errors):
        return ""
    if exact := _in_lines("errors", files, min(width, _HITS)):
        return exact
    told = {path: f"{_end_of(path)} ({len(lines):,})" for path, lines in _most(files)}
    room = width - sum(len(one) + 2 for one in told.values())  # every file is named before what is said of one
    for path in told:
        [(message, often)] = said[path].most_common(1)
        same = f", {often} of them “{message}”" if often > 1 and 0 < len(message) <= _SAID else ""
        if same and len(same) <= room:
            told[path] = f"{told[path][:-1]}{same})"
            room -= len(same)
    return joined_names("errors", told.values(), width)


def _in_lines(total: str, files: Mapping[str, Sequence[str]], width: int) -> str:
    """In which lines of which files, where that fits."""
    exact = [f"{_end_of(path)}:{','.join(lines)}" for path, lines in files.items() if path and all(lines)]
    fits = len(exact) == len(files) and sum(len(one) + 2 for one in exact) <= width
    return joined_names(total, exact, width) if exact and fits else ""


def _most(files: Mapping[str, Sequence[str]]) -> list[tuple[str, Sequence[str]]]:
    return sorted(files.items(), key=lambda one: -len(one[1]))


def _end_of(path: str) -> str:
    """The last two names of a path; before them the folder of what others wrote, where it lies in one."""
    if path.count("/") < 2:
        return path
    foreign = _FOREIGN.search(path)
    end = path[: path.rindex("/")].rfind("/") + 1
    folder = f"{path[foreign.start() : foreign.end()].strip('/')}/" if foreign and foreign.end() < end else ""
    return f"{folder}…/{path[end:]}"


def _sections(records: Sequence[Record]) -> list[str]:
    """All that has a heading; what only leads to a list is none."""
    return [_HEADING.sub("", one.text) for one in records if one.kind == "heading" and one.worth]


def _definitions(records: Sequence[Record]) -> list[str]:
    """A name for each, empty where none is told; clauses of one name with what they are for."""
    texts = [_PLACE.sub("", one.text) for one in records if one.kind == "definition"]
    found = (
        _SPOKEN.match(text)
        or _DEFINED.search(text)
        or _ASSIGNED.search(text)
        or _CALLED.search(text)
        or _RULE.match(text)
        for text in texts
    )
    names = [next(filter(None, one.groups()), "") if one else "" for one in found]
    often = Counter(names)
    clauses = (_CLAUSE.search(text) if often[name] > 1 else None for name, text in zip(names, texts, strict=True))
    return [f"{name} {one[1]}" if one else name for name, one in zip(names, clauses, strict=True)]


def _fields(records: Sequence[Record], tables: Sequence[Table], largest: int) -> list[str]:
    """An object's own fields, each once; of what lies deeper the one that it lies in, save the largest table, which is
    counted by its rows. An object may be the one row of a table without a name of its own."""
    found: dict[str, None] = {}
    rows = Counter(one.table for one in records)
    for number, one in enumerate(records):
        if one.table >= 0 and one.table != largest:
            table = tables[one.table]
            alone = rows[one.table] == 1 and table.noun == Table(()).noun
            found.update(dict.fromkeys(table.columns if alone else [table.noun]))
        elif one.kind == "field":
            path, _, pairs = fields_of(one.text)
            first, within, _ = (path or one.text.partition("=")[0]).partition(": ")
            names = [first] if within else [pair.partition("=")[0] for pair in pairs]
            if not names and (key := _KEY.match(one.text)):
                names = [key[1]]
            found.update(dict.fromkeys(names))
        elif (long := _LONG_FIELD.fullmatch(one.text)) and not one.worth:
            # A text that is a field by itself begins where its name does; what leads to a list stands above it.
            below = [line.at for line in records[number + 1 : number + 2]]
            found.update({long[1]: None} if below == [one.at] else {})
    return list(dict.fromkeys(name.partition(".")[0] for name in found))
