"""OpenHands SDK: a condenser that shortens what the agent's model is given.

    agent = Agent(llm=llm, tools=tools, condenser=PalimpsestCondenser(session_id="s1", window_tokens=200_000))

It answers with a view, never with a `Condensation`: no event is forgotten, and the conversation's log stays as it was.
Summaries of the framework's own condensers, put before this one in a `PipelineCondenser`, stay as they are.
"""

# The framework is in no environment of the developers; tests/integrations runs this file against the real one.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

from openhands.sdk.context.condenser.base import PipelinableCondenserBase
from openhands.sdk.context.view import View
from openhands.sdk.llm import TextContent
from openhands.sdk.tool.schema import Observation
from pydantic import Field

from .conversation import Block, Part, arguments_of, call_block, plain, result_block, text_block, texts_in, whole_block
from .window import Agent, AgentWindow, ToolRun


class DigestObservation(Observation):
    """What stands for an observation in a view; it is never stored."""


class PalimpsestCondenser(PipelinableCondenserBase):
    """One condenser is one conversation; its fields are `WindowOptions`, stored with the agent."""

    session_id: str = Field(default_factory=lambda: f"openhands-{uuid.uuid4()}")
    parent: str = ""
    """Session of the agent that this one works for: a search in either then reaches both."""
    home: str | None = None
    window_tokens: int | None = None
    target: float | None = None
    policy: str | None = None
    above_tokens: int | None = None

    @cached_property
    def window(self) -> AgentWindow:
        """Of this condenser."""
        return AgentWindow(
            host="openhands",
            home=self.home,
            window_tokens=self.window_tokens,
            target=self.target,
            policy=self.policy,
            above_tokens=self.above_tokens,
        )

    def _agent(self) -> Agent:
        if not self.parent:
            return self.window.agent(self.session_id)
        return Agent(f"{self.parent}/{self.session_id}", self.parent)

    async def ahand_back(self, answer: str, task: str = "") -> str:
        """What a sub-agent answered, with where everything is that it read; to be given to the agent that it works
        for."""
        return await self.window.ahanded_back(self._run(), answer, task)

    def hand_back(self, answer: str, task: str = "") -> str:
        """The same, for synchronous code, such as the executor of a tool that delegates."""
        return self.window.handed_back(self._run(), answer, task)

    def _run(self) -> ToolRun:
        return ToolRun(Agent(self.parent), self.session_id, sub_agent=self._agent())

    def handles_condensation_requests(self) -> bool:
        """A request runs a pass below the trigger, too."""
        return True

    def condense(self, view: View, agent_llm: Any = None) -> View:
        """The view with digests in the place of old observations."""
        agent = self._agent()
        events = self.window.shortened(
            agent, view.events, OPENHANDS, model=_model(agent_llm), force=view.unhandled_condensation_request
        )
        return View(events=events)

    async def acondense(self, view: View, agent_llm: Any = None) -> View:
        """The same without blocking the loop."""
        agent = self._agent()
        events = await self.window.ashortened(
            agent, view.events, OPENHANDS, model=_model(agent_llm), force=view.unhandled_condensation_request
        )
        return View(events=events)


def _model(llm: Any) -> str:
    return str(getattr(llm, "model", "") or "")


class OpenHandsEvents:
    """Events that the model is given. Several actions of one answer are events of their own."""

    def parts(self, message: Any) -> Iterable[Part]:
        """Every block."""
        kind = type(message).__name__
        if kind == "ActionEvent":
            for at, block in enumerate(message.thinking_blocks):
                yield Part("assistant", ("thinking", at), plain(block))
            for at, thought in enumerate(message.thought):
                if thought.text:
                    yield Part("assistant", ("thought", at), text_block(thought.text))
            call = message.tool_call
            yield Part(
                "assistant", "call", call_block(message.tool_call_id, message.tool_name, arguments_of(call.arguments))
            )
        elif kind == "ObservationEvent":
            failed = bool(getattr(message.observation, "is_error", False))
            yield Part("user", "result", result_block(message.tool_call_id, _told(message), is_error=failed))
        else:
            told = message.to_llm_message()
            role = told.role if told.role in ("user", "assistant", "system") else "user"
            if told.role == "tool":
                content = [plain(one) for one in told.content]
                yield Part("user", "kept", result_block(message.tool_call_id, content, is_error=True))
                return
            for at, one in enumerate(told.content):
                text = getattr(one, "text", None)
                yield Part(role, at, text_block(text) if text else whole_block("content", one))

    def put(self, message: Any, changed: Mapping[Any, Block | None]) -> Any:
        """With another observation, other arguments, or less thinking."""
        update: dict[str, Any] = {}
        if (block := changed.get("result")) is not None:
            text = texts_in(block["content"])
            update["observation"] = DigestObservation(content=[TextContent(text=text)])
            update["extended_content"] = []
        if (block := changed.get("call")) is not None:
            arguments = json.dumps(block["input"], ensure_ascii=False)
            update["tool_call"] = message.tool_call.model_copy(update={"arguments": arguments})
        gone = {place[1] for place, block in changed.items() if isinstance(place, tuple) and block is None}
        if gone:
            update["thinking_blocks"] = [one for at, one in enumerate(message.thinking_blocks) if at not in gone]
        return message.model_copy(update=update) if update else message


def _told(message: Any) -> str | list[Any]:
    content = message.to_llm_message().content
    if all(getattr(one, "text", None) is not None for one in content):
        return "\n".join(one.text for one in content)
    return [plain(one) for one in content]


OPENHANDS = OpenHandsEvents()
