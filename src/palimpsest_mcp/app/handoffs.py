"""The library's methods about handoffs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import SessionUnknown
from ..models.events import SessionInfo
from ..models.handoffs import Cleanup, KeptHandoff, LoadedHandoff, WrittenHandoff
from ..services.dependencies import Dependencies
from ..services.handoff_cleanup import clean_handoffs
from ..services.handoffs import KeptHandoffs
from ..services.sessions import Sessions


class HandoffMethods:
    """What `Palimpsest` can do with handoffs: files in `memory/` from which the next phase or conversation starts."""

    _given: Dependencies
    _sessions: Sessions
    _handoffs: KeptHandoffs

    async def write_handoff(
        self, session_id: str, task: str, *, phase: str = "", fields: Mapping[str, Any] | None = None
    ) -> WrittenHandoff:
        """Write a handoff of a session: filled by code from summary, ledger and probes, completed by `fields`.

        Args:
            phase: empty for a task summary, else `research`, `plan`, `implementation`, `fork` or `fork_back`.
            fields: by loose names (`decisions`, `key_context`, `in_progress` …); strings, lists or objects.

        Raises:
            SessionUnknown: there is none to fill it from; `new` takes the fields alone.
            HandoffIncomplete: critical sections would be empty; `missing` names them.
            HandoffSecret: the file would hold what looks like a secret; it names kind and section, never the value.
            InvalidArgument, WriteFailed, LockTimeout: nothing was written.
        """
        return await self._handoffs.write(await self._session(session_id), task, phase=phase, fields=fields)

    async def load_handoff(self, task: str = "", *, project: str = "", section: str = "") -> LoadedHandoff:
        """Key context and pointers of a handoff, and nothing else unless `section` asks for it.

        A fork's handoff is given whole, and deleted.

        Args:
            task: its words, or a handoff's name; empty for the newest one.
            project: another one than that of the working folder, by path or last folder; `*` for any.
            section: one more section by its heading, or `all`.

        Raises:
            HandoffUnknown: there is none; it says what there is.
            InvalidArgument: there is no such section.
        """
        return await self._handoffs.load(task, project=project, section=section)

    async def handoffs(self, *, project: str = "") -> tuple[KeptHandoff, ...]:
        """Handoffs of this project, or of another (`*` for all), newest first."""
        return await self._handoffs.all(project=project)

    async def clean_handoffs(self, *, dry_run: bool = True) -> Cleanup:
        """Archive handoffs over 30 days old, delete those over 90, merge several of one task. Nothing else deletes one.

        Args:
            dry_run: only say what would be done; the default.

        Raises:
            WriteFailed, LockTimeout: what was done stays done; run it again.
        """
        return await clean_handoffs(self._given, dry_run=dry_run)

    async def _session(self, session_id: str) -> SessionInfo:
        try:
            return await self._sessions.find(session_id)
        except SessionUnknown:
            if session_id != "new":
                raise
            return await self._sessions.ensure(session_id)
