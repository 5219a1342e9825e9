"""Between the model's steps: a zone is named once, and so is what a compaction of the host's own lost; at a new
request, what left the context and may be needed for it."""

from __future__ import annotations

import math
import sys

from ...hosts.hook_call import HookCall
from ...models.events import HostCompacted, LossTold
from ...models.plans import PassOptions, Policy
from ...models.text import counted, plain_line, verb
from ..dependencies import Dependencies
from ..measure import Measurement, measured
from ..notices import Notices
from ..policies import stored_policy
from ..recall import Recall
from ..sessions import Sessions
from .answers import context_answer
from .conversations import HOST, Conversation, Conversations

_NAMED_BATCHES = 6
_NEAR = 0.01
"""So near the edge of a zone it is measured; further inside, what came in since cannot have left the zone."""


class StepNotices:
    """What is said to the model between its steps, where there is anything to say."""

    def __init__(
        self, deps: Dependencies, sessions: Sessions, conversations: Conversations, noticing: Notices, recall: Recall
    ) -> None:
        self._deps = deps
        self._sessions = sessions
        self._conversations = conversations
        self._notices = noticing
        self._recall = recall

    async def say(self, call: HookCall) -> str:
        """The hook's answer; empty nearly always."""
        one = await self._conversations.known(call)
        if one is None:
            return ""
        async with self._conversations.turn(one):
            await self._conversations.follow(one)
            offer = await self._recall.offer(one.info, call.text("prompt"))
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
        policy = stored_policy(self._deps, await self._sessions.opened(one.info))
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
