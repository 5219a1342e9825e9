"""The library's methods about what left a context: lists, search, restores, the summary, purge and repair."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any

from ..errors import InvalidArgument
from ..memory.summary.sections import to_markdown
from ..models.maintenance import PurgeReport, RepairReport
from ..models.plans import PassOptions
from ..models.probes import ProbeReport
from ..models.records import OffloadRecord
from ..models.reports import Saved
from ..models.summaries import AnchoredSummary, SummaryUpdate
from ..models.views import BatchView, Hit, Restored, Undone
from .cursors import Page
from .measure import measured, policy_of, stored_policy
from .offloaded import OffloadedNow, saved_by
from .parts import Facade
from .record import admit_name, admit_statements
from .search import Search
from .spans import noted


class RestoreMethods(Facade):
    """What `Palimpsest` gives back, byte for byte. Every method finds a session by id or handle."""

    async def list_offloaded(self, session_id: str) -> tuple[BatchView, ...]:
        """Every batch that was dropped, in order."""
        return await self._offloaded.batches(await self._sessions.find(session_id))

    async def list_offloaded_page(self, session_id: str, cursor: str = "", *, size: int = 20) -> Page[BatchView]:
        """One page of `list_offloaded`.

        Raises:
            InvalidArgument: the cursor is none of ours.
        """
        info, fold = await self._sessions.find_folded(session_id)
        return await self._offloaded.page(info, fold, cursor, size)

    async def offloaded_now(self, session_id: str, cursor: str = "", *, size: int = 20) -> OffloadedNow:
        """One page of `list_offloaded`, with how full the window is and what offloading saved, all of one moment.

        Raises:
            InvalidArgument: the cursor is none of ours.
        """
        info, fold = await self._sessions.find_folded(session_id)
        page = await self._offloaded.page(info, fold, cursor, size)
        policy = stored_policy(self._deps, fold)
        now = await measured(self._deps, self._sessions, info, policy, PassOptions(), fold=fold)
        return OffloadedNow(page=page, usage=now.usage, saved=saved_by(self._deps, fold))

    async def iter_offloaded(self, session_id: str) -> AsyncGenerator[BatchView]:
        """The batches of `list_offloaded`, one by one."""
        for batch in await self.list_offloaded(session_id):
            yield batch

    async def saved(self, session_id: str) -> Saved:
        """What offloading saved the session, net of what restores and re-reads brought back."""
        return await self._offloaded.saved(await self._sessions.find(session_id))

    async def record(self, session_id: str, batch_id: str) -> OffloadRecord:
        """The archive's record of a batch."""
        return await self._offloaded.record(await self._sessions.find(session_id), batch_id)

    async def search_offloaded(
        self, query: str, *, session_id: str | None = None, project: str | None = None, limit: int = 10
    ) -> tuple[Hit, ...]:
        """Dropped items that hold the query's words, best first; in every session unless one is named."""
        info = await self._sessions.find(session_id) if session_id else None
        return await Search(self._deps, self._sessions).find(query, info=info, project=project, limit=limit)

    async def restore(
        self, session_id: str, batch_id: str, item_id: str | None = None, *, noted: bool = True
    ) -> Restored:
        """One original, byte for byte. The digest in the context stays (L13).

        Args:
            item_id: needed unless the batch has one item; a call id does too.
            noted: False where the caller itself says by `note_fetched` which text it hands over.
        """
        info, fold = await self._sessions.find_opened(session_id)
        one = await self._offloaded.restore(info, batch_id, item_id, fold)
        if noted:
            await self._offloaded.note_fetched(info, [one], [], own=fold)
        return one

    async def restore_batch(self, session_id: str, batch_id: str, *, noted: bool = True) -> tuple[Restored, ...]:
        """Every original of a batch, in order; `noted` as in `restore`."""
        info, fold = await self._sessions.find_opened(session_id)
        found = await self._offloaded.restore_batch(info, batch_id, fold)
        if noted:
            await self._offloaded.note_fetched(info, found, [], own=fold)
        return found

    async def note_fetched(
        self,
        session_id: str,
        restored: Sequence[Restored],
        texts: Sequence[str],
        also: Sequence[str] = (),
        *,
        status: bool = True,
    ) -> None:
        """Say under which very texts originals were handed to an agent, so that they are known when they come back.

        Args:
            also: further forms that hosts may give the same copy.
            status: False where the caller sees to the status line's numbers by `note_status`, when there is time.
        """
        info, fold = await self._sessions.find_opened(session_id)
        await self._offloaded.note_fetched(info, restored, texts, also, status=status, own=fold)

    async def note_status(self, session_id: str) -> None:
        """Write anew the numbers that a status line shows of the session."""
        await self._offloaded.note_status(await self._sessions.find(session_id))

    async def reinstate(self, session_id: str, batch_id: str) -> Undone:
        """Put the whole units of a batch back in the place of their digest."""
        return await self._parts.step_back.reinstate(await self._sessions.find(session_id), batch_id)

    async def undo(self, session_id: str, number: int | None = None) -> Undone:
        """One step back: everything that a pass replaced stands in the context again.

        Args:
            number: of the pass, from 1; None takes the newest whose digests still stand.

        Raises:
            InvalidArgument: no digest of such a pass stands in the context.
        """
        return await self._parts.step_back.undo(await self._sessions.find(session_id), number)

    async def expand_messages(self, messages: list[Any], *, session_id: str) -> list[Any]:
        """The list with every digest of ours replaced by its original: equal to what was compacted."""
        return await self._passes.messages.expand(await self._sessions.find(session_id), messages)

    async def restore_all(self, session_id: str) -> Any:
        """The newest list or file that was compacted under this session, equal to what came in."""
        return await self._passes.messages.restore_all(await self._sessions.find(session_id))


# The library's methods about the anchored summary, and the probes that ask what stays.


class SummaryMethods(Facade):
    """What `Palimpsest` keeps of a session in words that survive every compaction."""

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
        """The session's summary in the form of `summary.md`."""
        return to_markdown(await self.summary(session_id, full=full))

    async def probe(self, session_id: str) -> ProbeReport:
        """Ask what the session's originals hold, and answer from what stays of it; also for one compacted long ago.

        Raises:
            SessionUnknown: there is none.
        """
        from .compaction.probes import probe_session

        info = await self._sessions.find(session_id)
        policy = await policy_of(self._deps, self._sessions, info, None)
        return await probe_session(self._deps, self._sessions, self._summaries, info, policy)


# The library's methods that take texts out for good and mend what is damaged.


class StoreMethods(Facade):
    """What `Palimpsest` does with what it keeps. Each is a preview unless `dry_run` is False."""

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
        from .purge_masks import compiled

        info = await self._sessions.find(session_id) if session_id else None
        if matching or regex:
            if info is None:
                self._deps.refuse_all_but_owner("A purge by text in all sessions")
            if batch_id or everywhere:
                raise InvalidArgument(
                    "A purge by text takes no batch, and looks in all sessions by itself.",
                    next="Name a session, or none.",
                )
            return await self._parts.purge.matching(compiled(matching, regex), info, dry_run=dry_run)
        if info is None:
            raise InvalidArgument("Nothing was named.", next="Name a session, a batch of it, or a text that matches.")
        if batch_id:
            return await self._parts.purge.batch(info, batch_id, everywhere=everywhere, dry_run=dry_run)
        return await self._parts.purge.session(info, everywhere=everywhere, dry_run=dry_run)

    async def repair(
        self, session_id: str | None = None, *, dry_run: bool = True, accept_losses: bool = False
    ) -> RepairReport:
        """Rebuild what is damaged from other copies, of one session or of all; deletes nothing.

        Args:
            dry_run: only say what can be mended from what, and what is lost.
            accept_losses: give up what nobody can mend, so that `verify` calls the rest whole again.

        Raises:
            SessionUnknown: there is none.
            PassInProgress, WriteFailed, LockTimeout: what was mended stays mended; run it again.
        """
        only = await self._sessions.find(session_id) if session_id else None
        if only is None:
            self._deps.refuse_all_but_owner("A repair of everything")
        with noted("repair", dry_run=int(dry_run)) as counts:
            report = await self._parts.repairs.repair(only, dry_run=dry_run, accept_losses=accept_losses)
            counts |= {"found": len(report.repairs), "mended": report.mended, "accepted": report.accepted}
            return report
