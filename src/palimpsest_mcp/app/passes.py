"""How a pass is run for a session in its host, and what the host does by itself."""

from __future__ import annotations

from dataclasses import replace

from ..models.events import SessionInfo
from ..models.reports import Report
from ..services import reporting
from ..services.compact import run_pass
from ..services.dependencies import Dependencies
from ..services.measure import Situation
from ..services.messages import Messages
from ..services.offloaded import Offloaded
from ..services.pass_request import PassRequest
from ..services.sessions import Sessions
from ..store.scratch import ScratchStore


class Passes:
    """Passes of one `Palimpsest`."""

    def __init__(self, given: Dependencies, sessions: Sessions, offloaded: Offloaded) -> None:
        self.given = given
        self.sessions = sessions
        self.messages = Messages(given, sessions, offloaded)

    def where(self, *, dry_run: bool) -> Passes:
        """These, or for a dry run the same over a store that nothing is written to: what a pass would record of the
        session is recorded in memory, and gone with it."""
        if not dry_run:
            return self
        scratch = ScratchStore(self.given.store, random_hex=self.given.random_hex)
        given = replace(self.given, store=scratch, listeners=[])
        sessions = Sessions(given)
        return Passes(given, sessions, Offloaded(given, sessions))

    async def run(self, info: SessionInfo, situation: Situation, request: PassRequest) -> Report:
        """One pass, reported with what makes it real in the host.

        Raises:
            PassInProgress, PlanStale, WriteFailed: the context is as it was.
        """
        result = await run_pass(self.given, self.sessions, info, situation, request)
        return reporting.report(info, situation, request, result, note=situation.note)

    @staticmethod
    def stands_aside(situation: Situation) -> str:
        """Where the host compacts by itself, where no adapter of ours acts; empty where a pass may run."""
        aside = situation.usage.host_compacts and not situation.note.adapter
        return situation.usage.host_compaction_point if aside else ""
