"""What the Tab key offers: sessions, their batches, their items. It only reads the store, and never complains."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from .face import COMPLETE, Face, masked

if TYPE_CHECKING:
    from ..core.palimpsest import Palimpsest
    from ..models.reports import ItemView

MOST = 200
"""Names offered at once."""

Offer = tuple[str, str]
"""A name, and what a shell that shows more says of it."""


def complete(program: click.Command, face: Face, instruction: str) -> int:
    """Answer a shell that asks what fits.

    Returns:
        0, or 1 for an instruction that is none of click's.
    """
    from click.shell_completion import shell_complete

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
    return face.ask(use) if home_folder(face.home).is_dir() else ()
