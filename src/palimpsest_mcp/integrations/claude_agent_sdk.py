"""Claude Agent SDK: hooks that shrink large results before the model sees them, and a session store whose resumed
sessions hold digests in the place of old results.

    palimpsest = PalimpsestSession(window_tokens=200_000)
    options = ClaudeAgentOptions(session_store=palimpsest.store, hooks=palimpsest.hooks())

A running session's list belongs to the client, which compacts by itself; there our plugin does it in place.
"""

# The framework is in no environment of the developers; tests/integrations runs this file against the real one.
# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Unpack

from ..core.palimpsest import Palimpsest
from ..models.events import Seen, SessionKey
from ..models.items import Item, content_sha256
from .conversation import plain, texts_in
from .window import Agent, AgentWindow, ToolRun, WindowOptions, log

_HOST = "claude-agent-sdk"
SUB_AGENT_TOOLS = ("Task", "Agent")
"""Tools that run a sub-agent."""


class PalimpsestSession:
    """What goes into `ClaudeAgentOptions`.

    Args:
        store: the session store that keeps every row; None keeps them in Palimpsest's own store, so that a session is
            resumed on any machine where that is a PostgreSQL database.
        window: shared with others; None makes one of the options.
    """

    def __init__(
        self, store: Any = None, *, window: AgentWindow | None = None, **options: Unpack[WindowOptions]
    ) -> None:
        self.window = window or AgentWindow(host="claude-code", **options)
        self.store = PalimpsestSessionStore(store or KeptRows(self.window), self.window)

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


_ROWS = "rows of "


class KeptRows:
    """A session store whose rows are in Palimpsest's own store, each with its exact text, in a ledger beside the
    session's: `migrate`, `backup` and `purge` know them as a session of their own, and retention ends them like any.
    """

    def __init__(self, window: AgentWindow) -> None:
        self.window = window

    async def append(self, key: Any, entries: list[Any]) -> None:
        """One write, flushed. A row that is there already is known by its `uuid` when it is read."""
        if entries:
            await self.window.aask(lambda p: self._append(p, _name(key), entries))

    async def load(self, key: Any) -> list[Any] | None:
        """Every row in the order of its commits, each once; None where there is none."""
        rows, _ = await self._rows(_name(key))
        return rows or None

    async def list_sessions(self, project_key: str) -> list[Any]:
        """Sessions of a project, and when a row came last. Reads all of their rows."""
        return [
            {"session_id": summary["session_id"], "mtime": summary["mtime"]}
            for summary in await self.list_session_summaries(project_key)
        ]

    async def list_session_summaries(self, project_key: str) -> list[Any]:
        """What the framework itself makes of the rows."""
        from claude_agent_sdk import fold_session_summary

        found: list[Any] = []
        for project, session, subpath in await self._keys():
            key = {"project_key": project, "session_id": session}
            if project == project_key and not subpath:
                rows, last = await self._rows(_name(key))
                if rows:
                    found.append({**fold_session_summary(None, key, rows), "mtime": last})
        return found

    async def delete(self, key: Any) -> None:
        """Purge the rows: of a session with those of its sub-agents, or of one sub-agent."""
        for project, session, subpath in await self._keys():
            if (project, session) == (key["project_key"], key["session_id"]):
                name = _name({"project_key": project, "session_id": session, "subpath": subpath})
                if key.get("subpath") in (None, subpath):
                    await self._purge(name)

    async def list_subkeys(self, key: Any) -> list[str]:
        """Of the sub-agents that have rows."""
        below = [
            subpath
            for project, session, subpath in await self._keys()
            if subpath and (project, session) == (key["project_key"], key["session_id"])
        ]
        return [subpath for subpath in below if await self.load({**key, "subpath": subpath})]

    async def _keys(self) -> list[tuple[str, str, str]]:
        infos = await self.window.aask(lambda p: p.sessions())
        names = [one.session_id for one in infos if one.host == _HOST and one.session_id.startswith(_ROWS)]
        return [tuple(json.loads(name.removeprefix(_ROWS))) for name in names]

    async def _rows(self, name: str) -> tuple[list[Any], int]:
        return await self.window.aask(lambda p: self._read(p, name))

    async def _purge(self, name: str) -> None:
        await self.window.aask(lambda p: p.purge(name, dry_run=False))

    async def _append(self, p: Palimpsest, name: str, entries: list[Any]) -> None:
        await p.begin(name, host=_HOST)
        texts = [json.dumps(entry) for entry in entries]
        events = [
            Seen(
                ts=p.deps.now(),
                item=Item(
                    id=str(entry.get("uuid") or content_sha256(text)),
                    kind="row",
                    role="",
                    position=(0, 0),
                    content=text,
                    sha256=content_sha256(text),
                    size_bytes=len(text),
                ),
            )
            for entry, text in zip(entries, texts, strict=True)
        ]
        await p.store.ledger.observe(SessionKey(name, p.deps.principal), events)

    async def _read(self, p: Palimpsest, name: str) -> tuple[list[Any], int]:
        """Rows, and when the last one came: milliseconds since 1970."""
        page = await p.store.ledger.read(SessionKey(name, p.deps.principal))
        seen = [event for event in page.events if isinstance(event, Seen) and isinstance(event.item.content, str)]
        rows: dict[Any, Any] = {}
        for number, event in enumerate(seen):
            row = json.loads(str(event.item.content))
            rows.setdefault(row.get("uuid") or number, row)
        if page.damage:
            log.warning("%s: %d rows cannot be read; `verify` names them", name, len(page.damage))
        last = datetime.fromisoformat(seen[-1].ts).timestamp() if seen else 0
        return list(rows.values()), int(last * 1000)


def _name(key: Any) -> str:
    """The session that has the rows of a key, which may hold anything."""
    return _ROWS + json.dumps([key["project_key"], key["session_id"], key.get("subpath") or ""])
