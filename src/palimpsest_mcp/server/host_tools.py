"""The one tool that only a host's hooks and our module in it call."""

from __future__ import annotations

from typing import Any

from .context_tools import Call


async def host_event(ctx: Call, event: str, payload: dict[str, Any] | str) -> str:
    """For hooks only."""
    facade = await ctx.request_context.lifespan_context.facade()
    return await facade.host_event(event, payload)
