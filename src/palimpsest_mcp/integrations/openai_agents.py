"""OpenAI Agents SDK: a `call_model_input_filter` that shortens each request, and tools whose large results are shrunk.

    window = PalimpsestFilter(session_id="s1", window_tokens=400_000)
    result = await Runner.run(agent, "…", run_config=RunConfig(call_model_input_filter=window))

One filter is one conversation. What the provider keeps itself (`conversation_id`, `previous_response_id`) never comes
through the filter, so nothing there gets shorter; `compaction` items of the provider stay as they are.
"""

# The framework is in no environment of the developers; tests/integrations runs this file against the real one.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Unpack

from .conversation import object_of, plain
from .window import Agent, AgentWindow, WindowOptions


class PalimpsestFilter:
    """Called by the runner before each model call.

    Args:
        session_id: None mints one.
        window: shared with other filters; None makes one of the options.
    """

    def __init__(
        self, session_id: str | None = None, *, window: AgentWindow | None = None, **options: Unpack[WindowOptions]
    ) -> None:
        self.window = window or AgentWindow(host="openai-agents", **options)
        self.session_id = session_id or f"openai-agents-{uuid.uuid4()}"

    async def __call__(self, data: Any) -> Any:
        """The model's input with digests in the place of old results; items that did not change are the same."""
        given = data.model_data
        items: list[Any] = [item if isinstance(item, dict) else plain(item) for item in given.input]
        model = getattr(data.agent, "model", None)
        shorter = await self.window.ashortened_list(
            self._agent(),
            items,
            model=model if isinstance(model, str) else str(getattr(model, "model", "") or ""),
            system=given.instructions or "",
            form="openai",
        )
        return replace(given, input=shorter) if shorter is not items else given

    def shrinking(self, tool: Any) -> Any:
        """A function tool whose large results are shrunk before they are first sent. Of a tool that is an agent
        (`Agent.as_tool`), the agent gets a session of its own, and its answer says where what it read is kept; hand
        this filter to its run, too: `agent.as_tool(…, run_config=RunConfig(call_model_input_filter=window))`."""
        invoke = tool.on_invoke_tool

        async def invoked(context: Any, arguments: str) -> Any:
            call_id = getattr(context, "tool_call_id", "")
            caller = self._agent()
            with self.window.tool_run(caller, call_id) as run:
                result = await invoke(context, arguments)
            args = object_of(arguments)
            if isinstance(result, str):
                result = await self.window.ahanded_back(run, result, str(args.get("input", "")))
            return await self.window.ashrunk(caller, result, call_id, tool.name, args)

        return replace(tool, on_invoke_tool=invoked)

    def all_shrinking(self, tools: Sequence[Any]) -> list[Any]:
        """The same for every function tool of a list; hosted tools stay as they are."""
        return [self.shrinking(tool) if hasattr(tool, "on_invoke_tool") else tool for tool in tools]

    def _agent(self) -> Agent:
        return self.window.agent(self.session_id)
