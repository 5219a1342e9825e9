"""The server over HTTP, with what the conformance suite asks for by name put on top; for `test_conformance.py`.

    python conformance_server.py HOME        one line on stderr says where it listens

Transport, sessions, middleware, logging, subscriptions and completion are the product's own; only the tools, resources
and prompts that the suite calls are from here.
"""

from __future__ import annotations

import base64
import json
import sys
from typing import Annotated, Any, cast

from mcp import MCPError
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.prompts.base import Prompt, UserMessage
from mcp.types import (
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    AudioContent,
    CreateMessageRequest,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    EmbeddedResource,
    ImageContent,
    InputRequiredResult,
    InputResponses,
    ListRootsRequest,
    ListRootsResult,
    SamplingMessage,
    TextContent,
    TextResourceContents,
)
from pydantic import BaseModel, Field

from palimpsest_mcp.models.tools import HttpOptions
from palimpsest_mcp.server import http

Call = Context[Any, Any]
Asked = str | InputRequiredResult
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
WHAT = "What the suite asks for."
WAV = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
"""Of `json_schema_2020_12_tool`: every keyword has to come through the list of tools."""


def say(words: str) -> TextContent:
    return TextContent(type="text", text=words)


def image() -> ImageContent:
    return ImageContent(type="image", data=PNG, mime_type="image/png")


def embedded(uri: str, mime: str = "text/plain", body: str = "Embedded resource content for testing.") -> Any:
    return EmbeddedResource(type="resource", resource=TextResourceContents(uri=uri, mime_type=mime, text=body))


def form(message: str, name: str, kind: str = "string") -> ElicitRequest:
    schema = {"type": "object", "properties": {name: {"type": kind}}, "required": [name]}
    return ElicitRequest(params=ElicitRequestFormParams(message=message, requested_schema=schema))


def sampling(prompt: str) -> CreateMessageRequest:
    messages = [SamplingMessage(role="user", content=say(prompt))]
    return CreateMessageRequest(params=CreateMessageRequestParams(messages=messages, max_tokens=100))


def answered(ctx: Call, name: str, field: str = "") -> str | None:
    """What the user filled in; None before it was asked."""
    answer = (ctx.input_responses or cast("InputResponses", {})).get(name)
    if answer is None:
        return None
    return str((answer.content or {}).get(field, "?")) if isinstance(answer, ElicitResult) else "?"


class Who(BaseModel):
    response: str = Field(description="User's response")


class Defaults(BaseModel):
    """One of each type, as SEP-1034 has them."""

    name: str = "John Doe"
    age: int = 30
    score: float = 95.5
    status: str = Field("active", json_schema_extra={"enum": ["active", "inactive", "pending"]})
    verified: bool = True


def _titled(*titles: str) -> Any:
    return [{"const": title.lower(), "title": title} for title in titles]


class Enums(BaseModel):
    """One of each form, as SEP-1330 has them."""

    untitledSingle: str = Field(json_schema_extra={"enum": ["option1", "option2", "option3"]})
    titledSingle: str = Field(json_schema_extra={"oneOf": _titled("First", "Second")})
    untitledMulti: list[str] = Field(json_schema_extra={"items": {"type": "string", "enum": ["a", "b", "c"]}})
    titledMulti: list[str] = Field(json_schema_extra={"items": {"anyOf": _titled("First", "Second")}})
    legacyEnum: str = Field(json_schema_extra={"enum": ["o1", "o2"], "enumNames": ["Option One", "Option Two"]})


# ---- tools that answer at once


async def test_simple_text() -> str:
    return "This is a simple text response for testing."


async def test_image_content() -> list[ImageContent]:
    return [image()]


async def test_audio_content() -> list[AudioContent]:
    return [AudioContent(type="audio", data=WAV, mime_type="audio/wav")]


async def test_embedded_resource() -> list[EmbeddedResource]:
    return [embedded("test://embedded-resource")]


async def test_multiple_content_types() -> list[TextContent | ImageContent | EmbeddedResource]:
    return [say("Multiple content types test:"), image(), embedded("test://mixed", "application/json", '{"a": 1}')]


async def test_error_handling() -> str:
    raise RuntimeError("This tool intentionally returns an error for testing")


async def test_tool_with_progress(ctx: Call) -> str:
    for done in (0, 50, 100):
        await ctx.report_progress(done, 100, f"Completed step {done} of 100")
    return "done"


async def test_tool_with_logging(ctx: Call) -> str:
    for words in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await ctx.info(words)  # pyright: ignore[reportDeprecated]
    return "done"


async def test_x_mcp_header(
    region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})] = "<none>",
) -> str:
    return f"region={region}"


async def json_schema_2020_12_tool() -> str:
    return "ok"


async def test_missing_capability(ctx: Call) -> str:
    if ctx.client_capabilities is None or ctx.client_capabilities.sampling is None:
        data: dict[str, Any] = {"requiredCapabilities": {"sampling": {}}}
        raise MCPError(code=MISSING_REQUIRED_CLIENT_CAPABILITY, message="needs sampling", data=data)
    return "ok"


# ---- tools that ask the client in the middle of a call, as 2025-11-25 does


async def test_sampling(prompt: str, ctx: Call) -> str:
    given = await ctx.session.create_message(  # pyright: ignore[reportDeprecated]
        messages=[SamplingMessage(role="user", content=say(prompt))],
        max_tokens=100,
        related_request_id=ctx.request_id,
    )
    return f"LLM response: {getattr(given.content, 'text', '')}"


async def test_elicitation(message: str, ctx: Call) -> str:
    given = await ctx.elicit(message=message, schema=Who)
    content = given.data.model_dump_json() if given.action == "accept" else "{}"
    return f"User response: action={given.action}, content={content}"


async def test_elicitation_sep1034_defaults(ctx: Call) -> str:
    return f"Elicitation completed: action={(await ctx.elicit(message='Who are you?', schema=Defaults)).action}"


async def test_elicitation_sep1330_enums(ctx: Call) -> str:
    return f"Elicitation completed: action={(await ctx.elicit(message='Please select', schema=Enums)).action}"


# ---- tools that answer with what they need, as 2026-07-28 does


async def test_input_required_result_elicitation(ctx: Call) -> Asked:
    if (name := answered(ctx, "user_name", "name")) is not None:
        return f"Hello, {name}!"
    return InputRequiredResult(input_requests={"user_name": form("What is your name?", "name")})


async def test_input_required_result_sampling(ctx: Call) -> Asked:
    given = (ctx.input_responses or {}).get("q")
    if isinstance(given, CreateMessageResult):
        return f"Model said: {getattr(given.content, 'text', '?')}"
    return InputRequiredResult(input_requests={"q": sampling("What is the capital of France?")})


async def test_input_required_result_list_roots(ctx: Call) -> Asked:
    given = (ctx.input_responses or {}).get("roots")
    if isinstance(given, ListRootsResult):
        return f"Client exposed {len(given.roots)} root(s)."
    return InputRequiredResult(input_requests={"roots": ListRootsRequest()})


async def test_input_required_result_request_state(ctx: Call) -> Asked:
    if answered(ctx, "confirm") is not None and ctx.request_state == "nonce":
        return "state-ok: confirmation received"
    asked = {"confirm": form("Please confirm", "ok", "boolean")}
    return InputRequiredResult(input_requests={**asked}, request_state="nonce")


async def test_input_required_result_multiple_inputs(ctx: Call) -> Asked:
    if {"user_name", "greeting", "client_roots"} <= set(ctx.input_responses or ()):
        return "All inputs received."
    asked = {
        "user_name": form("What is your name?", "name"),
        "greeting": sampling("Generate a greeting"),
        "client_roots": ListRootsRequest(),
    }
    return InputRequiredResult(input_requests=asked, request_state="multi")


async def test_input_required_result_multi_round(ctx: Call) -> Asked:
    state: dict[str, Any] = json.loads(ctx.request_state) if ctx.request_state else {"round": 0}
    if state["round"] == 1 and (name := answered(ctx, "step1", "name")) is not None:
        asked, state = {"step2": form("Step 2: favourite colour?", "color")}, {"round": 2, "name": name}
    elif state["round"] == 2 and (color := answered(ctx, "step2", "color")) is not None:
        return f"{state['name']} likes {color}."
    else:
        asked, state = {"step1": form("Step 1: name?", "name")}, {"round": 1}
    return InputRequiredResult(input_requests={**asked}, request_state=json.dumps(state))


async def test_input_required_result_tampered_state(ctx: Call) -> Asked:
    """A changed state is refused before it comes here."""
    if ctx.request_state is not None:
        return "state-ok"
    return InputRequiredResult(input_requests={"c": form("Confirm", "ok", "boolean")}, request_state="round-1")


async def test_input_required_result_capabilities(ctx: Call) -> InputRequiredResult:
    able = ctx.client_capabilities
    asked: dict[str, Any] = {}
    if able is None or able.sampling is not None:
        asked["sample"] = sampling("hello")
    if able is None or able.elicitation is not None:
        asked["ask"] = form("What is your name?", "name")
    return InputRequiredResult(input_requests=asked, request_state="caps")


# ---- resources


async def static_text() -> str:
    return "This is the content of the static text resource."


async def static_binary() -> bytes:
    return base64.b64decode(PNG)


async def template(id: str) -> str:
    return json.dumps({"id": id, "templateTest": True, "data": f"Data for ID: {id}"})


async def watched() -> str:
    return "Watched resource content"


# ---- prompts


async def test_simple_prompt() -> list[UserMessage]:
    return [UserMessage(content=say("This is a simple prompt for testing."))]


async def test_prompt_with_arguments(arg1: str, arg2: str) -> list[UserMessage]:
    return [UserMessage(content=say(f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"))]


async def test_prompt_with_embedded_resource(resourceUri: str) -> list[UserMessage]:
    return [UserMessage(content=embedded(resourceUri)), UserMessage(content=say("Please process it."))]


async def test_prompt_with_image() -> list[UserMessage]:
    return [UserMessage(content=image()), UserMessage(content=say("Please analyze the image above."))]


async def test_input_required_result_prompt(ctx: Call) -> list[UserMessage] | InputRequiredResult:
    if (context := answered(ctx, "user_context", "context")) is not None:
        return [UserMessage(content=say(f"Use: {context}"))]
    return InputRequiredResult(input_requests={"user_context": form("What context?", "context")})


# ---- all of it, on the product's server


PROMPTS = (
    *(test_simple_prompt, test_prompt_with_arguments, test_prompt_with_embedded_resource, test_prompt_with_image),
    test_input_required_result_prompt,
)


def add_fixtures(server: MCPServer[Any]) -> None:
    named = [one for name, one in globals().items() if name.startswith("test_")]
    for tool in (*named, json_schema_2020_12_tool):
        if tool not in PROMPTS:
            server.add_tool(tool, description=WHAT)
    for prompt in PROMPTS:
        server.add_prompt(Prompt.from_function(prompt, description=WHAT))
    server.resource("test://static-text")(static_text)
    server.resource("test://static-binary", mime_type="image/png")(static_binary)
    server.resource("test://template/{id}/data", mime_type="application/json")(template)
    server.resource("test://watched-resource")(watched)
    # The SDK takes no schema that a tool's function does not have; its own example does the same.
    server._tool_manager._tools["json_schema_2020_12_tool"].parameters = SCHEMA  # pyright: ignore[reportPrivateUsage]

    async def short_lived() -> str:
        return "dynamic"

    async def test_trigger_tool_change(ctx: Call) -> str:
        server.add_tool(short_lived, name="test_dynamic_tool")
        server.remove_tool("test_dynamic_tool")
        await ctx.notify_tools_changed()
        return "tool list changed"

    async def test_trigger_prompt_change(ctx: Call) -> str:
        server.add_prompt(Prompt.from_function(short_lived, name="test_dynamic_prompt"))
        server.remove_prompt("test_dynamic_prompt")
        await ctx.notify_prompts_changed()
        return "prompt list changed"

    server.add_tool(test_trigger_tool_change, description=WHAT)
    server.add_tool(test_trigger_prompt_change, description=WHAT)


def main(home: str) -> int:
    inside: Any = http
    build_server = inside.build_server

    def with_fixtures(*given: Any, **options: Any) -> Any:
        server = build_server(*given, **options)
        add_fixtures(server)
        return server

    inside.build_server = with_fixtures
    return http.serve_http(home, "", HttpOptions(port=0))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
