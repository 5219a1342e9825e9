"""Skills in a client: what earlier uses taught is told when one starts, and how it went is recorded when it is over."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any, Protocol

from ...errors import PalimpsestError
from ...hosts.hook_call import HookCall
from ...memory.skill_uses import SKILL_TOOLS, skill_named, skill_of, skill_uses
from ..dependencies import Dependencies
from ..sessions import Sessions
from ..summary import items_of
from .answers import context_answer
from .conversations import Conversation, Conversations

_log = logging.getLogger(__name__)


class Lessons(Protocol):
    """What skills learn."""

    async def experience_advice(self, skill: str) -> str:
        """At most 300 tokens for whoever starts the skill; empty where there is nothing."""
        ...

    async def record_experience(self, skill: str, event: Mapping[str, Any], *, once: bool = False) -> object:
        """Append an event; with `once` not again where the log has its id."""
        ...


class SkillUses:
    """Skills of one client's conversations. What is recorded is read from the session, so that a new process misses
    nothing: at the end of a session every use is looked at again, and none is recorded twice."""

    def __init__(self, deps: Dependencies, sessions: Sessions, conversations: Conversations, lessons: Lessons) -> None:
        self._deps = deps
        self._sessions = sessions
        self._conversations = conversations
        self._lessons = lessons
        self._open: set[str] = set()
        """Sessions in which a skill was started since the user's last message."""

    async def advice(self, call: HookCall) -> str:
        """What earlier uses taught of the skill that a call starts; empty for any other call."""
        started = call.event == "UserPromptExpansion" or call.text("tool_name") in SKILL_TOOLS
        if not started or not call.session_id:
            return ""
        skill = skill_named(call.text("command_name")) or skill_of(call.mapping("tool_input"))
        if not skill:
            return ""
        self._open.add(self._conversations.name(call))
        return await self._lessons.experience_advice(skill)

    async def expanded(self, call: HookCall) -> str:
        """A user calls a skill by its name: the answer of the hook."""
        return context_answer(call.event, await self.advice(call))

    async def prompted(self, call: HookCall, one: Conversation) -> None:
        """The user says something, other than a command: what was begun before it is over."""
        if (name := self._conversations.name(call)) in self._open and not call.text("prompt").startswith("/"):
            self._open.discard(name)
            await self.record(one, prompt=call.text("prompt"))

    async def record(self, one: Conversation, *, prompt: str = "", ended: bool = False) -> None:
        """Record the uses that are over. A skill that cannot be written to must not break the client."""
        items = items_of(await self._sessions.fold(one.info))
        session_id, mask = one.info.session_id, self._deps.masked
        for use in await asyncio.to_thread(skill_uses, items, session_id, mask, prompt=prompt, ended=ended):
            for event in use.events:
                try:
                    await self._lessons.record_experience(use.skill, event, once=True)
                except PalimpsestError as error:
                    _log.warning("%s learned nothing (%s): %s", use.skill, error.code, error.message)
