"""Strands Agents: a conversation manager that shortens the agent's messages before each model call.

    agent = Agent(model=model, tools=tools, conversation_manager=PalimpsestConversationManager(window_tokens=200_000))

The agent's own list holds the digests; the originals are in the archive. Large results are shrunk before they enter it.
"""

# The framework is in no environment of the developers; tests/integrations runs this file against the real one.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from typing import Any, Unpack
from weakref import WeakKeyDictionary

from strands.agent.conversation_manager import ConversationManager
from strands.hooks import AfterToolCallEvent, BeforeModelCallEvent, BeforeToolCallEvent

from .conversation import Block, Part, call_block, first_text, plain, result_block, text_block, texts_in, whole_block
from .window import Agent, AgentWindow, WindowOptions


class PalimpsestConversationManager(ConversationManager):
    """Shortens `agent.messages` in place; no message goes and none comes.

    Args:
        window: shared with other managers; None makes one of the options.
        session_id: None takes that of the agent's session manager, else mints one an agent.
    """

    def __init__(
        self, window: AgentWindow | None = None, *, session_id: str | None = None, **options: Unpack[WindowOptions]
    ) -> None:
        super().__init__()
        self.window = window or AgentWindow(host="strands", **options)
        self._session_id = session_id
        self._minted: WeakKeyDictionary[Any, str] = WeakKeyDictionary()

    def register_hooks(self, registry: Any, **kwargs: Any) -> None:
        """Before each model call, and around each tool call."""
        super().register_hooks(registry, **kwargs)
        registry.add_callback(BeforeModelCallEvent, self._before_model_call)
        registry.add_callback(BeforeToolCallEvent, self._before_tool_call)
        registry.add_callback(AfterToolCallEvent, self._after_tool_call)

    def apply_management(self, agent: Any, **kwargs: Any) -> None:
        """Nothing: the list is shortened when it is about to be sent."""

    def reduce_context(self, agent: Any, e: Exception | None = None, **kwargs: Any) -> None:
        """After an overflow everything that may leave does.

        Raises:
            Exception: the overflow itself, where nothing could leave.
        """
        before = list(agent.messages)
        new = self.window.shortened(
            self._agent(agent), agent.messages, STRANDS, model=_model(agent), system=_system(agent), force=True
        )
        agent.messages[:] = new
        if e is not None and new == before:
            raise e

    async def _before_model_call(self, event: Any) -> None:
        agent = event.agent
        agent.messages[:] = await self.window.ashortened(
            self._agent(agent), list(agent.messages), STRANDS, model=_model(agent), system=_system(agent)
        )

    async def _before_tool_call(self, event: Any) -> None:
        self.window.begin_tool_run(self._agent(event.agent), event.tool_use["toolUseId"], event.agent)

    async def _after_tool_call(self, event: Any) -> None:
        result, use = event.result, event.tool_use
        call_id, caller = use["toolUseId"], self._agent(event.agent)
        run = self.window.end_tool_run(call_id, event.agent)
        blocks = result.get("content") or []
        if event.exception is not None or not all(set(block) == {"text"} for block in blocks):
            return
        texts = [block["text"] for block in blocks]
        if run is not None and texts:
            texts[-1] = await self.window.ahanded_back(run, texts[-1], first_text(_input(use)))
        content = [text_block(text) for text in texts]
        shorter = await self.window.ashrunk(caller, content, call_id, use["name"], _input(use))
        if [block["text"] for block in shorter] != [block["text"] for block in blocks]:
            event.result = {**result, "content": [{"text": block["text"]} for block in shorter]}

    def _agent(self, agent: Any) -> Agent:
        manager = getattr(agent, "_session_manager", None)
        told = self._session_id or str(getattr(manager, "session_id", "") or "")
        if not told and agent not in self._minted:
            self._minted[agent] = f"strands-{uuid.uuid4()}"
        return self.window.agent(told or self._minted[agent], agent)


def _model(agent: Any) -> str:
    config = getattr(agent.model, "config", None)
    found = config.get("model_id") if isinstance(config, Mapping) else ""
    return found if isinstance(found, str) else ""


def _system(agent: Any) -> str:
    return agent.system_prompt if isinstance(getattr(agent, "system_prompt", None), str) else ""


def _input(use: Mapping[str, Any]) -> dict[str, Any]:
    return use["input"] if isinstance(use.get("input"), dict) else {}


class StrandsMessages:
    """Messages of the Converse API: each block an object of one key."""

    def parts(self, message: Any) -> Iterable[Part]:
        """Every block."""
        role = message["role"]
        for at, block in enumerate(message["content"]):
            if "toolResult" in block:
                told = block["toolResult"]
                failed = told.get("status") == "error"
                content = [_block(one) for one in told["content"]]
                yield Part("user", at, result_block(told["toolUseId"], content, is_error=failed))
            elif "toolUse" in block:
                use = block["toolUse"]
                signed = "reasoningSignature" in use
                yield Part(role, at, call_block(use["toolUseId"], use["name"], use["input"], signed=signed))
            elif "reasoningContent" in block:
                yield Part(role, at, {"type": "thinking", **plain(block["reasoningContent"])})
            elif block.get("text"):
                yield Part(role, at, text_block(block["text"]))
            else:
                yield Part(role, at, whole_block("+".join(block), block))

    def put(self, message: Any, changed: Mapping[Any, Block | None]) -> Any:
        """With other contents or arguments, or less reasoning."""
        content: list[Any] = []
        for at, block in enumerate(message["content"]):
            new = changed.get(at)
            if at not in changed:
                content.append(block)
            elif new is not None and new["type"] == "tool_result":
                told = {**block["toolResult"], "content": [{"text": texts_in(new["content"])}]}
                content.append({**block, "toolResult": told})
            elif new is not None:
                content.append({**block, "toolUse": {**block["toolUse"], "input": new["input"]}})
        return {**message, "content": content}


def _block(one: Mapping[str, Any]) -> Block:
    """A block of a result. A text is one; JSON, an image or a document goes into the archive as it is."""
    return text_block(one["text"]) if set(one) == {"text"} else {"type": "+".join(one), **plain(one)}


STRANDS = StrandsMessages()
