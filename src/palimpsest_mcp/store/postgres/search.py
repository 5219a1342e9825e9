"""Search in rows: the database finds candidates by their words (GIN), the scorer of the disk ranks them."""

from __future__ import annotations

import asyncio
import hashlib
import time
import uuid
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from ...models.events import SessionKey
from ...ports.store import Entry, Match
from ..bm25 import Need, Query, Text, best, may_begin, ranked, read
from ..search_text import Term
from .bodies import packed, unpacked
from .keys import Keys, name_bytes, name_hash, name_text
from .lexemes import expression, lexeme, may_be_near, near, near_expressions, vector
from .link import Conn, Link, Row, owner_of

_LIKELY = 50
"""So many of the likeliest are read to be ranked, or as many as are asked for."""
_LOOKED_AT = 2_000
"""Of so many that have the words the likeliest are chosen."""
_COUNTED = 10_000
"""More than so many are all the same to a word's rarity."""
MANY = 1_000
"""What more than so many have is common."""
COMMON_S = 600.0
"""So long its count is taken for what it was."""
_KEPT = 10_000
"""Counts."""
_RAREST = 24
_RESEMBLING = 30
"""So many texts are read for words that resemble one that nothing has."""
_SESSIONS = 40
"""More sessions than these are told apart by their rows, not by words."""


class _Said(msgspec.Struct):
    """What a row keeps of an entry."""

    item_id: str
    text: str
    named: str
    tool_name: str
    title: str
    ts: str


_SAID = msgspec.json.Decoder(_Said)


class PgSearch:
    """See `ports.store.Search`."""

    def __init__(self, link: Link, sessions: Keys) -> None:
        self._link, self._sessions = link, sessions
        self._common = Common()

    async def add(self, entries: Sequence[Entry]) -> None:
        by_session: dict[SessionKey, list[Entry]] = {}
        for entry in entries:
            by_session.setdefault(SessionKey(entry.session_id, entry.principal), []).append(entry)
        for key, some in by_session.items():
            await self._add(key, some)

    async def _add(self, key: SessionKey, entries: Sequence[Entry]) -> None:
        async def work(connection: Conn, again: bool) -> None:
            state = await self._sessions.ensure(connection, key, anew=again)
            columns = await asyncio.to_thread(self._columns, entries, key, state.key)
            await connection.execute(
                "with done as (delete from unsearched where tenant = $1 and session_key = $3 and batch_id = any($5))"
                " insert into entry (tenant, owner, session_key, entry_hash, batch_id, stands, enc, body, words)"
                " select $1, $2, $3, one.entry_hash, one.batch_id, one.stands, one.enc, one.body, one.words::tsvector"
                " from unnest($4::bytea[], $5::bytea[], $6::smallint[], $7::smallint[], $8::bytea[], $9::text[])"
                " as one (entry_hash, batch_id, stands, enc, body, words)"
                " on conflict (session_key, entry_hash) do update set stands = excluded.stands, enc = excluded.enc,"
                " body = excluded.body, words = excluded.words",
                *(self._link.tenant, owner_of(key.principal), state.key, *columns),
            )

        await self._link.run(key.principal, work, writing=True)

    def _columns(self, entries: Sequence[Entry], key: SessionKey, session: uuid.UUID) -> tuple[list[Any], ...]:
        newest = {_hash(entry): entry for entry in entries}
        bodies = [packed(msgspec.json.encode(_said(entry))) for entry in newest.values()]
        return (
            list(newest),
            [name_bytes(entry.batch_id) for entry in newest.values()],
            [entry.lines_stand + 2 * entry.places_stand for entry in newest.values()],
            [body.enc for body in bodies],
            [body.sha256 + body.data for body in bodies],
            [
                vector(entry, [self._scope(key.principal), _session(session), _project(entry.project)])
                for entry in newest.values()
            ],
        )

    async def find(
        self,
        query: str,
        *,
        principal: str = "",
        session_ids: Sequence[str] | None = None,
        project: str | None = None,
        limit: int = 10,
    ) -> tuple[Match, ...]:
        asked = read(query)
        if not asked.terms or limit <= 0 or session_ids == []:
            return ()
        likely = min(max(limit, _LIKELY), 10_000)

        scope = [lexeme(self._scope(principal))]
        if project is not None:
            scope.append(lexeme(_project(project)))
        chosen = None if session_ids is None else await self._keys_of(principal, session_ids)
        if chosen == []:
            return ()
        few = None
        if chosen is not None and len(chosen) <= _SESSIONS:
            scope.append(f"({' | '.join(lexeme(_session(one)) for one in chosen)})")
            few, chosen = chosen, None
        within = _Within(self._link, principal, " & ".join(scope), few, chosen, self._common)
        needs, having, total = await self._weighed(within, asked)
        rows = await self._rows(within, asked, needs, likely) if needs else []
        if not rows:
            return ()
        return await asyncio.to_thread(_ranked, asked, needs, having, total, rows, principal, limit)

    async def _weighed(self, within: _Within, asked: Query) -> tuple[list[Need], list[int], int]:
        """What is looked for, how many have each, and how many there are: one statement for all that is there, one for
        the beginnings of what is not."""
        total, *having = await within.counts(None, *asked.needs)
        needs = list(asked.needs)
        absent = [n for n, need in enumerate(needs) if not having[n] and may_begin(need.term)] if total else []
        if absent:
            begins = [needs[n]._replace(prefix=True) for n in absent]
            counts = await within.counts(*begins)
            for number, begin, count in zip(absent, begins, counts, strict=True):
                needs[number], having[number] = begin, count
        if asked.every and total:
            lacking = [n for n in range(len(asked.terms)) if not having[n] and may_be_near(needs[n].term)]
            await self._stand_for(within, lacking, needs, having)
        if not asked.every:
            there = sorted((count, number) for number, count in enumerate(having) if count)
            telling = sorted(number for _, number in there[:_RAREST])
            needs, having = [needs[n] for n in telling], [having[n] for n in telling]
        return needs, having, total

    async def _stand_for(self, within: _Within, lacking: Sequence[int], needs: list[Need], having: list[int]) -> None:
        """Put words that resemble what nothing has in its place: two statements, however many are lacking."""
        asked = [near_expressions(needs[number].term) for number in lacking]
        rows = await within.found(asked, _LOOKED_AT, _RESEMBLING) if asked else []
        if not rows:
            return
        found = await asyncio.to_thread(_near, [needs[number].term for number in lacking], rows)
        some = {
            number: needs[number]._replace(prefix=False, near=one)
            for number, one in zip(lacking, found, strict=True)
            if one
        }
        counts = await within.counts(*some.values()) if some else []
        for (number, need), count in zip(some.items(), counts, strict=True):
            needs[number], having[number] = need, count

    async def _rows(self, within: _Within, asked: Query, needs: Sequence[Need], likely: int) -> list[Row]:
        ranking = " | ".join(f"({expression(need)})" for need in needs)
        every = " & ".join(f"({expression(need)})" for need in needs[: len(asked.terms)]) if asked.every else ""
        rows: list[Row] = []
        for wanted in filter(None, (every, ranking)):
            rows = rows or await within.found([(wanted, ranking)], max(_LOOKED_AT, likely), likely)
        return rows

    async def indexed(self, principal: str, session_id: str) -> frozenset[str]:
        key = SessionKey(session_id, principal)

        async def work(connection: Conn, again: bool) -> list[Row]:
            state = await self._sessions.find(connection, key, anew=again)
            if state is None:
                return []
            return await connection.fetch(
                "select distinct batch_id from entry where tenant = $1 and session_key = $2",
                *(self._link.tenant, state.key),
            )

        return frozenset(name_text(row["batch_id"]) for row in await self._link.run(principal, work))

    async def lacking(self, principal: str, session_id: str, batch_ids: Collection[str]) -> frozenset[str]:
        if not batch_ids:
            return frozenset()
        hashed = name_hash(SessionKey(session_id, principal))
        first, *rows = await self._link.ask("unsearched_batches($1, $2, $3)", principal, hashed)
        if not first["has_any"]:  # what the index had may have been lost
            return frozenset(batch_ids)
        return frozenset(batch_ids).intersection(name_text(row["batch_id"]) for row in rows)

    async def behind(self, principal: str) -> frozenset[str] | None:
        rows = await self._link.ask("unsearched_sessions($1, $2)", principal)
        return frozenset(name_text(row["name"]) for row in rows)

    async def forget(self, principal: str, session_id: str, batch_ids: Sequence[str]) -> None:
        key = SessionKey(session_id, principal)

        async def work(connection: Conn, again: bool) -> None:
            if (state := await self._sessions.find(connection, key, anew=again)) is not None:
                await connection.execute(
                    "with gone as (delete from unsearched"
                    " where tenant = $1 and session_key = $2 and batch_id = any($3))"
                    " delete from entry where tenant = $1 and session_key = $2 and batch_id = any($3::bytea[])",
                    *(self._link.tenant, state.key, [name_bytes(one) for one in batch_ids]),
                )

        await self._link.run(principal, work, writing=True)

    async def _keys_of(self, principal: str, session_ids: Sequence[str]) -> list[uuid.UUID]:
        keys = [SessionKey(one, principal) for one in session_ids if one]
        known = [state.key for key in keys if (state := self._sessions.known(key)) is not None]
        if len(known) == len(keys):  # by the key of one that was dropped since nothing is found
            return known
        rows = await self._link.run(
            principal,
            lambda connection, again: connection.fetch(
                "select session_key from name where tenant = $1 and name_hash = any($2::bytea[])",
                *(self._link.tenant, list(map(name_hash, keys))),
            ),
        )
        return [row["session_key"] for row in rows]

    def _scope(self, principal: str) -> str:
        return "=" + hashlib.sha256(self._link.tenant.encode() + owner_of(principal)).hexdigest()[:16]


class Common:
    """How many have what many have: it changes slowly, and is counted again only after some time."""

    def __init__(self, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._clock_s = clock_s
        self._known: OrderedDict[str, tuple[float, int]] = OrderedDict()

    def known(self, queries: Iterable[str]) -> dict[str, int]:
        """What was counted a while ago, and is still taken for it."""
        now_s = self._clock_s()
        found = {one: self._known[one] for one in queries if one in self._known}
        return {one: count for one, (until_s, count) in found.items() if until_s > now_s}

    def note(self, counts: Mapping[str, int]) -> None:
        """Keep those of what many have."""
        for query, count in counts.items():
            if count >= MANY:
                self._known[query] = self._clock_s() + COMMON_S, count
                self._known.move_to_end(query)
        while len(self._known) > _KEPT:
            self._known.popitem(last=False)


class _Within(NamedTuple):
    """What is looked through; each question is a statement of its own."""

    link: Link
    principal: str
    scope: str
    few: list[uuid.UUID] | None
    """Sessions that the scope names."""
    chosen: list[uuid.UUID] | None
    """Those that are too many for it."""
    common: Common

    async def counts(self, *needs: Need | None) -> list[int]:
        """How many entries have each; all of them for None."""
        queries = [self.scope if need is None else f"{self.scope} & ({expression(need)})" for need in needs]
        counts = self.common.known(queries) if self.chosen is None else {}
        if new := [one for one in dict.fromkeys(queries) if one not in counts]:
            rows = await self.link.ask(
                "count_words($1, $2, $3, $4, $5, $6) as counts", self.principal, new, self.few, self.chosen, _COUNTED
            )
            counts |= zip(new, rows[0]["counts"], strict=True)
            if self.chosen is None:
                self.common.note(counts)
        return [counts[one] for one in queries]

    async def found(self, asked: Sequence[tuple[str, str]], most: int, likely: int) -> list[Row]:
        """The likeliest entries of each: what finds them, and what says how likely each is."""
        queries, rankings = [f"{self.scope} & ({one})" for one, _ in asked], [one for _, one in asked]
        return await self.link.ask(
            "find_words($1, $2, $3, $4, $5, $6, $7, $8)",
            *(self.principal, queries, rankings, self.few, self.chosen, most, likely),
        )


def _near(terms: Sequence[Term], rows: Sequence[Row]) -> list[tuple[str, ...]]:
    """Of each term the words that stand for it, from rows that have the number of their term."""
    some = [list[Text]() for _ in terms]
    for row in rows:
        said = _SAID.decode(texts(row))
        some[int(row["number"]) - 1].append(Text(said.named, said.text))
    return [near(*one) for one in zip(terms, some, strict=True)]


def texts(row: Row) -> bytes:
    """What a row keeps, for who looks for a text in it."""
    return unpacked(row["enc"], row["body"][32:], row["body"][:32])


def _ranked(
    asked: Query,
    needs: Sequence[Need],
    having: Sequence[int],
    total: int,
    rows: Sequence[Row],
    principal: str,
    limit: int,
) -> tuple[Match, ...]:
    entries = [_entry(row, name_text(row["name"]), principal) for row in rows]
    answers = ranked([Text(one.named, one.text) for one in entries], needs, having=having, total=total)
    return best(zip(entries, answers, strict=True), asked, limit)


def _entry(row: Row, session_id: str, principal: str) -> Entry:
    said = _SAID.decode(texts(row))
    batch_id, item_id = msgspec.json.decode(said.item_id, type=tuple[str, str])
    return Entry(
        principal=principal,
        session_id=session_id,
        batch_id=_unescaped(batch_id),
        item_id=_unescaped(item_id),
        text=said.text,
        named=said.named,
        tool_name=said.tool_name,
        title=said.title,
        ts=said.ts,
        lines_stand=bool(row["stands"] & 1),
        places_stand=bool(row["stands"] & 2),
    )


def _said(entry: Entry) -> _Said:
    ids = [name_bytes(one).decode("latin-1") for one in (entry.batch_id, entry.item_id)]
    text, named, tool, title = map(_whole, (entry.text, entry.named, entry.tool_name, entry.title))
    return _Said(msgspec.json.encode(ids).decode(), text, named, tool, title, entry.ts)


def _unescaped(latin: str) -> str:
    return name_text(latin.encode("latin-1"))


def _whole(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _hash(entry: Entry) -> bytes:
    batch = name_bytes(entry.batch_id)
    return hashlib.sha256(b"%d:" % len(batch) + batch + name_bytes(entry.item_id)).digest()[:16]


def _session(session: uuid.UUID) -> str:
    return "@" + session.hex


def _project(project: str) -> str:
    return "/" + hashlib.sha256(name_bytes(project)).hexdigest()[:16]
