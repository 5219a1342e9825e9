"""An MCPServer whose tool list is short, whose failures all have one form, and that every message reaches."""

from __future__ import annotations

import json
import logging
import re
import traceback
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias, TypeGuard, TypeVar, cast

from mcp.server import MCPServer
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import NotificationOptions
from mcp.server.lowlevel.helper_types import ReadResourceContents
from mcp.server.lowlevel.server import Server
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError, ToolError, UnexpectedToolError
from mcp.shared.exceptions import MCPError
from mcp.types import (
    INVALID_PARAMS,
    CallToolResult,
    GetPromptResult,
    InputRequiredResult,
    ListResourcesResult,
    PaginatedRequestParams,
    Resource,
    TextContent,
    Tool,
)
from pydantic import ValidationError

from ..core.dependencies import noted
from ..core.surface import Surface, storeless
from ..errors import PalimpsestError, SessionUnknown, UnknownName
from ..models.advice import in_form, tool_call
from ..models.tools import TOOLS, ToolSpec
from .answers import as_text
from .lifespan import tell
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


def wrong_arguments(tool: str, error: ValidationError, arguments: Mapping[str, Any]) -> ToolError:
    """Names the arguments, what they should be, and the number that came; a text may hold anything.

    A correct call is shown of the caller's own session, and where only the batch is missing, how one learns which there
    are.
    """
    faults = error.errors(include_url=False, include_context=False)
    said = (
        f"{'.'.join(str(step) for step in fault['loc']) or 'arguments'}: {fault['msg']}{_came(fault)}"
        for fault in faults
    )
    wrong = {fault["loc"][0] for fault in faults if fault["loc"]}
    session = arguments.get("session_id")
    named = isinstance(session, str) and 0 < len(session) <= LONGEST_CALL and "session_id" not in wrong
    own = {"session_id": session} if named else {}
    if wrong == {"batch_id"} and own:
        next = f"Which batches it has: {tool_call('list_offloaded', own)}"
    else:
        shown = json.loads(TOOLS[tool].example)
        next = f"A correct call: {tool_call(tool, shown | own if 'session_id' in shown else shown)}"
    return failure("invalid_argument", "; ".join(said) + ".", next)


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
AfterCall: TypeAlias = Callable[[Context[State, Any], ToolSpec, Mapping[str, Any], CallToolResult], Awaitable[None]]

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
    _arguments: dict[str, list[str]] = {}
    """What each listed tool takes, by its name: with what `core` does not list."""
    lists: Mapping[str, tuple[Resource, Callable[[Any], Awaitable[str]]]] = {}
    """Resources without a name in their address, which the SDK reads without a context: each with what reads it."""
    more_resources: Callable[[ServerRequestContext[State, Any]], Awaitable[list[Resource]]] | None = None
    """What is listed beside the resources that are always there."""
    after_call: AfterCall[State] | None = None
    """What is done after every call of a tool that went well."""
    core: bool = False
    """Whether only the arguments of `ToolSpec.core` are listed."""
    safe_types: frozenset[str] = frozenset()
    """Types of resources whose texts are masked where they are made, or hold nothing of a store."""
    surface_of: Callable[[State], Surface] | None = None
    """What masks an answer, from what the lifespan gave; None: nothing of a store can be in one."""

    async def list_tools(self) -> list[Tool]:
        if self._listed is None:
            tools = [_slim_tool(tool) for tool in await super().list_tools()]
            self._arguments = {tool.name: list(tool.input_schema["properties"]) for tool in tools}
            self._listed = [_core_tool(tool) for tool in tools] if self.core else tools
        return self._listed

    @property
    def low_level(self) -> Server[Any]:
        """What a transport of the SDK takes."""
        return self._lowlevel_server

    async def run_stdio_async(self) -> None:
        """As the SDK's own, but every line is answered, and an interrupt ends it at once."""
        low = self.low_level
        async with stdio_transport() as (received, sent):
            says = NotificationOptions(resources_changed=True)
            await low.run(received, sent, low.create_initialization_options(says))

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
            with noted("tool", tool=name if name in TOOLS else "unknown"):
                result = await self._call_tool(name, arguments, context)
        except ToolError as error:
            failed = masked_error(error, self._surface(context))
            if context is not None:
                await tell(context, "warning", {"tool": name if name in TOOLS else "", "failed": str(failed)})
            raise failed from None
        if context is not None and self.after_call is not None and name in TOOLS and _went_well(result):
            await self.after_call(context, TOOLS[name], arguments, result)
        if (name in TOOLS and TOOLS[name].exact) or not isinstance(result, CallToolResult):
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
        known = self._arguments[name]
        if unknown := sorted(set(arguments) - set(known)):
            raise unknown_arguments(name, [_short(surface.text(key)) for key in unknown], known)
        try:
            return await super().call_tool(name, arguments, context)
        except MCPError:
            raise
        except UnexpectedToolError as error:
            raise self._takeable(_from_cause(name, arguments, error, surface)) from error
        except ToolError as error:
            cause = error.__cause__
            if isinstance(cause, ValidationError):
                raise wrong_arguments(name, cause, arguments) from None
            raise (cause if isinstance(cause, ToolError) else error) from None

    def _takeable(self, failed: ToolError) -> ToolError:
        """The same, where its next step names a tool that is not listed: one for whoever started the server."""
        said = json.loads(str(failed))
        unlisted = [name for name in TOOLS if name not in self._arguments and re.search(rf"\b{name}\b", said["next"])]
        if not unlisted:
            return failed
        return failure(
            said["code"],
            said["message"],
            f"Ask the user to start the server with all tools, for {' and '.join(unlisted)}. Then: {said['next']}",
        )

    async def _handle_list_resources(
        self, ctx: ServerRequestContext[State, Any], params: PaginatedRequestParams | None
    ) -> ListResourcesResult:
        listed = await super()._handle_list_resources(ctx, params)
        more = await self.more_resources(ctx) if self.more_resources is not None else []
        return ListResourcesResult(resources=[*listed.resources, *(one for one, _ in self.lists.values()), *more])

    async def read_resource(
        self, uri: Any, context: Context[State, Any] | None = None
    ) -> Iterable[ReadResourceContents] | InputRequiredResult:
        surface = self._surface(context)
        try:
            if context is not None and (known := self.lists.get(str(uri))) is not None:
                found = [ReadResourceContents(content=await known[1](context), mime_type=known[0].mime_type)]
            else:
                found = await super().read_resource(uri, context)
        except PalimpsestError as error:
            raise _unread(error, surface) from None
        except ResourceNotFoundError:
            raise ResourceNotFoundError(surface.text(f"There is no resource {_short(str(uri))}.")) from None
        except ResourceError as error:
            raise _unread(error, surface) from None
        if isinstance(found, InputRequiredResult):
            return found
        surface = self._surface(context)  # the store was perhaps opened by it
        return [
            replace(one, content=surface.text(one.content))
            if isinstance(one.content, str) and one.mime_type not in self.safe_types
            else one
            for one in found
        ]


def _went_well(result: CallToolResult | InputRequiredResult) -> TypeGuard[CallToolResult]:
    return isinstance(result, CallToolResult) and not result.is_error


def _unread(error: BaseException, surface: Surface) -> ResourceError:
    """What a client is told of a resource that could not be read: our own errors as they are, others by their kind."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, PalimpsestError):
        cause = cause.__cause__
    if cause is None:
        _log.error("resource: unexpected %s", type(error.__cause__ or error).__name__)
        return ResourceError(str(unexpected_failure("reading it", error.__cause__ or error)))
    said = str(masked_error(known_failure(cause), surface))
    return ResourceNotFoundError(said) if isinstance(cause, UnknownName) else ResourceError(said)


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


def _core_tool(tool: Tool) -> Tool:
    if tool.name not in TOOLS or TOOLS[tool.name].hooks_only:
        return tool
    properties: dict[str, Any] = {}
    for name, words in TOOLS[tool.name].core.items():
        schema = tool.input_schema["properties"][name]
        bare = {key: value for key, value in schema.items() if key != "description"}
        properties[name] = {"description": words, **bare} if words else bare
    return tool.model_copy(update={"input_schema": {**tool.input_schema, "properties": properties}})


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
    before = as_text(data)
    after = before if masked == data else as_text(masked)
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
