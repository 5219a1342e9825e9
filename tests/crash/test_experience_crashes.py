"""Experience under crashes: no acknowledged event is lost or doubled, and the digest is the old or the new one."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import pytest

from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.experience import learn as learn_module
from palimpsest_mcp.experience.disk import DiskExperience
from palimpsest_mcp.experience.learn import Learn
from palimpsest_mcp.experience.state import LearningDependencies
from palimpsest_mcp.settings.settings import Settings
from palimpsest_mcp.testing.disks import CHANGES, Crash, SimulatedDisk
from palimpsest_mcp.testing.experience_contract import NOW
from palimpsest_mcp.text.redaction.redactor import open_redactor

from ..conftest import PROFILE
from .conftest import SEED, Tell

pytestmark = pytest.mark.crash

REDACTOR = open_redactor(b"k" * 32)
PATTERN = "use the api"
STRIDE = 6 if PROFILE == "ci" else 1
"""Crash points from one to the next."""

RECORDER = """
import asyncio, json, sys
from pathlib import Path
from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.settings.settings import Settings

async def main(home, root, name, number, notes):
    async with Palimpsest.open(settings=Settings.load(home=home, skills_roots=[Path(root)])) as p:
        print("ready", flush=True)
        sys.stdin.readline()
        for n in range(int(number)):
            event = {"id": f"{name}-{n}", "session_id": f"{name}-{n}", "outcome": "success",
                     "winning_pattern": "use the api", "notes": "x" * int(notes)}
            await p.record_experience("search-x", event)
            print(n, flush=True)

asyncio.run(main(*sys.argv[1:]))
"""

COMPACTOR = """
import asyncio, sys
from pathlib import Path
from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.settings.settings import Settings

async def main(home, root):
    async with Palimpsest.open(settings=Settings.load(home=home, skills_roots=[Path(root)])) as p:
        print("ready", flush=True)
        while True:
            done = await p.compact_experience("search-x")
            print(done.status, done.rotated, flush=True)
            await asyncio.sleep(0.02)

asyncio.run(main(*sys.argv[1:]))
"""


def started(code: str, *arguments: object) -> subprocess.Popen[str]:
    worker = subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert worker.stdout is not None and worker.stdout.readline() == "ready\n"
    return worker


def go(worker: subprocess.Popen[str]) -> None:
    assert worker.stdin is not None
    worker.stdin.write("go\n")
    worker.stdin.flush()


def skill(tmp: Path) -> Path:
    folder = tmp / "skills" / "search-x"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text("# a skill\n")
    return folder


def ids(folder: Path) -> Counter[str]:
    """Every event in log and archives, by id. A line that is none fails."""
    files = [*folder.glob("experience/archive/*.jsonl"), folder / "experience" / "patterns.jsonl"]
    lines = (line for path in files if path.exists() for line in path.read_bytes().split(b"\n") if line)
    return Counter(json.loads(line)["id"] for line in lines)


def learning(experience: DiskExperience) -> Learn:
    return Learn(LearningDependencies(experience=experience, redactor=REDACTOR, clock=lambda: NOW))


@pytest.mark.slow
@pytest.mark.long
def test_eight_processes_record_while_one_compacts_and_rotates(tmp_path: Path) -> None:
    """Big events, so that the log grows above a mebibyte several times."""
    folder, root, home, number = skill(tmp_path), tmp_path / "skills", tmp_path / "home", 40
    recorders = [started(RECORDER, home, root, f"w{n}", number, 12_000) for n in range(8)]
    compactor = started(COMPACTOR, home, root)
    for recorder in recorders:
        go(recorder)
    said = [recorder.communicate(timeout=240)[0] for recorder in recorders]
    compactor.send_signal(signal.SIGKILL)
    compactor.communicate()
    assert [text.split() for text in said] == [[str(n) for n in range(number)]] * 8
    assert ids(folder) == Counter({f"w{w}-{n}": 1 for w in range(8) for n in range(number)})
    assert len(list(folder.glob("experience/archive/*.jsonl"))) >= 2
    assert seen_after_compaction(home, root, folder) == 8 * number


def seen_after_compaction(home: Path, root: Path, folder: Path) -> int:
    """Votes of the one rule after one more event and one more compaction by the real clock."""

    async def more() -> None:
        async with Palimpsest.open(settings=Settings.load(home=home, skills_roots=[root])) as p:
            await p.compact_experience("search-x")

    asyncio.run(more())
    (line,) = [line for line in (folder / "experience.md").read_text().split("\n") if PATTERN in line]
    return int(line.split("seen=")[1].split(",")[0])


class World:
    """A simulated disk with a skill on it, and what was acknowledged."""

    def __init__(self, disk: SimulatedDisk) -> None:
        self.disk = disk
        self.experience = DiskExperience(
            Path("/data/home"), [Path("/data/skills")], random_hex=lambda n: "0" * 2 * n, disk=disk, lock_timeout_s=0
        )
        self.learn = learning(self.experience)
        self.acknowledged: list[str] = []
        self.digests: list[bytes | None] = [None]

    def furnish(self) -> None:
        """The user's own folder, safe on the disk."""
        for path in ("/data", "/data/skills", "/data/skills/search-x"):
            self.disk.mkdir(path)
        self.disk.close(self.disk.create("/data/skills/search-x/SKILL.md"))
        for path in ("/data/skills/search-x", "/data/skills", "/data", "/"):
            self.disk.flush_folder(path)

    async def record(self, name: str) -> None:
        event = {"id": name, "session_id": name, "outcome": "success", "winning_pattern": PATTERN, "notes": "x" * 90}
        await self.learn.record_experience("search-x", event)
        self.acknowledged.append(name)

    async def compact(self) -> None:
        await self.learn.compact_experience("search-x")
        self.digests.append(await self.digest())

    async def digest(self) -> bytes | None:
        return await self.experience.files.read(await self.experience.find("search-x"), "digest")

    async def work(self) -> None:
        """Two rounds; with the small limit that the tests set, the second compaction rotates."""
        for name in ("a", "b", "c"):
            await self.record(name)
        await self.compact()
        for name in ("d", "e", "f", "g"):
            await self.record(name)
        await self.compact()
        await self.record("h")
        await self.compact()


async def check_left(left: SimulatedDisk, before: World, texts: list[bytes | None], *, killed: bool) -> None:
    """Another process opens what a crash left, and goes on.

    After a power cut the log may stand under its old and its new name, if the file system keeps no journal of renames:
    then every event of it is counted once all the same.
    """
    world = World(left)
    place = await world.experience.find("search-x")
    parts = await world.experience.log.parts(place)
    lines: list[bytes] = []
    for part in parts:
        async for block in world.experience.log.blocks(place, part):
            lines += [line for line in block.split(b"\n") if line.startswith(b"{") and line.endswith(b"}")]
    found = Counter(json.loads(line)["id"] for line in lines)
    assert set(before.acknowledged) <= set(found), "an acknowledged event is lost"
    assert set(found.values()) <= ({1} if killed else {1, 2}), "an event is there twice"
    assert await world.digest() in texts, "a digest that nobody wrote"
    await world.record("more")
    await world.record("again")
    await world.compact()
    text = (await world.digest() or b"").decode()
    seen = [int(line.split("seen=")[1].split(",")[0]) for line in text.split("\n") if PATTERN in line]
    assert seen == ([len(found) + 2] if len(found) >= 1 else []), "a vote is lost or counted twice"


def run(work: Callable[[], Awaitable[None]]) -> None:
    async def main() -> None:
        await work()

    asyncio.run(main())


def test_at_any_crash_point_the_digest_is_the_old_or_the_new_one_and_no_event_is_lost(
    monkeypatch: pytest.MonkeyPatch, tell: Tell
) -> None:
    monkeypatch.setattr(learn_module, "ROTATE_BYTES", 2_000)
    whole = World(SimulatedDisk())
    whole.furnish()
    run(whole.work)
    texts = whole.digests
    assert len(set(texts)) == 4 and any(b"archived raw" in (text or b"") for text in texts)
    first = whole.disk.calls.index("lock")
    points = [n for n, call in enumerate(whole.disk.calls, 1) if call in CHANGES and n > first][SEED % STRIDE :: STRIDE]
    chance, disks = random.Random(SEED), 0
    for point in points:
        world = World(SimulatedDisk(crash_at=point))
        world.furnish()
        with contextlib.suppress(Crash):
            run(world.work)
        # No mixtures: a rename that neither happened nor did not is more than a file system may leave.
        cuts = world.disk.power_cuts(chance, 1 if PROFILE == "ci" else 2)
        for place, left in enumerate([world.disk.killed(), *cuts]):
            run(partial(check_left, left, world, texts, killed=place == 0))
            disks += 1
    tell("crashes of experience", crash_points=len(points), disks_looked_at=disks)
