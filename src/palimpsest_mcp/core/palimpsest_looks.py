"""The library's methods for a person who looks at a session: its story, and originals beside what stands for them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec

from ..errors import NotRestorable, PalimpsestError
from ..models.events import SessionInfo
from ..models.items import Content, Item, names_of
from ..models.plans import ContextItem, PassOptions
from ..models.records import ArchivedItem, OffloadRecord
from ..models.text import plain_line
from ..models.views import BatchView, Beside, Timeline
from . import policies
from .batch import original_text
from .batch_rows import about
from .measure import Measurement, measured
from .notices import preview
from .offloaded import no_item
from .parts import Facade
from .quotes import quotes
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
        policy = await policies.policy_of(self._deps, self._sessions, info, None)
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
