"""Keeps the numbers that a status line shows, so that it needs no ledger."""

from __future__ import annotations

from ..ledger.fold import Fold
from ..models.events import SessionInfo
from ..models.status import StatusNote
from .dependencies import Dependencies
from .sessions import Sessions


async def keep_status(given: Dependencies, sessions: Sessions, info: SessionInfo) -> None:
    """Write the session's note anew."""
    await given.store.note_status(sessions.key(info), status_of(await sessions.fold(info), info.handle))


def status_of(fold: Fold, handle: str) -> StatusNote:
    """What stands replaced now."""
    items = {name: one for name, one in fold.decided.replacements.items() if one.batch.mode != "copy"}
    whole = {name: state.current for name, state in fold.states.items() if name in items and state.versions}
    before = sum(item.tokens for item in whole.values())
    after = sum(items[name].item.part_tokens for name in whole)
    probes = fold.decided.last_probes
    return StatusNote(
        handle=handle,
        batches=sum(batch.state == "replaced" for batch in fold.decided.batches.values()),
        items=len(items),
        saved_tokens=max(0, before - after),
        probes_passed=probes.passed if probes is not None else 0,
        probes_asked=probes.total if probes is not None else 0,
    )
