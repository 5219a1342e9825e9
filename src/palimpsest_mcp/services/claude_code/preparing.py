"""PreCompact: everything is archived before the host's own compaction, and the host is told what to keep."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...errors import PalimpsestError
from ...hosts.hook_calls import HookCall
from ...ledger.view import View
from ...models.events import SessionInfo
from ...models.records import OffloadRecord
from ...models.specifics import Specific
from ...models.summaries import AnchoredSummary
from ...summary.markdown import to_markdown
from ..dependencies import ContentCounter, Dependencies
from ..keeping import Keeping, Kept
from ..sessions import Sessions
from ..summary import KeptSummaries
from .answers import MOST_CHARACTERS, length, within
from .catalogue import catalogue
from .conversations import Conversations
from .instructing import instructions

TURN_S = 20.0
"""A compaction waits for what is still at work; the client waits for it."""
_SUMMARY_CHARACTERS = 6_500


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """What stands ready for a compaction of the host's own."""

    kept: tuple[Kept, ...]
    instructions: str


class Preparing:
    """Archives a context, and writes what the host's summary and the session's next start are to say."""

    def __init__(
        self,
        given: Dependencies,
        sessions: Sessions,
        conversations: Conversations,
        summaries: KeptSummaries,
        keeping: Keeping,
    ) -> None:
        self._given = given
        self._sessions = sessions
        self._conversations = conversations
        self._summaries = summaries
        self._keeping = keeping

    async def before_compaction(self, call: HookCall) -> str:
        """Plain text for the prompt of the host's summary. Never blocks a compaction."""
        one = await self._conversations.known(call)
        if one is None:
            return ""
        async with self._conversations.turn(one, wait_s=TURN_S):
            imported = await self._conversations.whole(one)
            by_user = call.text("trigger") == "manual"
            return (await self.prepare(one.info, imported.view, imported.counter, by_user=by_user)).instructions

    async def prepare(self, info: SessionInfo, shown: View, counter: ContentCounter, *, by_user: bool) -> Prepared:
        """Archive everything that stands in the context, and say what to keep of it."""
        kept = await self._keeping.everything(
            info, shown, counter, reason="forced" if by_user else "token_budget_exceeded"
        )
        summary = await self.summary(info)
        text = await asyncio.to_thread(instructions, info.handle, len(kept), summary, _newest_first(kept))
        await self.keep_start(info, [one.record for one in kept], summary)
        return Prepared(kept=kept, instructions=text)

    async def summary(self, info: SessionInfo) -> AnchoredSummary:
        """The anchored summary as of now; an empty one where it cannot be read."""
        try:
            return await self._summaries.current(info)
        except PalimpsestError:
            return AnchoredSummary()

    async def keep_start(self, info: SessionInfo, records: Sequence[OffloadRecord], summary: AnchoredSummary) -> None:
        """Have ready what SessionStart says: after a compaction, and when the session is taken up again."""
        text = await asyncio.to_thread(self._start_text, info, records, summary)
        start = {"handle": info.handle, "batches": len(records), "after_compaction": text}
        await asyncio.to_thread(self._given.store.host_notes.keep_start, info.session_id, start)

    async def keep_start_of(self, info: SessionInfo) -> None:
        """The same from everything that can be restored, the parents' batches first."""
        records = [
            record
            for owner in reversed(await self._sessions.family(info))
            async for record in self._given.store.archive.records(self._sessions.key(owner))
        ]
        await self.keep_start(info, records, await self.summary(info))

    def _start_text(self, info: SessionInfo, records: Sequence[OffloadRecord], summary: AnchoredSummary) -> str:
        """Catalogue and summary together, under the host's limit."""
        told = within(to_markdown(summary), _SUMMARY_CHARACTERS) if _says_something(summary) else ""
        room = MOST_CHARACTERS - length(told) - 2
        listed = catalogue(info.handle, records, self._given.redactor, room=room)
        return "\n\n".join(filter(None, (listed, told)))


def _newest_first(kept: Sequence[Kept]) -> Iterator[Specific]:
    for one in reversed(kept):
        for specifics in reversed(one.specifics):
            yield from sorted(specifics)


def _says_something(summary: AnchoredSummary) -> bool:
    return bool(
        summary.session_intent
        or summary.files_modified
        or summary.decisions_made
        or summary.errors_encountered
        or summary.next_steps
        or summary.todos
    )


__all__ = ["TURN_S", "Prepared", "Preparing"]
