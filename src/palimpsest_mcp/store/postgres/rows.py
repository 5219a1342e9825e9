"""Rows: which one a session is, bytes as a row keeps them, and rows of a ledger as its events."""

from __future__ import annotations

import asyncio
import hashlib
import os
import threading
import time
import uuid
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import msgspec
import zstandard

from ...context.opened_fold import keys_of
from ...errors import InvalidArgument, StoreUnusable, WriteFailed
from ...models.events import EVENT_SCHEMA, Event, SessionKey
from ...models.reports import Forgotten
from ...ports.store import Damage, Tombstones
from ..home import key_digest, spare_handle
from ..segments import Reader, encode, is_whole
from .link import Conn, Row, owner_of

PLAIN, ZSTD = 0, 1
OUTSIDE = 2
"""The row says where the body is (`Objects`)."""
GONE = -1
"""A purge took the body."""
_SMALL = 1 << 11
"""Below this, compressing saves nothing that counts."""
_MOST = 1 << 30
"""PostgreSQL's own limit for one value; a row never says that it was more."""


class _Coders(threading.local):
    """One of each a thread: making one takes longer than using it on a small body, and no two threads may share it."""

    def __init__(self) -> None:
        self.compress = zstandard.ZstdCompressor(level=3).compress
        self.decompress = zstandard.ZstdDecompressor().decompress


_CODERS = _Coders()


class Body(NamedTuple):
    """What a row keeps."""

    enc: int
    data: bytes
    sha256: bytes
    """Of the bytes as they were given."""
    size: int
    """As they were given."""


def packed(data: bytes) -> Body:
    """The bytes for a row."""
    sha256 = hashlib.sha256(data).digest()
    if len(data) > _SMALL:
        small = _CODERS.compress(data)
        if len(small) < len(data):
            return Body(ZSTD, small, sha256, len(data))
    return Body(PLAIN, data, sha256, len(data))


def unpacked(enc: int, data: bytes, sha256: bytes) -> bytes:
    """The bytes as they were given.

    Raises:
        ValueError: they are not what was written.
    """
    try:
        plain = _CODERS.decompress(data, max_output_size=_MOST) if enc == ZSTD else data
    except zstandard.ZstdError as error:
        raise ValueError("its compressed bytes are damaged") from error
    if enc == OUTSIDE:
        raise ValueError("its body is in no object storage that this server reaches (setting `store_bodies`)")
    if enc not in (PLAIN, ZSTD):
        raise ValueError("its encoding is of a newer program")
    if hashlib.sha256(plain).digest() != sha256:
        raise ValueError("its bytes do not fit their hash")
    return plain


LARGE_BYTES = 256 << 10
"""What takes more than this in a row, compressed, goes outside."""
_UNCLAIMED = timedelta(hours=1)
"""No append takes so long: an object without a row that is older belongs to nobody."""
_AT_A_TIME = 8


class Ref(msgspec.Struct, frozen=True):
    """What a row has in the place of its body."""

    path: str
    enc: int
    """As the object's bytes are coded."""


_REFS = msgspec.json.Decoder(Ref)


def path_of(body: bytes) -> str:
    """Where a row's body is."""
    return _REFS.decode(body).path


class Objects:
    """One bucket, or a part of it.

    Args:
        url: `s3://BUCKET/PREFIX`; keys and endpoint come from the environment (`AWS_ACCESS_KEY_ID`, `AWS_ENDPOINT` …).
        large_bytes: bodies of more bytes are taken.
        options: for the storage's client, as `obstore` has them.
    """

    def __init__(self, url: str, *, large_bytes: int = LARGE_BYTES, **options: Any) -> None:
        import obstore
        from obstore.exceptions import AlreadyExistsError, BaseError
        from obstore.store import from_url

        self._api: Any = obstore
        self.large_bytes = large_bytes
        options.setdefault("retry_config", {"max_retries": 3, "retry_timeout": timedelta(seconds=10)})
        self._exists, self._failed = AlreadyExistsError, BaseError
        try:
            self._store: Any = from_url(url, **options)
        except (BaseError, ValueError) as error:
            raise StoreUnusable(
                "The setting `store_bodies` names no object storage.", next="Write s3://BUCKET/PREFIX."
            ) from error

    async def put(self, folder: str, body: Body) -> Body:
        """What the row keeps of a body whose bytes are now outside, read back and compared.

        Raises:
            WriteFailed: they are not.
        """
        path = f"{folder}/{hashlib.sha256(body.data).hexdigest()}"
        try:
            try:
                await self._api.put_async(self._store, path, body.data, mode="create")
            except self._exists:
                # Of an earlier attempt: made young again, so that no sweep takes it before its row is there.
                if await self._bytes(path) == body.data:
                    await self._api.put_async(self._store, path, body.data)
            back = await self._bytes(path)
        except (self._failed, OSError) as error:
            raise WriteFailed(
                f"The object storage does not take a large body ({type(error).__name__}), so nothing was written.",
                next="Start it, or correct `store_bodies` and the keys in the environment, then run the same again.",
            ) from error
        if back != body.data:
            raise WriteFailed(
                "The object storage gives back other bytes than it was given, so nothing was written.",
                next="Look at the bucket: something else writes or deletes there.",
            )
        return Body(OUTSIDE, msgspec.json.encode(Ref(path, body.enc)), body.sha256, body.size)

    async def filled(self, rows: Sequence[Any]) -> list[Any]:
        """Rows with their bodies in them; one whose object is gone stays as it is.

        Raises:
            StoreUnusable: the storage does not answer.
        """
        found = [dict(row) for row in rows]
        outside = [row for row in found if row["enc"] == OUTSIDE]
        for at in range(0, len(outside), _AT_A_TIME):
            await asyncio.gather(*(self._fill(row) for row in outside[at : at + _AT_A_TIME]))
        return found

    async def _fill(self, row: dict[str, Any]) -> None:
        try:
            ref = _REFS.decode(row["body"])
            row["body"], row["enc"] = await self._bytes(ref.path), ref.enc
        except (FileNotFoundError, msgspec.MsgspecError):
            return
        except (self._failed, OSError) as error:
            raise StoreUnusable(
                f"The object storage with the large bodies does not answer ({type(error).__name__}).",
                next="Start it, or correct `store_bodies` and the keys in the environment, then try again.",
            ) from error

    async def _bytes(self, path: str) -> bytes:
        answer = await self._api.get_async(self._store, path)
        return bytes(await answer.bytes_async())

    async def sweep(self, folder: str, kept: Collection[str]) -> int:
        """Delete what no row names any more; what is so young that an append may still be at it stays.

        Raises:
            WriteFailed: some may be there.
        """
        try:
            old = datetime.now(UTC) - _UNCLAIMED
            listed = [one async for page in self._api.list(self._store, folder) for one in page]
            gone = [one["path"] for one in listed if one["path"] not in kept and one["last_modified"] < old]
            return await self._remove(gone)
        except (self._failed, OSError) as error:
            raise self._still_there(error) from error

    async def remove(self, bodies: Collection[bytes]) -> None:
        """Delete the objects of bodies that rows had.

        Raises:
            WriteFailed: some may be there; ask again.
        """
        try:
            await self._remove([path_of(one) for one in bodies])
        except (self._failed, OSError) as error:
            raise self._still_there(error) from error

    async def _remove(self, paths: Sequence[str]) -> int:
        if paths:
            await self._api.delete_async(self._store, list(paths))
        return len(paths)

    @staticmethod
    def _still_there(error: Exception) -> WriteFailed:
        return WriteFailed(
            f"The object storage does not delete ({type(error).__name__}): a text that had to go may still be there.",
            next="Start it, then run the same again.",
        )


_KEPT = 20_000
_TOMBSTONES: Reader[Tombstones] = Reader(Tombstones)
_RANDOM = (1 << 74) - 1


def uuid7(at_s: float) -> uuid.UUID:
    """A UUID of version 7 (RFC 9562): milliseconds, then chance."""
    chance = int.from_bytes(os.urandom(10)) & _RANDOM
    head = (int(at_s * 1000) & ((1 << 48) - 1)) << 80
    return uuid.UUID(int=head | 0x7 << 76 | (chance >> 62) << 64 | 0x2 << 62 | (chance & ((1 << 62) - 1)))


def born(created: str) -> float:
    """Seconds of a session's birth; now where nobody can say, or it says a time to come."""
    now = time.time()
    try:
        at = datetime.fromisoformat(created).timestamp()
    except (ValueError, OverflowError):
        return now
    return at if 0 <= at < now else now


def name_bytes(name: str) -> bytes:
    """A name for a row: any text, also what is no UTF-8."""
    return name.encode("utf-8", "surrogatepass")


def name_text(data: bytes) -> str:
    """The text again."""
    return data.decode("utf-8", "surrogatepass")


def name_hash(key: SessionKey) -> bytes:
    """Of principal and id: a fixed size, whatever the names are.

    Raises:
        InvalidArgument: the id is not a string, or empty.
    """
    if not isinstance(key.session_id, str) or not isinstance(key.principal, str) or not key.session_id:  # pyright: ignore[reportUnnecessaryIsInstance]  # foreign values reach this
        raise InvalidArgument("A session id is a string that is not empty.", next="Give a session id.")
    return key_digest(key)


class State(NamedTuple):
    """What a writer knows of a session's row."""

    key: uuid.UUID
    buried: int
    """How often something was buried in it; a write on another number is refused, and looks again."""
    tombstones: Tombstones

    @property
    def gone(self) -> Forgotten:
        """What no writer may write."""
        return Forgotten(keys=frozenset(self.tombstones.keys))


class Keys:
    """Keys and states of one store's sessions; what is remembered is checked by the write that uses it."""

    def __init__(self, tenant: str) -> None:
        self.tenant = tenant
        self._states: OrderedDict[bytes, State] = OrderedDict()

    def known(self, key: SessionKey) -> State | None:
        """What was seen last."""
        return self._states.get(name_hash(key))

    def forget(self, key: SessionKey) -> None:
        """Look again next time."""
        self._states.pop(name_hash(key), None)

    async def find(self, connection: Conn, key: SessionKey, *, anew: bool = False) -> State | None:
        """The session's state; None where nobody ever wrote to it."""
        hashed = name_hash(key)
        if not anew and (state := self._states.get(hashed)) is not None:
            return state
        row = await connection.fetchrow(
            "select s.session_key, s.buried, s.purged from name n join session s on s.session_key = n.session_key"
            " where n.tenant = $1 and n.name_hash = $2",
            self.tenant,
            hashed,
        )
        return None if row is None else self.keep(hashed, row)

    async def ensure(self, connection: Conn, key: SessionKey, *, created: str = "", anew: bool = False) -> State:
        """The same; a row is made where there is none. What has a row and nothing written is not known to anybody."""
        if (state := await self.find(connection, key, anew=anew)) is not None:
            return state
        hashed, owner, name = name_hash(key), owner_of(key.principal), name_bytes(key.session_id)
        made = uuid7(born(created))
        await connection.execute(
            "delete from name n where n.tenant = $1 and n.name_hash = $2"
            " and not exists (select from session s where s.session_key = n.session_key)",  # its month was dropped
            self.tenant,
            hashed,
        )
        await connection.execute(
            "with taken as (insert into name (tenant, owner, name_hash, session_key, name) values ($1, $2, $3, $4, $5)"
            " on conflict do nothing returning session_key)"
            " insert into session (tenant, owner, session_key, name, handle)"
            " select $1, $2, session_key, $5, $6 from taken",
            *(self.tenant, owner, hashed, made, name, spare_handle(key).encode()),
        )
        state = await self.find(connection, key, anew=True)
        assert state is not None
        return state

    async def bury(
        self, connection: Conn, key: SessionKey, keys: Collection[str], *, under_way: bool, whole: bool
    ) -> None:
        """Add keys to what nobody may write."""
        state = await self.ensure(connection, key, anew=True)
        row = await connection.fetchrow(
            "select purged from session where tenant = $1 and session_key = $2 for update", self.tenant, state.key
        )
        said = _said(row["purged"])
        new = Tombstones(keys=tuple(sorted({*said.keys, *keys})), under_way=under_way, whole=whole)
        await connection.execute(
            "update session set buried = buried + 1, purged = $3 where tenant = $1 and session_key = $2",
            self.tenant,
            state.key,
            encode(new)[:-1],
        )
        self.forget(key)

    def keep(self, hashed: bytes, row: Row) -> State:
        """What a row says of a session, by the hash of its name."""
        state = State(row["session_key"], row["buried"], _said(row["purged"]))
        self._states[hashed] = state
        self._states.move_to_end(hashed)
        while len(self._states) > _KEPT:
            self._states.popitem(last=False)
        return state


def _said(purged: bytes | None) -> Tombstones:
    return Tombstones() if purged is None else _TOMBSTONES.decode(purged)


SCHEMA = 1
"""Grows with every change of what stands there, and of what the sums mean."""
_HASH, _SPOT = 8, 8 + 8
"""Bytes of a key's hash, and of a spot: the hash and the number of the step."""
EVENTS: Reader[Event] = Reader(Event)


class CheckpointBody(msgspec.Struct, frozen=True):
    """What the row says."""

    schema: int
    events: int
    """How many stand in the steps."""
    steps: bytes
    """SHA-256 of what is known of each step."""
    sums: bytes
    """What the fold makes of these events; the store does not look into it."""
    spots: bytes
    """Sorted."""

    def seqs(self, key: str) -> list[int]:
        """The steps that may have events of a key."""
        wanted, spots = _hash_of(key), self.spots
        at = bisect_left(range(len(spots) // _SPOT), wanted, key=lambda one: spots[one * _SPOT : one * _SPOT + _HASH])
        found: list[int] = []
        while spots[at * _SPOT : at * _SPOT + _HASH] == wanted:
            found.append(int.from_bytes(spots[at * _SPOT + _HASH : (at + 1) * _SPOT], "big"))
            at += 1
        return found


_CHECKPOINT = msgspec.msgpack.Decoder(CheckpointBody)


def read_checkpoint(row: Row, steps: Sequence[Row]) -> CheckpointBody | None:
    """What a row says, if it is whole and was made of just these steps."""
    try:
        kept = _CHECKPOINT.decode(unpacked(row["enc"], row["body"], row["sha256"]))
    except (ValueError, msgspec.MsgspecError):
        return None
    return kept if kept.schema == SCHEMA and kept.steps == _fingerprint(steps) else None


def checkpoint_row(
    base: CheckpointBody | None, before: int, steps: Sequence[Row], sums: bytes, events: int
) -> Body | None:
    """The row of a checkpoint behind these steps; None where they do not have just so many events.

    Args:
        base: the checkpoint behind the first steps, up to number `before`.
    """
    count, spots = (0, list[bytes]()) if base is None else (base.events, _cut(base.spots))
    for row in steps:
        if base is not None and row["seq"] <= before:
            continue
        found, damage = events_in([row])
        if damage:
            return None  # it is told whenever the session is read
        count += len(found)
        spots += [_hash_of(key) + row["seq"].to_bytes(8, "big") for key in {key for e in found for key in keys_of(e)}]
    if count != events:
        return None
    return packed(
        msgspec.msgpack.encode(CheckpointBody(SCHEMA, count, _fingerprint(steps), sums, b"".join(sorted(spots))))
    )


def _fingerprint(steps: Iterable[Row]) -> bytes:
    """Of who wrote each step when, and of the hash of its bytes."""
    known = hashlib.sha256()
    for row in steps:
        numbers = (row["seq"], row["n"], row["clock"], row["rev"], row["stamped"], row["enc"], row["w"])
        known.update(repr(numbers).encode() + row["sha256"])
    return known.digest()


def _hash_of(key: str) -> bytes:
    return hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=_HASH).digest()


def _cut(spots: bytes) -> list[bytes]:
    return [spots[at : at + _SPOT] for at in range(0, len(spots), _SPOT)]


class OpenedLedger:
    """A session's checkpoint and the steps that came with it: `ports.store.Checkpoint`.

    Args:
        steps: all that were there, by number.
        cursor: behind those that the checkpoint was made of.
    """

    def __init__(self, kept: CheckpointBody, steps: Mapping[int, Row], cursor: Any) -> None:
        self._kept, self._steps, self._cursor = kept, steps, cursor
        self._turn = threading.RLock()

    @property
    def sums(self) -> bytes:
        return self._kept.sums

    @property
    def cursor(self) -> Any:
        return self._cursor

    @property
    def turn(self) -> AbstractContextManager[object]:
        return self._turn

    def events_of(self, key: str) -> Sequence[Event] | None:
        rows = [self._steps.get(seq) for seq in self._kept.seqs(key)]
        found, damage = events_in([row for row in rows if row is not None])
        if None in rows or damage:
            return None
        return [event for event in found if key in keys_of(event)]  # else another key has the same hash

    def everything(self) -> Sequence[Event]:
        return events_in([*self._steps.values()])[0]


def where_of(row: Row, number: int = 0) -> str:
    return f"ledger/step {row['seq']}" + (f" line {number}" if number else "")


def lines_of(row: Row) -> list[tuple[int, bytes, bytes | None, Event | None]]:
    """Number, bytes, and the event of every line, with the stamps that its row gives; one line that is the whole row
    where nothing in it can be trusted."""
    try:
        data = unpacked(row["enc"], row["body"], row["sha256"])
    except ValueError:
        return [(1, bytes(row["body"]), None, None)]
    found: list[tuple[int, bytes, bytes | None, Event | None]] = []
    for number, line in enumerate(data.split(b"\n")[:-1], 1):
        event = None
        if not flaw_of(line):
            event = EVENTS.decode(line)
            if not row["stamped"]:
                event = _stamped(event, row, number)
        found.append((number, line, line, event))
    return found


def _stamped(event: Event, row: Row, number: int) -> Event:
    stamps: dict[str, Any] = {"w": row["w"], "n": row["n"] + number - 1, "clock": row["clock"] + number}
    if hasattr(event, "rev"):
        stamps["rev"] = row["rev"] + number
    return msgspec.structs.replace(event, **stamps)


def flaw_of(line: bytes) -> str:
    if not is_whole(line):
        return "its checksum does not fit"
    try:
        return "a newer program wrote it" if EVENTS.decode(line).v > EVENT_SCHEMA else ""
    except ValueError as error:
        return str(error)


def events_in(rows: Sequence[Row]) -> tuple[list[Event], list[Damage]]:
    events: list[Event] = []
    damage: list[Damage] = []
    for row in rows:
        try:
            data = unpacked(row["enc"], row["body"], row["sha256"])
        except ValueError as error:
            damage.append(Damage(where=where_of(row), what=f"not events: {error}"))
            continue
        for number, line in enumerate(data.split(b"\n")[:-1], 1):
            try:
                if not is_whole(line):
                    raise ValueError("its checksum does not fit")
                event = EVENTS.decode(line)
                if event.v > EVENT_SCHEMA:
                    raise ValueError("a newer program wrote it")
            except ValueError as error:
                damage.append(Damage(where=where_of(row, number), what=f"not an event: {error}"))
                continue
            events.append(event if row["stamped"] else _stamped(event, row, number))
    return events, damage


def changed_lines(row: Row, change: Any) -> tuple[list[bytes], int]:
    """The lines of a row as they shall stand, all stamped, and how many of them changed."""
    lines: list[bytes] = []
    changed = 0
    for _, raw, _, event in lines_of(row):
        line = raw if event is None or row["stamped"] else encode(event)[:-1]
        new = change(line)
        changed += new is not line and new != line
        if new is not None:
            lines.append(new)
    return lines, changed
