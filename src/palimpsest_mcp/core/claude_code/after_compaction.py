"""PostCompact: what the host's own summary still holds of the originals, and what it lost."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec

from ...context.view import View
from ...hosts.hook_call import HookCall
from ...models.events import HostCompacted, LostBatch, SessionInfo
from ...models.items import Specific
from ...models.probes import ProbeReport
from ..compaction.commit import Keeper, Kept
from ..compaction.probes import Prober
from ..dependencies import Dependencies
from ..sessions import Sessions
from .before_compaction import title_of, weightiest
from .conversations import Conversations

_TURN_S = 20.0
_EXAMPLES = 12
_NAMED = 12


class AfterCompaction:
    """Compares a host's summary with what it took the place of."""

    def __init__(self, deps: Dependencies, sessions: Sessions, conversations: Conversations, keeping: Keeper) -> None:
        self._deps = deps
        self._sessions = sessions
        self._conversations = conversations
        self._keeper = keeping

    async def after_compaction(self, call: HookCall) -> None:
        """Keep the summary, and what it lost. Without one the compaction was ours, and its digests stand."""
        summary = call.text("compact_summary")
        one = await self._conversations.known(call)
        if one is None or not summary:
            return
        async with self._conversations.turn(one, wait_s=_TURN_S):
            _, shown = await self._sessions.view(one.info, self._deps.counter_for(self._deps.model))
            compared = await self.compared(one.info, shown, summary, call.text("trigger"))
            await self._conversations.write(one, [compared])

    async def compared(self, info: SessionInfo, shown: View, summary: str, trigger: str) -> HostCompacted:
        """What a summary lost of what the context held before it, all of which is archived."""
        kept = await self._keeper.records(info, {entry.item.id for entry in shown.items})
        masked = self._deps.masked(summary)
        held = await asyncio.to_thread(self._keeper.specifics_of, masked)
        found = await asyncio.to_thread(self._lost, kept, held, summary)
        probes = await self._probed(shown, masked)
        return msgspec.structs.replace(found, trigger=trigger, probes=probes, ts=self._deps.now())

    def _lost(self, kept: Sequence[Kept], held: frozenset[Specific], summary: str) -> HostCompacted:
        names = {one.text for one in held}
        everything: set[Specific] = set()
        lost: dict[Specific, None] = {}
        batches: list[LostBatch] = []
        for one in reversed(kept):
            own = frozenset[Specific]().union(*one.specifics)
            missing = [specific for specific in sorted(own) if specific.text not in names]
            everything |= own
            lost |= dict.fromkeys(missing)
            if missing:
                title = title_of(one.record, self._deps.redactor)
                batches.append(LostBatch(batch_id=one.record.batch_id, total=len(own), lost=len(missing), title=title))
        batches.sort(key=lambda batch: -batch.lost)
        return HostCompacted(
            summary=summary,
            total=len(everything),
            lost=len(lost),
            batches=tuple(batches[:_NAMED]),
            examples=tuple(weightiest(lost, _EXAMPLES)),
        )

    async def _probed(self, shown: View, masked: str) -> ProbeReport:
        """The probes of everything that was in the context, asked of the summary alone."""
        gone = [msgspec.structs.replace(entry, state="gone") for entry in shown.items]
        probing = Prober(self._deps, gone, summary=masked)
        return probing.told(await probing.ask({}))
