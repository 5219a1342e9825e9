"""Every event of the client to its use case. Nothing that goes wrong here may break the client.

A command hook is a process of its own: what makes digests and summaries is imported by the events that need it.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ...errors import LockTimeout, PalimpsestError
from ...hosts.claude_code.settings import EDITORS
from ...hosts.hook_call import HookCall, read_call
from ...memory.skill_uses import SKILL_TOOLS
from ...models.text import counted, verb
from ..dependencies import Dependencies
from ..notices import Notices
from ..offloaded import Offloaded, keep_status
from ..sessions import Sessions
from ..spans import noted
from ..summary import KeptSummaries
from .answers import context_answer, hook_answer, is_noted, start
from .conversations import Conversations
from .notices import Lessons, SkillUses, StepNotices
from .tool_calls import ToolResults, filled, refusal

if TYPE_CHECKING:
    from ..compaction.commit import Keeper
    from .around_compaction import AfterCompaction, BeforeCompaction
    from .in_place import InPlaceCompaction

_log = logging.getLogger(__name__)
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
