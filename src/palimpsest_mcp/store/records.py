"""What makes a stored record whole, and the order of batches."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..context.tombstones import holds_gone
from ..errors import Purged
from ..models.events import SessionKey
from ..models.items import content_sha256
from ..models.records import RECORD_SCHEMA, OffloadRecord
from ..ports.store import Tombstones

_NUMBER = re.compile(r"offload_(\d{4,18})")


def flaw(record: OffloadRecord, key: SessionKey) -> str:
    """Why a record cannot be trusted; empty when it can: the right session, and every item fits its hash."""
    if record.schema > RECORD_SCHEMA:
        return "a newer program wrote it"
    if record.session_id != key.session_id:
        return "it names another session"
    for number, item in enumerate(record.items):
        if item.purged:
            if item.result is not None:
                return f"item {number} was purged and holds a text"
        elif item.sha256 and not _fits(item.result, item.sha256):
            return f"item {number} does not fit its hash"
    return ""


def refuse_purged(records: Iterable[OffloadRecord], tombstones: Tombstones) -> None:
    """Raises Purged where a record holds a text that the user had removed: what is not archived is not replaced."""
    keys = frozenset(tombstones.keys)
    if any(holds_gone(record, keys) for record in records):
        raise Purged(
            "A text of this batch was purged, so it is not stored again; the context stays as it is.",
            next="Run the pass again: what was purged stays out of it.",
        )


def _fits(result: object, sha256: str) -> bool:
    try:
        return content_sha256(result) == sha256  # pyright: ignore[reportArgumentType]  # whatever JSON held
    except ValueError:  # bad base64
        return False


def batch_order(batch_id: str) -> tuple[int, str]:
    """Sorts `offload_0007` by its number; anything else comes first, by name."""
    number = _NUMBER.fullmatch(batch_id)
    return int(number[1]) if number else 0, batch_id
