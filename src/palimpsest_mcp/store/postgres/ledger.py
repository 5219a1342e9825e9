"""Ledgers in rows: one row is one append, with the number that its session gave it in the same statement."""

from __future__ import annotations

import asyncio
import itertools
import os
import uuid
from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, NamedTuple

import msgspec

from ...context.tombstones import event_without
from ...errors import InvalidArgument, PalimpsestError, PassInProgress, RevConflict, WriteFailed
from ...models.events import (
    Decision,
    Event,
    Observation,
    Opened,
    Replaced,
    Reserved,
    SessionInfo,
    SessionKey,
)
from ...models.reports import Forgotten
from ...ports.seams import RandomHex
from ...ports.store import Broken, Checkpoint, LedgerPage
from ..rewrite import spoilt
from ..segments import Reader, encode, encode_all, is_whole
from ..session_folder import first_opened, not_empty, oldest_first, refuse_other_key, spare_info
from .link import Conn, Link, Row, owner_of
from .pool import Statement
from .rows import (
    EVENTS,
    Body,
    Keys,
    OpenedLedger,
    State,
    born,
    changed_lines,
    checkpoint_row,
    events_in,
    flaw_of,
    lines_of,
    name_bytes,
    name_hash,
    name_text,
    packed,
    read_checkpoint,
    where_of,
)

_INFOS: Reader[SessionInfo] = Reader(SessionInfo)
LEASE_S = 30.0
"""A pass whose holder gave no sign of life for so long is over."""
_LARGE = 1 << 16
"""Bytes from which on reading them is work for a thread."""
_SMALL_STEPS, _SMALL_BYTES = 200, 1 << 20
"""Sessions of no more are read together: nobody waits long for a page of them, and it takes little memory."""
_TRIES = 4


class Cursor(msgspec.Struct, frozen=True):
    """How far a session was read."""

    session: bytes
    seq: int
    epoch: int


class _Append(NamedTuple):
    """One append, whoever it is tried by."""

    events: Sequence[Event]
    number: int
    """Of its first event."""
    after_rev: int | None = None
    held: int | None = None
    """Token of the pass that it belongs to."""
    durable: bool = True
    wait_s: float | None = None


class _Written(NamedTuple):
    """An append that is there."""

    rev: int
    step: Row | None
    """As it would be read, with the ledger's epoch; None where it has to be."""


class PgLedger:
    """See `ports.store.Ledger`.

    Args:
        lease_s: of a pass.
        on_write: told of every session that is written to.
    """

    def __init__(
        self,
        link: Link,
        keys: Keys,
        random_hex: RandomHex,
        *,
        lease_s: float = LEASE_S,
        on_write: Callable[[SessionKey], None] = lambda key: None,
    ) -> None:
        self._link, self._keys, self._lease_s, self._on_write = link, keys, lease_s, on_write
        self.writer = f"{os.getpid()}-{random_hex(8)}"
        self._add = (
            f'select "{link.schema}".add_step_at($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)'
        )
        self._numbers = itertools.count(1)
        self._held: dict[bytes, int] = {}
        """Fencing tokens of the passes that this process is in."""

    def numbers(self, count: int) -> int:
        """The first of so many numbers of this writer, never given twice."""
        first = next(self._numbers)
        for _ in range(count - 1):
            next(self._numbers)
        return first

    async def create(self, key: SessionKey, info: SessionInfo) -> SessionInfo:
        refuse_other_key(key, info.session_id, info.principal)
        opened = Opened(info=info, ts=info.created)
        number = self.numbers(1)

        async def work(connection: Conn, again: bool) -> SessionInfo:
            state = await self._keys.ensure(connection, key, created=info.created, anew=again)
            row = await connection.fetchrow(
                "select info from session where tenant = $1 and session_key = $2 for update",
                self._link.tenant,
                state.key,
            )
            if row is None:
                raise ConnectionError("the session's month was dropped meanwhile")
            if row["info"] is not None:
                return info_of(row["info"])
            await connection.execute(
                "update session set info = $3, created = $4, handle = $5 where tenant = $1 and session_key = $2",
                *(self._link.tenant, state.key, encode(info)[:-1], _seconds(info), name_bytes(info.handle)),
            )
            await self._append(connection, key, state, _Append([opened], number))
            return info

        if (known := await self.info(key)) is not None and known.created:
            return known
        self._on_write(key)
        return await self._link.run(key.principal, work, writing=True)

    async def info(self, key: SessionKey) -> SessionInfo | None:
        hashed = name_hash(key)
        rows = await self._link.ask("session_named($1, $2, $3)", key.principal, hashed)
        if not rows:
            return None
        return spare_info(key) if rows[0]["info"] is None else info_of(rows[0]["info"])

    async def by_handle(self, handle: str, principal: str = "") -> SessionInfo | None:
        rows = await self._link.ask("session_of_handle($1, $2, $3)", principal, name_bytes(handle))
        return _known_as(rows[0], principal) if rows else None

    async def infos(self, session_ids: Collection[str], principal: str = "") -> tuple[SessionInfo, ...]:
        hashes = [name_hash(SessionKey(one, principal)) for one in session_ids]
        rows = await self._link.ask("sessions_named($1, $2, $3)", principal, hashes) if hashes else []
        return tuple(_known_as(row, principal) for row in rows)

    async def some_sessions(
        self, principal: str = "", *, skip: int, count: int, newest_first: bool = False
    ) -> tuple[tuple[SessionInfo, ...], int]:
        first, *rows = await self._link.ask(
            "sessions_by_birth($1, $2, $3, $4, $5)", principal, skip, count, newest_first
        )
        return tuple(_known_as(row, principal) for row in rows), first["total"]

    async def marks(self, session_ids: Collection[str], principal: str = "") -> Mapping[str, str]:
        hashes = [name_hash(SessionKey(one, principal)) for one in session_ids]
        rows = await self._link.ask("session_marks($1, $2, $3)", principal, hashes) if hashes else []
        return {name_text(row["name"]): row["mark"] for row in rows}

    async def sessions(self, principal: str = "", *, beginning: str = "") -> tuple[SessionInfo, ...]:
        if beginning:
            rows = await self._link.ask("sessions_beginning($1, $2, $3)", principal, name_bytes(beginning))
            return oldest_first(_known_as(row, principal) for row in rows)

        async def work(connection: Conn, again: bool) -> list[Row]:
            return await connection.fetch(
                "select info, case when info is null then name end as name from session"
                " where tenant = $1 and owner = $2 and steps + records > 0",
                self._link.tenant,
                owner_of(principal),
            )

        rows = await self._link.run(principal, work)
        return oldest_first(_known_as(row, principal) for row in rows)

    async def read(self, key: SessionKey, after: object | None = None) -> LedgerPage:
        return (await self.look(key, after))[1]

    async def look(self, key: SessionKey, after: object | None = None) -> tuple[SessionInfo | None, LedgerPage]:
        cursor = _cursor(key, after)
        rows = await self._link.ask(
            "session_since($1, $2, $3, $4, $5)", key.principal, cursor.session, cursor.seq, cursor.epoch
        )
        if not rows:
            self._keys.forget(key)  # its month may have been dropped
            return None, LedgerPage(events=(), cursor=msgspec.structs.replace(cursor, epoch=0))
        session, *steps = rows
        self._keys.keep(cursor.session, session)
        return _info_in(key, session), await _page(cursor, session["epoch"], steps)

    async def open(self, key: SessionKey) -> tuple[SessionInfo | None, Checkpoint | None, LedgerPage]:
        session, checkpoint, steps = await self._opened(key)
        if session is None:
            return None, None, LedgerPage(events=(), cursor=Cursor(name_hash(key), 0, 0))
        return await self._open(key, session, checkpoint, steps)

    async def open_small(
        self, session_ids: Collection[str], principal: str = ""
    ) -> Mapping[str, tuple[SessionInfo | None, Checkpoint | None, LedgerPage]]:
        keys = [SessionKey(one, principal) for one in session_ids]
        hashes = [name_hash(key) for key in keys]
        small = _SMALL_STEPS, _SMALL_BYTES
        rows = await self._link.ask("sessions_opened($1, $2, $3, $4, $5)", principal, hashes, *small) if keys else []
        several: dict[int, list[Row]] = {}
        for row in rows:
            several.setdefault(row["number"] - 1, []).append(row)
        return {
            keys[at].session_id: await self._open(keys[at], *self._split(hashes[at], some))
            for at, some in several.items()
        }

    async def _open(
        self, key: SessionKey, session: Row, checkpoint: Row | None, steps: Sequence[Row]
    ) -> tuple[SessionInfo | None, Checkpoint | None, LedgerPage]:
        found = await self._from(key, session, checkpoint, steps)
        news = steps if found is None else [row for row in steps if row["seq"] > found.cursor.seq]
        before = Cursor(name_hash(key), 0, 0) if found is None else found.cursor
        return _info_in(key, session), found, await _page(before, session["epoch"], news)

    async def checkpoint(self, key: SessionKey) -> Checkpoint | None:
        return (await self.open(key))[1]

    async def _opened(self, key: SessionKey) -> tuple[Row | None, Row | None, list[Row]]:
        """What the session is, the checkpoint that may fit, and every step."""
        hashed = name_hash(key)
        rows = await self._link.ask("session_opened($1, $2, $3)", key.principal, hashed)
        if not rows:
            self._keys.forget(key)  # its month may have been dropped
            return None, None, []
        return self._split(hashed, rows)

    def _split(self, hashed: bytes, rows: list[Row]) -> tuple[Row, Row | None, list[Row]]:
        self._keys.keep(hashed, rows[0])
        has_checkpoint = len(rows) > 1 and rows[1]["w"] is None
        return rows[0], rows[1] if has_checkpoint else None, rows[2 if has_checkpoint else 1 :]

    async def _from(
        self, key: SessionKey, session: Row, checkpoint: Row | None, steps: Sequence[Row]
    ) -> OpenedLedger | None:
        if checkpoint is None:
            return None
        cursor = Cursor(name_hash(key), checkpoint["seq"], session["epoch"])
        kept = await asyncio.to_thread(read_checkpoint, checkpoint, [row for row in steps if row["seq"] <= cursor.seq])
        return None if kept is None else OpenedLedger(kept, {row["seq"]: row for row in steps}, cursor)

    async def keep_checkpoint(self, key: SessionKey, cursor: object, sums: bytes, events: int) -> None:
        at = _cursor(key, cursor)
        with suppress(PalimpsestError):
            session, known, steps = await self._opened(key)
            if session is None or session["epoch"] != at.epoch:
                return
            before = [] if known is None else [row for row in steps if row["seq"] <= known["seq"]]
            base = None if known is None else await asyncio.to_thread(read_checkpoint, known, before)
            up_to = 0 if base is None or known is None else known["seq"]
            some = [row for row in steps if row["seq"] <= at.seq]
            body = await asyncio.to_thread(checkpoint_row, base, up_to, some, sums, events)
            if body is None or up_to >= at.seq:  # somebody is as far
                return
            await self._link.run(
                key.principal,
                lambda connection, again: connection.execute(
                    "insert into checkpoint as c (tenant, owner, session_key, seq, epoch, buried, enc, body, sha256)"
                    " select s.tenant, s.owner, s.session_key, $3, s.epoch, s.buried, $6, $7, $8 from session s"
                    " where s.tenant = $1 and s.session_key = $2 and s.epoch = $4 and s.buried = $5"
                    " on conflict (session_key) do update set seq = excluded.seq, epoch = excluded.epoch,"
                    " buried = excluded.buried, enc = excluded.enc, body = excluded.body, sha256 = excluded.sha256"
                    " where (c.epoch, c.buried) <> (excluded.epoch, excluded.buried) or c.seq < excluded.seq",
                    *(self._link.tenant, session["session_key"], at.seq, at.epoch, session["buried"]),
                    *(body.enc, body.data, body.sha256),
                ),
                writing=True,
                durable=False,
            )

    async def drop_checkpoint(self, key: SessionKey) -> None:
        async def work(connection: Conn, again: bool) -> None:
            if (state := await self._keys.find(connection, key, anew=again)) is not None:
                await _drop_checkpoint(connection, self._link.tenant, state.key)

        await self._link.run(key.principal, work, writing=True)

    async def observe(self, key: SessionKey, events: Sequence[Observation], *, durable: bool = True) -> None:
        name_hash(key)
        if events:
            await self._write(key, events, durable=durable)

    async def observe_and_read(
        self, key: SessionKey, events: Sequence[Observation], after: object | None, *, durable: bool = True
    ) -> LedgerPage:
        mine = (await self._write(key, events, durable=durable)).step if events else None
        return await self._read_on(key, _cursor(key, after), mine)

    async def observe_known(self, key: SessionKey, events: Sequence[Observation], after: object) -> LedgerPage | None:
        cursor, known = _cursor(key, after), self._keys.known(key)
        if known is None:
            return None
        number = self.numbers(len(events))
        self._on_write(key)
        once = await self._once(key, known, _Append(events, number, None, None, False, None))

        async def work(connection: Conn, again: bool) -> list[int]:
            """It was refused; or its answer was lost, and it may be there."""
            state = await self._keys.find(connection, key, anew=True) if again else None
            rev = None if state is None else await self._is_there(connection, state, number)
            return [] if rev is None else [rev]

        done = await self._link.run(key.principal, work, writing=True, durable=False, at_once=once)
        if not done:
            return None
        rev, *place = done
        return await self._read_on(key, cursor, _as_read(once, rev, *place) if place else None)

    async def _read_on(self, key: SessionKey, cursor: Cursor, mine: Row | None) -> LedgerPage:
        """What came since, of which the own append is known if nothing has to be read."""
        if mine is None or (mine["seq"], mine["epoch"]) != (cursor.seq + 1, cursor.epoch):
            return await self.read(key, cursor)  # others wrote in between
        found, damage = events_in([mine])
        cursor = msgspec.structs.replace(cursor, seq=mine["seq"])
        return LedgerPage(events=tuple(found), cursor=cursor, damage=tuple(damage))

    async def decide(
        self,
        key: SessionKey,
        decisions: Sequence[Decision],
        *,
        after_rev: int,
        lock_timeout_s: float | None = None,
    ) -> int:
        in_pass = any(isinstance(one, Replaced | Reserved) for one in decisions)
        held = self._held.get(name_hash(key)) if in_pass else None
        done = await self._write(key, decisions, after_rev=after_rev, held=held, lock_timeout_s=lock_timeout_s)
        return done.rev

    async def adopt(self, key: SessionKey, events: Sequence[Event]) -> None:
        info = first_opened(events)
        number = self.numbers(1)
        body = await asyncio.to_thread(lambda: packed(encode_all(events)))
        clock = max((one.clock for one in events), default=0)
        rev = max((getattr(one, "rev", 0) for one in events), default=0)

        async def work(connection: Conn, again: bool) -> None:
            state = await self._keys.ensure(connection, key, created=info.created if info else "", anew=again)
            if again and await self._is_there(connection, state, number):
                return
            steps = await connection.fetchval(
                "select steps from session where tenant = $1 and session_key = $2 for update",
                self._link.tenant,
                state.key,
            )
            if steps:
                raise not_empty(rev)
            await connection.execute(
                "update session set steps = 1, clock = $3, rev = $4, info = $5, created = $6, handle = $7"
                " where tenant = $1 and session_key = $2",
                *(self._link.tenant, state.key, clock, rev),
                None if info is None else encode(info)[:-1],
                None if info is None else _seconds(info),
                None if info is None else name_bytes(info.handle),
            )
            await connection.execute(
                "insert into step"
                " (tenant, owner, session_key, seq, w, n, events, clock, rev, stamped, enc, body, sha256)"
                " values ($1, $2, $3, 1, $4, $5, $6, $7, $8, true, $9, $10, $11)",
                *(self._link.tenant, owner_of(key.principal), state.key, self.writer, number, len(events), clock, rev),
                *(body.enc, body.data, body.sha256),
            )

        await self._link.run(key.principal, work, writing=True)

    async def forget(self, key: SessionKey, gone: Forgotten) -> int:
        def change(line: bytes) -> bytes | None:
            try:
                event = EVENTS.decode(line) if is_whole(line) else None
            except ValueError:
                event = None
            if event is None:
                return None if gone.whole or spoilt(line, gone) else line
            kept = event_without(event, gone)
            return line if kept is event else None if kept is None else encode(kept)[:-1]

        return await self._rewrite(key, change)

    async def broken(self, key: SessionKey) -> tuple[Broken, ...]:
        return tuple(
            Broken(where=where_of(row, number), raw=line)
            for row in await self._steps(key)
            for number, line, _, _ in lines_of(row)
            if flaw_of(line)
        )

    async def mend(self, key: SessionKey, events: Mapping[bytes, Event | None]) -> int:
        if not events:
            return 0

        def change(line: bytes) -> bytes | None:
            if line not in events or not flaw_of(line):
                return line
            event = events[line]
            return None if event is None else encode(event)[:-1]

        return await self._rewrite(key, change, mending=True)

    @asynccontextmanager
    async def pass_lock(self, key: SessionKey) -> AsyncGenerator[None]:
        hashed, holder = name_hash(key), f"{self.writer}-{uuid.uuid4().hex[:8]}"
        token = await self._take(key, hashed, holder)
        self._held[hashed] = token
        keeper = asyncio.create_task(self._keep_lease(key, hashed, holder))
        try:
            yield
        finally:
            keeper.cancel()
            self._held.pop(hashed, None)
            with suppress(PalimpsestError):  # it runs out by itself
                await self._link.run(
                    key.principal,
                    lambda connection, again: connection.execute(
                        "update lease set until = '-infinity' where tenant = $1 and name_hash = $2 and holder = $3",
                        self._link.tenant,
                        hashed,
                        holder,
                    ),
                    writing=True,
                )

    async def _take(self, key: SessionKey, hashed: bytes, holder: str) -> int:
        """The fencing token: higher than every one before."""

        async def work(connection: Conn, again: bool) -> int | None:
            return await connection.fetchval(
                "insert into lease as l (tenant, owner, name_hash, token, holder, until)"
                " values ($1, $2, $3, 1, $4, now() + make_interval(secs => $5))"
                " on conflict (tenant, name_hash) do update set token = l.token + 1, holder = $4,"
                " until = now() + make_interval(secs => $5) where l.until < now() or l.holder = $4 returning token",
                *(self._link.tenant, owner_of(key.principal), hashed, holder, self._lease_s),
            )

        token = await self._link.run(key.principal, work, writing=True)
        if token is None:
            raise PassInProgress(
                "Another compaction pass on this session is running.",
                next=f"Wait for it, then try again; one whose machine died ends after {self._lease_s:.0f} seconds.",
            )
        return token

    async def _keep_lease(self, key: SessionKey, hashed: bytes, holder: str) -> None:
        while True:
            await asyncio.sleep(self._lease_s / 3)
            with suppress(PalimpsestError):  # whoever took over is told apart by the token
                await self._link.run(
                    key.principal,
                    lambda connection, again: connection.execute(
                        "update lease set until = now() + make_interval(secs => $4)"
                        " where tenant = $1 and name_hash = $2 and holder = $3",
                        *(self._link.tenant, hashed, holder, self._lease_s),
                    ),
                    writing=True,
                )

    async def _write(
        self,
        key: SessionKey,
        events: Sequence[Event],
        *,
        after_rev: int | None = None,
        held: int | None = None,
        durable: bool = True,
        lock_timeout_s: float | None = None,
    ) -> _Written:
        number = self.numbers(len(events))
        self._on_write(key)
        append = _Append(events, number, after_rev, held, durable, lock_timeout_s)
        known = self._keys.known(key)

        async def work(connection: Conn, again: bool) -> list[int]:
            state = await self._keys.ensure(connection, key, anew=again)
            if again and (rev := await self._is_there(connection, state, number)) is not None:
                return [rev]
            return [await self._append(connection, key, state, append)]

        at_once = None if known is None else await self._once(key, known, append)
        rev, *place = await self._link.run(key.principal, work, writing=True, durable=durable, at_once=at_once)
        return _Written(rev, _as_read(at_once, rev, *place) if at_once is not None and place else None)

    async def _append(self, connection: Conn, key: SessionKey, state: State, append: _Append) -> int:
        for _ in range(_TRIES):
            once = await self._once(key, state, append)
            if (done := await connection.fetchval(once.sql, *once.values)) is not None:
                return done[0]
            state = await self._refused(connection, key, state, append.after_rev, append.held)
        raise WriteFailed("What may be written changed again and again.", next="Run the same again.")

    async def _once(self, key: SessionKey, state: State, append: _Append) -> Statement:
        """The session's numbers go up only if nothing came between, and the row has them. It gives revision, clock,
        number of the step and epoch, or None where something came between."""
        gone = state.gone
        kept = [one for event in append.events if (one := event_without(event, gone)) is not None]
        body = await _packed(kept)
        wait_ms = None if append.wait_s is None else max(1, int(append.wait_s * 1000))
        deciding = append.after_rev is not None
        values = (
            *(*self._link.whose(key.principal), state.key, state.buried, append.after_rev, append.held, name_hash(key)),
            *(len(kept), len(kept) if deciding else 0, self.writer, append.number),
            *(body.enc, body.data, body.sha256, append.durable, wait_ms),
        )
        return Statement(
            self._add,
            values,
            state.key.bytes,
            len(body.data),
            shared=append.durable and wait_ms is None and not deciding,
        )

    async def _refused(
        self, connection: Conn, key: SessionKey, state: State, after_rev: int | None, held: int | None
    ) -> State:
        """Why nothing was written: the state to try with, or the error."""
        new = await self._keys.ensure(connection, key, anew=True)
        rev = await connection.fetchval(
            "select rev from session where tenant = $1 and session_key = $2", self._link.tenant, new.key
        )
        if after_rev is not None and rev != after_rev:
            raise RevConflict(
                f"The session is at revision {rev}, not {after_rev}.",
                next="Read the session again and decide anew.",
                rev=rev,
            )
        if held is not None and new.buried == state.buried and new.key == state.key:
            raise PassInProgress(
                "This pass gave no sign of life for too long, and another one took its place.",
                next="Run it again: nothing of it was decided.",
            )
        return new

    async def _is_there(self, connection: Conn, state: State, number: int) -> int | None:
        """The revision after a step that an earlier attempt wrote; None where it did not."""
        return await connection.fetchval(
            "select rev + case when stamped then 0 else events end from step"
            " where tenant = $1 and session_key = $2 and w = $3 and n = $4",
            *(self._link.tenant, state.key, self.writer, number),
        )

    async def _steps(self, key: SessionKey) -> list[Row]:
        async def work(connection: Conn, again: bool) -> list[Row]:
            state = await self._keys.find(connection, key, anew=again)
            if state is None:
                return []
            return await _all_steps(connection, self._link.tenant, state.key)

        return await self._link.run(key.principal, work)

    async def _rewrite(self, key: SessionKey, change: Any, *, mending: bool = False) -> int:
        """Write rows anew of which a line changes, while nobody else writes. Returns how many lines changed."""

        async def work(connection: Conn, again: bool) -> int:
            state = await self._keys.find(connection, key, anew=True)
            if state is None:
                return 0
            await connection.execute("set local palimpsest.rewrite = 'on'")
            await connection.execute(
                "select from session where tenant = $1 and session_key = $2 for update", self._link.tenant, state.key
            )
            await _drop_checkpoint(connection, self._link.tenant, state.key)
            done = 0
            for row in await _all_steps(connection, self._link.tenant, state.key):
                lines, changed = changed_lines(row, change)
                if not changed:
                    continue
                done += changed
                if mending:
                    await connection.execute(
                        "insert into aside (tenant, owner, session_key, name, body) values ($1, $2, $3, $4, $5)",
                        *(self._link.tenant, owner_of(key.principal), state.key, where_of(row), bytes(row["body"])),
                    )
                await self._put(connection, state, row, lines)
            if mending and done:
                await connection.execute(
                    "update session set epoch = epoch + 1 where tenant = $1 and session_key = $2",
                    *(self._link.tenant, state.key),
                )
            elif done:
                await self._renew_info(connection, state)
            return done

        return await self._link.run(key.principal, work, writing=True)

    async def _put(self, connection: Conn, state: State, row: Row, lines: Sequence[bytes]) -> None:
        body = packed(b"".join(line + b"\n" for line in lines))
        await connection.execute(
            "update step set enc = $4, body = $5, sha256 = $6, stamped = true"
            " where tenant = $1 and session_key = $2 and seq = $3",
            *(self._link.tenant, state.key, row["seq"], body.enc, body.data, body.sha256),
        )

    async def _renew_info(self, connection: Conn, state: State) -> None:
        """The info is a copy of what the `opened` event says."""
        rows = await _all_steps(connection, self._link.tenant, state.key)
        if (info := first_opened(events_in(rows)[0])) is not None:
            await connection.execute(
                "update session set info = $3, handle = $4 where tenant = $1 and session_key = $2",
                *(self._link.tenant, state.key, encode(info)[:-1], name_bytes(info.handle)),
            )


def _known_as(row: Row, principal: str) -> SessionInfo:
    """The session of a row with `info` and `name`."""
    return spare_info(SessionKey(name_text(row["name"]), principal)) if row["info"] is None else info_of(row["info"])


def _cursor(key: SessionKey, after: object | None) -> Cursor:
    """Where a reading begins.

    Raises:
        InvalidArgument: it is a cursor of another session.
    """
    hashed = name_hash(key)
    if after is None:
        return Cursor(hashed, 0, 0)
    if not isinstance(after, Cursor) or after.session != hashed:
        raise InvalidArgument("The cursor is not one of this session.", next="Read from the beginning.")
    return after


def _info_in(key: SessionKey, session: Row) -> SessionInfo | None:
    """What a session is, by its row; None where nothing was written to it."""
    if not session["is_written"]:
        return None
    return spare_info(key) if session["info"] is None else info_of(session["info"])


async def _page(before: Cursor, epoch: int, steps: Sequence[Row]) -> LedgerPage:
    """The events of steps, which come behind a cursor."""
    large = sum(len(row["body"]) for row in steps) > _LARGE
    events, damage = await asyncio.to_thread(events_in, steps) if large else events_in(steps)
    cursor = Cursor(before.session, steps[-1]["seq"] if steps else before.seq, epoch)
    return LedgerPage(events=tuple(events), cursor=cursor, damage=tuple(damage))


async def _drop_checkpoint(connection: Conn, tenant: str, key: uuid.UUID) -> None:
    await connection.execute("delete from checkpoint where tenant = $1 and session_key = $2", tenant, key)


def _as_read(once: Statement, rev: int, clock: int, seq: int, epoch: int) -> Row:
    """The row that an append made."""
    many, revs, writer, number, enc, body, sha256 = once.values[7:14]
    row = {"seq": seq, "w": writer, "n": number, "clock": clock - many, "rev": rev - revs, "stamped": False}
    return {**row, "enc": enc, "body": body, "sha256": sha256, "epoch": epoch}


def info_of(line: bytes) -> SessionInfo:
    """What a session's row says of it."""
    return _INFOS.decode(bytes(line))


async def _all_steps(connection: Conn, tenant: str, key: uuid.UUID) -> list[Row]:
    return await connection.fetch(
        "select seq, w, n, clock, rev, stamped, enc, body, sha256 from step"
        " where tenant = $1 and session_key = $2 order by seq",
        tenant,
        key,
    )


async def _packed(events: Sequence[Event]) -> Body:
    """The events as a row's body; what may be much is work for a thread."""
    if len(events) > 4:
        return await asyncio.to_thread(lambda: packed(encode_all(events)))
    return packed(encode_all(events))


def _seconds(info: SessionInfo) -> float | None:
    return born(info.created) if info.created else None
