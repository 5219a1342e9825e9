"""What a command knows of its caller: the store, the form of the answer, names to complete, what masks."""

from __future__ import annotations

import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import click
from click.shell_completion import CompletionItem, shell_complete

from ..errors import InvalidArgument
from ..models.advice import command_line, in_form, step

if TYPE_CHECKING:
    from threading import Event

    from ..core.palimpsest import Palimpsest
    from ..core.surface import Surface
    from ..models.tools import HttpOptions
    from ..models.views import ItemView
    from ..ports.seams import Redactor

_opened: Surface | None = None


def mask_by(redactor: Redactor | None) -> None:
    """Mask by a store's redactor from now on; None: by none, as a run begins."""
    global _opened
    if redactor is None:
        _opened = None
        return
    from ..core.surface import Surface

    _opened = Surface(redactor)


def masked(value: Any) -> Any:
    """A text, or every text in a JSON value, with its secrets masked."""
    if _opened is not None:
        return _opened.value(value)
    from ..core.surface import storeless

    return storeless().value(value)


# What every command has: the options that all share, and a way to the store.


COMPLETE = "_PALIMPSEST_MCP_COMPLETE"
"""Set by a shell's script: `bash_source` asks for that script, `bash_complete` for what fits."""
Serve: TypeAlias = "Callable[[str | None, str, str, HttpOptions | None, bool], int]"
Answer = TypeVar("Answer")
Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass
class Face:
    """One run of the program."""

    serve: Serve
    """Runs the server over a home, for a host or for none, for one session or for all, over HTTP or on a pipe, with the
    core of the tools or with all; returns its exit status. Handed in, since the command line does not know it."""
    home: str | None = None
    as_json: bool = False
    arguments: tuple[str, ...] = ()
    """As they were typed."""

    def ask(self, use: Callable[[Palimpsest], Awaitable[Answer]], *, make: bool = True, waits: bool = True) -> Answer:
        """Open the store, let `use` work with it, close it.

        Args:
            make: False for dry runs and for what only reads: where no store is yet, none is made.
            waits: whether somebody waits for the end of it, and wants to see that it goes on.
        """
        import asyncio

        with patience(wanted=waits and not self.as_json):
            return asyncio.run(self._with_store(use, make))

    def command(self, name: str, **given: str) -> str:
        """A step as it is typed in a shell, on the same store."""
        return step(name, **given).command(self.home or "")

    def again(self, *more: str) -> str:
        """This very command with more behind it."""
        return command_line([*self.arguments, *more])

    def worded(self, text: str) -> str:
        """Advice with its steps as commands on the same store."""
        return in_form(text, "command", self.home or "")

    async def _with_store(self, use: Callable[[Palimpsest], Awaitable[Answer]], make: bool) -> Answer:
        from ..core.palimpsest import Palimpsest

        async with Palimpsest.open(self.home, make=make) as facade:
            mask_by(facade.deps.redactor)
            return await use(facade)


PATIENCE_S = 0.5


@contextmanager
def patience(*, wanted: bool) -> Generator[None]:
    """Whoever looks at stderr sees after half a second that the command goes on, and for how long it has."""
    command = click.get_current_context(silent=True)
    if not wanted or command is None or not sys.stderr.isatty():
        yield
        return
    import threading

    over = threading.Event()
    beside = threading.Thread(target=_tell, args=(over, str(command.info_name)), daemon=True)
    beside.start()
    try:
        yield
    finally:
        over.set()
        beside.join()


def _tell(over: Event, name: str) -> None:
    if over.wait(PATIENCE_S):
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        shown.add_task(name, total=None)
        over.wait()


pass_face = click.make_pass_decorator(Face)


VERBOSE = click.option("-v", "--verbose", is_flag=True, help="All of the report, not only what fits a screen.")
PAGER = click.option("--no-pager", is_flag=True, help="Do not page what is longer than the terminal.")


def shared_options(command: Command) -> Command:
    """`--home`, `--store` and `--json`: the same before and after the command's name."""
    home = click.option(
        "--home",
        metavar="FOLDER",
        expose_value=False,
        callback=_set_home,
        help="Root of the store. Default: $PALIMPSEST_HOME, else the platform's data folder.",
    )
    database = click.option(
        "--store",
        metavar="URL",
        expose_value=False,
        callback=_set_store,
        help="A database as the store: postgresql://USER@HOST/DATABASE. Default: $PALIMPSEST_STORE, else the folder.",
    )
    as_json = click.option(
        "--json", is_flag=True, expose_value=False, callback=_set_json, help="Answer, and errors, as JSON for programs."
    )
    return home(database(as_json(command)))


def _set_home(context: click.Context, _option: click.Parameter, value: str | None) -> None:
    if value == "":
        raise InvalidArgument("--home is empty.", next="Name a folder, or leave --home out.")
    if value is not None:
        context.ensure_object(Face).home = value


def _set_store(_context: click.Context, _option: click.Parameter, value: str | None) -> None:
    if value == "":
        raise InvalidArgument("--store is empty.", next="Name a database's URL, or leave --store out.")
    if value is not None:
        os.environ["PALIMPSEST_STORE"] = value  # for processes that we start, too


def _set_json(context: click.Context, _option: click.Parameter, value: bool) -> None:
    if value:
        context.ensure_object(Face).as_json = True


# What the Tab key offers: sessions, their batches, their items. It only reads the store, and never complains.

MOST = 200
"""Names offered at once."""

Offer = tuple[str, str]
"""A name, and what a shell that shows more says of it."""


def complete(program: click.Command, face: Face, instruction: str) -> int:
    """Answer a shell that asks what fits.

    Returns:
        0, or 1 for an instruction that is none of click's.
    """
    return shell_complete(program, {"obj": face}, "palimpsest-mcp", COMPLETE, instruction)


class _Name(click.ParamType[str], ABC):
    """A name that the store has; checked by the command itself, which says what is near."""

    name = "text"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return value

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str | None:
        return param.name.upper() if isinstance(param, click.Argument) and param.name else "NAME"

    @abstractmethod
    def offers(self, ctx: click.Context) -> list[Offer]:
        """What there is."""

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        try:
            found = self.offers(ctx)
        except Exception:  # whatever is wrong with the store: a shell shows it in the middle of what is being typed
            return []
        fitting = [(name, help) for name, help in dict.fromkeys(found) if name.startswith(incomplete)][:MOST]
        # A name that holds a secret is not offered: its handle is, or it is typed as it is shown.
        return [CompletionItem(name, help=masked(help)) for name, help in fitting if masked(name) == name]


class SessionName(_Name):
    """A session's id or handle.

    Args:
        files: offer files as well.
    """

    def __init__(self, *, files: bool = False) -> None:
        self._files = files

    def offers(self, ctx: click.Context) -> list[Offer]:
        infos = _ask(ctx, lambda facade: facade.sessions())[::-1]
        handles = [(one.handle, one.session_id) for one in infos]
        return [*handles, *((one.session_id, f"handle {one.handle}") for one in infos)]

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        found = super().shell_complete(ctx, param, incomplete)
        return found or ([CompletionItem(incomplete, type="file")] if self._files else [])


class BatchName(_Name):
    """A batch of the session that stands before it."""

    def offers(self, ctx: click.Context) -> list[Offer]:
        from ..models.text import counted

        found = _ask(ctx, lambda facade: facade.list_offloaded(_deps(ctx, "session")))
        return [
            (one.batch_id, f"{counted(len(one.item_ids), 'item')}, {counted(one.original_tokens, 'token')}")
            for one in found
        ]


class ItemName(_Name):
    """An item of the batch that stands before it, or of the session's context."""

    def offers(self, ctx: click.Context) -> list[Offer]:
        session, batch = _deps(ctx, "session"), _deps(ctx, "batch")
        if batch:
            found = _ask(ctx, lambda facade: facade.list_offloaded(session))
            return [(item, "") for one in found if one.batch_id == batch for item in one.item_ids]

        async def items(facade: Palimpsest) -> Sequence[ItemView]:
            return (await facade.show_context(session)).items

        return [(item.item_id, item.preview) for item in _ask(ctx, items)]


def _deps(ctx: click.Context, name: str) -> str:
    """What stands before for an argument; behind an option without a value click has left it unread in `args`."""
    names = [one.name for one in ctx.command.params if isinstance(one, click.Argument)]
    unread = dict(zip(names, ctx.args, strict=False))
    return str(ctx.params.get(name) or unread.get(name) or "")


def _ask(ctx: click.Context, use: Callable[[Palimpsest], Awaitable[Sequence[Any]]]) -> Sequence[Any]:
    from ..settings.places import home_folder

    face = ctx.ensure_object(Face)
    return face.ask(use, waits=False) if home_folder(face.home).is_dir() else ()
