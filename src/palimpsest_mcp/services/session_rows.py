"""Every session in a row of its own: how full, what it saved, where it is from, what it is about."""

from __future__ import annotations

import msgspec

from ..errors import PalimpsestError
from ..ledger.savings import savings
from ..ledger.view import View
from ..models.events import SessionInfo
from ..models.pass_options import PassOptions
from ..models.reports import SessionRow
from .context import preview
from .dependencies import Dependencies
from .measure import situate
from .policies import policy_of
from .sessions import Sessions


async def session_rows(given: Dependencies, sessions: Sessions) -> tuple[SessionRow, ...]:
    """A row for every session, newest first; one that cannot be read has the reason in its row."""
    return tuple([await _row(given, sessions, info) for info in reversed(await sessions.all())])


async def _row(given: Dependencies, sessions: Sessions, info: SessionInfo) -> SessionRow:
    row = SessionRow(
        session_id=info.session_id,
        handle=info.handle,
        title="",
        host=info.host,
        project=info.project,
        source=info.source,
        path=info.path,
        created=info.created,
    )
    try:
        policy = await policy_of(given, sessions, info, None)
        situation = await situate(given, sessions, info, policy, PassOptions())
        saved = savings(situation.fold, result_overhead=given.counter_for("").per_result_overhead)
    except PalimpsestError as error:
        return msgspec.structs.replace(row, note=error.message)
    return msgspec.structs.replace(
        row,
        title=_title(given, situation.view),
        host=situation.usage.host or info.host,
        usage=situation.usage,
        items=len(situation.view.items),
        batches=saved.batches,
        saved_tokens=saved.net,
    )


def _title(given: Dependencies, view: View) -> str:
    """The first request, masked; empty where there is none."""
    first = next((one for one in view.items if one.item.kind == "original_query"), None)
    return preview(given, first) if first is not None else ""
