"""Rows of a ledger as events: each row is one append, whose events get their stamps from it. And a row that says how a
ledger adds up to some step, its checkpoint, and in which steps the events of each item stand.

A checkpoint is a cache that is never needed: it comes with the steps themselves, in the same statement, and is used
only where it was made of just these, by number and hash. What is wrong with it costs nothing but the time to add up all
events.
"""

from __future__ import annotations

import hashlib
import threading
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import msgspec

from ...context.opened_fold import keys_of
from ...models.events import EVENT_SCHEMA, Event
from ...ports.store import Damage
from ..segments import Reader, encode, is_whole
from .bodies import Body, packed, unpacked
from .link import Row

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


_KEPT = msgspec.msgpack.Decoder(CheckpointBody)


def read_checkpoint(row: Row, steps: Sequence[Row]) -> CheckpointBody | None:
    """What a row says, if it is whole and was made of just these steps."""
    try:
        kept = _KEPT.decode(unpacked(row["enc"], row["body"], row["sha256"]))
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
