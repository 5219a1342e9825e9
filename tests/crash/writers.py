"""Writers to be killed, for `test_kill.py` and `test_strace.py`. Every acknowledgement goes to a file at once.

    python writers.py loop HOME ACKS SEED ROUNDS WRITERS      forks writers on one session, kills them, again and again
    python writers.py loop HOME ACKS SEED ROUNDS WRITERS MOUNT  the same, and the disk under MOUNT goes off with them
    python writers.py once HOME ACKS                          one writer that takes a few steps and ends

A line of ACKS: `o SESSION NAME` observed, `d SESSION REV NAME` decided, `a SESSION BATCH` archived, `e CODE` refused.
"""

from __future__ import annotations

import asyncio
import os
import signal
import struct
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from random import Random

from palimpsest_mcp.errors import PalimpsestError, PassInProgress, RevConflict
from palimpsest_mcp.models.events import Applied, Replaced, ReplacedBatch, SessionInfo, SessionKey
from palimpsest_mcp.models.items import content_sha256
from palimpsest_mcp.models.records import ArchivedItem, OffloadRecord
from palimpsest_mcp.store import DiskStore

SHUTDOWN, NO_LOG_FLUSH = 0x8004587D, 2
"""`_IOR('X', 125, __u32)`: EXT4_IOC_SHUTDOWN and XFS_IOC_GOINGDOWN, as xfstests cuts the power."""


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
        await writer.offload(number, random.choice((200, 200, 2_000, 2_000, 300_000)))
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


def loop(home: Path, acks: Path, random: Random, rounds: int, writers: int, mount: str = "") -> tuple[int, int]:
    """Fork writers on one session, let them work a moment, kill them all.

    Most rounds wait for one acknowledgement a writer; one of eight is killed at once, in what comes before it.

    Args:
        mount: of a disk that is switched off first, while the writers are stopped: what an fsync says after the cut
            is heard by nobody.

    Returns:
        How many were killed after that many acknowledgements, and before.
    """
    key, kills = SessionKey("s"), Counter[bool]()
    told = os.open(acks, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for round in range(rounds):
        before = lines_of(acks)
        names = [f"{number}-{random.randrange(1 << 40):x}" for number in range(writers)]
        children = [fork_writer(home, told, key, name, random.random()) for name in names]
        while round % 8 != 7 and lines_of(acks) - before < writers:
            time.sleep(0.005)
        time.sleep(random.choice((0.0, 0.01, 0.05, 0.2)) * random.random())
        if mount:
            for child in children:
                os.kill(child, signal.SIGSTOP)
            switch_off(mount)
        for child in children:
            os.kill(child, signal.SIGKILL)
        for child in children:
            _, status = os.waitpid(child, 0)
            assert os.WIFSIGNALED(status), "a writer ended by itself"
        kills[lines_of(acks) - before >= writers] += writers
    return kills[True], kills[False]


def switch_off(mount: str) -> None:
    """A power cut for ext4 and xfs: nothing more reaches the disk, its journal included."""
    import fcntl

    folder = os.open(mount, os.O_RDONLY)
    try:
        fcntl.ioctl(folder, SHUTDOWN, struct.pack("I", NO_LOG_FLUSH))
    finally:
        os.close(folder)


def lines_of(path: Path) -> int:
    return path.read_bytes().count(b"\n")


def fork_writer(home: Path, acks: int, key: SessionKey, name: str, seed: float) -> int:
    child = os.fork()
    if child == 0:
        try:
            asyncio.run(write_for_ever(Writer(DiskStore(home), key, acks, name), Random(seed)))
        finally:
            os._exit(1)
    return child


def main(mode: str, home: str, acks_path: str, *rest: str) -> None:
    if mode == "loop":
        seed, rounds, writers, *mount = rest
        counted = loop(Path(home), Path(acks_path), Random(seed), int(rounds), int(writers), *mount)
        sys.stdout.write(" ".join(map(str, counted)))
    else:
        acks = os.open(acks_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        asyncio.run(write_once(Writer(DiskStore(Path(home)), SessionKey("s0"), acks, "w")))


if __name__ == "__main__":
    main(*sys.argv[1:])
