"""What an answer says beside the numbers: one notice a zone, and candidates where a zone asks to prepare."""

from __future__ import annotations

import asyncio

import msgspec

from ..ledger.fold import UsageFields
from ..ledger.view import View
from ..models.events import SessionInfo, UsageSeen
from ..models.plain_text import plain_line
from ..models.policies import Policy
from ..models.usage import Usage
from ..policy.candidates import PREPARE, Candidates, candidates
from .context import preview
from .dependencies import Dependencies
from .measure import Situation
from .sessions import Sessions

HYSTERESIS = 0.05
"""A zone is noticed again only after the ratio fell so far below its start, or after a pass."""
KEPT = 16
NAME_CHARACTERS = 60


class Noticing:
    """Remembers in the ledger which zone was noticed, and in memory what the candidates of a view are."""

    def __init__(self, given: Dependencies, sessions: Sessions) -> None:
        self._given = given
        self._sessions = sessions
        self._found: dict[str, tuple[View, Policy, Candidates]] = {}

    async def usage(self, info: SessionInfo, situation: Situation, policy: Policy) -> Usage:
        """The situation's usage with what is to be said about it. Nothing is said where `PALIMPSEST_AUTO=off`."""
        usage = situation.usage
        if not self._given.automatic:
            return usage
        notice = await self.notice(info, situation, policy)
        if not usage.action.startswith(PREPARE):
            return msgspec.structs.replace(usage, notice=notice)
        found = await self._candidates(info, situation, policy)
        return msgspec.structs.replace(
            usage,
            notice=notice,
            candidates=tuple(
                f"{one.item.id}: {one.tokens:,} tokens, {plain_line(preview(self._given, one), NAME_CHARACTERS)}"
                for one in found.items
            ),
            candidates_total=found.total,
            would_free_tokens=round(found.frees_tokens * situation.scale),
        )

    async def notice(self, info: SessionInfo, situation: Situation, policy: Policy) -> str:
        """What is to be said of the zone, once; empty where that was done."""
        fold, usage = situation.fold, situation.usage
        starts = {zone.name: zone.start for zone in policy.zones}
        if usage.ratio is None or usage.zone not in starts:
            return ""
        rev = fold.decided.last_pass_rev
        last = fold.usage.get("", UsageFields()).notice
        known = last is not None and last.notice_rev == rev and last.notice in starts
        noticed = starts[last.notice] if known and last is not None else 0.0
        here = starts[usage.zone]
        if here == noticed or (here < noticed and usage.ratio > noticed - HYSTERESIS):
            return ""
        event = UsageSeen(notice=usage.zone, notice_rev=rev, ts=self._given.now())
        await self._given.store.ledger.observe(self._sessions.key(info), [event], durable=False)
        return f"now in zone {usage.zone} ({usage.ratio:.1%}): {usage.action}" if here > noticed else ""

    async def _candidates(self, info: SessionInfo, situation: Situation, policy: Policy) -> Candidates:
        kept = self._found.get(info.session_id)
        if kept is not None and kept[0] is situation.view and kept[1] == policy:
            return kept[2]
        scale = situation.scale
        used, window = situation.view_used, situation.window_tokens
        found = await asyncio.to_thread(
            candidates,
            situation.view.items,
            policy,
            used_tokens=None if used is None else round(used / scale),
            window_tokens=None if window is None else round(window / scale),
        )
        if len(self._found) >= KEPT:
            self._found.clear()
        self._found[info.session_id] = (situation.view, policy, found)
        return found


__all__ = ["Noticing"]
