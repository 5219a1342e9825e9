"""What is said to the model beside its work: a zone once, and so what a compaction of the host's own lost; at a new
request what left the context and may be needed for it; when a skill starts, what its earlier uses taught.

Answers in the words of Claude Code's hooks; an empty text says nothing.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
import sys
from collections.abc import Mapping
from typing import Any, Protocol

from ...context.state import UsageFields
from ...errors import PalimpsestError
from ...hosts.hook_call import HookCall, read_call
from ...hosts.pieces import text_of
from ...memory.skill_uses import skill_named, skill_of, skill_uses
from ...models.events import HostCompacted, LossTold
from ...models.plans import PassOptions, Policy
from ...models.text import counted, plain_line, verb
from ...ports.seams import HostNotes
from ...settings.places import project_root
from ..dependencies import Dependencies
from ..measure import Measurement, measured, stored_policy
from ..notices import Notices
from ..offloaded import Recall
from ..sessions import Sessions
from ..summary import items_of
from .conversations import HOST, Conversation, Conversations

MOST_CHARACTERS = 9_900
"""Of an injected context, in UTF-16 units; the client puts more than 10,000 into a file and shows 2 KB of it."""


def hook_answer(event: str, **fields: Any) -> str:
    """The JSON of a hook's output."""
    return json.dumps({"hookSpecificOutput": {"hookEventName": event, **fields}}, ensure_ascii=True)


def context_answer(event: str, *texts: str, **fields: Any) -> str:
    """Text to be injected into the model's context, beside other fields of the output; empty where there is nothing."""
    said = within("\n\n".join(filter(None, texts)), MOST_CHARACTERS)
    if said:
        fields["additionalContext"] = said
    return hook_answer(event, **fields) if fields else ""


def length(text: str) -> int:
    """Characters as the client counts them."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def within(text: str, most: int) -> str:
    """The text, whole lines of it where it is too long."""
    if length(text) <= most:
        return text
    lines = text.split("\n")
    while len(lines) > 1 and length("\n".join(lines)) > most - 2:
        lines.pop()
    kept = "\n".join(lines)
    return f"{kept}\n…" if length(kept) <= most - 2 else kept[: (most - 2) // 2] + "…"


# SessionStart: what is injected when a conversation begins, goes on, or was just compacted.


FOLLOWS = ("clear",)
"""Sources by which the client leaves one session for a new one, in the same process."""


def client_of(call: HookCall) -> str:
    """What tells one client from another: its process where the hook knows it, else its folder."""
    return call.text("client_pid") or call.text("cwd")


def start(call: HookCall, notes: HostNotes, *, before: str = "") -> str:
    """The hook's answer; also notes which session a new one follows. Reads small files only: this must be quick.

    Args:
        before: the session that this process last heard of, where that is known.
    """
    source, session_id = call.text("source"), call.session_id
    if not session_id:
        return ""
    parent = ""
    if source in FOLLOWS:
        parent = notes.take_ended(client_of(call)) or before
        if parent and parent != session_id and not notes.is_known(session_id):
            notes.link(session_id, parent)
    found = notes.start_of(session_id) or _start_of_parent(parent or notes.parent_of(session_id), notes)
    handle, batches = found.get("handle"), found.get("batches")
    waiting = _handoff(call, notes) if source != "compact" else ""
    if not isinstance(handle, str) or not isinstance(batches, int):
        return context_answer("SessionStart", waiting)
    lost = text_of(found, "lost")
    if source == "compact":
        return context_answer("SessionStart", lost, text_of(found, "after_compaction"))
    orders = text_of(found, "orders")
    kept = (
        f"Palimpsest keeps {counted(batches, 'batch')} of earlier results of this conversation: "
        f'list_offloaded {handle}, restore_batch {handle} BATCH, search_offloaded {handle} "words".'
        if batches
        else ""
    )
    return context_answer("SessionStart", orders, lost, kept, waiting)


def _handoff(call: HookCall, notes: HostNotes) -> str:
    """That a handoff waits for whoever works in this folder; empty where none does."""
    folder = call.text("cwd")
    found = notes.handoff_of(project_root(folder)) if folder else None
    if found is None:
        return ""
    return (
        f"Palimpsest: a handoff of {found.date} exists for this folder: {found.title}. To go on from it: "
        f"load_handoff with task {found.name}."
    )


def is_noted(session_id: str, notes: HostNotes) -> bool:
    """Whether it is written down what the start of a session, or of the one that it follows, is to say."""
    return bool(notes.start_of(session_id) or _start_of_parent(notes.parent_of(session_id), notes))


def _start_of_parent(parent: str, notes: HostNotes) -> dict[str, Any]:
    return notes.start_of(parent) if parent else {}


def end(call: HookCall, notes: HostNotes) -> None:
    """Note that the client leaves a session for a new one, whose start may come at once. Writes one small file."""
    if call.text("reason") in FOLLOWS and call.session_id:
        notes.note_ended(client_of(call), call.session_id)


# What the command hooks are answered with, from small files and before the store is opened.


class ClaudeCodeQuick:
    """Implements `core.host_seam.QuickAnswers`."""

    def read(self, event: str, data: bytes, environ: Mapping[str, str]) -> HookCall:
        """The call, with the client's process."""
        call = read_call(event, data.decode("utf-8", "replace"))
        call.fields.setdefault("client_pid", environ.get("CLAUDE_PID", ""))
        return call

    def ends(self, call: HookCall) -> bool:
        """Of a session."""
        return call.event == "SessionEnd"

    def end(self, call: HookCall, notes: HostNotes) -> None:
        """After `/clear` the new session's start asks for it at once."""
        end(call, notes)

    def at_once(self, call: HookCall, notes: HostNotes, *, automatic: bool) -> str | None:
        """What the start of a session says; None where nobody wrote that down yet, and for every other event."""
        if call.event != "SessionStart":
            return None
        if not automatic:
            return ""
        text, session_id = start(call, notes), call.session_id
        return text if not session_id or not notes.is_known(session_id) or is_noted(session_id, notes) else None


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
