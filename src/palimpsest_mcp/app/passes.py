"""How a pass is run for a session in its host, and what the host does by itself."""

from __future__ import annotations

import msgspec

from ..hosts.host_table import HostNote, host_note
from ..models.events import SessionInfo
from ..models.reports import Report
from ..models.usage import Usage
from ..services import reporting
from ..services.compact import run_pass
from ..services.dependencies import Dependencies
from ..services.measure import Situation
from ..services.offloaded import Offloaded
from ..services.pass_request import PassRequest
from ..services.sessions import Sessions


class Passes:
    """Passes of one `Palimpsest`.

    Args:
        attached: the host in which an adapter of ours acts; empty for none.
    """

    def __init__(self, given: Dependencies, sessions: Sessions, offloaded: Offloaded, attached: str) -> None:
        self._given = given
        self._sessions = sessions
        self._offloaded = offloaded
        self._attached = attached

    async def run(self, info: SessionInfo, situation: Situation, request: PassRequest, host: str) -> Report:
        """One pass, reported with what makes it real in the host.

        Raises:
            PassInProgress, PlanStale, WriteFailed: the context is as it was.
        """
        result = await run_pass(self._given, self._sessions, self._offloaded, info, situation, request)
        note = self._note(host or info.host or "mcp")
        return reporting.report(info, situation, request, result, note=note)

    def _note(self, host: str) -> HostNote:
        """What is known of a host, with our adapter where it acts there."""
        return host_note(host, attached=self._attached)

    def stands_aside(self, host: str) -> bool:
        """Whether the host compacts by itself where no adapter of ours acts."""
        note = self._note(host)
        return bool(host) and note.compacts_itself and not note.adapter

    def with_adapter(self, usage: Usage) -> Usage:
        """What the adapter does at the host's point of compaction, behind that point."""
        note = self._note(usage.host)
        if not note.adapter:
            return usage
        point = "; ".join(filter(None, (usage.host_compaction_point, note.adapter_does)))
        return msgspec.structs.replace(usage, host_compaction_point=point)
