"""The process's one facade: opened by the first tool call, closed with the server, always in the same task.

What a client is told beside the answers, where it asked for a log: passes, and what failed. Masked.
"""

from __future__ import annotations

import gc
import importlib
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import anyio
from anyio.abc import TaskGroup, TaskStatus
from mcp.server import MCPServer
from mcp.server.context import ServerRequestContext
from mcp.server.mcpserver import Context
from mcp.types import (
    EmptyResult,
    LoggingLevel,
    LoggingMessageNotification,
    LoggingMessageNotificationParams,
    SetLevelRequestParams,
)

from ..core.surface import Surface, storeless
from ..errors import PalimpsestError

if TYPE_CHECKING:
    from ..core.palimpsest import Palimpsest


Viewed = TypeVar("Viewed")
OpenFacade: TypeAlias = "Callable[[], AbstractAsyncContextManager[Palimpsest]]"


caller: ContextVar[str] = ContextVar("caller", default="")
"""The principal whose call this is; empty for the store's owner, who alone calls over stdio."""


MOMENT_S = 0.2
"""After which a status line may show what an answer changed."""
QUIET_S = 1.0
"""Without a request, after which nobody waits for an answer: hooks come a few milliseconds apart."""


class OpenOnFirstUse:
    """Opens a caller's facade when a tool first needs it, so that the server answers its host at once.

    A failure to open is the caller's to see, and the next call tries again.
    """

    def __init__(self, open_facade: OpenFacade, tasks: TaskGroup) -> None:
        self._open = open_facade
        self._tasks = tasks
        self._one_at_a_time = anyio.Lock()
        self._closing = anyio.Event()
        self._answered = anyio.Event()
        self._facades: dict[str, Palimpsest] = {}
        self._surface: Surface | None = None
        self._due: dict[tuple[str, str], Callable[[], Awaitable[object]]] = {}
        """By caller and name, what is done later."""
        self._at_end: set[tuple[str, str]] = set()
        """Of it, what is done even when the server ends."""
        self._doing = anyio.Lock()
        self._asked_at = 0.0

    async def facade(self) -> Palimpsest:
        """The caller's open facade; every call of one principal gives the same one."""
        self._asked_at = anyio.current_time()
        whose = caller.get()
        if (facade := self._facades.get(whose)) is not None:
            return facade
        async with self._one_at_a_time:
            facade = self._facades.get(whose)
            if facade is None:
                facade = self._facades[whose] = await self._tasks.start(self._hold)
            return facade

    def surface(self) -> Surface:
        """What masks answers: by the store's key once it is open, before by none that lasts."""
        if self._surface is None:
            if not self._facades:
                return storeless()
            self._surface = next(iter(self._facades.values())).deps.surface
        return self._surface

    def note_answer(self) -> None:
        """A message was answered: what would have delayed it may start now."""
        self._answered.set()

    async def after_first_answer(self, work: Callable[[], None], *, open_too: bool = False) -> None:
        """Do slow work in a thread once the host has its first answer.

        Args:
            open_too: then open the facade: hooks wait for the first call.
        """
        await self._answered.wait()
        if not self._closing.is_set():
            await anyio.to_thread.run_sync(work)
        if open_too and not self._closing.is_set():
            with suppress(PalimpsestError):  # the call that needs it is told
                await self.facade()

    @property
    def is_quiet(self) -> bool:
        """Whether nobody has asked for a facade for `QUIET_S`."""
        return anyio.current_time() - self._asked_at >= QUIET_S

    def later(self, name: str, work: Callable[[], Awaitable[object]], *, at_end: bool = True) -> None:
        """Do it a moment after the answer, once for all who ask for it until then; at the latest when the server ends.

        Args:
            name: of the caller's own; equal names are the same work.
            at_end: False where it is of no use when the server ends.
        """
        mine = caller.get(), name
        if mine not in self._due:
            self._due[mine] = work
            self._at_end |= {mine} if at_end else set()
            self._tasks.start_soon(self._after_a_moment, mine)

    async def _after_a_moment(self, name: tuple[str, str]) -> None:
        with anyio.move_on_after(MOMENT_S):
            await self._closing.wait()
            return  # who holds the facade does it, before it is closed
        await self._do(name)

    async def _do(self, name: tuple[str, str]) -> None:
        async with self._doing:
            self._at_end.discard(name)
            if (work := self._due.pop(name, None)) is not None:
                with suppress(PalimpsestError):  # it can be done without
                    await work()

    def close(self) -> None:
        """Let the facade go; the task that opened it closes it."""
        self._closing.set()
        self._answered.set()

    async def _hold(self, *, task_status: TaskStatus[Palimpsest]) -> None:
        async with self._open() as facade:
            task_status.started(facade)
            await self._closing.wait()
            for name in [one for one in self._at_end if one[0] == caller.get()]:
                await self._do(name)
            async with self._doing:  # what is being done needs it
                pass


Call: TypeAlias = Context[OpenOnFirstUse]
"""What a tool, a resource or a prompt is given of the request that asks for it."""


def opening_of(ctx: Call) -> OpenOnFirstUse:
    """What opens the store for the calls of this server."""
    return ctx.request_context.lifespan_context


async def facade_of(ctx: Call) -> Palimpsest:
    """The caller's open facade."""
    return await opening_of(ctx).facade()


def masked_view(ctx: Call, view: Viewed) -> Viewed:
    """A view of the library with its secrets masked."""
    return opening_of(ctx).surface().view(view)


# Counts o200k tokens of answers; loads the vocabulary at its first use, or before that in the background.


def count_o200k(text: str) -> int:
    """Tokens of one text."""
    from ..text.tokens.count import open_counter

    return open_counter(_UNSCALED_MODEL).count(text)


def warm_up() -> None:
    """Load the vocabulary and the modules of the facade, so that no call waits for them. For a thread of its own."""
    from ..text.tokens.count import load_vocabulary

    load_vocabulary()
    for name in (
        "core.palimpsest",
        "core.messages",
        "core.compaction.report",
        "core.claude_code.events",
        "digest.prose",
    ):
        importlib.import_module(f"..{name}", __package__)
    # What is loaded by now stays for good: the collector need not look at it again, nor calls wait while it does.
    gc.freeze()


_UNSCALED_MODEL = "gpt-5"
"""o200k is this family's own tokenizer: its factor is 1."""


LEVELS: tuple[LoggingLevel, ...] = (
    "debug",
    "info",
    "notice",
    "warning",
    "error",
    "critical",
    "alert",
    "emergency",
)
_STATE = "palimpsest.log_level"
_ASKED = "io.modelcontextprotocol/logLevel"
"""In a request of the 2026-07-28 protocol: the least level that this request wants to hear of."""


def add_log(server: MCPServer[Any]) -> None:
    """Take the level that an older client sets for its connection."""
    low = server._lowlevel_server  # pyright: ignore[reportPrivateUsage]  # its own way is deprecated and warns
    low.add_request_handler("logging/setLevel", SetLevelRequestParams, _set_level)


async def _set_level(ctx: ServerRequestContext[Any, Any], params: SetLevelRequestParams) -> EmptyResult:
    ctx.session._connection.state[_STATE] = params.level  # pyright: ignore[reportPrivateUsage]  # kept nowhere else
    return EmptyResult()


async def tell(ctx: Context[Any, Any], level: LoggingLevel, data: dict[str, Any]) -> None:
    """Send a line of log, where the client asked for its level; otherwise nothing."""
    asked = (ctx.request_context.meta or {}).get(_ASKED) or ctx.session._connection.state.get(_STATE)  # pyright: ignore[reportPrivateUsage]
    if asked not in LEVELS or LEVELS.index(level) < LEVELS.index(asked):
        return
    params = LoggingMessageNotificationParams(level=level, logger="palimpsest", data=data)
    await ctx.session.send_notification(
        LoggingMessageNotification(params=params), related_request_id=ctx.request_context.request_id
    )
