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
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import click

from ..errors import InvalidArgument
from ..models.text import plain, plain_line
from .face import Face, masked
from .tables import Column, laid_out

if TYPE_CHECKING:
    from rich.console import Console

    from ..core.palimpsest import Palimpsest
    from ..store.out_file import OutFile

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


def say_json(value: Any, *, exact: bool = False) -> None:
    """One line of JSON in ASCII, secrets masked; `exact`: every string as it is, half surrogate pairs included."""
    sys.stdout.write(json.dumps(value if exact else masked(value), separators=(",", ":")) + "\n")


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
    import click

    click.echo_via_pager(text)


class _Screenful(io.StringIO):
    """Text that is written as for the terminal on which it will be seen."""

    def isatty(self) -> bool:
        return True


def say_table(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> None:
    """Columns that fit the terminal, as `tables` says; nothing for no rows."""
    if rows:
        cells = [[plain_line(masked(cell)) for cell in row] for row in rows]
        say(*laid_out(columns, cells, terminal_width() if on_terminal() else None), exact=True)


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
    colour = "red" if share >= 0.9 else "yellow" if share >= 0.7 else "green"
    console().print(Text.assemble(f"{name}  ", ("█" * filled, colour), ("░" * (room - filled), "dim"), f"  {words}"))


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
            help="--out may replace a file that exists; never one that a session is read from.",
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
