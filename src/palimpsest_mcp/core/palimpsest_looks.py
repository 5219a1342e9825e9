"""The library's methods for a person who looks at a session: its story, and originals beside what stands for them."""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

import msgspec

from ..digest.notation import BREAK, CUT, ESCAPE, INSIDE, NAMES, SEPARATORS
from ..errors import NotRestorable, PalimpsestError
from ..models.events import SessionInfo
from ..models.items import Content, Item, names_of
from ..models.plans import ContextItem, PassOptions
from ..models.records import ArchivedItem, OffloadRecord
from ..models.text import plain_line
from ..models.views import BatchView, Beside, Quote, Timeline
from .batch import about, original_text
from .measure import Measurement, measured, policy_of
from .notices import preview
from .offloaded import no_item
from .parts import Facade
from .surface import named_by_mark
from .timeline import timeline

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
