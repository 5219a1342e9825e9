"""Every answer and error of a tool goes out through here; only originals that were asked for stay as they are."""

from __future__ import annotations

import json
from typing import Any

from mcp.server.mcpserver.exceptions import ToolError
from mcp.shared.exceptions import MCPError
from mcp.types import CallToolResult, GetPromptResult, TextContent

from ..core.surface import Surface
from .answers import as_text


def masked_result(result: CallToolResult, surface: Surface) -> CallToolResult:
    """The result with secrets masked in both channels, which stay equal."""
    data = result.structured_content
    if data is None:
        return result.model_copy(update={"content": [_masked_block(one, "", "", surface) for one in result.content]})
    masked = surface.value(data)
    before, after = as_text(data), as_text(masked)
    blocks = [_masked_block(one, before, after, surface) for one in result.content]
    return result.model_copy(update={"content": blocks, "structured_content": masked})


def _masked_block(block: Any, before: str, after: str, surface: Surface) -> Any:
    """Args: before, after: how a text begins that gives the fields, and what it then begins with."""
    if not isinstance(block, TextContent):
        return block
    fields = bool(before) and block.text.startswith(before)
    rest = surface.text(block.text.removeprefix(before) if fields else block.text)
    return block.model_copy(update={"text": after + rest if fields else rest})


def masked_error(error: ToolError, surface: Surface) -> ToolError:
    """The same failure, in the one form that failures have."""
    try:
        said = json.loads(str(error))
    except ValueError:
        return ToolError(surface.text(str(error)))
    return ToolError(json.dumps(surface.value(said), ensure_ascii=False))


def masked_prompt(result: GetPromptResult, surface: Surface) -> GetPromptResult:
    """A prompt repeats what it was given, and what a handoff holds."""
    messages = [
        one.model_copy(update={"content": _masked_block(one.content, "", "", surface)}) for one in result.messages
    ]
    return result.model_copy(update={"messages": messages})


def masked_refusal(error: MCPError, surface: Surface) -> MCPError:
    """An error of the protocol, which names what was sent."""
    return MCPError(error.error.code, surface.text(error.error.message))
