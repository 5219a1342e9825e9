"""Hosts whose plugin hands over the message list before each request: what is to stand in it comes back by call id.

The host's own list stays as it is, so every answer gives all stored digests again, byte for byte (L6). The plugin
decides nothing, and sends the list as it was where an answer is missing.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from ..errors import WindowUnknown
from ..hosts.detect import parse_value
from ..hosts.hook_call import HookCall, read_call
from ..hosts.lists import ListHost
from ..hosts.pieces import as_fields
from ..models.events import LossTold, SessionInfo
from ..models.items import Content, content_sha256, content_text
from ..models.plans import KEEP, PassOptions
from ..text.tokens.windows import binds_thinking
from . import importer
from .claude_code.around_compaction import AfterCompaction, BeforeCompaction
from .claude_code.notices import loss_text
from .compaction.at_birth import ToolAnswer, may_shrink, shrink_at_birth
from .dependencies import Dependencies
from .host_seam import note_failure
from .messages import Messages
from .record import admit_list
from .sessions import Sessions


@dataclass(frozen=True, kw_only=True)
class _Edits:
    """What is to change in a list, by call id."""

    results: Mapping[str, str]
    inputs: Mapping[str, Any]
    first: str
    """The call behind which nothing is as the model saw it; empty where nothing changes."""


BESIDE_SHARE = 0.25
"""Of the window, what definitions of tools are believed to take at most: a request that went out without our digests
would else count as full of them."""


@dataclass(kw_only=True)
class _Sent:
    """The last list of a session that was answered, and what its requests carry beside lists."""

    rows: int = 0
    last: str = ""
    """The list's last row, by which it is known again."""
    tokens: int = 0
    """Of the request, as it was counted here, without what stands beside it."""
    beside: int = 0
    """What the provider counted more than that."""


class ListHostEvents:
    """The events of one host's plugin, answered by one process. Implements `host_seam.Host`."""

    def __init__(
        self,
        deps: Dependencies,
        sessions: Sessions,
        messages: Messages,
        before: BeforeCompaction,
        after: AfterCompaction,
        host: ListHost,
    ) -> None:
        self._deps = deps
        self._sessions = sessions
        self._messages = messages
        self._before = before
        self._after = after
        self._host = host
        self._turns: dict[str, asyncio.Lock] = {}
        self._sent: dict[str, _Sent] = {}
        self._uses: Mapping[str, Callable[[HookCall], Awaitable[dict[str, Any]]]] = {
            "context": self._context,
            "result": self._result,
            "compacting": self._compacting,
            "prompt": self._prompt,
        }

    async def handle(self, event: str, payload: Any) -> str:
        """The answer as JSON; `{}` where the host is to go on as if we were not there. Never raises."""
        call = read_call(event, payload)
        use = self._uses.get(call.event)
        if use is None or not self._deps.automatic or not call.session_id:
            return "{}"
        try:
            async with self._turns.setdefault(call.session_id, asyncio.Lock()):
                return json.dumps(await use(call), ensure_ascii=True)
        except Exception as error:  # the host goes on
            await asyncio.to_thread(note_failure, self._deps.store.host_notes, call.event, error)
        return "{}"

    async def _session(self, call: HookCall) -> SessionInfo:
        return await self._sessions.ensure(
            call.session_id, host=self._host.name, project=call.text("cwd"), source=self._host.name
        )

    async def _context(self, call: HookCall) -> dict[str, Any]:
        """What is to stand in the list of the next request."""
        rows = call.rows("messages")
        model = call.text("model")
        parsed = parse_value(self._host.messages(rows), form="anthropic", kind_by_tool=self._deps.kind_by_tool)
        beside = self._beside(call, rows)
        parsed = msgspec.structs.replace(parsed, host=self._host.name, beside_tokens=beside)
        parsed = importer.with_system(parsed, call.text("system"))
        asked = PassOptions(
            host=self._host.name,
            model=model,
            window_tokens=call.number("window"),
            thinking=KEEP,
            focus=call.text("focus"),
        )
        try:
            await admit_list(self._deps, self._sessions, call.session_id, parsed, asked)
        except WindowUnknown:
            return {"why": "how large the window of this model is, is not known"}
        info = await self._session(call)
        await self._compare(info, self._host.summary(rows))
        passed = await self._messages.compact(info, parsed, asked, requested=False)
        used = passed.report.after.used.value or 0
        self._sent[call.session_id] = _Sent(
            rows=len(rows), last=_row_key(rows), tokens=max(0, used - beside), beside=beside
        )
        edits = self._edits(parsed.items, passed.contents)
        claude = "claude" in model.lower() and binds_thinking(model) is not False
        return {
            "results": edits.results,
            "inputs": edits.inputs,
            "drop_thinking_after": edits.first if claude else "",
            "session": info.handle,
            "status": passed.report.status,
        }

    def _beside(self, call: HookCall, rows: Sequence[dict[str, Any]]) -> int:
        """Tokens of what a request carries beside list and system prompt, by what the provider counted of the last one:
        no hook tells a plugin which tools the host offers."""
        sent = self._sent.get(call.session_id, _Sent())
        if not 0 < sent.rows < len(rows) or _row_key(rows[: sent.rows]) != sent.last:
            return sent.beside  # the host made another list of it
        counted = self._host.asked(rows[sent.rows])
        if not counted:
            return sent.beside
        return min(max(0, counted - sent.tokens), int(BESIDE_SHARE * (call.number("window") or 0)))

    def _edits(self, items: Any, contents: Mapping[str, Content]) -> _Edits:
        results: dict[str, str] = {}
        inputs: dict[str, Any] = {}
        first = ""
        for item in items:
            if item.id not in contents or not item.call_id:
                continue
            content = contents[item.id]
            if item.kind == "tool_call":
                block = as_fields(content) or {}
                inputs[item.call_id] = block.get("input")
            else:
                results[item.call_id] = content_text(content)
            first = first or item.call_id
        return _Edits(results=results, inputs=inputs, first=first)

    async def _result(self, call: HookCall) -> dict[str, Any]:
        """A result before it enters the list."""
        tool, args = call.text("tool_name"), call.mapping("tool_input") or {}
        answer = ToolAnswer.plain(tool, args, call.text("call_id"), call.fields.get("text"))
        if answer is None or not may_shrink(self._deps, tool, answer.result):
            return {}
        born = await shrink_at_birth(self._deps, self._sessions, await self._session(call), answer)
        return {} if born is None else {"text": born.output}

    async def _compacting(self, call: HookCall) -> dict[str, Any]:
        """Archive everything before the host's own compaction; what its summary must keep word for word."""
        info = await self._session(call)
        counter = self._deps.counter_for(call.text("model") or self._deps.model)
        _, shown = await self._sessions.view(info, counter)
        if not shown.count:
            return {}
        prepared = await self._before.prepare(info, shown, counter, by_user=call.text("trigger") == "manual")
        return {"instructions": prepared.instructions}

    async def _compare(self, info: SessionInfo, summary: str) -> None:
        """What a summary that is new in the list lost of what was archived before it."""
        last = (await self._sessions.fold(info)).host_compacted
        if not summary or (last is not None and last.summary == summary):
            return
        _, shown = await self._sessions.view(info, self._deps.counter_for(self._deps.model))
        if shown.count:
            compared = await self._after.compared(info, shown, summary, "auto")
            await self._deps.store.ledger.observe(self._sessions.key(info), [compared])

    async def _prompt(self, call: HookCall) -> dict[str, Any]:
        """What the last summary of the host's lost: said once, beside the user's next message."""
        info = await self._session(call)
        await self._compare(info, call.text("summary"))
        lost = (await self._sessions.fold(info)).untold_loss
        if lost is None:
            return {}
        await self._deps.store.ledger.observe(self._sessions.key(info), [LossTold(ts=self._deps.now())])
        return {"text": loss_text(info.handle, lost)}


def _row_key(rows: Sequence[dict[str, Any]]) -> str:
    """By what the last of these rows is known again: its own id or time, else what it says."""
    row = rows[-1] if rows else {}
    info = as_fields(row.get("info")) or row
    told = info.get("id") or info.get("timestamp")
    return content_sha256(json.dumps(told or row, sort_keys=True, default=str))
