"""One hop to a thread and back, for a whole operation of many steps."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


async def hop(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run `work` in a thread, to its end.

    A cancelled caller stops waiting, the work does not stop in the middle: what it wrote is whole, only unacknowledged.
    """
    running = asyncio.ensure_future(asyncio.to_thread(work, *args, **kwargs))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        running.add_done_callback(_take_outcome)
        raise


def _take_outcome(done: asyncio.Future[Any]) -> None:
    """Nobody waits any more: look at the outcome, so that it is not reported as forgotten."""
    if not done.cancelled():
        done.exception()
