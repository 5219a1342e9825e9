"""Claude Agent SDK: hooks that shrink large results before the model sees them, and a session store whose resumed
sessions hold digests in the place of old results.

    palimpsest = PalimpsestSession(store=my_store, window_tokens=200_000)
    options = ClaudeAgentOptions(session_store=palimpsest.store, hooks=palimpsest.hooks())

A running session's list belongs to the client, which compacts by itself; there our plugin does it in place.
"""

# The framework is in no environment of the developers; tests/integrations runs this file against the real one.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Unpack

from .conversation import plain, texts_in
from .window import Agent, AgentWindow, ToolRun, WindowOptions, log

SUB_AGENT_TOOLS = ("Task", "Agent")
"""Tools that run a sub-agent."""


class PalimpsestSession:
    """What goes into `ClaudeAgentOptions`.

    Args:
        store: the session store that keeps every row; None keeps them in this process only.
        window: shared with others; None makes one of the options.
    """

    def __init__(
        self, store: Any = None, *, window: AgentWindow | None = None, **options: Unpack[WindowOptions]
    ) -> None:
        self.window = window or AgentWindow(host="claude-code", **options)
        self.store = PalimpsestSessionStore(store or _in_memory(), self.window)

    def hooks(self, others: Mapping[str, list[Any]] | None = None) -> dict[str, list[Any]]:
        """For `ClaudeAgentOptions.hooks`, beside hooks of your own."""
        from claude_agent_sdk import HookMatcher

        found = {name: list(matchers) for name, matchers in (others or {}).items()}
        found.setdefault("PostToolUse", []).append(HookMatcher(hooks=[self.post_tool_use]))
        return found

    async def post_tool_use(self, given: Any, tool_use_id: str | None, context: Any) -> dict[str, Any]:
        """What the model is given in the place of a large result, in the tool's own shape, or beside a sub-agent's
        answer."""
        if given["tool_name"] not in SUB_AGENT_TOOLS:
            return await self._shrunk(given)
        new = await self._sub_agent(Agent(given["session_id"]), tool_use_id or "", given, given.get("tool_response"))
        if new is None:
            return {}
        return {"hookSpecificOutput": {"hookEventName": "PostToolUse", "updatedToolOutput": new}}

    async def _shrunk(self, given: Any) -> dict[str, Any]:
        try:
            said = await self.window.aask(lambda p: p.host_event("PostToolUse", given))
            return json.loads(said or "{}")
        except Exception:
            log.exception("session %s: a result is left as it came", given["session_id"])
            return {}

    async def _sub_agent(self, caller: Agent, call_id: str, given: Any, response: Any) -> Any:
        if not isinstance(response, dict) or not isinstance(response.get("content"), list):
            return None
        agent_id = response.get("agentId")
        if not isinstance(agent_id, str) or not agent_id:
            return None
        run = ToolRun(caller, call_id, Agent(f"{caller.session_id}/agent-{agent_id}", caller.session_id))
        text = texts_in(response["content"])
        task = str((given.get("tool_input") or {}).get("description") or "")
        said = await self.window.ahanded_back(run, text, task)
        if not said.startswith(text) or said == text:
            return None
        more = {"type": "text", "text": said[len(text) :].strip()}
        return {**response, "content": [*response["content"], more]}


class PalimpsestSessionStore:
    """A session store over another one, which keeps every row as it came. What is loaded for a resume is the same
    session, shorter: where it is above the trigger, old results are digests. Rows of a sub-agent are its own session's,
    below its parent's.
    """

    def __init__(self, store: Any, window: AgentWindow) -> None:
        self.inner = store
        self.window = window

    async def append(self, key: Any, entries: list[Any]) -> None:
        """Into the inner store; and what a sub-agent read into our archive, as its parent's hand-back finds it."""
        await self.inner.append(key, entries)
        if key.get("subpath") and entries:
            await self._shorter(key, await self.inner.load(key) or [])

    async def load(self, key: Any) -> list[Any] | None:
        """As it was appended, with digests in the place of old results where the session is above the trigger."""
        rows = await self.inner.load(key)
        return None if rows is None else await self._shorter(key, rows)

    async def whole(self, key: Any) -> list[Any] | None:
        """Every row as it was appended."""
        return await self.inner.load(key)

    async def list_sessions(self, project_key: str) -> Any:
        """Of the inner store."""
        return await self.inner.list_sessions(project_key)

    async def list_session_summaries(self, project_key: str) -> Any:
        """Of the inner store."""
        return await self.inner.list_session_summaries(project_key)

    async def delete(self, key: Any) -> None:
        """Of the inner store. What we archived stays until `purge`."""
        await self.inner.delete(key)

    async def list_subkeys(self, key: Any) -> Any:
        """Of the inner store."""
        return await self.inner.list_subkeys(key)

    async def _shorter(self, key: Any, rows: list[Any]) -> list[Any]:
        if not any(row.get("type") in ("user", "assistant") and isinstance(row.get("message"), dict) for row in rows):
            return rows  # no message yet
        session_id, subpath = key["session_id"], key.get("subpath")
        agent = Agent(f"{session_id}/{subpath.rsplit('/', 1)[-1]}", session_id) if subpath else Agent(session_id)
        return await self.window.acompacted_rows(agent, [plain(row) for row in rows], session_id)


def _in_memory() -> Any:
    from claude_agent_sdk import InMemorySessionStore

    return InMemorySessionStore()
