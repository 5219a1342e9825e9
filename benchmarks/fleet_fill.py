"""Fills a database with millions of small records and what goes with them, for `fleet_rows.py`.

A record has its row of the archive and its entry for search; ten share two steps of a ledger, a hundred or so share a
session. The store's own encoders write one tenant's sessions. The rows of the others are the same under keys of their
own, made by the server (`insert … select`), so every row is one that the store itself could have written.
"""

from __future__ import annotations

import asyncio
import hashlib
import random
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import asyncpg
import msgspec

from palimpsest_mcp.core.compaction.commit import committed_batch
from palimpsest_mcp.core.sessions import _handles  # pyright: ignore[reportPrivateUsage]
from palimpsest_mcp.models.events import Event, Opened, Replaced, Seen, SessionInfo, SessionKey, UsageSeen
from palimpsest_mcp.models.items import Item, content_sha256
from palimpsest_mcp.models.records import EXTRACTIVE, ArchivedItem, OffloadRecord, Verification
from palimpsest_mcp.ports.store import Entry
from palimpsest_mcp.store.postgres.archive import _bodies, _columns  # pyright: ignore[reportPrivateUsage]
from palimpsest_mcp.store.postgres.rows import name_bytes, name_hash, packed, uuid7
from palimpsest_mcp.store.postgres.search import _hash as entry_hash  # pyright: ignore[reportPrivateUsage]
from palimpsest_mcp.store.postgres.search import (
    _said,  # pyright: ignore[reportPrivateUsage]
    lexeme,
    vector,
)
from palimpsest_mcp.store.segments import encode, encode_all

TENANT_RECORDS = 250_000
"""Of a tenant: two sessions of 10,000 and 2,300 of a hundred or so, born over twelve months."""
LARGE, LARGE_RECORDS = 2, 10_000
A_PASS = 10
"""Batches."""
MONTHS = 12
SEED = 20261127

_LETTERS = "bacodefiguhajekilomunaorperisatiunvewaxi"
_SYLLABLES = [_LETTERS[at : at + 2] for at in range(0, len(_LETTERS), 2)]
_FIRST = datetime(2025, 12, 3, 8, tzinfo=UTC)


def vocabulary() -> list[str]:
    """Words of two to four syllables, the first of them by far the most frequent, as in any text."""
    chance = random.Random(SEED)
    found = dict.fromkeys("".join(chance.choices(_SYLLABLES, k=chance.choice((2, 2, 3, 4)))) for _ in range(12_000))
    return list(found)[:8_000]


class Wrote(NamedTuple):
    """One session as rows, without tenant and keys."""

    session: tuple[Any, ...]
    steps: list[tuple[Any, ...]]
    records: list[tuple[Any, ...]]
    entries: list[tuple[Any, ...]]


def sizes(records: int) -> list[int]:
    """How many records each session of the tenant has."""
    chance = random.Random(SEED)
    found, left = list[int](), records - LARGE * LARGE_RECORDS
    while left > 0:
        found.append(min(left, chance.randint(20, 180)))
        left -= found[-1]
    for number in range(LARGE):
        found.insert(number * len(found) // LARGE + 50, LARGE_RECORDS)
    return found


def name_of(number: int) -> str:
    return f"run-{number:06d}"


def batch_of(number: int) -> str:
    return f"offload_{number:04d}"


def sentence(chance: random.Random, words: Sequence[str], weights: Sequence[float]) -> str:
    """What a small tool result says."""
    said = chance.choices(words, cum_weights=weights, k=11)
    return (
        f"{' '.join(said[:6])} E{chance.randrange(10_000):04d} {' '.join(said[6:])} req-{chance.getrandbits(40):010x}"
    )


def weights_of(words: Sequence[str]) -> list[float]:
    """Cumulative, by Zipf's law."""
    total, found = 0.0, list[float]()
    for rank in range(1, len(words) + 1):
        total += 1 / rank
        found.append(total)
    return found


def session_rows(number: int, count: int, share: float, words: Sequence[str], weights: Sequence[float]) -> Wrote:
    """A session with so many records, as the store would have written it.

    Args:
        share: of the months, when it was born.
    """
    chance = random.Random(SEED + number)
    name, writer = name_of(number), f"{1000 + number}-{number:016x}"
    born = _FIRST + timedelta(days=365 * share)
    key, ts = SessionKey(name), born.isoformat()
    info = SessionInfo(session_id=name, handle=_handles("", name)[2], host="bench", project="/work/bench", created=ts)
    query = "find out why the jobs fail"
    steps: list[list[Event]] = [[Opened(info=info, ts=ts)], [Seen(item=_item("q", 0, query, "original_query"), ts=ts)]]
    records: list[OffloadRecord] = []
    entries: list[Entry] = []
    for first in range(0, count, A_PASS):
        some: list[OffloadRecord] = []
        seen: list[Event] = []
        for at in range(first, min(first + A_PASS, count)):
            item = _item(f"c{at + 1}", at + 1, sentence(chance, words, weights), "tool_result")
            seen.append(Seen(item=item, ts=ts))
            some.append(_record(name, at + 1, item, ts))
        seen.append(UsageSeen(used_tokens=9_000 + first, window_tokens=64_000, row=first + A_PASS))
        batches = tuple(committed_batch(one) for one in some)
        replaced = Replaced(pass_id=f"p{first}", session_id=name, batches=batches, ts=ts, policy="research")
        steps += [seen, list[Event]((replaced,))]
        records += some
        entries += [_entry(key, one) for one in some]
    return Wrote(
        _session_row(number, key, info, steps, count, born),
        _step_rows(number, writer, steps),
        [(number, at + 1, writer, 1_000_000 + at, *row) for at, row in enumerate(_record_rows(records))],
        [
            (number, entry_hash(one), name_bytes(one.batch_id), 3, body.enc, body.sha256 + body.data, vector(one, []))
            for one in entries
            for body in (packed(_encoded(one)),)
        ],
    )


def _encoded(entry: Entry) -> bytes:
    return msgspec.json.encode(_said(entry))


def _item(name: str, row: int, text: str, kind: Any) -> Item:
    return Item(
        id=name,
        kind=kind,
        role="user" if kind == "original_query" else "tool",
        position=(row, 0),
        content=text,
        sha256=content_sha256(text),
        size_bytes=len(text),
        tokens=len(text) // 4,
        unit="" if kind == "original_query" else name,
        tool_name="" if kind == "original_query" else "read",
        call_id="" if kind == "original_query" else name,
    )


def _record(name: str, number: int, item: Item, ts: str) -> OffloadRecord:
    digest = f"[{batch_of(number)} {str(item.content)[-14:]}]"
    kept = ArchivedItem(
        id=item.id,
        kind=item.kind,
        tool_name=item.tool_name,
        result=item.content,
        position=item.position,
        sha256=item.sha256,
        size_bytes=item.size_bytes,
        tokens=item.tokens,
        call_id=item.call_id,
        unit=item.unit,
        digest_span=(0, len(digest)),
        digest_tokens=6,
        digest_sha256=content_sha256(digest),
    )
    return OffloadRecord(
        ts=ts,
        session_id=name,
        batch_id=batch_of(number),
        reason="token_budget_exceeded",
        items=(kept,),
        digest_replacing_inline=digest,
        original_token_count=item.tokens,
        digest_token_count=6,
        digest_sha256=content_sha256(digest),
        digester=EXTRACTIVE,
        verification=Verification(passed=True),
    )


def _entry(key: SessionKey, record: OffloadRecord) -> Entry:
    item = record.items[0]
    return Entry(
        session_id=key.session_id,
        batch_id=record.batch_id,
        item_id=item.id,
        text=str(item.result),
        named=item.tool_name,
        tool_name=item.tool_name,
        ts=record.ts,
        lines_stand=True,
        places_stand=True,
        project="/work/bench",
    )


def _session_row(
    number: int, key: SessionKey, info: SessionInfo, steps: list[list[Event]], records: int, born: datetime
) -> tuple[Any, ...]:
    clock, rev = sum(map(len, steps)), sum(isinstance(one, Replaced) for step in steps for one in step)
    name, at = name_bytes(key.session_id), born.timestamp()
    return number, name_hash(key), name, encode(info)[:-1], at, len(steps), records, clock, rev, info.handle.encode()


def _step_rows(number: int, writer: str, steps: list[list[Event]]) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = []
    n = clock = rev = 0
    for seq, events in enumerate(steps, 1):
        body = packed(encode_all(events))
        rows.append((number, seq, writer, n + 1, len(events), clock, rev, body.enc, body.data, body.sha256))
        n, clock = n + len(events), clock + len(events)
        rev += sum(isinstance(one, Replaced) for one in events)
    return rows


def _record_rows(records: Sequence[OffloadRecord]) -> Iterator[tuple[Any, ...]]:
    ids, encs, bodies, sizes_, hashes, _ = _columns(records, _bodies(records))
    return zip(ids, encs, bodies, sizes_, hashes, strict=True)


# Filling.

_TEMPLATE = """
create unlogged table t_session (no int primary key, name_hash bytea, name bytea, info bytea, created double precision,
  steps bigint, records bigint, clock bigint, rev bigint, handle bytea);
create unlogged table t_step (no int, seq bigint, w text, n bigint, events int, clock bigint, rev bigint, enc smallint,
  body bytea, sha256 bytea);
create unlogged table t_record (no int, seq bigint, w text, n bigint, batch_id bytea, enc smallint, body bytea,
  body_len int, sha256 bytea);
create unlogged table t_entry (no int, entry_hash bytea, batch_id bytea, stands smallint, enc smallint, body bytea,
  words text);
create unlogged table t_key (tenant text, no int, session_key uuid, scope tsvector, primary key (tenant, no))
"""
_COPIES = (
    "insert into name (tenant, owner, name_hash, session_key, name)"
    " select k.tenant, '', t.name_hash, k.session_key, t.name"
    " from t_session t join t_key k using (no) where k.tenant = $1",
    "insert into session"
    " (tenant, owner, session_key, name, info, created, steps, records, clock, rev, handle)"
    " select k.tenant, '', k.session_key, t.name, t.info, t.created, t.steps, t.records, t.clock, t.rev, t.handle"
    " from t_session t join t_key k using (no) where k.tenant = $1",
    "insert into step (tenant, owner, session_key, seq, w, n, events, clock, rev, enc, body, sha256)"
    " select k.tenant, '', k.session_key, t.seq, t.w, t.n, t.events, t.clock, t.rev, t.enc, t.body, t.sha256"
    " from t_step t join t_key k using (no) where k.tenant = $1",
    "insert into record (tenant, owner, session_key, seq, batch_id, w, n, enc, body, body_len, sha256)"
    " select k.tenant, '', k.session_key, t.seq, t.batch_id, t.w, t.n, t.enc, t.body, t.body_len, t.sha256"
    " from t_record t join t_key k using (no) where k.tenant = $1",
    "insert into entry (tenant, owner, session_key, entry_hash, batch_id, stands, enc, body, words)"
    " select k.tenant, '', k.session_key, t.entry_hash, t.batch_id, t.stands, t.enc, t.body, t.words || k.scope"
    " from t_entry t join t_key k using (no) where k.tenant = $1",
)


async def owners(url: str) -> Any:
    """A connection that fills tables: no trigger runs, and the tables are in its path."""
    owner: Any = await asyncpg.connect(url, command_timeout=3 * 3600)
    await owner.execute(
        "set search_path = palimpsest; set session_replication_role = replica; set maintenance_work_mem = '1GB'"
    )
    return owner


async def make_template(url: str, records: int = TENANT_RECORDS) -> None:
    """One tenant's rows, written by the store's encoders, beside the store's own tables."""
    owner = await owners(url)
    for month in range(MONTHS + 1):
        await owner.execute("select make_month((date '2025-12-01' + make_interval(months => $1))::date)", month)
    await owner.execute(_TEMPLATE)
    words = vocabulary()
    weights, counts = weights_of(words), sizes(records)
    held = Wrote((), [], [], [])
    sessions: list[tuple[Any, ...]] = []
    for number, count in enumerate(counts):
        one = await asyncio.to_thread(session_rows, number, count, number / len(counts), words, weights)
        sessions.append(one.session)
        for kept, new in zip(held[1:], one[1:], strict=True):
            kept += new
        if len(held.records) > 20_000 or number == len(counts) - 1:
            for table, rows in zip(("t_step", "t_record", "t_entry"), held[1:], strict=True):
                await owner.copy_records_to_table(table, records=rows)
                rows.clear()
    await owner.copy_records_to_table("t_session", records=sessions)
    await owner.execute("alter table t_entry alter column words type tsvector using words::tsvector")
    await owner.execute("analyze")
    await owner.close()


def tenant_of(number: int) -> str:
    return f"bench-{number:03d}"


async def grow(url: str, there: int, records: int) -> None:
    """Bring the database from so many records to so many, of whole sessions; the index of words is made anew, since
    that is quicker."""
    owner = await owners(url)
    known = [(row["no"], row["created"], row["records"]) for row in await owner.fetch("select * from t_session")]
    ends, total = list[int](), 0
    for _, _, count in sorted(known):
        total += count
        ends.append(total)
    new = dict[int, list[tuple[int, float]]]()
    for number in range(records // TENANT_RECORDS + 1):
        low, high = (max(0, min(TENANT_RECORDS, one - number * TENANT_RECORDS)) for one in (there, records))
        some = [(no, born) for (no, born, _), end in zip(sorted(known), ends, strict=True) if low < end <= high]
        if some:
            new[number] = some
    if not new:
        return await owner.close()
    await owner.execute("drop index entry_words_idx")
    for number, some in new.items():
        await add_tenant(owner, number, some)
    parts = [
        row[0]
        for row in await owner.fetch(
            "select inhrelid::regclass::text from pg_inherits where inhparent = 'entry'::regclass"
        )
    ]
    await asyncio.gather(*(_index(url, parts[at::2]) for at in range(2)))
    await owner.execute("create index entry_words_idx on entry using gin (words)")
    await owner.execute("vacuum analyze")
    await owner.close()


async def _index(url: str, parts: Sequence[str]) -> None:
    owner = await owners(url)
    for part in parts:
        await owner.execute(f"create index on {part} using gin (words)")
    await owner.close()


async def add_tenant(owner: Any, number: int, sessions: Sequence[tuple[int, float]]) -> None:
    """The template's rows for a tenant, of these sessions: number and birth."""
    tenant, keys = tenant_of(number), list[tuple[Any, ...]]()
    scope = hashlib.sha256(tenant.encode()).hexdigest()[:16]
    project = hashlib.sha256(b"/work/bench").hexdigest()[:16]
    for session, born in sessions:
        key = uuid7(born)
        said = " ".join(map(lexeme, (f"={scope}", f"@{key.hex}", f"/{project}")))
        keys.append((tenant, session, key, said))
    await owner.execute("truncate t_key")
    await owner.executemany("insert into t_key values ($1, $2, $3, $4::text::tsvector)", keys)
    await owner.execute("analyze t_key")
    for statement in _COPIES:
        await owner.execute(statement, tenant)
