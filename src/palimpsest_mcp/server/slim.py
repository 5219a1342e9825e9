"""An MCPServer whose tool list is short, whose failures all have one form, and that every message reaches."""

from __future__ import annotations

import json
import logging
import traceback
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp.shared.exceptions import MCPError
from mcp.types import INVALID_PARAMS, CallToolResult, GetPromptResult, InputRequiredResult, TextContent, Tool
from pydantic import ValidationError

from ..core.surface import Surface, storeless
from ..errors import PalimpsestError, SessionUnknown
from ..models.advice import in_form, tool_call
from ..models.tools import TOOLS
from .answers import as_text
from .transport import stdio_transport

# Failures as a model may read them: `{code, message, next}` in a ToolError, and never a stored word.


LONGEST_CALL = 400
"""Characters of a call that an error repeats."""


def failure(code: str, message: str, next: str) -> ToolError:
    """The one form of every failure."""
    return ToolError(json.dumps({"code": code, "message": message, "next": next}, ensure_ascii=False))


def known_failure(error: PalimpsestError, tool: str = "", arguments: Mapping[str, Any] | None = None) -> ToolError:
    """One of ours; its next step is a call that the agent can make, or what to ask its user for."""
    next = in_form(error.next, "tool")
    if isinstance(error, SessionUnknown) and error.near and tool:
        next = f"If so: {_again(tool, {**(arguments or {}), 'session_id': error.near[0]})}"
    elif error.for_user:
        next = f"Ask the user: {next}"
    return failure(error.code, error.message, next)


def _again(tool: str, arguments: Mapping[str, Any]) -> str:
    """The same call; where its arguments are long, only that which changed."""
    call = tool_call(tool, arguments)
    if len(call) <= LONGEST_CALL:
        return call
    return f'{tool} again with "session_id": "{arguments["session_id"]}" and the other arguments as they were'


def wrong_arguments(tool: str, error: ValidationError) -> ToolError:
    """Names the arguments, what they should be, and the number that came; a text may hold anything."""
    faults = (
        f"{'.'.join(str(step) for step in fault['loc']) or 'arguments'}: {fault['msg']}{_came(fault)}"
        for fault in error.errors(include_url=False, include_context=False)
    )
    return failure("invalid_argument", "; ".join(faults) + ".", f"A correct call: {tool} {TOOLS[tool].example}")


def _came(fault: Any) -> str:
    value = fault["input"]
    return f", not {json.dumps(value)}" if len(fault["loc"]) == 1 and isinstance(value, (int, float)) else ""


def unknown_arguments(tool: str, unknown: list[str], known: list[str]) -> ToolError:
    """An argument that would be ignored could be the one that mattered (`dryrun`)."""
    return failure(
        "invalid_argument",
        f"{tool} has no argument {', '.join(unknown)}.",
        f"Use only {', '.join(known)}. A correct call: {tool} {TOOLS[tool].example}",
    )


def unexpected_failure(tool: str, error: BaseException) -> ToolError:
    """What nobody foresaw: its kind only, since its text may quote what is stored."""
    return failure(
        "internal_error",
        f"{tool} failed in a way it should not ({type(error).__name__}); nothing that was acknowledged is lost.",
        "Try once more. If it stays, start the server with PALIMPSEST_LOG_LEVEL=debug and report what its stderr says.",
    )


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
    surface_of: Callable[[State], Surface] | None = None
    """What masks an answer, from what the lifespan gave; None: nothing of a store can be in one."""

    async def list_tools(self) -> list[Tool]:
        if self._listed is None:
            self._listed = [_slim_tool(tool) for tool in await super().list_tools()]
        return self._listed

    async def run_stdio_async(self) -> None:
        """As the SDK's own, but every line is answered, and an interrupt ends it at once."""
        low = self._lowlevel_server
        async with stdio_transport() as (received, sent):
            await low.run(received, sent, low.create_initialization_options())

    def _surface(self, context: Context[State, Any] | None) -> Surface:
        if context is None or self.surface_of is None:
            return storeless()
        return self.surface_of(context.request_context.lifespan_context)

    async def get_prompt(
        self, name: str, arguments: dict[str, Any] | None = None, context: Context[State, Any] | None = None
    ) -> GetPromptResult | InputRequiredResult:
        try:
            result = await self._get_prompt(name, arguments, context)
        except MCPError as error:
            raise masked_refusal(error, self._surface(context)) from None
        return masked_prompt(result, self._surface(context)) if isinstance(result, GetPromptResult) else result

    async def _get_prompt(
        self, name: str, arguments: dict[str, Any] | None, context: Context[State, Any] | None
    ) -> GetPromptResult | InputRequiredResult:
        surface = self._surface(context)
        prompts = {prompt.name: prompt for prompt in await self.list_prompts()}
        if name not in prompts:
            raise _invalid(f"There is no prompt of this name. Use one of {', '.join(prompts)}.")
        known = [one.name for one in prompts[name].arguments or ()]
        if unknown := sorted(set(arguments or ()) - set(known)):
            named = ", ".join(_short(surface.text(key)) for key in unknown)
            raise _invalid(f"The prompt {name} has no argument {named}. Use only {', '.join(known)}.")
        return await super().get_prompt(name, arguments, context)

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[State, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        try:
            result = await self._call_tool(name, arguments, context)
        except ToolError as error:
            raise masked_error(error, self._surface(context)) from None
        if TOOLS[name].exact or not isinstance(result, CallToolResult):
            return result
        return masked_result(result, self._surface(context))

    async def _call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[State, Any] | None
    ) -> CallToolResult | InputRequiredResult:
        surface = self._surface(context)
        tools = {tool.name: tool for tool in await self.list_tools()}
        if name not in tools:
            raise failure(
                "invalid_argument", f"There is no tool {_short(surface.text(name))}.", f"Use one of {', '.join(tools)}."
            )
        known = list(tools[name].input_schema["properties"])
        if unknown := sorted(set(arguments) - set(known)):
            raise unknown_arguments(name, [_short(surface.text(key)) for key in unknown], known)
        try:
            return await super().call_tool(name, arguments, context)
        except MCPError:
            raise
        except UnexpectedToolError as error:
            raise _from_cause(name, arguments, error, surface) from error
        except ToolError as error:
            cause = error.__cause__
            if isinstance(cause, ValidationError):
                raise wrong_arguments(name, cause) from None
            raise (cause if isinstance(cause, ToolError) else error) from None


def _from_cause(tool: str, arguments: dict[str, Any], error: UnexpectedToolError, surface: Surface) -> ToolError:
    cause = error.__cause__ or error
    if isinstance(cause, PalimpsestError):
        return known_failure(cause, tool, arguments)
    _log.error("%s: unexpected %s", tool, type(cause).__name__)
    if _log.isEnabledFor(logging.DEBUG):
        _log.debug("%s: %s", tool, surface.text("".join(traceback.format_exception(cause))))
    return unexpected_failure(tool, cause)


def _invalid(message: str) -> MCPError:
    return MCPError(INVALID_PARAMS, message)


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


# Every answer and error of a tool goes out through here; only originals that were asked for stay as they are.


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
