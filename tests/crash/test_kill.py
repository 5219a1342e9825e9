"""Writer processes that compete on one session and are killed, again and again, on the real disk.

A kill counts where as many acknowledgements as writers came before it in its round.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest

from palimpsest_mcp.models.events import Applied, Replaced, SessionKey
from palimpsest_mcp.store import DiskStore

from .conftest import SEED, Tell, bound

pytestmark = pytest.mark.crash

WRITERS = 8
ROUNDS_A_SESSION = 8


class Acknowledged:
    """What writers were told, by session."""

    def __init__(self, path: Path) -> None:
        self.observed: defaultdict[str, set[str]] = defaultdict(set)
        self.decided: defaultdict[str, dict[int, str]] = defaultdict(dict)
        self.archived: defaultdict[str, set[str]] = defaultdict(set)
        self.total = 0
        for line in path.read_text().splitlines():
            match line.split():
                case ["o", session, name]:
                    self.observed[session].add(name)
                case ["d", session, rev, name]:
                    assert int(rev) not in self.decided[session], "one revision was acknowledged twice"
                    self.decided[session][int(rev)] = name
                case ["a", session, batch]:
                    self.archived[session].add(batch)
                case _:
                    continue
            self.total += 1


async def check(store: DiskStore, session: str, told: Acknowledged, *, power_cut: bool) -> None:
    key = SessionKey(session)
    page = await store.ledger.read(key)
    assert power_cut or page.damage == (), "a killed writer leaves nothing but an unfinished end"
    assert len({(event.w, event.n) for event in page.events}) == len(page.events)
    found = [event.item_id for event in page.events if isinstance(event, Applied)]
    assert len(found) == len(set(found)), "an observation is there twice"
    assert told.observed[session] <= set(found), "an acknowledged observation is lost"
    decisions = [event for event in page.events if isinstance(event, Replaced)]
    revs = {event.rev: event.batches[0].batch_id for event in decisions}
    numbers = sorted(event.rev for event in decisions)
    assert len(set(numbers)) == len(numbers), "revisions have doubles"
    assert power_cut or numbers == list(range(1, len(decisions) + 1)), "revisions have gaps"
    assert told.decided[session].items() <= revs.items(), "an acknowledged decision is lost"
    assert power_cut or await store.archive.damage(key) == ()
    for batch_id in told.archived[session] | set(revs.values()):
        record = await store.archive.get(key, batch_id)
        assert record is not None and str(record.items[0].result).startswith(batch_id), "an original is lost"
    async with store.ledger.pass_lock(key):
        pass


async def check_all(home: Path, told: Acknowledged, *, power_cut: bool = False) -> int:
    """Look at every session as a new process finds it. Returns how many there are."""
    store = DiskStore(home)
    sessions = await store.ledger.sessions()
    for info in sessions:
        await check(store, info.session_id, told, power_cut=power_cut)
    assert not [flaw for flaw in await store.flaws() if flaw.severity == "damage"], "a crash is taken for damage"
    await store.aclose()
    return len(sessions)


def test_nothing_acknowledged_is_lost_when_writers_are_killed(tmp_path: Path, tell: Tell) -> None:
    script = Path(__file__).with_name("writers.py")
    more, random = bound(), Random(SEED)
    kills = early = acknowledged = sessions = 0
    while more(kills):
        home, acks = tmp_path / f"home{sessions}", tmp_path / f"acks{sessions}"
        arguments = ("loop", home, acks, random.random(), ROUNDS_A_SESSION, WRITERS)
        done = subprocess.run([sys.executable, str(script), *map(str, arguments)], check=True, stdout=subprocess.PIPE)
        counted, uncounted = map(int, done.stdout.split())
        told = Acknowledged(acks)
        assert asyncio.run(check_all(home, told)) == 1
        assert told.total >= counted, "a run without work proves nothing"
        shutil.rmtree(home)
        kills, early, acknowledged, sessions = (
            kills + counted,
            early + uncounted,
            acknowledged + told.total,
            sessions + 1,
        )
    assert kills
    tell("killed writers", kills=kills, acknowledgements=acknowledged, sessions=sessions, killed_before_any=early)


@pytest.fixture(params=["ext4", "xfs"])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Path, Callable[[], None]]]:
    """A real file system in a file, mounted; and what mounts it again after the power was cut."""
    kind, image, mount = str(request.param), tmp_path / "image", tmp_path / "mount"
    if os.name != "posix" or os.geteuid() != 0:
        pytest.skip(f"no {kind} can be mounted here: it needs root")
    if shutil.which(f"mkfs.{kind}") is None:
        pytest.skip(f"mkfs.{kind} is not installed")
    mount.mkdir()
    with image.open("wb") as file:
        file.truncate(400 << 20)
    subprocess.run([f"mkfs.{kind}", "-q", str(image)], check=True, capture_output=True)
    made = subprocess.run(["mount", "-o", "loop", str(image), str(mount)], capture_output=True, text=True)
    if made.returncode:
        pytest.skip(f"no loop device can be mounted here: {made.stderr.strip()}")

    def again() -> None:
        subprocess.run(["umount", str(mount)], check=True)
        subprocess.run(["mount", "-o", "loop", str(image), str(mount)], check=True)

    try:
        yield mount, again
    finally:
        subprocess.run(["umount", str(mount)], check=True)


@pytest.mark.skipif(sys.platform != "linux", reason="mounts a loop device")
def test_nothing_acknowledged_is_lost_when_the_power_is_cut(
    disk: tuple[Path, Callable[[], None]], request: pytest.FixtureRequest, tmp_path: Path, tell: Tell
) -> None:
    mount, again = disk
    script = Path(__file__).with_name("writers.py")
    more, random, cuts, acknowledged, told = bound(3, share=0.3), Random(SEED), 0, 0, 0
    while more(cuts):
        home, acks = mount / f"home{cuts // ROUNDS_A_SESSION}", tmp_path / f"acks{cuts // ROUNDS_A_SESSION}"
        arguments = ("loop", home, acks, random.random(), 1, WRITERS, mount)
        subprocess.run([sys.executable, str(script), *map(str, arguments)], check=True, stdout=subprocess.PIPE)
        again()
        heard = Acknowledged(acks)
        assert asyncio.run(check_all(home, heard, power_cut=True)) == 1
        cuts, acknowledged = cuts + 1, acknowledged + heard.total - told
        told = heard.total
        if cuts % ROUNDS_A_SESSION == 0:
            told = 0
            shutil.rmtree(home)
    tell(f"power cuts of {request.node.callspec.id}", cuts=cuts, acknowledgements=acknowledged)
