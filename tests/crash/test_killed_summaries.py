"""Writers of one session's summary are killed: the file is always whole, and no acknowledged word is lost."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from palimpsest_mcp.core.palimpsest import Palimpsest

pytestmark = pytest.mark.crash

SECONDS = float(os.environ.get("TEST_CRASH_SECONDS", "3"))
SEED = int(os.environ.get("TEST_CRASH_SEED", "1"))

WORKER = """
import asyncio, sys
from palimpsest_mcp.core.palimpsest import Palimpsest

async def main():
    async with Palimpsest.open(sys.argv[1]) as p:
        print("ready", flush=True)
        for n in range(10_000):
            name = f"Question {sys.argv[2]} number {n}?"
            await p.update_summary("s", {"blockers": [name]})
            print(name, flush=True)

asyncio.run(main())
"""


async def open_blockers(home: Path) -> set[str]:
    async with Palimpsest.open(home) as p:
        return set((await p.summary("s")).open_blockers)


def told_before_the_kill(home: Path, name: str, seconds: float) -> set[str]:
    """What two workers had acknowledged when they were killed."""
    command = [sys.executable, "-c", WORKER, str(home)]
    workers = [subprocess.Popen([*command, f"{name}-{one}"], stdout=subprocess.PIPE) for one in range(2)]
    for worker in workers:
        assert worker.stdout is not None and worker.stdout.readline() == b"ready\n"
    time.sleep(seconds)
    for worker in workers:
        worker.send_signal(signal.SIGKILL)
    lines = [line for worker in workers for line in worker.communicate()[0].decode().split("\n")]
    return {line for line in lines if line.endswith("?")}


def test_the_summary_survives_kills_with_every_word_that_was_acknowledged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chance, until, rounds = random.Random(SEED), time.monotonic() + SECONDS, 0
    told: set[str] = set()
    while not told or time.monotonic() < until:
        told |= told_before_the_kill(tmp_path / "home", str(rounds), chance.uniform(0.02, 0.4))
        rounds += 1
        if told:
            assert told <= asyncio.run(open_blockers(tmp_path / "home"))
    with capsys.disabled():
        print(f"\nkilled summary writers: {rounds} rounds, {len(told)} acknowledged updates")  # noqa: T201
