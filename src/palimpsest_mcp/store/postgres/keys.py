"""Which row a session is: names to keys, and what every writer must know of it."""

from __future__ import annotations

import os
import time
import uuid
from collections import OrderedDict
from collections.abc import Collection
from datetime import datetime
from typing import NamedTuple

from ...errors import InvalidArgument
from ...models.events import SessionKey
from ...models.maintenance import Forgotten
from ...ports.store import Tombstones
from ..home import key_digest, spare_handle
from ..segments import Reader, encode
from .link import Conn, Row, owner_of

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
