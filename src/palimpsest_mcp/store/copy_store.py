"""From one store into another: session by session, compared after it is written, and again from where it stopped."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..errors import ExchangeRefused, OutputRefused, RecordDamaged
from ..models.events import Event, SessionInfo, SessionKey
from ..models.maintenance import MovedStore
from ..models.records import OffloadRecord
from ..ports.store import Store


class _Counts:
    def __init__(self) -> None:
        self.moved = self.here = self.events = self.records = self.handoffs = 0
        self.left: list[str] = []

    def has(self, events: Sequence[Event], records: Sequence[OffloadRecord]) -> None:
        """What a session has that stands in the target, or will."""
        self.events += len(events)
        self.records += len(records)


async def copy_store(
    source: Store,
    target: Store,
    *,
    dry_run: bool = False,
    fresh: bool = False,
    told: Callable[[SessionInfo], None] = lambda info: None,
) -> MovedStore:
    """Everything that cannot be made again: events, records, summaries, handoffs, what was purged, the secret.

    A session that stands in the target already, event for event and record for record, is left as it is: what was
    stopped goes on. One that stands there with other events is left too, and said.

    Args:
        fresh: refuse a target that somebody wrote to before.
        told: called after each session that was copied; with `dry_run`, that would be.

    Raises:
        OutputRefused: the target is in use; nothing was written.
        RecordDamaged: a session of the source cannot be read whole; it and what comes after it were not moved.
        ExchangeRefused: the target gave something back otherwise than it was written.
    """
    if fresh and await target.is_made():
        raise OutputRefused("Somebody wrote to the target before.", next="Name one that is free.")
    counts = _Counts()
    if not dry_run:
        await _secret(source, target, counts)
    for principal in await source.principals():
        for info in await source.ledger.sessions(principal):
            key = SessionKey(info.session_id, principal)
            if await _session(source, target, key, info, counts, dry_run=dry_run):
                told(info)
        await _handoffs(source, target, principal, counts, dry_run=dry_run)
    return MovedStore(
        dry_run=dry_run,
        sessions=counts.moved,
        already_there=counts.here,
        events=counts.events,
        records=counts.records,
        handoffs=counts.handoffs,
        left=tuple(counts.left),
    )


async def _secret(source: Store, target: Store, counts: _Counts) -> None:
    """Marks of masked secrets are made with it: with another one, new marks differ from old ones."""
    if not await target.take_secret(await source.secret()):
        counts.left.append("the secret: the target has its own, so new redaction marks differ from older ones")


async def _session(
    source: Store, target: Store, key: SessionKey, info: SessionInfo, counts: _Counts, *, dry_run: bool
) -> bool:
    """Whether it was copied, or would be."""
    events, records = await _read(source, key)
    there, archived = await _read(target, key)
    if there or archived:
        same = _lines(there) == _lines(events) if there else True
        missing = [one for one in records if one not in archived]
        extra = [one for one in archived if one not in records]
        if not same or extra or (there and missing):
            counts.left.append(f"{info.handle}: the target has another session of this id")
            return False
        counts.has(events, records)
        if there:
            counts.here += 1
            return False
        records_to_write = missing
    else:
        counts.has(events, records)
        records_to_write = list(records)
    counts.moved += 1
    if dry_run:
        return True
    buried = await source.tombstones(key)
    for at in range(0, len(records_to_write), 16):
        await target.archive.append(key, records_to_write[at : at + 16])
    summary = (await source.summaries.get(key)).summary
    if summary is not None and (kept := await target.summaries.get(key)).summary != summary:
        await target.summaries.put(key, summary, after=kept.version)
    if buried.keys:
        await target.bury(key, buried.keys, under_way=buried.under_way, whole=buried.whole)
    await target.ledger.adopt(key, events)  # the last step: what has events is whole
    now, archived = await _read(target, key)
    if _lines(now) != _lines(events) or sorted(archived, key=_batch) != sorted(records, key=_batch):
        raise ExchangeRefused(
            f"The target gave session {info.handle} back otherwise than it was written.",
            next="Check the target, remove the session there, then run the same again.",
        )
    return True


async def _read(store: Store, key: SessionKey) -> tuple[tuple[Event, ...], list[OffloadRecord]]:
    page = await store.ledger.read(key)
    damage = (*page.damage, *await store.archive.damage(key))
    if damage:
        raise RecordDamaged(
            f"Session {key.session_id!r} cannot be read whole: {damage[0].where}.",
            next="Repair it first (`palimpsest-mcp repair`), then run the same again.",
        )
    return page.events, [one async for one in store.archive.records(key)]


async def _handoffs(source: Store, target: Store, principal: str, counts: _Counts, *, dry_run: bool) -> None:
    there = {(one.place, one.sha256) for one in await target.handoffs.list(principal)}
    for one in await source.handoffs.list(principal):
        if one.text is None:
            counts.left.append(f"handoff {one.name}: {one.why}")
        elif one.place != "temp" and (one.place, one.sha256) not in there:  # forks belong to the machine
            if not dry_run:
                await target.handoffs.add(one.place, one.name, one.text, principal)
            counts.handoffs += 1


def _lines(events: Sequence[Event]) -> list[str]:
    """Equal where the sets of events are, also in what equality forgives (1 and 1.0)."""
    return sorted(repr(one) for one in events)


def _batch(record: OffloadRecord) -> str:
    return record.batch_id
