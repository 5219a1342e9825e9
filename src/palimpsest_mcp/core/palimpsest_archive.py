"""The library's methods about what left a context: lists, search, restores, the summary, purge and repair.

The library's methods for a person who looks at a session: its story, and originals beside what stands for them.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import AsyncGenerator, Mapping, Sequence
from itertools import accumulate
from typing import Any

import msgspec

from ..digest.notation import BREAK, CUT, ESCAPE, INSIDE, NAMES, SEPARATORS
from ..errors import InvalidArgument, NotRestorable, PalimpsestError
from ..memory.summary.sections import to_markdown
from ..models.events import SessionInfo
from ..models.items import Content, Item, names_of
from ..models.plans import ContextItem, PassOptions
from ..models.probes import ProbeReport
from ..models.records import ArchivedItem, OffloadRecord
from ..models.reports import PurgeReport, RepairReport, Saved
from ..models.summaries import AnchoredSummary, SummaryUpdate
from ..models.text import plain_line
from ..models.views import BatchView, Beside, Hit, Quote, Restored, Timeline, Undone
from .batch import about, original_text
from .dependencies import noted
from .measure import Measurement, measured, policy_of, stored_policy
from .notices import preview
from .offloaded import OffloadedNow, Search, no_item, saved_by
from .parts import Facade
from .record import admit_name, admit_statements
from .surface import Page, named_by_mark
from .timeline import timeline


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
        from .purge import compiled

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


MOST_CHARACTERS = 400_000
"""Of one original that is shown; `restore` gives all of it."""
_BY_TITLE = "It was recorded by title and size only."


class LookMethods(Facade):
    """What `Palimpsest` shows of a session beside lists. Every text is masked; nothing is written."""

    async def timeline(self, session_id: str) -> Timeline:
        """How the session's context filled, every pass with its cost, and what was given back since.

        Raises:
            SessionUnknown: there is none.
        """
        info = await self._sessions.find(session_id)
        measurement = await self._look(info)
        page = await self._deps.store.ledger.read(self._sessions.key(info))
        return await asyncio.to_thread(timeline, info.session_id, info.handle, measurement, page.events)

    async def pulse(self, session_id: str) -> str:
        """A short text that changes whenever anything that is shown of the session does.

        Raises:
            SessionUnknown: there is none.
        """
        fold = await self._sessions.fold(await self._sessions.find(session_id))
        used = [one.used.used_tokens for one in fold.usage.values() if one.used is not None]
        return f"{fold.generation}-{fold.rev}-{len(fold.restored)}-{sum(one or 0 for one in used)}"

    async def beside_item(self, session_id: str, item_id: str) -> Beside:
        """One item that the context knows: its original, and the digest where one stands for it.

        Raises:
            SessionUnknown, ItemUnknown: there is none.
        """
        info = await self._sessions.find(session_id)
        found = (await self._look(info)).view
        every = (*found.items, *found.gone)
        known = [one for name in names_of(item_id) for one in every if one.item.id == name]
        known = known or named_by_mark(item_id, every, lambda one: one.item.id, self._deps.redactor)
        if not known:
            raise no_item(info.handle, item_id)
        one = known[0]
        if not one.batch_id:
            return await asyncio.to_thread(self._whole, info, one)
        both = await self.beside_batch(session_id, one.batch_id)
        there = next((each for each in both if each.item_id == one.item.id), None)
        return there or await asyncio.to_thread(self._whole, info, one)

    async def beside_batch(self, session_id: str, batch_id: str) -> tuple[Beside, ...]:
        """Every item of a batch in order, each with its original and its part of the digest.

        Raises:
            SessionUnknown, BatchUnknown: there is none.
            RecordDamaged, Purged: nothing of it can be shown.
        """
        info = await self._sessions.find(session_id)
        record = await self._offloaded.record(info, batch_id)
        row = next(one for one in await self._offloaded.batches(info) if one.batch_id == record.batch_id)
        contents = [await self._content(info, record, item) for item in record.items]
        return await asyncio.to_thread(self._both, info, record, row, contents)

    async def _look(self, info: SessionInfo) -> Measurement:
        policy = await policy_of(self._deps, self._sessions, info, None)
        return await measured(self._deps, self._sessions, info, policy, PassOptions())

    async def _content(
        self, info: SessionInfo, record: OffloadRecord, item: ArchivedItem
    ) -> tuple[Content | None, str]:
        """An original, or why there is none."""
        try:
            return (await self._offloaded.restore(info, record.batch_id, item.id)).content, ""
        except NotRestorable:
            return None, _BY_TITLE
        except PalimpsestError as error:
            return None, error.message

    def _both(
        self,
        info: SessionInfo,
        record: OffloadRecord,
        row: BatchView,
        contents: Sequence[tuple[Content | None, str]],
    ) -> tuple[Beside, ...]:
        found: list[Beside] = []
        for item, (content, note) in zip(record.items, contents, strict=True):
            whole = None if content is None else msgspec.structs.replace(item, result=content)
            title = plain_line(self._deps.masked(about(item)), 200)
            one, original = self._alone(info, item, whole, title, item.ts or record.ts)
            digest = "" if item.purged else record.part(item)
            pairs = quotes(digest, original)
            found.append(
                msgspec.structs.replace(
                    one,
                    state=row.state,
                    batch_id=record.batch_id,
                    digest_tokens=item.digest_tokens,
                    digest=digest,
                    quotes=pairs,
                    quoted_lines=len({one.source for one in pairs}),
                    batch_specifics=row.specifics,
                    batch_items=row.item_ids,
                    restorable=content is not None,
                    note=note,
                )
            )
        return tuple(found)

    def _whole(self, info: SessionInfo, one: ContextItem) -> Beside:
        item = one.item
        whole = None if item.content is None else item
        found, _ = self._alone(info, item, whole, preview(self._deps, one), item.ts)
        note = "" if whole is not None else _BY_TITLE
        return msgspec.structs.replace(found, state=one.state, batch_id=one.batch_id, note=note)

    def _alone(
        self, info: SessionInfo, item: Item | ArchivedItem, whole: Item | ArchivedItem | None, title: str, ts: str
    ) -> tuple[Beside, str]:
        """An item without its digest, and all of its original, masked; `whole` has its text, where one is left."""
        original = "" if whole is None else self._deps.masked(original_text(whole))
        return Beside(
            session_id=info.session_id,
            handle=info.handle,
            item_id=item.id,
            kind=item.kind,
            role=item.role,
            tool_name=self._deps.masked(item.tool_name),
            title=title,
            ts=ts,
            state="",
            batch_id="",
            original_tokens=item.tokens,
            digest_tokens=0,
            original=original[:MOST_CHARACTERS],
            original_lines=original.count("\n") + 1 if original else 0,
            cut=len(original) > MOST_CHARACTERS,
        ), original


# Where the lines of a digest stand in their original: for a person who looks at both, never for a proof.


_LINES_A_ROW = 6
"""Lines of a source in which the values of one row are looked for."""
_TRIES = 60
"""Occurrences of a row's longest value that are looked at."""


def quotes(digest: str, original: str) -> tuple[Quote, ...]:
    """Places of a digest's lines, in their order; of a line of names, one for each name."""
    source = _Source(original)
    found: list[Quote] = []
    for number, text in enumerate(digest.split("\n")):
        if text.startswith(NAMES):
            names = (source.holds([name]) for name in text.removeprefix(NAMES).split(" ") if name)
            found += [Quote(number, line, False) for line in names if line is not None]
        elif inside := INSIDE.fullmatch(text):
            lines, whole = source.place(inside[1])
            found += [Quote(number, line, whole) for line in lines]
            within = (source.holds([name]) for name in inside[2].split(" "))
            found += [Quote(number, line, False) for line in within if line is not None]
        elif text and not text.startswith("["):
            lines, whole = source.place(text)
            found += [Quote(number, line, whole) for line in lines]
    return tuple(dict.fromkeys(found))


class _Source:
    """An original, ready to be asked."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._lines = text.split("\n")
        self._starts = [0, *accumulate(len(line) + 1 for line in self._lines)]
        self._whole: dict[str, list[int]] = {}
        for number, line in enumerate(self._lines):
            self._whole.setdefault(line.strip(), []).append(number)
        self._last = 0
        """Line that was found last: digests mostly follow the order of their source."""

    def place(self, shown: str) -> tuple[tuple[int, ...], bool]:
        """The lines that a digest's line stands for, and whether it is the whole of one."""
        text = shown.strip().removeprefix(ESCAPE).strip()
        if same := self._whole.get(text):
            return (self._note(next((line for line in same if line >= self._last), same[0])),), True
        separator = next((one for one in SEPARATORS if one in text), None)
        pieces = [piece.strip() for part in text.split(BREAK.strip()) for piece in part.split(CUT) if piece.strip()]
        if separator is None:
            pieces = pieces if len(pieces) > 1 else text.split() if self._text.find(text) < 0 else [text]
            return self._spread(pieces), False
        line = self.holds([text])
        return (line,) if line is not None else self._spread([one for one in text.split(separator) if one]), False

    def _spread(self, values: list[str]) -> tuple[int, ...]:
        """The line with most of these values, and the next few where they have the rest: a row may be of several."""
        first = self.holds(values)
        if first is None:
            return ()
        rest = [value for value in values if value not in self._lines[first] and len(value) > 1]
        found = [first]
        for line in range(first + 1, min(first + _LINES_A_ROW, len(self._lines))):
            if here := [value for value in rest if value in self._lines[line]]:
                found.append(line)
                rest = [value for value in rest if value not in here]
        return tuple(found)

    def holds(self, values: list[str]) -> int | None:
        """The line with all of these, from the last place on before those above it; else the one with the longest of
        them and the most of the rest; None where the longest is nowhere."""
        longest = max(values, key=lambda value: (len(value), -values.index(value)), default="")
        if len(longest) < 2:
            return None
        best: tuple[int, int] | None = None
        at, tries, wrapped = self._starts[self._last], 0, False
        while tries < _TRIES:
            at = self._text.find(longest, at)
            if at < 0:
                if wrapped or self._last == 0:
                    break
                at, wrapped = 0, True
                continue
            line = bisect_right(self._starts, at) - 1
            score = sum(value in self._lines[line] for value in values)
            if score == len(values):
                return self._note(line)
            if best is None or score > best[0]:
                best = score, line
            at, tries = self._starts[line + 1], tries + 1
        return None if best is None else self._note(best[1])

    def _note(self, line: int) -> int:
        self._last = line
        return line
