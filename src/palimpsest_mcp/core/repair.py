"""Rebuilds what is damaged from other copies, and names what is beyond repair. Deletes nothing."""

from __future__ import annotations

import asyncio

import msgspec

from ..errors import RecordDamaged, WriteFailed
from ..models.events import Event, LossAccepted, SessionInfo, SessionKey
from ..models.items import content_sha256
from ..models.records import OffloadRecord
from ..models.reports import THE_DIGEST, Repair, RepairReport
from ..ports.store import Broken
from ..store.segments import encode, is_more
from .batch import Copies, salvaged, salvaged_seen
from .checkup import damaged_batches, sorted_flaws
from .dependencies import Dependencies
from .purge import Purge
from .sessions import Sessions

_CHECKSUM_BYTES = len(b',"_c":"00000000"}')


def _given_up(one: Repair) -> str:
    return f"{one.where}: {one.what}" + (f": {', '.join(one.lost)}" if one.lost else "")


class Repairs:
    """Repairs of one principal's sessions."""

    def __init__(self, deps: Dependencies, sessions: Sessions, purge: Purge) -> None:
        self._deps = deps
        self._sessions = sessions
        self._purge = purge
        self._copies = Copies(deps, sessions)

    async def repair(self, only: SessionInfo | None, *, dry_run: bool, accept_losses: bool = False) -> RepairReport:
        """Look at one session, or at all, and mend what other copies can make up for.

        Every text is checked against its hash before it is put back, and read again afterwards. The files that held
        what was damaged are kept beside the new ones. Purges that were interrupted are finished.

        Args:
            accept_losses: what nobody can mend is given up: from then on `verify` does not miss it.

        Raises:
            PassInProgress, WriteFailed, LockTimeout: what was mended stays mended; run it again.
        """
        found: list[Repair] = []
        mended = 0
        every = await self._sessions.all()
        infos = (only,) if only is not None else every
        flaws = sorted_flaws(await self._deps.store.flaws(), every, self._deps.principal, whole=self._deps.is_owner)
        for info in infos:
            key = self._sessions.key(info)
            if not dry_run and flaws.misses_tombstones(info):
                await self._bury_again(info, key)
                mended += 1
            if (await self._deps.store.tombstones(key)).under_way:
                found.append(Repair(where=info.handle, what="a purge that was interrupted", source="its tombstones"))
                if not dry_run:
                    await self._purge.go_on(info)
                    mended += 1
            if dry_run:
                found += (await self._plan(info, key))[0]
                continue
            async with self._deps.store.ledger.pass_lock(key):
                await self._deps.store.ledger.drop_checkpoint(key)
                self._sessions.let_go(info)
                repairs, events, records = await self._plan(info, key)
                mended += await self._mend(key, events, records)
                found += repairs
        found += flaws.repairs(infos, found, whole=only is None)
        key = None if only is None else self._sessions.key(only)
        accepted = 0 if dry_run else await self._deps.store.accept(key, losses=accept_losses)
        given_up = tuple(_given_up(one) for one in found if not one.possible) if accept_losses else ()
        if accept_losses and not dry_run:
            for info in infos:
                await self._give_up(info)
        return RepairReport(dry_run=dry_run, repairs=tuple(found), mended=mended, accepted=accepted, given_up=given_up)

    async def _give_up(self, info: SessionInfo) -> None:
        """Leave out the lines that nobody can read, and note the batches of which something is lost. The files that
        held those lines are kept aside."""
        key, store = self._sessions.key(info), self._deps.store
        async with store.ledger.pass_lock(key):
            await store.archive.mend(key, {line.raw: None for line in await store.archive.broken(key)})
            await store.ledger.mend(key, {line.raw: None for line in await store.ledger.broken(key)})
            lost = await damaged_batches(self._deps, self._sessions, info)
            if set(lost) - (await self._sessions.fold(info)).accepted:
                await store.ledger.observe(key, [LossAccepted(batch_ids=lost, ts=self._deps.now())])

    async def _bury_again(self, info: SessionInfo, key: SessionKey) -> None:
        """The list of what was purged, from the ledger's tombstones: no write may bring that back."""
        fold = await self._sessions.fold(info)
        await self._deps.store.bury(key, fold.purged, under_way=False, whole=fold.decided.purged)

    async def _plan(
        self, info: SessionInfo, key: SessionKey
    ) -> tuple[list[Repair], dict[bytes, Event], dict[bytes, OffloadRecord]]:
        repairs: list[Repair] = []
        events: dict[bytes, Event] = {}
        records: dict[bytes, OffloadRecord] = {}
        for line in await self._deps.store.ledger.broken(key):
            event, source = await self._event(info, line)
            if event is not None:
                events[line.raw] = event
            what = "an event" if event is None else f"the text of {getattr(event, 'item').id}"  # noqa: B009
            lost = () if event is not None else ("what it said",)
            repairs.append(Repair(where=f"{info.handle} {line.where}", what=what, source=source, lost=lost))
        fold = await self._sessions.fold(info)
        named: set[str] = set()
        for line in await self._deps.store.archive.broken(key):
            batch_id = salvaged(line.raw).batch_id
            if not batch_id:
                lost = ("which batch it was",)
                repairs.append(Repair(where=f"{info.handle} {line.where}", what="a record", source="", lost=lost))
                continue
            named.add(batch_id)
            repair, record = await self._record(info, key, batch_id, line)
            repairs.append(repair)
            if record is not None:
                records[line.raw] = record
        for batch_id in sorted(fold.decided.batches.keys() - named - fold.decided.purged_batches):
            if await self._whole(key, batch_id) is None:
                rebuilt = await self._copies.rebuilt(info, batch_id)
                lost = (*(rebuilt.lost if rebuilt is not None else ()), THE_DIGEST)
                source = "" if rebuilt is None else rebuilt.source
                repairs.append(
                    Repair(where=info.handle, what=f"{batch_id}, whose line is gone", source=source, lost=lost)
                )
        return repairs, events, records

    async def _record(
        self, info: SessionInfo, key: SessionKey, batch_id: str, line: Broken
    ) -> tuple[Repair, OffloadRecord | None]:
        where = f"{info.handle} {line.where}"
        if (whole := await self._whole(key, batch_id)) is not None:
            return Repair(where=where, what=batch_id, source="another whole record of it"), whole
        rebuilt = await self._copies.rebuilt(info, batch_id)
        if rebuilt is None:
            return Repair(where=where, what=batch_id, source="", lost=("what it held",)), None
        lost = (*rebuilt.lost, *((THE_DIGEST,) if rebuilt.digest_lost else ()))
        repair = Repair(where=where, what=batch_id, source=rebuilt.source, lost=lost)
        return repair, rebuilt.record if rebuilt.whole else None

    async def _event(self, info: SessionInfo, line: Broken) -> tuple[Event | None, str]:
        """An event whose text another copy has; only where its checksum then fits again, or was all that was wrong."""
        seen = await asyncio.to_thread(salvaged_seen, line.raw)
        if seen is None or not seen.item.sha256:
            return None, ""
        source = "what is left of it"
        event = seen
        try:
            fits = content_sha256(seen.item.content) == seen.item.sha256
        except ValueError:
            fits = False
        if not fits:
            copy = await self._copies.content(info, seen.item.sha256)
            if copy is None:
                return None, ""
            source = copy[1]
            event = msgspec.structs.replace(seen, item=msgspec.structs.replace(seen.item, content=copy[0]))
        new = encode(event, more=is_more(line.raw))[:-1]
        same_sum = new[-_CHECKSUM_BYTES:] == line.raw[-_CHECKSUM_BYTES:]
        same_body = new[:-_CHECKSUM_BYTES] == line.raw[:-_CHECKSUM_BYTES]
        return (event, source) if same_sum or same_body else (None, "")

    async def _whole(self, key: SessionKey, batch_id: str) -> OffloadRecord | None:
        try:
            return await self._deps.store.archive.get(key, batch_id)
        except RecordDamaged:
            return None

    async def _mend(self, key: SessionKey, events: dict[bytes, Event], records: dict[bytes, OffloadRecord]) -> int:
        store = self._deps.store
        done = await store.archive.mend(key, dict(records)) + await store.ledger.mend(key, dict(events))
        for record in records.values():
            if await self._whole(key, record.batch_id) != record:
                raise WriteFailed(
                    f"{record.batch_id} was written anew, and the store does not give it back as it was written.",
                    next="Check the disk; the damaged file is kept as it was.",
                )
        return done
