"""The one tool that only a host's hooks and our module in it call."""

from __future__ import annotations

from typing import Any

from .context_tools import Call

_SILENCE = "{}"
"""Of an empty text the client makes "… hook success: completed", and tells the model."""
_TAKES_TEXT = ("PreCompact", "PostCompact")
"""What the one answers is pasted into the prompt as it is, what the other answers is shown to the user."""


async def host_event(ctx: Call, event: str, payload: dict[str, Any] | str) -> str:
    """For hooks only."""
    facade = await ctx.request_context.lifespan_context.facade()
    answer = await facade.host_event(event, payload)
    return answer or ("" if event in _TAKES_TEXT else _SILENCE)
