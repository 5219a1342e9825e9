"""What stands beside ledger and archive: summaries and handoffs, each replaced or added as a whole."""

from __future__ import annotations

import hashlib

from ...errors import SummaryChanged
from ...models.events import SessionKey
from ...models.handoffs import Place
from ...models.reports import Forgotten
from ...models.summaries import AnchoredSummary
from ...ports.store import StoredHandoff, StoredSummary
from ..documents import (
    MAX_BYTES,
    NO_TEXT,
    PLACES,
    SUFFIX,
    checked_stem,
    free_name,
    summary_bytes,
    summary_of,
    version_of,
)
from ..documents import handoff_bytes as bytes_of
from ..documents import handoff_text as text_of
from ..rewrite import masked_text
from .link import EVERYBODY, Conn, Link, Row, owner_of
from .rows import Keys, name_hash, name_text


class PgSummaries:
    """See `ports.store.Summaries`."""

    def __init__(self, link: Link, keys: Keys) -> None:
        self._link, self._keys = link, keys

    async def get(self, key: SessionKey) -> StoredSummary:
        name_hash(key)

        async def work(connection: Conn, again: bool) -> bytes | None:
            state = await self._keys.find(connection, key, anew=again)
            if state is None:
                return None
            return await connection.fetchval(
                "select body from summary where tenant = $1 and session_key = $2", self._link.tenant, state.key
            )

        return summary_of(await self._link.run(key.principal, work))

    async def put(self, key: SessionKey, summary: AnchoredSummary, *, after: str) -> str:
        data = summary_bytes(summary)
        version = version_of(data)

        async def work(connection: Conn, again: bool) -> bool:
            state = await self._keys.ensure(connection, key, anew=again)
            where = (self._link.tenant, state.key)
            kept = await connection.fetchval(
                "select body from summary where tenant = $1 and session_key = $2 for update", *where
            )
            if again and version_of(kept) == version:
                return True
            if version_of(kept) != after:
                return False
            if kept is None:
                done = await connection.fetchval(
                    "insert into summary (tenant, owner, session_key, version, body) values ($1, $2, $3, $4, $5)"
                    " on conflict do nothing returning true",
                    *(self._link.tenant, owner_of(key.principal), state.key, version, data),
                )
                return bool(done)
            if summary_of(kept).note:
                await connection.execute(
                    "insert into aside (tenant, owner, session_key, name, body) values ($1, $2, $3, $4, $5)",
                    *(self._link.tenant, owner_of(key.principal), state.key, f"summary-{after[:8]}", bytes(kept)),
                )
            await connection.execute(
                "update summary set version = $3, body = $4 where tenant = $1 and session_key = $2",
                *(*where, version, data),
            )
            return True

        if not await self._link.run(key.principal, work, writing=True):
            raise SummaryChanged(
                "The session's summary was changed since it was read.", next="Read it again and merge anew."
            )
        return version

    async def list(self, principal: str = "") -> tuple[str, ...]:
        rows = await self._link.run(
            principal,
            lambda connection, again: connection.fetch(
                "select s.name from summary y join session s using (session_key)"
                " where y.tenant = $1 and y.owner = $2 and s.steps + s.records > 0",
                *(self._link.tenant, owner_of(principal)),
            ),
        )
        return tuple(sorted(name_text(row["name"]) for row in rows))

    async def forget(self, key: SessionKey, gone: Forgotten) -> list[str]:
        """Take what has to go out of the summary, and out of what was kept aside. Returns names of what changed."""

        async def work(connection: Conn, again: bool) -> list[str]:
            changed: list[str] = []
            state = await self._keys.find(connection, key, anew=again)
            if state is None:
                return changed
            where = (self._link.tenant, state.key)
            body = await connection.fetchval(
                "select body from summary where tenant = $1 and session_key = $2 for update", *where
            )
            new = None if body is None else _without(body, gone)
            if new is not None:
                changed.append("summary")
            if new == b"":
                await connection.execute("delete from summary where tenant = $1 and session_key = $2", *where)
            elif new is not None:
                await connection.execute(
                    "update summary set version = $3, body = $4 where tenant = $1 and session_key = $2",
                    *(*where, version_of(new), new),
                )
            gone_aside = await connection.fetch(
                "delete from aside where tenant = $1 and session_key = $2 returning name", *where
            )
            return changed + [row["name"] for row in gone_aside]  # nobody reads them but by hand

        return await self._link.run(key.principal, work, writing=True)


class PgHandoffs:
    """See `ports.store.Handoffs`."""

    def __init__(self, link: Link) -> None:
        self._link = link

    async def add(self, place: Place, stem: str, text: str, principal: str = "") -> StoredHandoff:
        data, sha256 = bytes_of(text), hashlib.sha256(text.encode()).hexdigest()
        checked_stem(stem)

        async def work(connection: Conn, again: bool) -> str:
            await self._turn(connection, principal)
            rows = await connection.fetch(
                "select place, name, sha256 from handoff where tenant = $1 and owner = $2", *self._whose(principal)
            )
            if again:  # an earlier attempt was committed after all: it is the one with these bytes
                for row in rows:
                    if row["place"] == place and row["sha256"] == sha256 and row["name"].startswith(stem):
                        return row["name"]
            places = {place, "archive"} if place == "memory" else {place}
            name = free_name(stem, {row["name"] for row in rows if row["place"] in places})
            await self._insert(connection, principal, place, name, data, sha256)
            return name

        name = await self._link.run(principal, work, writing=True)
        return StoredHandoff(name=name, place=place, path=self._path(place, name), text=text_of(data), sha256=sha256)

    async def list(self, principal: str = "") -> tuple[StoredHandoff, ...]:
        rows = await self._link.run(
            principal,
            lambda connection, again: connection.fetch(
                "select place, name, sha256, length(body) as size, case when length(body) <= $3 then body end as body"
                " from handoff where tenant = $1 and owner = $2",
                *(*self._whose(principal), MAX_BYTES),
            ),
        )
        return tuple(sorted(map(self._handoff, rows), key=lambda one: (PLACES.index(one.place), one.name)))

    async def archive(self, one: StoredHandoff, principal: str = "") -> StoredHandoff | None:
        async def work(connection: Conn, again: bool) -> str | None:
            await self._turn(connection, principal)
            rows = await connection.fetch(
                "select place, name, sha256 from handoff where tenant = $1 and owner = $2", *self._whose(principal)
            )
            here = {(row["place"], row["name"]): row["sha256"] for row in rows}
            if one.place != "memory" or here.get(("memory", one.name)) != one.sha256:
                return one.name if again and here.get(("archive", one.name)) == one.sha256 else None
            name = one.name
            if here.get(("archive", name)) == one.sha256:
                await self._delete(connection, principal, "memory", name)
                return name
            name = free_name(name, {named for place, named in here if place == "archive"})
            await connection.execute(
                "update handoff set place = 'archive', name = $4"
                " where tenant = $1 and owner = $2 and place = 'memory' and name = $3",
                *(*self._whose(principal), one.name, name),
            )
            return name

        name = await self._link.run(principal, work, writing=True)
        if name is None:
            return None
        path = self._path("archive", name)
        return StoredHandoff(name=name, place="archive", path=path, text=one.text, sha256=one.sha256)

    async def remove(self, one: StoredHandoff, principal: str = "", *, note: str = "") -> bool:
        async def work(connection: Conn, again: bool) -> bool:
            await self._turn(connection, principal)
            gone = await self._delete(connection, principal, one.place, one.name, one.sha256)
            if gone and note:
                await connection.execute(
                    "insert into handoff_removed (tenant, owner, note) values ($1, $2, $3)",
                    *(*self._whose(principal), bytes_of(note)),
                )
            return gone or again

        return await self._link.run(principal, work, writing=True)

    async def removed(self, principal: str = "") -> tuple[str, ...]:
        rows = await self._link.run(
            principal,
            lambda connection, again: connection.fetch(
                "select note from handoff_removed where tenant = $1 and owner = $2 order by at", *self._whose(principal)
            ),
        )
        return tuple(row["note"].decode("utf-8", "replace") for row in rows)

    async def forget(self, gone: Forgotten, principal: str) -> list[str]:
        """Take what has to go out of every handoff, and out of the notes about deleted ones. Returns their places."""

        async def work(connection: Conn, again: bool) -> list[str]:
            await self._turn(connection, principal)
            changed: list[str] = []
            for row in await connection.fetch(
                "select place, name, body from handoff where tenant = $1 and owner = $2", *self._whose(principal)
            ):
                if (new := _without(row["body"], gone)) is None:
                    continue
                changed.append(self._path(row["place"], row["name"]))
                await self._delete(connection, principal, row["place"], row["name"])
                if new:
                    sha256 = hashlib.sha256(new).hexdigest()
                    await self._insert(connection, principal, row["place"], row["name"], new, sha256)
            for row in await connection.fetch(
                "select at, note from handoff_removed where tenant = $1 and owner = $2", *self._whose(principal)
            ):
                if (new := _without(row["note"], gone)) is not None:
                    changed.append("removed")
                    await connection.execute(
                        "update handoff_removed set note = $4 where tenant = $1 and owner = $2 and at = $3",
                        *(*self._whose(principal), row["at"], new),
                    )
            return changed

        return await self._link.run(principal, work, writing=True)

    async def bodies(self) -> list[tuple[str, bytes]]:
        """Everything of everybody, for who looks for a text: place, bytes."""
        rows = await self._link.run(
            EVERYBODY,
            lambda connection, again: connection.fetch(
                "select place || '/' || name as at, body from handoff where tenant = $1"
                " union all select 'removed', note from handoff_removed where tenant = $1",
                self._link.tenant,
            ),
        )
        return [(row["at"], bytes(row["body"])) for row in rows]

    def _whose(self, principal: str) -> tuple[str, bytes]:
        return self._link.tenant, owner_of(principal)

    async def _turn(self, connection: Conn, principal: str) -> None:
        """One change at a time of a principal's handoffs; ends with the transaction."""
        await connection.execute(
            "select pg_advisory_xact_lock(hashtextextended($1 || encode($2::bytea, 'hex'), 1))", *self._whose(principal)
        )

    async def _insert(self, connection: Conn, principal: str, place: str, name: str, data: bytes, sha256: str) -> None:
        await connection.execute(
            "insert into handoff (tenant, owner, place, name, body, sha256) values ($1, $2, $3, $4, $5, $6)",
            *(*self._whose(principal), place, name, data, sha256),
        )

    async def _delete(self, connection: Conn, principal: str, place: str, name: str, sha256: str | None = None) -> bool:
        gone = await connection.fetchval(
            "delete from handoff where tenant = $1 and owner = $2 and place = $3 and name = $4"
            " and ($5::text is null or sha256 = $5) returning true",
            *(*self._whose(principal), place, name, sha256),
        )
        return bool(gone)

    def _path(self, place: str, name: str) -> str:
        return f"{self._link.place}/{place}/{name}{SUFFIX}"

    def _handoff(self, row: Row) -> StoredHandoff:
        path = self._path(row["place"], row["name"])
        if row["body"] is None:
            why = f"is longer than {MAX_BYTES:,} bytes"
            return StoredHandoff(name=row["name"], place=row["place"], path=path, text=None, sha256="", why=why)
        text = text_of(row["body"])
        return StoredHandoff(
            name=row["name"],
            place=row["place"],
            path=path,
            text=text,
            sha256=row["sha256"],
            why="" if text is not None else NO_TEXT,
        )


def _without(data: bytes, gone: Forgotten) -> bytes | None:
    """Bytes of a small text without what has to go: none where all of it goes; None where nothing does."""
    text = bytes(data).decode("utf-8", "surrogateescape")
    if gone.about is not None and not gone.about(text):
        return None
    masked = text if gone.mask is None else masked_text(text, gone.mask)
    if gone.whole:
        return b""
    return None if masked == text else masked.encode("utf-8", "surrogateescape")
