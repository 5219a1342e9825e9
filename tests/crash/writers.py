"""Writers to be killed, for `test_kill.py` and `test_strace.py`. Every acknowledgement goes to a file at once.

    python writers.py loop HOME ACKS SEED SECONDS WRITERS     forks writers, kills them, again and again
    python writers.py once HOME ACKS                          one writer that takes a few steps and ends

A line of ACKS: `o SESSION NAME` observed, `d SESSION REV NAME` decided, `a SESSION BATCH` archived, `e CODE` refused.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from random import Random

from palimpsest_mcp.errors import PalimpsestError, PassInProgress, RevConflict
from palimpsest_mcp.models.events import Applied, Replaced, ReplacedBatch, SessionInfo, SessionKey
from palimpsest_mcp.models.items import content_sha256
from palimpsest_mcp.models.records import ArchivedItem, OffloadRecord
from palimpsest_mcp.store import DiskStore

ROUNDS_A_SESSION = 8


class Writer:
    """Takes steps on one session and tells what was acknowledged."""

    def __init__(self, store: DiskStore, key: SessionKey, acks: int, name: str) -> None:
        self.store = store
        self.key = key
        self.acks = acks
        self.name = name
        self.rev = 0

    def tell(self, *words: object) -> None:
        os.write(self.acks, (" ".join(map(str, words)) + "\n").encode())

    async def create(self) -> None:
        info = SessionInfo(session_id=self.key.session_id, handle="sabcd")
        await self.store.ledger.create(self.key, info)

    async def observe(self, number: int) -> None:
        names = [f"{self.name}.{number}.{part}" for part in range(3)]
        events = [Applied(item_id=name, batch_id="", part_sha256="") for name in names]
        await self.store.ledger.observe(self.key, events)
        for name in names:
            self.tell("o", self.key.session_id, name)

    async def offload(self, number: int, size: int) -> None:
        batch_id = f"{self.name}.{number}"
        text = f"{batch_id} " * (size // len(batch_id))
        item = ArchivedItem(id="i", kind="tool_result", result=text, sha256=content_sha256(text))
        given = OffloadRecord(
            ts="",
            session_id=self.key.session_id,
            batch_id=batch_id,
            reason="forced",
            items=(item,),
            digest_replacing_inline="",
            original_token_count=1,
            digest_token_count=1,
        )
        await self.store.archive.append(self.key, [given])
        self.tell("a", self.key.session_id, batch_id)
        await self.decide(batch_id)

    async def decide(self, batch_id: str) -> None:
        """Compete for the next revision until it is won."""
        batch = ReplacedBatch(batch_id=batch_id, items=(), original_tokens=1, digest_tokens=1)
        line = Replaced(pass_id=batch_id, session_id=self.key.session_id, batches=(batch,))
        while True:
            try:
                self.rev = await self.store.ledger.decide(self.key, [line], after_rev=self.rev)
            except RevConflict as conflict:
                self.rev = conflict.rev
            else:
                self.tell("d", self.key.session_id, self.rev, batch_id)
                return

    async def hold_a_pass(self, number: int) -> None:
        try:
            async with self.store.ledger.pass_lock(self.key):
                await self.observe(number)
        except PassInProgress:
            return


async def write_for_ever(writer: Writer, random: Random) -> None:
    """The life of a writer that is going to be killed."""
    await writer.create()
    number = 0
    while True:
        number += 1
        await writer.observe(number)
        await writer.offload(number, random.choice((200, 2_000, 300_000)))
        await writer.hold_a_pass(-number)


async def write_once(writer: Writer) -> None:
    """A few steps; a refusal is told, and the next step is taken."""
    steps: tuple[Callable[[], Awaitable[None]], ...] = (
        writer.create,
        lambda: writer.observe(1),
        lambda: writer.offload(1, 9_000),
        lambda: writer.observe(2),
        lambda: writer.offload(2, 100),
        lambda: writer.observe(3),
    )
    for step in steps:
        try:
            await step()
        except PalimpsestError as error:
            writer.tell("e", error.code)
    await writer.store.aclose()


def loop(home: Path, acks: int, random: Random, seconds: float, writers: int) -> None:
    """Fork writers on one session, let them work a moment, kill them all; a new session every few rounds."""
    until, round = time.monotonic() + seconds, 0
    while round == 0 or time.monotonic() < until:
        key = SessionKey(f"s{round // ROUNDS_A_SESSION}")
        children = [fork_writer(home, acks, key, f"{round}-{number}", random.random()) for number in range(writers)]
        time.sleep(random.choice((0.02, 0.1, 0.3)) * (0.5 + random.random()))
        for child in children:
            os.kill(child, signal.SIGKILL)
        for child in children:
            os.waitpid(child, 0)
        round += 1


def fork_writer(home: Path, acks: int, key: SessionKey, name: str, seed: float) -> int:
    child = os.fork()
    if child == 0:
        try:
            asyncio.run(write_for_ever(Writer(DiskStore(home), key, acks, name), Random(seed)))
        finally:
            os._exit(1)
    return child


def main(mode: str, home: str, acks_path: str, *rest: str) -> None:
    acks = os.open(acks_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    if mode == "loop":
        seed, seconds, writers = rest
        loop(Path(home), acks, Random(int(seed)), float(seconds), int(writers))
    else:
        asyncio.run(write_once(Writer(DiskStore(Path(home)), SessionKey("s0"), acks, "w")))


if __name__ == "__main__":
    main(*sys.argv[1:])
