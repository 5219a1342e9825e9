"""What every command has: the options that all share, and a way to the store."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import click

if TYPE_CHECKING:
    from ..app import Palimpsest

Serve: TypeAlias = Callable[[str | None, str], None]
Answer = TypeVar("Answer")
Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass
class Face:
    """One run of the program."""

    serve: Serve
    """Runs the server over a home, for a host or for none: handed in, since the command line does not know it."""
    home: str | None = None
    as_json: bool = False

    def ask(self, use: Callable[[Palimpsest], Awaitable[Answer]]) -> Answer:
        """Open the store, let `use` work with it, close it."""
        import asyncio

        return asyncio.run(self._with_store(use))

    async def _with_store(self, use: Callable[[Palimpsest], Awaitable[Answer]]) -> Answer:
        from ..app import Palimpsest

        async with Palimpsest.open(self.home) as facade:
            return await use(facade)


pass_face = click.make_pass_decorator(Face)


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
    if value is not None:
        context.ensure_object(Face).home = value


def _set_json(context: click.Context, _option: click.Parameter, value: bool) -> None:
    if value:
        context.ensure_object(Face).as_json = True
