"""The conversations of one client: which session an event belongs to, and its transcript followed by offset."""

from __future__ import annotations

import asyncio
import os
import stat
from collections import OrderedDict
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePath
from typing import Any

import msgspec

from ...context.state import UsageFields
from ...errors import InvalidArgument, LockTimeout
from ...hosts.claude_code.transcript import (
    MESSAGE_ROWS,
    ClaudeCodeTranscript,
    News,
    Tail,
    block_ids,
    forked_from,
    tokens_after_compaction,
)
from ...hosts.hook_call import HookCall
from ...hosts.pieces import as_fields, text_of
from ...models.events import Observation, Seen, SessionInfo, UsageSeen
from ...ports.seams import HostContext, HostUsage
from ..dependencies import Dependencies
from ..importer import MAX_FILE_BYTES, Imported, import_context, tail_events
from ..sessions import Sessions

# Transcripts on disk: read on from an offset, and which of them a fork was copied from.


_FIRST_BYTES = 1 << 20
"""So much of a transcript tells whether it begins with copied rows."""
_SIBLINGS = 32
"""Newest transcripts of the same folder that a fork's rows are looked for in."""
_MOST_BYTES = 64 << 20
"""A larger one is not searched."""
_MOST_ROWS = 200


def bytes_after(
    path: str, offset: int, identity: tuple[int, int], *, most: int = MAX_FILE_BYTES
) -> tuple[bytes, tuple[int, int], bool] | None:
    """What a file holds from an offset on, which file it is, and whether it was read from its start: because it is
    another file now, or was cut shorter. None when nothing is new."""
    try:
        with open(path, "rb") as file:  # a path from outside: opened as it is
            found = os.fstat(file.fileno())
            here = (found.st_dev, found.st_ino)
            anew = here != identity or found.st_size < offset
            offset = 0 if anew else offset
            if not stat.S_ISREG(found.st_mode) or found.st_size == offset:
                return None
            file.seek(offset)
            return file.read(most), here, anew
    except OSError:
        return None


def origins(path: str, session_id: str) -> list[str]:
    """The sessions that a transcript's first rows may have been copied from, the likeliest first; none for a session
    that only just began. The client keeps the rows' ids when it forks a session (2.1.328)."""
    found = bytes_after(path, 0, (0, 0), most=_FIRST_BYTES) if path else None
    head = Tail()
    head.feed(found[0] if found else b"")
    if told := forked_from(head.rows, session_id):
        return [told]
    if not _has_a_past(head.rows):
        return []
    ids = [text_of(row, "uuid").encode() for row in head.rows if text_of(row, "type") in MESSAGE_ROWS][:_MOST_ROWS]
    shared = {other: _shared(other, ids) for other in _siblings(Path(path))}
    likely = sorted((other for other in shared if shared[other]), key=lambda other: -shared[other])
    return [other.stem for other in likely]


def _has_a_past(rows: list[dict[str, Any]]) -> bool:
    """Whether more than one prompt stands there, or a compaction."""
    prompts = [
        row for row in rows if text_of(row, "type") == "user" and not list(block_ids(row, "tool_result", "tool_use_id"))
    ]
    real = [row for row in prompts if row.get("isMeta") is not True and as_fields(row.get("message")) is not None]
    return len(real) > 1 or any(text_of(row, "subtype") == "compact_boundary" for row in rows)


def _siblings(path: Path) -> list[Path]:
    """The newest other transcripts of the same project."""
    try:
        sizes = {other: other.stat() for other in path.parent.glob("*.jsonl") if other != path}
    except OSError:
        return []
    small = [other for other, told in sizes.items() if told.st_size <= _MOST_BYTES and stat.S_ISREG(told.st_mode)]
    return sorted(small, key=lambda other: -sizes[other].st_mtime)[:_SIBLINGS]


def _shared(path: Path, ids: list[bytes]) -> int:
    try:
        data = path.read_bytes()
    except OSError:
        return 0
    if not ids or ids[0] not in data:
        return 0
    return sum(one in data for one in ids)


HOST = "claude-code"
LOCK_S = 0.05
"""So long a hook waits for its turn; then the original goes through (L11)."""
_KEPT = 32
_AFTER_COMPACTION = "the host's own count after its compaction"


@dataclass
class Conversation:
    """One agent's session in a client, and how far its transcript was read."""

    info: SessionInfo
    agent_id: str = ""
    path: str = ""
    tail: Tail = field(default_factory=Tail)
    identity: tuple[int, int] = (0, 0)
    waiting_row: int = 0
    """First row behind everything known: results that are not on disk yet are numbered from here."""
    awaited: dict[str, str] = field(default_factory=dict[str, str])
    """Results that hooks brought before their rows were read: item -> call. The client writes its transcript a little
    later, so that a result may be missing there that stands in the context."""
    late: list[HookCall] = field(default_factory=list[HookCall])
    """Results that gave up waiting for their turn; recorded before the next thing that happens."""
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    used: int = 0
    """Tokens that the last answer reported, and what came in since: near enough to tell that no zone was entered."""
    quiet: tuple[int, int] | None = None
    """From and below so many tokens a notice would say nothing; None: only a measurement can tell."""

    def next_row(self) -> int:
        """For a result that is not on disk yet."""
        row = max(self.waiting_row, len(self.tail.rows))
        self.waiting_row = row + 1
        return row

    def forget(self) -> None:
        """Read the transcript from its start the next time: that writes nothing twice."""
        self.tail, self.identity, self.waiting_row = Tail(sidechain=bool(self.agent_id)), (0, 0), 0
        self.quiet = None


class Conversations:
    """Every conversation that this process heard of, by the ids that hooks give."""

    def __init__(self, deps: Dependencies, sessions: Sessions) -> None:
        self._deps = deps
        self._sessions = sessions
        self._known: OrderedDict[str, Conversation] = OrderedDict()
        self._latest = ""

    @cached_property
    def _reader(self) -> ClaudeCodeTranscript:
        return ClaudeCodeTranscript(self._deps.kind_by_tool)

    @property
    def latest(self) -> Conversation | None:
        """The main chain that was last heard of."""
        return self._known.get(self._latest)

    @property
    def latest_id(self) -> str:
        """Its session id; empty before the first."""
        return self._latest

    @staticmethod
    def name(call: HookCall) -> str:
        """The session of an event: the client's own id (L17), with the sub-agent's behind it.

        Raises:
            InvalidArgument: the payload names none.
        """
        if not call.session_id:
            raise InvalidArgument("The event names no session.", next="Hand over session_id.")
        return f"{call.session_id}.{call.agent_id}" if call.agent_id else call.session_id

    def forget(self, call: HookCall) -> None:
        """After a failure: read the event's transcript from its start the next time."""
        found = self._known.get(f"{call.session_id}.{call.agent_id}" if call.agent_id else call.session_id)
        if found is not None:
            found.forget()

    async def known(self, call: HookCall) -> Conversation | None:
        """The conversation of an event, where it has said anything yet: neither a session nor a transcript is None.

        Raises:
            InvalidArgument: the payload names no session.
        """
        name, path = self.name(call), _path_of(call)
        there = name in self._known or await self._sessions.find_or_none(name) is not None
        if there or (path and await asyncio.to_thread(os.path.isfile, path)):
            return await self.of(call)
        return None

    async def of(self, call: HookCall) -> Conversation:
        """The conversation of an event: its session is made when it is new, and records its parent (L14).

        Raises:
            InvalidArgument: the payload names no session.
        """
        name, main, path = self.name(call), call.session_id, _path_of(call)
        found = self._known.get(name)
        if found is None:
            parent = main if call.agent_id else await self._parent_of(main, path)
            info = await self._sessions.ensure(
                name, host=HOST, project=call.text("cwd"), parent=parent or None, source=HOST
            )
            found = self._known.setdefault(name, Conversation(info, call.agent_id))
        self._known.move_to_end(name)
        self._let_go(name)
        if not call.agent_id:
            self._latest = main
        if path and path != found.path:
            found.path = path
            found.forget()
        return found

    def _let_go(self, current: str) -> None:
        """Forget conversations that were not heard of for longest; never one in which something is at work or late."""
        idle = [name for name, one in self._known.items() if not (one.turn.locked() or one.late) and name != current]
        for name in idle[: max(0, len(self._known) - _KEPT)]:
            del self._known[name]

    async def _parent_of(self, main: str, path: str) -> str:
        """The session that `/clear` left for this one, or that a fork's rows were copied from; empty for none that the
        store knows."""
        linked = await asyncio.to_thread(self._deps.store.host_notes.parent_of, main)
        for name in [linked] if linked else await asyncio.to_thread(origins, path, main):
            if (parent := await self._sessions.find_or_none(name)) is not None:
                return parent.session_id
        return ""

    @asynccontextmanager
    async def turn(self, one: Conversation, *, wait_s: float | None = LOCK_S) -> AsyncGenerator[None]:
        """One event of a conversation at a time.

        Raises:
            LockTimeout: another event takes longer than `wait_s`.
        """
        try:
            async with asyncio.timeout(wait_s):
                await one.turn.acquire()
        except TimeoutError:
            raise LockTimeout("Another event of this session is at work.", next="Nothing is lost.") from None
        try:
            yield
        finally:
            one.turn.release()

    async def news(self, one: Conversation) -> list[Observation]:
        """What the transcript says since it was last read, to be written by the caller. Where only the whole of it can
        tell (the first read, a compaction, a rewind), that is imported here and now."""
        news = await self._read(one)
        if news is None:
            return []
        if news.whole:
            await self.whole(one)
            return []
        context = await asyncio.to_thread(self._reader.parse, one.tail.window(news.start))
        return await tail_events(self._deps, self._sessions, one.info, _shifted(context, news.start))

    async def follow(self, one: Conversation) -> None:
        """Bring the ledger up to the transcript."""
        await self.write(one, await self.news(one))

    async def write(self, one: Conversation, events: Sequence[Observation]) -> None:
        """Append events to the conversation's ledger, flushed."""
        if events:
            key = self._sessions.key(one.info)
            await self._deps.store.ledger.observe(key, events)
            self._deps.note_unread(key, (event.item for event in events if isinstance(event, Seen)))
            _count(one, events)

    async def whole(self, one: Conversation) -> Imported:
        """Import everything the transcript holds; writes nothing that is known. Where there is none yet, what hooks
        brought is all there is."""
        await self._read(one)
        if not one.tail.rows:
            return await self._as_recorded(one)
        one.quiet = None
        context = await asyncio.to_thread(self._reader.parse, one.tail.rows)
        awaited = set(one.awaited)
        imported = await import_context(self._deps, self._sessions, one.info, context, awaited=awaited)
        if counted := _counted_by_host(one.tail, imported):
            await self.write(one, [counted])
            imported = await import_context(self._deps, self._sessions, one.info, context, awaited=awaited)
        return imported

    async def _as_recorded(self, one: Conversation) -> Imported:
        counter = self._deps.counter_for(self._deps.model)
        fold, shown = await self._sessions.view(one.info, counter)
        context = HostContext(form="claude-code", items=(), messages=(), host=HOST)
        return Imported(info=one.info, context=context, fold=fold, view=shown, ids={}, counter=counter, beside=0)

    async def _read(self, one: Conversation) -> News | None:
        """Read on from where it was left; None when there is nothing new, or nothing at all yet."""
        if not one.path:
            return None
        found = await asyncio.to_thread(bytes_after, one.path, one.tail.offset, one.identity)
        if found is None:
            return None
        data, identity, anew = found
        if anew:
            one.forget()
            one.identity = identity
        news = await asyncio.to_thread(one.tail.feed, data)
        one.awaited = {item: call for item, call in one.awaited.items() if call not in one.tail.answered}
        one.waiting_row = max(one.waiting_row, len(one.tail.rows))
        return news if news.rows else None


def _count(one: Conversation, events: Sequence[Observation]) -> None:
    reported = [event for event in events if isinstance(event, UsageSeen) and event.used_tokens is not None]
    row = reported[-1].row if reported else -1
    one.used = (reported[-1].used_tokens or 0) if reported else one.used
    one.used += sum(event.item.tokens for event in events if isinstance(event, Seen) and event.item.position[0] > row)


def _path_of(call: HookCall) -> str:
    """The transcript of the agent in which the event happened."""
    own = call.text("agent_transcript_path") if call.agent_id else ""
    path = own or call.transcript_path
    if not path.endswith(".jsonl") or not os.path.isabs(path):
        return ""
    if call.agent_id and not own:
        return str(PurePath(path).with_suffix("") / "subagents" / f"agent-{call.agent_id}.jsonl")
    return path


def _shifted(context: HostContext, rows: int) -> HostContext:
    """The context of a part that begins at a row, numbered as in the whole."""
    usage = context.usage
    return msgspec.structs.replace(
        context,
        items=tuple(
            msgspec.structs.replace(item, position=(item.position[0] + rows, item.position[1]))
            for item in context.items
        ),
        usage=None if usage is None else _usage_at(usage, rows),
    )


def _usage_at(usage: HostUsage, rows: int) -> HostUsage:
    return msgspec.structs.replace(usage, row=usage.row + rows if usage.row >= 0 else -1)


def _counted_by_host(tail: Tail, imported: Imported) -> UsageSeen | None:
    """After a compaction and before the next answer, the boundary alone says how full the window is."""
    found = tokens_after_compaction(tail.rows)
    if found is None or imported.context.usage is not None:
        return None
    row, tokens = found
    known = imported.fold.usage.get("", UsageFields()).used
    if known is not None and known.row >= row:
        return None
    return UsageSeen(used_tokens=tokens, used_source=_AFTER_COMPACTION, row=max(row, len(tail.rows) - 1))
