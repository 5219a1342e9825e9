"""The probes of a session as it stands: also of one whose host compacted it, or that was compacted long ago."""

from __future__ import annotations

import asyncio

from ..context.fold import Fold
from ..context.forget import Scene, forgettable
from ..context.view import View
from ..memory.summary.markdown import to_markdown
from ..models.events import SessionInfo
from ..models.plans import Policy
from ..models.probes import ProbeReport
from ..models.records import OffloadRecord
from .compaction.probes import Leaving, Prober, leaving_of, redacted_texts
from .dependencies import Dependencies
from .sessions import Sessions
from .summary import KeptSummaries


async def probe_session(
    deps: Dependencies, sessions: Sessions, summaries: KeptSummaries, info: SessionInfo, policy: Policy
) -> ProbeReport:
    """Ask what the session's originals hold, and answer from what stays: kept items, digests, the anchored summary.

    Items that left the host's list (a compaction of its own, a rewind) are asked for too: what nothing answers any
    more shows here. Nothing is written.
    """
    fold = await sessions.fold(info)
    counter = deps.counter_for(deps.model)
    _, shown = await sessions.view(info, counter)
    summary = await summaries.current(info)
    records: dict[str, OffloadRecord] = {}
    for owner in await sessions.family(info):
        async for record in deps.store.archive.records(sessions.key(owner)):
            records.setdefault(record.batch_id, record)
    leaving = await asyncio.to_thread(_leaving, deps, fold, shown, records)
    items = (*shown.items, *shown.gone)
    probing = Prober(
        deps,
        sorted(items, key=lambda one: (one.item.position, one.item.id)),
        summary=to_markdown(summary),
        forgotten=await asyncio.to_thread(_forgotten, shown, policy, leaving, records),
    )
    return await probing.judged(probing.told(await probing.ask(leaving)))


def _leaving(deps: Dependencies, fold: Fold, shown: View, records: dict[str, OffloadRecord]) -> dict[str, Leaving]:
    """Every item that a digest stands for, its original from the archive."""
    here = {one.item.id for one in shown.items}
    names = {stands.batch.batch_id for name, stands in fold.decided.replacements.items() if name in here}
    found: dict[str, Leaving] = {}
    for batch in sorted(names & records.keys()):
        found |= leaving_of(records[batch], redacted_texts(deps, records[batch]))
    return {
        name: one
        for name, one in found.items()
        if name in here and fold.decided.replacements[name].batch.batch_id == one.batch_id
    }


def _forgotten(
    shown: View, policy: Policy, leaving: dict[str, Leaving], records: dict[str, OffloadRecord]
) -> frozenset[str]:
    """What left as a pointer because that was wanted: by the forget gate, or by the policy of its pass."""
    gated = forgettable(Scene(shown.items, policy)) if policy.gates else {}
    wanted = {
        name for name, one in leaving.items() if records[one.batch_id].policy.get("prefer_compact_over_drop") is False
    }
    return frozenset(wanted | (gated.keys() & leaving.keys()))
