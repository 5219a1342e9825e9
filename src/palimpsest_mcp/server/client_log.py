"""What a client is told beside the answers, where it asked for a log: passes, and what failed. Masked."""

from __future__ import annotations

from typing import Any

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
