"""A writer that never stops, in a process of its own, for `test_purges.py`:

    python purged_writer.py HOME ACKS      records, archives and decides on one session until it is killed,
                                           or until whoever started it is gone

Every third text holds SECRET. A line of ACKS: `o ITEM` seen, `a BATCH` archived, `d BATCH` decided.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from palimpsest_mcp.errors import Purged, RevConflict
from palimpsest_mcp.models.events import Replaced, ReplacedBatch, ReplacedItem, Seen, SessionInfo, SessionKey
from palimpsest_mcp.models.items import Item, content_sha256
from palimpsest_mcp.models.records import ArchivedItem, OffloadRecord
from palimpsest_mcp.store import DiskStore

SECRET = "leaked-q7Rt2Vx9Lk4M"
KEY = SessionKey("s1")


def text_of(number: int) -> str:
    """The nth text; every third has the secret, and those are all alike: a host gives the same one again and again."""
    return f"line of the log {SECRET} again" if number % 3 == 0 else f"plain text number {number} " * 40


async def write_for_ever(home: Path, acks: int) -> None:
    store = DiskStore(home)
    await store.ledger.create(KEY, SessionInfo(session_id="s1", handle="sabcd"))
    starter = os.getppid()
    number, rev = 0, 0
    while os.getppid() == starter:
        number += 1
        text = text_of(number)
        sha256 = content_sha256(text)
        item = Item(
            id=f"i{number}",
            kind="tool_result",
            role="tool",
            position=(number, 0),
            content=text,
            sha256=sha256,
            size_bytes=len(text),
        )
        await store.ledger.observe(KEY, [Seen(item=item)])
        os.write(acks, f"o i{number}\n".encode())
        batch_id = f"offload_{number:04d}"
        kept = ArchivedItem(id=item.id, kind="tool_result", result=text, sha256=sha256, size_bytes=len(text))
        record = OffloadRecord(
            ts="",
            session_id="s1",
            batch_id=batch_id,
            reason="forced",
            items=(kept,),
            digest_replacing_inline="digest",
            original_token_count=1,
            digest_token_count=1,
        )
        try:
            await store.archive.append(KEY, [record])
        except Purged:
            continue  # nothing is replaced then
        os.write(acks, f"a {batch_id}\n".encode())
        if number % 50:
            continue  # decisions are rare: a fold must come between two of them
        part = ReplacedItem(id=item.id, sha256=sha256, part_sha256="")
        batch = ReplacedBatch(batch_id=batch_id, items=(part,), original_tokens=1, digest_tokens=1)
        line = Replaced(pass_id=batch_id, session_id="s1", batches=(batch,))
        while True:
            try:
                rev = await store.ledger.decide(KEY, [line], after_rev=rev)
            except RevConflict as conflict:
                rev = conflict.rev
            else:
                os.write(acks, f"d {batch_id}\n".encode())
                break


if __name__ == "__main__":
    asyncio.run(write_for_ever(Path(sys.argv[1]), os.open(sys.argv[2], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)))
