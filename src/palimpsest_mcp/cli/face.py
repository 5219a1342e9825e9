"""What the command line prints goes through here: by the store's key once one was open, before by none that lasts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import click

from ..errors import InvalidArgument
from ..models.advice import command_line, in_form, step

if TYPE_CHECKING:
    from ..core.palimpsest import Palimpsest
    from ..core.surface import Surface
    from ..ports.text import Redactor

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
Serve: TypeAlias = Callable[[str | None, str, str], int]
Answer = TypeVar("Answer")
Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass
class Face:
    """One run of the program."""

    serve: Serve
    """Runs the server over a home, for a host or for none, for one session or for all; returns its exit status. Handed
    in, since the command line does not know it."""
    home: str | None = None
    as_json: bool = False
    arguments: tuple[str, ...] = ()
    """As they were typed."""

    def ask(self, use: Callable[[Palimpsest], Awaitable[Answer]], *, make: bool = True) -> Answer:
        """Open the store, let `use` work with it, close it.

        Args:
            make: False for dry runs and for what only reads: where no store is yet, none is made.
        """
        import asyncio

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


pass_face = click.make_pass_decorator(Face)


PAGER = click.option("--no-pager", is_flag=True, help="Do not page what is longer than the terminal.")


def shared_options(command: Command) -> Command:
    """`--home` and `--json`: the same before and after the command's name."""
    home = click.option(
        "--home",
        metavar="FOLDER",
        expose_value=False,
        callback=_set_home,
        help="Root of the store. Default: $PALIMPSEST_HOME, else the platform's data folder.",
    )
    as_json = click.option(
        "--json", is_flag=True, expose_value=False, callback=_set_json, help="Answer, and errors, as JSON for programs."
    )
    return home(as_json(command))


def _set_home(context: click.Context, _option: click.Parameter, value: str | None) -> None:
    if value == "":
        raise InvalidArgument("--home is empty.", next="Name a folder, or leave --home out.")
    if value is not None:
        context.ensure_object(Face).home = value


def _set_json(context: click.Context, _option: click.Parameter, value: bool) -> None:
    if value:
        context.ensure_object(Face).as_json = True
