"""Archives in rows: one row a record, with the hash of its exact bytes, read back before it counts."""

from __future__ import annotations

import asyncio
import hashlib
import uuid
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from typing import Any

from ...context.tombstones import record_without
from ...errors import Purged, RecordDamaged, WriteFailed
from ...models.advice import Advice, step
from ...models.events import SessionKey
from ...models.records import OffloadRecord
from ...models.reports import Forgotten
from ...ports.store import Broken, Damage
from ..archive import batch_order, flaw, refuse_purged
from ..rewrite import spoilt
from ..segments import Reader, encode, is_whole
from ..session_folder import refuse_foreign, refuse_other_key
from .ledger import PgLedger
from .link import Conn, Link, Row, owner_of
from .pool import Statement
from .rows import GONE, OUTSIDE, Body, Keys, Objects, State, name_bytes, name_hash, name_text, packed, path_of, unpacked

_RECORDS: Reader[OffloadRecord] = Reader(OffloadRecord)
_AT_A_TIME = 32
_TRIES = 4
_COLUMNS = "seq, batch_id, enc, body, sha256"


class PgArchive:
    """See `ports.store.Archive`.

    Args:
        ledger: gives the numbers by which a repeated append is known.
        objects: takes large bodies; None keeps them in rows.
    """

    def __init__(self, link: Link, keys: Keys, ledger: PgLedger, objects: Objects | None = None) -> None:
        self._link, self._keys, self._ledger, self._objects = link, keys, ledger, objects
        self._add = f'select "{link.schema}".add_records($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)'

    async def append(self, key: SessionKey, records: Sequence[OffloadRecord]) -> None:
        for record in records:
            refuse_other_key(key, record.session_id, key.principal)
            if reason := flaw(record, key):
                raise WriteFailed(f"A record cannot be trusted: {reason}.", next="Record the items again.")
        if not records:
            return
        large = sum(len(item.result) for one in records for item in one.items if isinstance(item.result, str)) > _LARGE
        bodies = await asyncio.to_thread(_bodies, records) if large else _bodies(records)
        known = self._keys.known(key)
        if known is not None:
            refuse_purged(records, known.tombstones)
        bodies = [await self._outside(key, body) for body in bodies]
        columns = _columns(records, bodies)
        try:
            await self._add_rows(key, records, known, columns)
        except Purged:
            await self._remove([body.data for body in bodies if body.enc == OUTSIDE])
            raise

    async def _add_rows(
        self, key: SessionKey, records: Sequence[OffloadRecord], known: State | None, columns: tuple[list[Any], ...]
    ) -> None:
        number = self._ledger.numbers(len(records))

        def once(state: State) -> Statement:
            """It gives the number of the first, read back; None where something was buried since the state was read."""
            whose = self._link.whose(key.principal)
            values = (*whose, state.key, state.buried, self._ledger.writer, number, *columns)
            return Statement(self._add, values, state.key.bytes, sum(map(len, columns[2])), shared=True)

        async def work(connection: Conn, again: bool) -> int:
            state = await self._keys.ensure(connection, key, anew=again)
            if again and await self._is_there(connection, state, number):
                return number
            for _ in range(_TRIES):
                refuse_purged(records, state.tombstones)
                one = once(state)
                if (first := await connection.fetchval(one.sql, *one.values)) is not None:
                    return first
                state = await self._keys.ensure(connection, key, anew=True)
            raise WriteFailed("What may be written changed again and again.", next="Run the same again.")

        at_once = None if known is None else once(known)
        await self._link.run(key.principal, work, writing=True, at_once=at_once)

    def _folder(self, key: SessionKey) -> str:
        """Of the session's large bodies."""
        return f"t/{self._link.tenant}/{name_hash(key).hex()}"

    async def _outside(self, key: SessionKey, body: Body) -> Body:
        if self._objects is None or len(body.data) <= self._objects.large_bytes:
            return body
        return await self._objects.put(self._folder(key), body)

    async def filled(self, rows: Sequence[Row]) -> Sequence[Row]:
        """Rows with the bodies that are outside."""
        return rows if self._objects is None else await self._objects.filled(rows)

    async def _remove(self, bodies: Sequence[bytes]) -> None:
        if self._objects is not None and bodies:
            await self._objects.remove(bodies)

    async def _is_there(self, connection: Conn, state: State, number: int) -> bool:
        return await connection.fetchval(
            "select exists (select from record where tenant = $1 and session_key = $2 and w = $3 and n = $4)",
            *(self._link.tenant, state.key, self._ledger.writer, number),
        )

    async def get(self, key: SessionKey, batch_id: str) -> OffloadRecord | None:
        name_hash(key)

        rows = await self._newest(key, batch_id)
        if rows and await _record(rows[0], key) is None:
            rows = await self._newest(key, batch_id, every=True)
        if not rows:
            return None
        for row in rows:
            record = await _record(row, key)
            if record is not None and record.batch_id == batch_id:
                return record
        raise RecordDamaged(
            f"The record of {batch_id} is damaged, and there is no whole copy.",
            next=Advice("Restore the database from a backup; what else is damaged: {}", step("verify")),
        )

    async def _newest(self, key: SessionKey, batch_id: str, *, every: bool = False) -> list[Row]:
        """The newest row of a batch, or every one, newest first."""
        for anew in (False, True):
            state = None if anew else self._keys.known(key)
            if state is None:
                state = await self._link.run(
                    key.principal, lambda connection, again: self._keys.find(connection, key, anew=True)
                )
                anew = True
            if state is None:
                return []
            rows = await self._link.ask(
                "records_of($1, $2, $3, $4, $5)", key.principal, state.key, name_bytes(batch_id), every
            )
            if rows or anew:
                return [*await self.filled(rows)]
        return []

    async def batch_ids(self, key: SessionKey) -> tuple[str, ...]:
        (row,) = await self._link.ask("batches_archived($1, $2, $3)", key.principal, name_hash(key))
        return tuple(dict.fromkeys(map(name_text, row["batch_ids"])))

    async def some(self, key: SessionKey, batch_ids: Collection[str]) -> tuple[OffloadRecord, ...]:
        wanted = [name_bytes(one) for one in batch_ids]
        rows = await self._link.ask("newest_records($1, $2, $3, $4)", key.principal, name_hash(key), wanted)
        found: list[OffloadRecord] = []
        for row in await self.filled(rows):
            record = await _record(row, key)
            if record is None:
                try:
                    record = await self.get(key, name_text(row["batch_id"]))
                except RecordDamaged:
                    continue  # `damage` names it
            if record is not None:
                found.append(record)
        return tuple(found)

    async def records(self, key: SessionKey) -> AsyncIterator[OffloadRecord]:
        rows = await self._of(
            key,
            "select batch_id, max(seq) as seq from record where tenant = $1 and session_key = $2 and enc <> $3"
            " group by batch_id",
            GONE,
        )
        newest = sorted(((name_text(row["batch_id"]), row["seq"]) for row in rows), key=lambda one: batch_order(one[0]))
        for at in range(0, len(newest), _AT_A_TIME):
            wanted = newest[at : at + _AT_A_TIME]
            found = await self._of(
                key,
                f"select {_COLUMNS} from record where tenant = $1 and session_key = $2 and seq = any($3::bigint[])",
                [seq for _, seq in wanted],
            )
            by_seq = {row["seq"]: row for row in await self.filled(found)}
            for batch_id, seq in wanted:
                record = await _record(by_seq[seq], key) if seq in by_seq else None
                if record is None:
                    try:
                        record = await self.get(key, batch_id)
                    except RecordDamaged:
                        continue  # `damage` names it
                if record is not None:
                    yield record

    async def damage(self, key: SessionKey) -> tuple[Damage, ...]:
        return tuple(
            [Damage(where=_where(row), what=reason) async for row in self._rows(key) if (reason := _flaw(row, key))]
        )

    async def broken(self, key: SessionKey) -> tuple[Broken, ...]:
        return tuple([Broken(where=_where(row), raw=_raw(row)) async for row in self._rows(key) if _flaw(row, key)])

    async def mend(self, key: SessionKey, records: Mapping[bytes, OffloadRecord | None]) -> int:
        refuse_foreign(key, filter(None, records.values()))
        if not records:
            return 0

        def change(row: Row) -> bytes | None:
            raw = _raw(row)
            if raw not in records or not _flaw(row, key):
                return raw
            record = records[raw]
            return None if record is None else encode(record)[:-1]

        return await self._rewrite(key, change, mending=True)

    async def forget(self, key: SessionKey, gone: Forgotten) -> int:
        def change(row: Row) -> bytes | None:
            raw = _raw(row)
            if gone.whole:
                return None
            try:
                record = _RECORDS.decode(raw) if is_whole(raw) else None
            except ValueError:
                record = None
            if record is None:
                return None if spoilt(raw, gone) else raw
            kept = record_without(record, gone)
            return raw if kept is record else encode(kept)[:-1]

        done = await self._rewrite(key, change)
        if self._objects is not None:
            rows = await self._of(
                key, "select body from record where tenant = $1 and session_key = $2 and enc = $3", OUTSIDE
            )
            await self._objects.sweep(self._folder(key), {path_of(row["body"]) for row in rows})
        return done

    async def _rewrite(self, key: SessionKey, change: Any, *, mending: bool = False) -> int:
        left: list[bytes] = []
        """Refs of bodies outside that no row has any more."""

        async def work(connection: Conn, again: bool) -> int:
            left.clear()
            state = await self._keys.find(connection, key, anew=True)
            if state is None:
                return 0
            await connection.execute("set local palimpsest.rewrite = 'on'")
            await connection.execute(
                "select from session where tenant = $1 and session_key = $2 for update", self._link.tenant, state.key
            )
            done = 0
            seqs = await connection.fetch(
                "select seq from record where tenant = $1 and session_key = $2 and enc <> $3 order by seq",
                *(self._link.tenant, state.key, GONE),
            )
            for at in range(0, len(seqs), _AT_A_TIME):
                rows = await _some(
                    connection, self._link.tenant, state.key, [one["seq"] for one in seqs[at : at + _AT_A_TIME]]
                )
                for kept, row in zip(rows, await self.filled(rows), strict=True):
                    line = change(row)
                    if line == _raw(row):
                        continue
                    done += 1
                    if mending:
                        await connection.execute(
                            "insert into aside (tenant, owner, session_key, name, body) values ($1, $2, $3, $4, $5)",
                            *(self._link.tenant, owner_of(key.principal), state.key, _where(row), bytes(kept["body"])),
                        )
                    elif kept["enc"] == OUTSIDE:
                        left.append(bytes(kept["body"]))
                    await self._put(connection, key, state, row, line)
            return done

        done = await self._link.run(key.principal, work, writing=True)
        await self._remove(left)
        return done

    async def _put(self, connection: Conn, key: SessionKey, state: State, row: Row, line: bytes | None) -> None:
        body = Body(GONE, b"", b"", 0) if line is None else await self._outside(key, packed(line + b"\n"))
        await connection.execute(
            "update record set enc = $4, body = $5, body_len = $6, sha256 = $7"
            " where tenant = $1 and session_key = $2 and seq = $3",
            *(self._link.tenant, state.key, row["seq"], body.enc, body.data, body.size, body.sha256),
        )

    async def _of(self, key: SessionKey, sql: str, *values: Any) -> list[Row]:
        """Rows of a statement about one session; none where it is unknown."""

        async def work(connection: Conn, again: bool) -> list[Row]:
            state = await self._keys.find(connection, key, anew=again)
            return [] if state is None else await connection.fetch(sql, self._link.tenant, state.key, *values)

        return await self._link.run(key.principal, work)

    async def _rows(self, key: SessionKey) -> AsyncIterator[Row]:
        """Every record's row, some at a time."""
        seqs = await self._of(
            key, "select seq from record where tenant = $1 and session_key = $2 and enc <> $3 order by seq", GONE
        )
        for at in range(0, len(seqs), _AT_A_TIME):
            rows = await self._of(
                key,
                f"select {_COLUMNS} from record where tenant = $1 and session_key = $2 and seq = any($3::bigint[])"
                " order by seq",
                [one["seq"] for one in seqs[at : at + _AT_A_TIME]],
            )
            for row in await self.filled(rows):
                yield row


def _bodies(records: Sequence[OffloadRecord]) -> list[Body]:
    return [packed(encode(record)) for record in records]


def _columns(records: Sequence[OffloadRecord], bodies: Sequence[Body]) -> tuple[list[Any], ...]:
    """Batch ids, what rows keep of the bodies, and the hashes that the database has to work out of that."""
    return (
        [name_bytes(one.batch_id) for one in records],
        [one.enc for one in bodies],
        [one.data for one in bodies],
        [one.size for one in bodies],
        [one.sha256 for one in bodies],
        [hashlib.sha256(one.data).digest() for one in bodies],
    )


async def _some(connection: Conn, tenant: str, key: uuid.UUID, seqs: Sequence[int]) -> list[Row]:
    return await connection.fetch(
        f"select {_COLUMNS} from record where tenant = $1 and session_key = $2 and seq = any($3::bigint[])"
        " order by seq",
        *(tenant, key, seqs),
    )


def _where(row: Row) -> str:
    return f"offloaded/record {row['seq']}"


def _raw(row: Row) -> bytes:
    """The record's line; where it cannot be had, the bytes that are there."""
    try:
        return unpacked(row["enc"], row["body"], row["sha256"]).rstrip(b"\n")
    except ValueError:
        return bytes(row["body"])


def _flaw(row: Row, key: SessionKey) -> str:
    """Why a row cannot be trusted; empty where it can."""
    try:
        line = unpacked(row["enc"], row["body"], row["sha256"]).rstrip(b"\n")
        if not is_whole(line):
            return "not a record: its checksum does not fit"
        return flaw(_RECORDS.decode(line), key)
    except ValueError as error:
        return f"not a record: {error}"


_LARGE = 1 << 16


async def _record(row: Row, key: SessionKey) -> OffloadRecord | None:
    if len(row["body"]) > _LARGE:
        return await asyncio.to_thread(_decoded, row, key)
    return _decoded(row, key)


def _decoded(row: Row, key: SessionKey) -> OffloadRecord | None:
    """The record, if it is whole."""
    try:
        line = unpacked(row["enc"], row["body"], row["sha256"]).rstrip(b"\n")
        record = _RECORDS.decode(line) if is_whole(line) else None
    except ValueError:
        return None
    return record if record is not None and not flaw(record, key) else None
