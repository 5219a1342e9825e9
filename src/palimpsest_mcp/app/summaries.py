"""The library's methods about the anchored summary, and the probes that ask what stays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..models.probes import ProbeReport
from ..models.summaries import AnchoredSummary, SummaryUpdate
from ..services import policies
from ..services.admitting import admit_name, admit_statements
from ..services.dependencies import Dependencies
from ..services.probe import probe_session
from ..services.sessions import Sessions
from ..services.summary import KeptSummaries
from ..summary.markdown import to_markdown


class SummaryMethods:
    """What `Palimpsest` keeps of a session in words that survive every compaction."""

    _given: Dependencies
    _sessions: Sessions
    _summaries: KeptSummaries

    async def update_summary(
        self,
        session_id: str,
        sections: Mapping[str, Any],
        *,
        intent_changed: bool = False,
        close_blockers: Sequence[str] = (),
        supersede: Sequence[str] = (),
    ) -> SummaryUpdate:
        """Merge what an agent states into the session's summary; what a section leaves out stays as it is.

        Args:
            sections: by loose names (`files_modified`, `Decisions Made`, `blockers` …); strings, lists or objects.
            intent_changed: replace the intent that stands; without it a new one is set only where none was stated.
            close_blockers: open blockers by text, part of the text, or number.
            supersede: decisions that no longer stand, by the same; a single new decision is named in their place.

        Raises:
            InvalidArgument: an unknown section, a placeholder, a vague intent, a name that fits nothing; an example
                stands in `next`, and nothing was written.
            SessionUnknown: the id is a slip of one that is there.
            SummaryChanged, WriteFailed: the old summary is still there.
        """
        session_id = await admit_name(self._sessions, session_id)
        await admit_statements(
            self._sessions, session_id, sections, (*close_blockers, *supersede), intent_changed=intent_changed
        )
        info = await self._sessions.ensure(session_id)
        written = await self._summaries.update(
            info, sections, intent_changed=intent_changed, close_blockers=close_blockers, supersede=supersede
        )
        return SummaryUpdate(
            session_id=info.session_id,
            handle=info.handle,
            summary=written.summary,
            markdown=to_markdown(written.summary),
            notes=written.notes,
        )

    async def summary(self, session_id: str, *, full: bool = False) -> AnchoredSummary:
        """The session's anchored summary as of now: what is kept, with what the ledger says since. Writes nothing.

        Args:
            full: with everything that the budget of 1,500 tokens leaves out.

        Raises:
            SessionUnknown, StoreNewer: there is none to read.
        """
        return await self._summaries.current(await self._sessions.find(session_id), full=full)

    async def summary_markdown(self, session_id: str, *, full: bool = False) -> str:
        """The same in the form of `summary.md`."""
        return to_markdown(await self.summary(session_id, full=full))

    async def probe(self, session_id: str) -> ProbeReport:
        """Ask what the session's originals hold, and answer from what stays of it; also for one compacted long ago.

        Raises:
            SessionUnknown: there is none.
        """
        info = await self._sessions.find(session_id)
        policy = await policies.policy_of(self._given, self._sessions, info, None)
        return await probe_session(self._given, self._sessions, self._summaries, info, policy)
