"""The library's methods that take texts out for good and mend what is damaged."""

from __future__ import annotations

from ..errors import InvalidArgument
from ..models.purges import PurgeReport, RepairReport
from ..services.purge import Purge, compiled
from ..services.repair import Repairs
from ..services.sessions import Sessions


class UpkeepMethods:
    """What `Palimpsest` does with what it keeps. Each is a preview unless `dry_run` is False."""

    _sessions: Sessions
    _purge: Purge
    _repairs: Repairs

    async def purge(
        self,
        session_id: str | None = None,
        batch_id: str | None = None,
        *,
        matching: str = "",
        regex: str = "",
        everywhere: bool = False,
        dry_run: bool = True,
    ) -> PurgeReport:
        """Remove originals, and what quotes them, for good: of a session, of one batch, or every item with a match.

        Tombstones come first: from then on `restore` answers `purged`, and no process writes these texts again. Killed
        in the middle, the same call or `repair` goes on.

        Args:
            session_id: where; with `matching` or `regex` None looks in all sessions.
            matching: a text, as it stands.
            regex: a regular expression, as in Python.
            everywhere: also where unrelated sessions hold the same texts.
            dry_run: only say what would go.

        Raises:
            SessionUnknown, BatchUnknown, InvalidArgument: nothing was removed.
            PassInProgress, WriteFailed, LockTimeout: some of it may still be there; run it again.
        """
        info = await self._sessions.find(session_id) if session_id else None
        if matching or regex:
            if batch_id or everywhere:
                raise InvalidArgument(
                    "A purge by text takes no batch, and looks in all sessions by itself.",
                    next="Name a session, or none.",
                )
            return await self._purge.matching(compiled(matching, regex), info, dry_run=dry_run)
        if info is None:
            raise InvalidArgument("Nothing was named.", next="Name a session, a batch of it, or a text that matches.")
        if batch_id:
            return await self._purge.batch(info, batch_id, everywhere=everywhere, dry_run=dry_run)
        return await self._purge.session(info, everywhere=everywhere, dry_run=dry_run)

    async def repair(self, session_id: str | None = None, *, dry_run: bool = True) -> RepairReport:
        """Rebuild what is damaged from other copies, of one session or of all; deletes nothing.

        Args:
            dry_run: only say what can be mended from what, and what is lost.

        Raises:
            SessionUnknown: there is none.
            PassInProgress, WriteFailed, LockTimeout: what was mended stays mended; run it again.
        """
        only = await self._sessions.find(session_id) if session_id else None
        return await self._repairs.repair(only, dry_run=dry_run)
