"""An MCPServer whose tool list is short, whose failures all have one form, and that every message reaches."""

from __future__ import annotations

import logging
from typing import Any, TypeVar, cast

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp.types import CallToolResult, InputRequiredResult, Tool
from pydantic import ValidationError

from ..errors import PalimpsestError
from .failures import failure, known_failure, unexpected_failure, unknown_arguments, wrong_arguments
from .wire import SendableMessages, whole_messages

State = TypeVar("State")

_log = logging.getLogger(__name__)
_SCHEMA_MAPS = ("properties", "$defs")
_IDLE: tuple[tuple[str, Any], ...] = (
    ("default", None),
    ("default", ""),
    ("default", False),
    ("default", []),
    ("additionalProperties", True),
)
"""What says nothing: an argument that may be left out, an object that takes any field."""


class SlimServer(MCPServer[State]):
    """Lists tools without generated titles, null unions and empty defaults; answers every failure as one ToolError."""

    _listed: list[Tool] | None = None

    async def list_tools(self) -> list[Tool]:
        if self._listed is None:
            self._listed = [_slim_tool(tool) for tool in await super().list_tools()]
        return self._listed

    async def run_stdio_async(self) -> None:
        """As the SDK's own, but for messages that its parser or writer refuses although JSON allows them."""
        low = self._lowlevel_server
        async with stdio_server() as (received, sent), whole_messages(received) as messages:
            await low.run(messages, SendableMessages(sent), low.create_initialization_options())

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[State, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        tools = {tool.name: tool for tool in await self.list_tools()}
        if name not in tools:
            raise failure("invalid_argument", "There is no tool of this name.", f"Use one of {', '.join(tools)}.")
        known = list(tools[name].input_schema["properties"])
        if unknown := sorted(set(arguments) - set(known)):
            raise unknown_arguments(name, [_short(key) for key in unknown], known)
        try:
            return await super().call_tool(name, arguments, context)
        except MCPError:
            raise
        except UnexpectedToolError as error:
            raise _from_cause(name, error) from error
        except ToolError as error:
            cause = error.__cause__
            if isinstance(cause, ValidationError):
                raise wrong_arguments(name, cause) from None
            raise (cause if isinstance(cause, ToolError) else error) from None


def _from_cause(tool: str, error: UnexpectedToolError) -> ToolError:
    cause = error.__cause__ or error
    if isinstance(cause, PalimpsestError):
        return known_failure(cause)
    _log.error("%s: unexpected %s", tool, type(cause).__name__)
    _log.debug("%s: traceback", tool, exc_info=cause)
    return unexpected_failure(tool, cause)


def _short(key: str) -> str:
    return repr(key if len(key) <= 40 else key[:40] + "…")


def _slim_tool(tool: Tool) -> Tool:
    slim: dict[str, Any] = {"input_schema": _slim(tool.input_schema)}
    if tool.output_schema:
        slim["output_schema"] = _slim(tool.output_schema)
    return tool.model_copy(update=slim)


def _slim(node: Any, *, names: bool = False) -> Any:
    """The schema without what a model pays for and does not need. `names`: the keys are a user's, not the schema's."""
    if isinstance(node, list):
        return [_slim(part) for part in cast("list[Any]", node)]
    if not isinstance(node, dict):
        return node
    fields = cast("dict[str, Any]", node)
    if names:
        return {name: _slim(schema) for name, schema in fields.items()}
    kept = {
        key: _slim(value, names=key in _SCHEMA_MAPS)
        for key, value in fields.items()
        if not (key == "title" and isinstance(value, str)) and (key, value) not in _IDLE
    }
    return _without_null(kept)


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    choices = [choice for choice in schema.get("anyOf", []) if choice != {"type": "null"}]
    if len(choices) != 1:
        return schema
    return {**choices[0], **{key: value for key, value in schema.items() if key != "anyOf"}}
