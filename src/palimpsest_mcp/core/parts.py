"""What one `Palimpsest` works with. A part with much behind it is imported, and made, when it is first asked for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from ..experience.models import Experience
from ..models.events import SessionInfo
from ..models.reports import Report
from ..settings.settings import Settings
from ..store.memory import ScratchStore
from .dependencies import Dependencies
from .host_seam import ROWS, Host
from .measure import Measurement
from .notices import Notices
from .offloaded import Offloaded
from .sessions import Sessions
from .summary import KeptSummaries

if TYPE_CHECKING:
    from .claude_code.events import HostEvents
    from .claude_code.notices import Lessons
    from .compaction.commit import StepBack
    from .compaction.plan import PassRequest
    from .messages import Messages
    from .purge import Purge
    from .repair import Repairs
    from .watch import Watch


class Parts:
    """The parts of one `Palimpsest`.

    Args:
        learn: has skills learn from a session that ends.
        lessons: what skills learned, and where their uses are recorded.
    """

    def __init__(
        self,
        deps: Dependencies,
        sessions: Sessions,
        offloaded: Offloaded,
        notices: Notices,
        summaries: KeptSummaries,
        skills: Experience,
        learn: Callable[[str], Awaitable[None]],
        lessons: Lessons,
    ) -> None:
        self._deps, self._sessions, self._offloaded = deps, sessions, offloaded
        self._notices, self._summaries, self._skills, self._learn = notices, summaries, skills, learn
        self._lessons = lessons

    @cached_property
    def step_back(self) -> StepBack:
        """Passes taken back."""
        from .compaction.commit import StepBack

        return StepBack(self._deps, self._sessions, self._offloaded)

    @cached_property
    def purge(self) -> Purge:
        """What takes originals out for good."""
        from .purge import Purge, blank_experience

        return Purge(self._deps, self._sessions, lambda mask: blank_experience(self._skills, mask))

    @cached_property
    def repairs(self) -> Repairs:
        """What mends a store."""
        from .repair import Repairs

        return Repairs(self._deps, self._sessions, self.purge)

    @cached_property
    def host(self) -> Host:
        """What answers the host in which we act; of several events in a process, Claude Code's where none is named."""
        name = self._deps.attached
        brings = ROWS[name].brings if name in ROWS else "everything"
        if brings == "everything":
            return self.claude_code
        return self._by_list(name) if brings == "a list" else self._by_file(name)

    @cached_property
    def claude_code(self) -> HostEvents:
        """What answers Claude Code."""
        from .claude_code.events import HostEvents

        return HostEvents(
            self._deps,
            self._sessions,
            self._offloaded,
            self._notices,
            self._summaries,
            self._learn,
            self._lessons,
        )

    def _by_list(self, name: str) -> Host:
        from ..hosts.lists import LIST_HOSTS
        from .list_hosts import ListHostEvents
        from .messages import Messages

        messages = Messages(self._deps, self._sessions, self._offloaded)
        around = self.claude_code.around_compaction
        return ListHostEvents(self._deps, self._sessions, messages, *around, LIST_HOSTS[name])

    def _by_file(self, name: str) -> Host:
        from .watch import RecordedHostEvents

        return RecordedHostEvents(self._deps, self._sessions, self.watch, name)

    @cached_property
    def watch(self) -> Watch:
        """What follows files of other hosts."""
        from .watch import Watch

        return Watch(self._deps, self._sessions, *self.claude_code.around_compaction)


class Passes:
    """Passes of one `Palimpsest`."""

    def __init__(self, deps: Dependencies, sessions: Sessions, offloaded: Offloaded) -> None:
        self.deps = deps
        self.sessions = sessions
        self._offloaded = offloaded

    @cached_property
    def messages(self) -> Messages:
        """Message lists of this store."""
        from .messages import Messages

        return Messages(self.deps, self.sessions, self._offloaded)

    def where(self, *, dry_run: bool) -> Passes:
        """These, or for a dry run the same over a store that nothing is written to: what a pass would record of the
        session is recorded in memory, and gone with it."""
        if not dry_run:
            return self
        scratch = ScratchStore(self.deps.store, random_hex=self.deps.random_hex)
        deps = replace(self.deps, store=scratch, listeners=[])
        sessions = Sessions(deps)
        return Passes(deps, sessions, Offloaded(deps, sessions))

    async def run(self, info: SessionInfo, measurement: Measurement, request: PassRequest) -> Report:
        """One pass, reported with what makes it real in the host.

        Raises:
            PassInProgress, PlanStale, WriteFailed: the context is as it was.
        """
        from .compaction import report as reporting
        from .compaction.run import run_pass

        result = await run_pass(self.deps, self.sessions, info, measurement, request)
        return reporting.report(info, measurement, request, result, note=measurement.note)


class Facade:
    """What every group of `Palimpsest`'s methods works with. Each finds a session by id or handle."""

    settings: Settings
    _deps: Dependencies
    _sessions: Sessions
    _offloaded: Offloaded
    _notices: Notices
    _summaries: KeptSummaries
    _passes: Passes
    _parts: Parts
