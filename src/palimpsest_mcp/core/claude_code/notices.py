"""What is said to the model beside its work: a zone once, and so what a compaction of the host's own lost; at a new
request what left the context and may be needed for it; when a skill starts, what its earlier uses taught."""

from __future__ import annotations

import asyncio
import logging
import math
import sys
from collections.abc import Mapping
from typing import Any, Protocol

from ...context.state import UsageFields
from ...errors import PalimpsestError
from ...hosts.hook_call import HookCall
from ...memory.skill_uses import skill_named, skill_of, skill_uses
from ...models.events import HostCompacted, LossTold
from ...models.plans import PassOptions, Policy
from ...models.text import counted, plain_line, verb
from ..dependencies import Dependencies
from ..measure import Measurement, measured, stored_policy
from ..notices import Notices
from ..offloaded import Recall
from ..sessions import Sessions
from ..summary import items_of
from .answers import context_answer
from .conversations import HOST, Conversation, Conversations

_NAMED_BATCHES = 6
_NEAR = 0.01
"""So near the edge of a zone it is measured; further inside, what came in since cannot have left the zone."""


class StepNotices:
    """What is said to the model between its steps, where there is anything to say."""

    def __init__(self, deps: Dependencies, sessions: Sessions, conversations: Conversations, noticing: Notices) -> None:
        self._deps = deps
        self._sessions = sessions
        self._conversations = conversations
        self._notices = noticing

    async def say(self, call: HookCall) -> str:
        """The hook's answer; empty nearly always."""
        one = await self._conversations.known(call)
        if one is None:
            return ""
        async with self._conversations.turn(one):
            await self._conversations.follow(one)
            offer = ""
            if self._deps.recall:
                offer = await Recall(self._deps, self._sessions).offer(one.info, call.text("prompt"))
            notice = await self._notice(one)
            return context_answer(call.event, await self._loss(one), notice, offer)

    async def due(self, call: HookCall) -> list[str]:
        """What is to be said beside a result that was just recorded; nothing while its siblings are at work."""
        one = await self._conversations.of(call)
        if one.turn.locked():
            return []
        async with self._conversations.turn(one):
            notice = await self._notice(one)
            return [await self._loss(one), notice]

    async def _loss(self, one: Conversation) -> str:
        """Asked for last: once it is written down as told, nothing may fail before it is."""
        lost = (await self._sessions.fold(one.info)).untold_loss
        if lost is None:
            return ""
        await self._conversations.write(one, [LossTold(ts=self._deps.now())])
        return loss_text(one.info.handle, lost)

    async def _notice(self, one: Conversation) -> str:
        if one.quiet is not None and one.quiet[0] <= one.used < one.quiet[1]:
            return ""
        fold, deps = await self._sessions.opened(one.info), self._deps
        known = fold.usage.get("", UsageFields())
        named = known.model or known.window or deps.model or deps.window_tokens or deps.effective_window_tokens
        if not named:  # a zone is a share of a window, and nobody named one or a model that has one
            return ""
        policy = stored_policy(self._deps, fold)
        measurement = await measured(self._deps, self._sessions, one.info, policy, PassOptions(host=HOST))
        notice = await self._notices.notice(one.info, measurement, policy)
        one.used = measurement.usage.used.value or 0
        one.quiet = _within_zone(measurement, policy)
        if not notice:
            return ""
        return (
            f"Palimpsest: {notice}. The next compaction puts checked digests in the place of older tool results; "
            f"every original stays within reach: restore_batch {one.info.handle} BATCH, or search_offloaded."
        )


def _within_zone(measurement: Measurement, policy: Policy) -> tuple[int, int] | None:
    """The tokens between which the zone stays the same, a little less at both ends; None where there are no numbers."""
    ratio, window = measurement.usage.ratio, measurement.window_tokens
    if ratio is None or window is None:
        return None
    starts = sorted(zone.start for zone in policy.zones)
    low = max((start for start in starts if start <= ratio), default=0.0)
    high = min((start for start in starts if start > ratio), default=float("inf"))
    least = 0 if low == 0.0 else math.ceil((low + _NEAR) * window)
    return least, math.floor((high - _NEAR) * window) if high != float("inf") else sys.maxsize


def loss_text(handle: str, lost: HostCompacted) -> str:
    """What a compaction lost, and how to get it back; empty where it lost nothing."""
    if not lost.lost:
        return ""
    lines = [
        f"Palimpsest: the conversation before this point was replaced by a summary. Of "
        f"{counted(lost.total, 'specific')} of its originals (numbers, paths, ids, commands …) {lost.lost:,} "
        f"{verb(lost.lost, 'is', 'are')} not in it. Do not guess them: restore."
    ]
    if lost.examples:
        lines.append("For example: " + " · ".join(plain_line(text, 80) for text in lost.examples))
    lines += [
        f"restore_batch {handle} {batch.batch_id} · {batch.title} · {batch.lost:,} of {batch.total:,} lost"
        for batch in lost.batches[:_NAMED_BATCHES]
    ]
    rest = len(lost.batches) - _NAMED_BATCHES
    lines.append(
        (f"{rest} more: list_offloaded {handle}. " if rest > 0 else "")
        + f'By words: search_offloaded {handle} "words".'
    )
    if lost.probes is not None and lost.probes.total:
        lines.append(f"Questions about it that the summary answers: {lost.probes.passed} of {lost.probes.total}.")
    return "\n".join(lines)


# Skills in a client: what earlier uses taught is told when one starts, and how it went is recorded when it is over.


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
        """What earlier uses taught of the skill that a call starts, by a tool for it or by the user's command."""
        if not call.session_id:
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
