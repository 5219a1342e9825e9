"""A tool's call in Claude Code: before it runs our own tools learn the session, and what would write a note is refused;
after it the result is recorded before the transcript has it, and may be replaced at birth."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections import defaultdict
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from typing import Any, cast

from ...context.arguments import BEGIN, note_hashes
from ...context.fold import Fold
from ...context.observed import UsageFields
from ...errors import PalimpsestError
from ...hosts.actions import action_of
from ...hosts.claude_code.results import ToolResult, result_of
from ...hosts.claude_code.settings import EDITORS
from ...hosts.hook_call import HookCall
from ...hosts.pieces import as_fields
from ...models.events import Seen, SessionInfo
from ...models.items import Content, Item, call_key, content_bytes, content_sha256
from ...models.tools import own_tool
from ..compaction.at_birth import WAIT_S, ShrunkResult, ToolAnswer, may_shrink, shrink_at_birth
from ..dependencies import Dependencies
from ..sessions import Sessions
from .conversations import LOCK_S, Conversation, Conversations

_log = logging.getLogger(__name__)


class ToolResults:
    """Records results by their call ids: the transcript later finds them known (L4), and nothing counts twice.

    Args:
        wait_s: so long a result waits for its turn; then the original goes through. One that may be replaced waits for
            the digests of its siblings.
    """

    def __init__(
        self, deps: Dependencies, sessions: Sessions, conversations: Conversations, *, wait_s: float = LOCK_S
    ) -> None:
        self._deps = deps
        self._sessions = sessions
        self._conversations = conversations
        self._wait_s = wait_s
        self._touched: defaultdict[str, set[str]] = defaultdict(set)
        """Files that each of the client's sessions changed while this process listened, sub-agents included: the
        transcript gets the row of an edit only some time after the hook, and a file may be read in between."""

    async def take(self, call: HookCall) -> ShrunkResult | None:
        """Record one result; what the model is to get in its place, where it was replaced at birth."""
        one = await self._conversations.of(call)
        result = result_of(call.text("tool_name"), tool_response(call), call.transcript_path)
        large = may_shrink(self._deps, call.text("tool_name"), result)
        async with self._turn(one, call, max(self._wait_s, WAIT_S) if large else self._wait_s):
            await self._take_late(one)
            events = await self._conversations.news(one)
            born: ShrunkResult | None = None
            if large and result is not None:  # it must know what the session edited so far
                await self._conversations.write(one, events)
                events = []
                born = await self._at_birth(one, call, result)
            if born is not None:
                one.awaited[born.item_id] = call.text("tool_use_id")
            elif (item := await self._item(one, call)) is not None:
                events.append(Seen(item=item, ts=self._deps.now()))
            await self._conversations.write(one, events)  # one flush: the client waits for it
            return born

    async def take_late(self, call: HookCall, *, wait_s: float) -> None:
        """Record what did not get its turn: a compaction may come before the transcript has it."""
        one = await self._conversations.known(call)
        if one is not None and (one.late or one.turn.locked()):  # who waits now may be late in a moment
            async with self._conversations.turn(one, wait_s=wait_s):
                await self._take_late(one)

    @asynccontextmanager
    async def _turn(self, one: Conversation, call: HookCall, wait_s: float) -> AsyncGenerator[None]:
        """The turn of one result. While it waits it belongs to nobody else; it is late once it gave up, or its hook
        was called off."""
        taken = False
        try:
            async with self._conversations.turn(one, wait_s=wait_s):
                taken = True
                yield
        finally:
            if not taken:
                one.late.append(call)

    async def _take_late(self, one: Conversation) -> None:
        while one.late:
            item = await self._item(one, one.late.pop(0))
            if item is not None:
                await self._conversations.write(one, [Seen(item=item, ts=self._deps.now())])

    async def _at_birth(self, one: Conversation, call: HookCall, result: ToolResult) -> ShrunkResult | None:
        answer = ToolAnswer(
            tool_name=call.text("tool_name"),
            tool_input=call.mapping("tool_input") or {},
            tool_use_id=call.text("tool_use_id"),
            result=result,
            touched=frozenset(self._touched[call.session_id]),
        )
        try:
            return await shrink_at_birth(self._deps, self._sessions, one.info, answer)
        except PalimpsestError as error:
            _log.warning("not replaced at birth (%s): %s", error.code, error.message)
            return None

    def note_change(self, call: HookCall) -> None:
        """Remember which file a call is about to change."""
        field = EDITORS.get(call.text("tool_name"))
        if field and (path := (call.mapping("tool_input") or {}).get(field)) and isinstance(path, str):
            self._touched[call.session_id].add(path)

    async def _item(self, one: Conversation, call: HookCall) -> Item | None:
        """The result as an item; None where there is nothing to record, or it is known."""
        call_id, tool = call.text("tool_use_id"), call.text("tool_name")
        response = tool_response(call)
        if not call_id or response is None or tool in EDITORS:
            return None
        name = call_key(call_id)
        fold = await self._sessions.opened(one.info)
        state = fold.state(name)
        if state is not None and state.versions:
            return None
        content = await asyncio.to_thread(_content, tool, response, call.transcript_path)
        if self._deps.redact_archive and isinstance(content, str):
            content = self._deps.masked(content)
        args = call.mapping("tool_input")
        if call_id not in one.tail.answered:
            one.awaited[name] = call_id
        counter = self._deps.counter_for(_model(fold) or self._deps.model)
        return Item(
            id=name,
            kind=self._deps.kind_by_tool.get(tool, "tool_result"),
            role="tool",
            position=(one.next_row(), 0),
            content=content,
            sha256=content_sha256(content),
            size_bytes=len(content_bytes(content)),
            tokens=await asyncio.to_thread(counter.count_content, content),
            unit=f"call:{name}",
            tool_name=tool,
            call_id=call_id,
            args=args,
            action=action_of(tool, args) if tool else None,
            ts=self._deps.now(),
        )


def _model(fold: Fold) -> str:
    known = fold.usage.get("", UsageFields()).model
    return known.model if known is not None else ""


def _content(tool: str, response: Any, transcript_path: str) -> Content:
    """What the transcript's row will hold, as far as the shape is known; the whole of it where the client spilled it
    to a file beside the transcript."""
    found = result_of(tool, response, transcript_path)
    if found is None:
        return response if isinstance(response, str) else json.dumps(response, ensure_ascii=False)
    if found.spilled_to and (whole := found.whole()) is not None:
        return whole
    if found.tool == "mcp":
        return found.content
    return found.wire


# Notes and digests never get into files: a call that would write one is refused, and told where the text is.


_WRITING = ("write", "edit", "run")
_BEFORE = ("old_string", "old_str", "old_text", "oldString", "oldText")
"""What an edit looks for: a note that did get into a file can be taken out again."""
_DIGEST = re.compile(r"\[[^\n]*all of it: restore_batch (\S+) (offload_\d{4,})\]")


async def refusal(sessions: Sessions, name: str, tool: str, tool_input: dict[str, Any]) -> str:
    """Why a call must not run, for the model; empty where it may.

    Only notes and digests of this session or its parents count: a text that merely looks like one is data (L7).
    """
    texts = [text for text in _written(tool_input) if BEGIN in text or "restore_batch" in text]
    if not texts or action_of(tool, tool_input).verb not in _WRITING:
        return ""
    if (info := await sessions.find_or_none(name)) is None:
        return ""
    for owner in await sessions.family(info):
        fold = await sessions.fold(owner)
        for text in texts:
            if batch := _stands_for(fold, owner, text):
                return (
                    "Refused by Palimpsest: this call would write a note or digest that stands for text which left the "
                    f"context; it is not that text. Get the text with restore_batch {owner.handle} {batch}, or read "
                    "the file, and call again with what is really meant."
                )
    return ""


def _written(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in cast("dict[str, Any]", value).items():
            if key not in _BEFORE:
                yield from _written(inner)
    elif isinstance(value, list):
        for inner in cast("list[Any]", value):
            yield from _written(inner)


def _stands_for(fold: Fold, owner: SessionInfo, text: str) -> str:
    """The batch of which a text holds a note or a digest's header; empty for none."""
    named = [batch for handle, batch in _DIGEST.findall(text) if handle == owner.handle]
    if known := next((batch for batch in named if batch in fold.decided.batches), ""):
        return known
    hashes = note_hashes(text)
    for stands in fold.decided.replacements.values() if hashes else ():
        part = stands.item.part
        if part is not None and any(f"sha256 {one}" in part for one in hashes):
            return stands.batch.batch_id
    return ""


def tool_response(call: HookCall) -> Any:
    """`tool_response` as the tool gave it. An MCP tool's text may look like JSON: only blocks are read as such."""
    value = call.value("tool_response")
    raw = call.fields.get("tool_response")
    if isinstance(raw, str) and call.text("tool_name").startswith("mcp__") and not _are_blocks(value):
        return raw if value is not None else None
    return value


def _are_blocks(value: Any) -> bool:
    entries = cast("list[Any]", value) if isinstance(value, list) else []
    return bool(entries) and all(isinstance((as_fields(entry) or {}).get("type"), str) for entry in entries)


# Calls of our own tools in a client: the model does not know its session's id, so the hook fills it in (I1).


_NOT_ONE = ("", "new", "current", "this", "session")


def filled(tool_name: str, tool_input: dict[str, Any], session_id: str, known: bool) -> dict[str, Any] | None:
    """The whole input with the session's id; None where nothing is to change.

    Args:
        known: the session that the input names is one of the store's.
    """
    tool = own_tool(tool_name)
    if tool is None:
        return None
    named = tool_input.get("session_id")
    if tool.looks_back and isinstance(named, str) and named not in _NOT_ONE and known:
        return None
    if tool.fills_session == "always" or (tool.fills_session == "if named" and named):
        return None if named == session_id else {**tool_input, "session_id": session_id}
    if tool.fills_session == "in the event":
        event = as_fields(tool_input.get("event"))
        if event is not None and not event.get("session_id"):
            return {**tool_input, "event": {**event, "session_id": session_id}}
    return None
