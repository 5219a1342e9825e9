"""Writes to stdout: plain, stable lines; on a terminal, bars and tables. Stored text is made plain first."""

from __future__ import annotations

import io
import itertools
import json
import os
import shutil
import sys
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from datetime import datetime
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar, cast

import click

from ..errors import InvalidArgument
from ..models.text import plain, plain_line
from .face import Face, masked

if TYPE_CHECKING:
    from rich.console import Console

    from ..core.palimpsest import Palimpsest
    from ..models.reports import Usage
    from ..store.out_file import OutFile

# Tables that fit the terminal: ids, codes and numbers stand whole, the rest yields in a written order.

LEAST = 12
LONGEST = 100
"""Cells of prose in a table that has all the room it wants; `--json` has everything."""
GAP = "  "
BETWEEN = ", "

LEAVES = (
    "begins with", "event", "source", "elsewhere", "form", "task", "such as", "would leave", "place", "host", "created",
    "why", "written", "when", "archives", "queries", "damaged", "pending", "failures", "compacted", "left out",
    "counts as", "text", "what", "tool", "kind", "title", "age", "from",
    "phase", "digest", "tokens",
)  # fmt: skip
"""Names of the columns that leave, the first to go first; any other column stays."""


Holds: TypeAlias = Literal["code", "number", "prose", "list"]


@dataclass(frozen=True)
class Column:
    """One column: its heading, and what stands in it."""

    name: str
    holds: Holds = "code"
    """`list`: codes with a comma between them, of which the last ones yield."""


def laid_out(columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int | None) -> list[str]:
    """The lines of a table.

    Args:
        rows: one-line cells.
        width: cells of the terminal; None: as wide as it is.
    """
    cells = [[_held(column, cell) for column, cell in zip(columns, row, strict=True)] for row in rows]
    shown = [at for at in range(len(columns)) if width is None or any(row[at] for row in cells)]
    natural = [
        max([cell_count(column.name), *(cell_count(row[at]) for row in cells)]) for at, column in enumerate(columns)
    ]
    least = [_least(column, natural[at], [row[at] for row in cells]) for at, column in enumerate(columns)]
    gone: list[str] = []
    for name in LEAVES if width is not None else ():
        if _total([least[at] for at in shown]) <= (width or 0):
            break
        if (at := next((at for at in shown if columns[at].name == name), None)) is not None and len(shown) > 1:
            shown.remove(at)
            gone.append(name)
    widths = _narrowed(shown, natural, least, width)
    head = _line([columns[at].name for at in shown], [columns[at] for at in shown], widths)
    lines = [head] if width is None else [head, "─" * min(width, _total(widths))]
    for row in cells:
        fitted = [_fitted(columns[at], row[at], size) for at, size in zip(shown, widths, strict=True)]
        lines.append(_line(fitted, [columns[at] for at in shown], widths))
    if gone:
        lines.append(f"no room for {', '.join(gone)}: a wider terminal or --json has all")
    return lines


def cell_count(text: str) -> int:
    """How many cells of a terminal a text takes."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _held(column: Column, cell: str) -> str:
    return cut(cell, LONGEST) if column.holds == "prose" else cell


def _least(column: Column, natural: int, cells: Sequence[str]) -> int:
    if column.holds == "prose":
        return max(cell_count(column.name), min(natural, LEAST))
    if column.holds == "list":
        return max([cell_count(column.name), *(cell_count(_some(cell, 0)) for cell in cells)])
    return natural


def _narrowed(shown: Sequence[int], natural: Sequence[int], least: Sequence[int], width: int | None) -> list[int]:
    widths = [natural[at] for at in shown]
    if width is None:
        return widths
    for place in reversed(range(len(shown))):
        over = _total(widths) - width
        widths[place] = max(least[shown[place]], widths[place] - max(0, over))
    return widths


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + len(GAP) * (len(widths) - 1)


def _fitted(column: Column, cell: str, size: int) -> str:
    if cell_count(cell) <= size:
        return cell
    return _some(cell, size) if column.holds == "list" else cut(cell, size)


def _some(cell: str, size: int) -> str:
    """As many of a list as fit, at least one, and how many more there are."""
    parts = cell.split(BETWEEN)
    kept = len(parts)
    while kept > 1 and cell_count(cell) > size:
        kept -= 1
        cell = f"{BETWEEN.join(parts[:kept])} +{len(parts) - kept}"
    return cell


def cut(text: str, size: int) -> str:
    """Prose in so many cells; what is cut off ends in an ellipsis."""
    if cell_count(text) <= size:
        return text
    kept = text[: size - 1]
    while cell_count(kept) > size - 1:
        kept = kept[:-1]
    return kept.rstrip() + "…"


def _line(cells: Sequence[str], columns: Sequence[Column], widths: Sequence[int]) -> str:
    parts: list[str] = []
    for cell, column, size in zip_longest(cells, columns, widths):
        space = " " * (size - cell_count(cell))
        parts.append(space + cell if column.holds == "number" else cell + space)
    return GAP.join(parts).rstrip()


# Numbers as people read them.


def tokens(value: int | None) -> str:
    """`131,072`, or `unknown`."""
    return "unknown" if value is None else f"{value:,}"


def size(value: int) -> str:
    """`1.4 MB`, in powers of 1,000."""
    if value < 1_000:
        return f"{value} B"
    for unit, scale in (("kB", 1e3), ("MB", 1e6), ("GB", 1e9)):
        if value < scale * 1_000 or unit == "GB":
            return f"{value / scale:.1f} {unit}"
    return f"{value} B"


def percent(share: float | None) -> str:
    """`65.5%`, or `unknown`."""
    return "unknown" if share is None else f"{share:.1%}"


def age(since: str, now: datetime) -> str:
    """`5 min`, `3 h`, `12 d`: how long ago something was; empty where the stamp is none."""
    try:
        minutes = (now - datetime.fromisoformat(since)).total_seconds() / 60
    except (ValueError, TypeError):
        return ""
    if minutes < 60:
        return f"{max(0, int(minutes))} min"
    return f"{int(minutes / 60)} h" if minutes < 48 * 60 else f"{int(minutes / 1440)} d"


def fill(usage: Usage) -> str:
    """`131,072 of 200,000 tokens (65.5%)`."""
    if usage.effective_window.value is None:
        return f"{tokens(usage.used.value)} tokens; the size of the window is not known"
    share = "" if usage.ratio is None else f" ({percent(usage.ratio)})"
    return f"{tokens(usage.used.value)} of {tokens(usage.effective_window.value)} tokens{share}"


def sources(usage: Usage) -> str:
    """Where both numbers come from."""
    window = usage.effective_window.source
    return f"used: {usage.used.source}; window: {WINDOWS.get(window, window)}"


WINDOWS = {"argument": "as given", "forced": "the session's own size, by --force"}
"""Sources of a window in a person's words; others are named as they are."""

Colour = Literal["ok", "warn", "fail", "digest", "apart"]
COLOURS: dict[Colour, str] = {"ok": "green", "warn": "yellow", "fail": "red", "digest": "cyan", "apart": "dim"}
"""One meaning each, in every command; on a terminal alone, and not where `NO_COLOR` is set."""

BAR_CELLS = 40
LEAST_BAR = 10
"""Below which a bar says nothing."""


def on_terminal() -> bool:
    """Whether a person looks at stdout."""
    return sys.stdout.isatty()


def say(*lines: str, exact: bool = False) -> None:
    """Lines with their secrets masked, without what could move a cursor.

    Args:
        exact: originals that were asked for, or what is masked already: secrets stay.
    """
    for line in lines if exact else masked("\n".join(lines)).split("\n") if lines else ():
        sys.stdout.write(plain(line) + "\n")


def say_coloured(*parts: str | tuple[str, Colour]) -> None:
    """One line, some parts of it in a colour where a person looks."""
    cells = [(part, None) if isinstance(part, str) else part for part in parts]
    if not on_terminal():
        say("".join(text for text, _ in cells))
        return
    from rich.text import Text

    shown = Text.assemble(*((plain(masked(text)), COLOURS[colour] if colour else "") for text, colour in cells))
    console().print(shown, soft_wrap=True)


def say_json(value: Any, *, exact: bool = False) -> None:
    """One line of JSON in ASCII, secrets masked; `exact`: every string as it is, half surrogate pairs included.

    Args:
        value: models may stand in it.
    """
    import msgspec

    plain = msgspec.to_builtins(value, enc_hook=str)
    sys.stdout.write(json.dumps(plain if exact else masked(plain), separators=(",", ":")) + "\n")


def said_as_json(face: Face, value: Any, *, exact: bool = False) -> bool:
    """Whether the caller wants JSON; then it is said."""
    if face.as_json:
        say_json(value, exact=exact)
    return face.as_json


def say_bytes(data: bytes) -> None:
    """Exactly these bytes."""
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def say_fields(pairs: Iterable[tuple[str, str]]) -> None:
    """`name  value` lines; empty values are left out."""
    rows = [(name, plain_line(masked(value))) for name, value in pairs if value]
    width = max((len(name) for name, _ in rows), default=0)
    for name, value in rows:
        say(f"{name.ljust(width)}  {value}", exact=True)


@contextmanager
def paged(*, wanted: bool) -> Generator[None]:
    """On a terminal, what is said within goes through the pager where it is longer than the screen.

    `PAGER` names it; an empty one, or `cat`, is none.
    """
    chosen = os.environ.get("PAGER")
    if not wanted or chosen in ("", "cat") or not on_terminal() or not sys.stdin.isatty():
        yield
        return
    pages = _Screenful()
    with redirect_stdout(pages):
        yield
    text = pages.getvalue()
    if text.count("\n") < shutil.get_terminal_size().lines:
        sys.stdout.write(text)
        return
    click.echo_via_pager(text)


class _Screenful(io.StringIO):
    """Text that is written as for the terminal on which it will be seen."""

    def isatty(self) -> bool:
        return True


def say_table(heads: str, rows: Sequence[Sequence[str]]) -> None:
    """Columns that fit the terminal; nothing for no rows.

    Args:
        heads: names of the columns, with commas; behind a colon what one holds, as in `Column`.
    """
    if rows:
        columns = [_column(head.strip()) for head in heads.split(",")]
        cells = [[plain_line(masked(cell)) for cell in row] for row in rows]
        say(*laid_out(columns, cells, terminal_width() if on_terminal() else None), exact=True)


def _column(head: str) -> Column:
    name, _, holds = head.partition(":")
    return Column(name, cast("Holds", holds or "code"))


def terminal_width() -> int:
    """Cells of a line, by `COLUMNS` or the terminal itself."""
    return max(20, shutil.get_terminal_size().columns)


def say_bar(name: str, share: float | None, words: str, *, longest: int = 0) -> None:
    """How full the window is: a bar on a terminal, else the words alone.

    Args:
        longest: characters of the longest words beside bars that are seen together, so that all have one length.
    """
    room = min(BAR_CELLS, terminal_width() - len(f"{name}    ") - max(longest, len(words)))
    if not on_terminal() or share is None or room < LEAST_BAR:
        say(f"{name}  {words}")
        return
    from rich.text import Text

    filled = round(min(1.0, max(0.0, share)) * room)
    state = "fail" if share >= 0.9 else "warn" if share >= 0.7 else "ok"
    bar = ("█" * filled, COLOURS[state]), ("░" * (room - filled), COLOURS["apart"])
    console().print(Text.assemble(f"{name}  ", *bar, f"  {words}"))


def console(*, stderr: bool = False) -> Console:
    """A rich console on stdout, or on stderr for progress."""
    from rich.console import Console

    return Console(stderr=stderr, highlight=False, markup=False, emoji=False)


# `--out FILE` and `--overwrite`: the same wherever a command writes a file that the user named.


Command = TypeVar("Command", bound=Callable[..., Any])


def out_options(help: str) -> Callable[[Command], Command]:
    """`--out` and `--overwrite`, as the parameters `out` and `overwrite`."""

    def add(command: Command) -> Command:
        out = click.option("--out", type=click.Path(path_type=Path), metavar="FILE", help=help)
        overwrite = click.option(
            "--overwrite",
            is_flag=True,
            help="Let --out replace an existing file, but never one that a session is read from.",
        )
        return out(overwrite(command))

    return add


def out_file(
    face: Face, path: Path | None, *, overwrite: bool, sources: Sequence[Path] = (), session: str = ""
) -> OutFile | None:
    """What `--out` named, looked at before any work; None without it.

    Args:
        sources: files that are read, beside those of all sessions that the store knows.
        session: the one that is given back: its file may have been moved, so no file of that name is replaced.

    Raises:
        InvalidArgument, OutputRefused: it cannot be written (`store.out_file`).
        SessionUnknown: there is no such session.
    """
    from ..settings.places import home_folder
    from ..store.out_file import OutFile

    if path is None:
        if overwrite:
            raise InvalidArgument("--overwrite is about --out FILE.", next="Name the file, or leave --overwrite out.")
        return None
    known: list[Path] = []
    names: set[str] = set()
    if overwrite or os.path.lexists(path):  # else nothing is replaced, whoever comes there first
        known, names = face.ask(lambda facade: _read_from(facade, session), make=False)
    return OutFile(
        path, home=home_folder(face.home), sources=[*sources, *known], source_names=names, overwrite=overwrite
    )


async def _read_from(facade: Palimpsest, session: str) -> tuple[list[Path], set[str]]:
    """The files that sessions were read from, and names of those whose folder is not known."""
    names: set[str] = {(await facade.session(session)).source} if session else set()
    paths: list[Path] = []
    for info in await facade.sessions():
        if info.path:
            paths.append(Path(info.path))
        else:  # a host's own transcript has the session's name
            names |= {info.source, f"{info.session_id}.jsonl"}
    return paths, names - {""}


def json_bytes(value: Any) -> bytes:
    """JSON as it is written to files: readable as UTF-8; ASCII only where a string has half a surrogate pair."""
    try:
        data = json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        data = json.dumps(value).encode()
    return data + b"\n"


def free_name(stem: str, what: str = "messages") -> str:
    """A name for a file of messages that nothing has here yet: `s7f3k-messages.json`, else numbered."""
    stem = "".join(char if char.isalnum() or char in "._-" else "-" for char in stem)[:60].lstrip("-.") or "session"
    numbers = itertools.chain([""], (f"-{number}" for number in itertools.count(2)))
    names = (f"{stem}-{what}{number}.json" for number in numbers)
    return next(name for name in names if not os.path.lexists(name))


# One line of `doctor`.


@dataclass(frozen=True)
class Check:
    """One line."""

    name: str
    state: Literal["ok", "warn", "fail"]
    words: str
    next: str = ""
    status: int = 0
    """Exit status of the error behind a failure."""
