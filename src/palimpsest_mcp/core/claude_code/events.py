"""Every event of the client to its use case. Nothing that goes wrong here may break the client.

A command hook is a process of its own: what makes digests and summaries is imported by the events that need it.

A tool's call in Claude Code: before it runs our own tools learn the session, and what would write a note is refused;
after it the result is recorded before the transcript has it, and may be replaced at birth.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections import defaultdict
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from ...context.arguments import BEGIN, note_hashes
from ...context.fold import Fold
from ...context.state import UsageFields
from ...errors import LockTimeout, PalimpsestError
from ...hosts.actions import action_of
from ...hosts.claude_code.results import ToolResult, result_of
from ...hosts.claude_code.settings import EDITORS
from ...hosts.hook_call import HookCall, read_call
from ...hosts.pieces import as_fields
from ...memory.skill_uses import SKILL_TOOLS
from ...models.events import Seen, SessionInfo
from ...models.items import Content, Item, call_key, content_bytes, content_sha256
from ...models.text import counted, verb
from ...models.tools import own_tool
from ..compaction.at_birth import WAIT_S, ShrunkResult, ToolAnswer, may_shrink, shrink_at_birth
from ..dependencies import Dependencies, noted
from ..notices import Notices
from ..offloaded import Offloaded, keep_status
from ..sessions import Sessions
from ..summary import KeptSummaries
from .answers import context_answer, hook_answer, is_noted, start
from .conversations import LOCK_S, Conversation, Conversations
from .notices import Lessons, SkillUses, StepNotices

if TYPE_CHECKING:
    from ..compaction.commit import Keeper
    from .around_compaction import AfterCompaction, BeforeCompaction
    from .in_place import InPlaceCompaction


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


COMPACT, TURN_COMPLETE = "session.compact", "turn.complete"
_ALWAYS = ("PreToolUse",)
"""What a hook does that is not automatic: without it our tools could not be called."""
_ENDED_TURN_S = 5.0

EndOfSession = Callable[[str], Awaitable[None]]
"""What else is done when a session ends, by its id."""


class HostEvents:
    """The hooks of one client, answered by one process."""

    def __init__(
        self,
        deps: Dependencies,
        sessions: Sessions,
        offloaded: Offloaded,
        noticing: Notices,
        summaries: KeptSummaries,
        at_end: EndOfSession,
        lessons: Lessons,
    ) -> None:
        self._deps = deps
        self._sessions = sessions
        self._offloaded = offloaded
        self._summaries = summaries
        self._lessons = lessons
        self._notes = deps.store.host_notes
        self._at_end = at_end
        self._conversations = Conversations(deps, sessions)
        self._results = ToolResults(deps, sessions, self._conversations)
        self._step_notices = StepNotices(deps, sessions, self._conversations, noticing)
        self._uses: dict[str, Callable[[HookCall], Awaitable[str]]] = {
            "SessionStart": self._start,
            "UserPromptSubmit": self._prompt,
            "UserPromptExpansion": self._expansion,
            "PreToolUse": self._pre_tool_use,
            "PostToolUse": self._post_tool_use,
            "PostToolUseFailure": self._step_notices.say,
            "PreCompact": self._pre_compact,
            "PostCompact": self._post_compact,
            "Stop": self._follow,
            "SubagentStop": self._follow,
            "SessionEnd": self._end,
            TURN_COMPLETE: self._turn_complete,
            COMPACT: self._compact,
        }

    @cached_property
    def _keeper(self) -> Keeper:
        from ..compaction.commit import Keeper

        return Keeper(self._deps, self._sessions)

    @cached_property
    def _before(self) -> BeforeCompaction:
        from .around_compaction import BeforeCompaction

        return BeforeCompaction(self._deps, self._sessions, self._conversations, self._summaries, self._keeper)

    @cached_property
    def _after(self) -> AfterCompaction:
        from .around_compaction import AfterCompaction

        return AfterCompaction(self._deps, self._sessions, self._conversations, self._keeper)

    @cached_property
    def _skills(self) -> SkillUses:
        return SkillUses(self._deps, self._sessions, self._conversations, self._lessons)

    @cached_property
    def _in_place(self) -> InPlaceCompaction:
        from .in_place import InPlaceCompaction

        return InPlaceCompaction(
            self._deps, self._sessions, self._offloaded, self._conversations, self._before, self._keeper
        )

    @property
    def around_compaction(self) -> tuple[BeforeCompaction, AfterCompaction]:
        """What archives before a compaction of a host's own, and what compares after it."""
        return self._before, self._after

    async def handle(self, event: str, payload: Any) -> str:
        """The answer to one event: one text, empty where there is nothing to say. Never raises; why an event was not
        dealt with is kept for `doctor`."""
        call = read_call(event, payload)
        use = self._uses.get(call.event)
        if use is None:
            return ""
        if not self._deps.automatic and call.event not in _ALWAYS:
            return _refused(call.event, "off", "PALIMPSEST_AUTO=off")
        try:
            with noted("hook", event=call.event):
                return await use(call)
        except LockTimeout as error:  # another event is at work; what this one brought is in the transcript too
            return _refused(call.event, "failed", error.message)
        except PalimpsestError as error:
            return await self._failed(call, error.code, error.message)
        except Exception as error:  # the client goes on; its text may quote a session, its kind does not
            _log.debug("%s", call.event, exc_info=error)
            return await self._failed(call, "internal_error", type(error).__name__)

    async def _failed(self, call: HookCall, code: str, text: str) -> str:
        self._conversations.forget(call)
        await asyncio.to_thread(self._notes.note_trouble, call.event, code, text)
        return _refused(call.event, "failed", f"{code}: {text}")

    async def _start(self, call: HookCall) -> str:
        before = self._conversations.latest_id
        text = await asyncio.to_thread(start, call, self._notes, before=before)
        noted_down = is_noted(call.session_id, self._notes)
        if noted_down or (info := await self._sessions.find_or_none(call.session_id)) is None:
            return text
        # Recorded, but nobody wrote down yet what its start is to say.
        await self._before.keep_start_of(info)
        return await asyncio.to_thread(start, call, self._notes, before=before)

    async def _pre_tool_use(self, call: HookCall) -> str:
        tool_input = call.mapping("tool_input")
        if tool_input is None or not call.session_id:
            return ""
        why = await refusal(self._sessions, self._conversations.name(call), call.text("tool_name"), tool_input)
        if why:
            return hook_answer("PreToolUse", permissionDecision="deny", permissionDecisionReason=why)
        named = tool_input.get("session_id")
        known = isinstance(named, str) and await self._sessions.find_or_none(named) is not None
        changed = filled(call.text("tool_name"), tool_input, self._conversations.name(call), known)
        if call.text("tool_name") in EDITORS and self._deps.automatic:  # they have no hook after the call
            self._results.note_change(call)
            return await self._step_notices.say(call)
        if changed is None:
            return ""
        await self._conversations.of(call)  # our tools answer in a session that has nothing yet, too
        return hook_answer("PreToolUse", updatedInput=changed)

    async def _prompt(self, call: HookCall) -> str:
        said = await self._step_notices.say(call)
        one = await self._conversations.known(call)
        if one is not None:
            await self._skills.prompted(call, one)
        return said

    async def _expansion(self, call: HookCall) -> str:
        return await self._skills.expanded(call)

    async def _post_tool_use(self, call: HookCall) -> str:
        born = await self._results.take(call)
        try:
            advice = await self._skills.advice(call) if call.text("tool_name") in SKILL_TOOLS else ""
            beside = [advice, await self._wrote_a_note(call), *await self._step_notices.due(call)]
        except Exception as error:  # what was replaced at birth must reach the client in any case
            if born is None:
                raise
            _log.warning("%s: %s", call.event, getattr(error, "message", type(error).__name__))
            beside = []
        if born is None:
            return context_answer("PostToolUse", *beside) if any(beside) else ""
        return context_answer("PostToolUse", born.context, *beside, updatedToolOutput=born.output)

    async def _wrote_a_note(self, call: HookCall) -> str:
        """What is said of a command that nobody could look at before it ran."""
        tool_input = call.mapping("tool_input")
        if call.text("tool_name") != "Bash" or not tool_input:
            return ""
        why = await refusal(self._sessions, self._conversations.name(call), "Bash", tool_input)
        return f"{why} The command did run: mend what it wrote." if why else ""

    async def _follow(self, call: HookCall) -> str:
        one = await self._conversations.known(call)
        if one is not None:
            async with self._conversations.turn(one):
                await self._conversations.follow(one)
            if call.event == "Stop" and (await self._sessions.fold(one.info)).decided.batches:
                await keep_status(self._deps, self._sessions, one.info)  # what came back since counts
        return ""

    async def _pre_compact(self, call: HookCall) -> str:
        from .around_compaction import TURN_S

        await self._results.take_late(call, wait_s=TURN_S)
        return await self._before.before_compaction(call)

    async def _post_compact(self, call: HookCall) -> str:
        """What the user reads below the compaction. The client has a line for this hook in any case."""
        await self._after.after_compaction(call)
        if not call.session_id:
            return ""
        start = await asyncio.to_thread(self._notes.start_of, self._conversations.name(call))
        handle, batches = start.get("handle"), start.get("batches")
        if not isinstance(handle, str) or not isinstance(batches, int) or not batches:
            return ""
        number = f"{counted(batches, 'batch')} of originals {verb(batches, 'is', 'are')}"
        said = start.get("said")
        return " · ".join(
            filter(None, [f"{number} kept: palimpsest-mcp list {handle}", said if isinstance(said, str) else ""])
        )

    async def _end(self, call: HookCall) -> str:
        """The rest of the transcript, and what the session's skills learned. Which session ended was noted by the hook
        itself: this comes later, and a note that comes late would name a wrong parent."""
        one = await self._conversations.known(call)
        if one is not None:
            async with self._conversations.turn(one, wait_s=_ENDED_TURN_S):
                await self._conversations.whole(one)
                await self._skills.record(one, ended=True)
            await self._before.keep_start_of(one.info)
            await self._at_end(one.info.session_id)
            self._sessions.let_go(one.info)
        await asyncio.to_thread(self._notes.sweep)
        return ""

    async def _turn_complete(self, call: HookCall) -> str:
        return await self._in_place.turn_ended(call)

    async def _compact(self, call: HookCall) -> str:
        return (await self._in_place.compact(call)).text()


def _refused(event: str, status: str, reason: str) -> str:
    if event == COMPACT:
        from .in_place import InPlace

        return InPlace(apply=False, status=status, reason=reason).text()
    return json.dumps({"compact": False, "why": reason}) if event == TURN_COMPLETE else ""
