"""Serves one client on stdin and stdout."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed
from typing import TYPE_CHECKING

import anyio

from .build import build_server

if TYPE_CHECKING:
    from ..app import Palimpsest

HAND_OVER_S = 0.001
"""After which a thread that works out a digest lets the others go on: an answer takes several such turns."""


INTERRUPTED = 130
"""Exit status after an interrupt, as of every command (docs/errors.md)."""
GRACE_S = 2.0
"""So long work in a thread may take to end after an interrupt. Stopping it then loses nothing that was acknowledged:
the store stands kills at any point."""


def serve_stdio(home: str | None, host: str = "", only_session: str = "") -> int:
    """Serve until stdin ends. Nothing but the protocol goes to stdout; logs go to stderr.

    Returns:
        The exit status: 0 when stdin ended, 130 after an interrupt.

    Args:
        home: root of the store; None: from the environment, else the platform's data folder.
        host: the host whose hooks call this server; empty for none.
        only_session: the one session that it answers for; empty: every one.
    """

    def open_facade() -> AbstractAsyncContextManager[Palimpsest]:
        from ..app import Palimpsest

        return Palimpsest.open(home, attached=host, only_session=only_session)

    sys.setswitchinterval(HAND_OVER_S)
    return run_interruptible(build_server(open_facade, version=_version(), hooks=bool(host)).run_stdio_async)


def run_interruptible(work: Callable[[], Awaitable[None]]) -> int:
    """Run something that ends at an interrupt, whatever its threads are at. Returns the exit status."""
    try:
        anyio.run(_stoppable, work)
    except KeyboardInterrupt:
        return INTERRUPTED
    return 0


async def _stoppable(work: Callable[[], Awaitable[None]]) -> None:
    """The interrupt cancels this task, which waits for nothing else; so it hears of it before any thread is joined."""
    done = anyio.Event()

    async def run() -> None:
        await work()
        done.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        try:
            await done.wait()
        except anyio.get_cancelled_exc_class():
            if not tasks.cancel_scope.cancel_called:
                last = threading.Timer(GRACE_S, os._exit, (INTERRUPTED,))
                last.daemon = True
                last.start()
            raise


def _version() -> str:
    try:
        return installed("palimpsest-mcp")
    except PackageNotFoundError:  # run from a checkout that was never installed
        return ""
