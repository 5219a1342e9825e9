"""Writer processes that compete on one session and are killed, again and again, on the real disk.

`TEST_CRASH_SECONDS` (3) is how long, `TEST_CRASH_SEED` (1) with which chances.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from palimpsest_mcp.models.events import Applied, Replaced, SessionKey
from palimpsest_mcp.store import DiskStore

pytestmark = pytest.mark.crash

SECONDS = float(os.environ.get("TEST_CRASH_SECONDS", "3"))
SEED = os.environ.get("TEST_CRASH_SEED", "1")
WRITERS = 4


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


async def check(store: DiskStore, session: str, told: Acknowledged) -> None:
    key = SessionKey(session)
    page = await store.ledger.read(key)
    assert page.damage == (), "a killed writer leaves nothing but an unfinished end"
    assert len({(event.w, event.n) for event in page.events}) == len(page.events)
    found = [event.item_id for event in page.events if isinstance(event, Applied)]
    assert len(found) == len(set(found)), "an observation is there twice"
    assert told.observed[session] <= set(found), "an acknowledged observation is lost"
    decisions = [event for event in page.events if isinstance(event, Replaced)]
    revs = {event.rev: event.batches[0].batch_id for event in decisions}
    assert sorted(event.rev for event in decisions) == list(range(1, len(decisions) + 1)), (
        "revisions have gaps or doubles"
    )
    assert told.decided[session].items() <= revs.items(), "an acknowledged decision is lost"
    assert await store.archive.damage(key) == ()
    for batch_id in told.archived[session] | set(revs.values()):
        record = await store.archive.get(key, batch_id)
        assert record is not None and str(record.items[0].result).startswith(batch_id), "an original is lost"
    async with store.ledger.pass_lock(key):
        pass


async def check_all(home: Path, told: Acknowledged) -> int:
    """Look at every session as a new process finds it. Returns how many there are."""
    store = DiskStore(home)
    sessions = await store.ledger.sessions()
    for info in sessions:
        await check(store, info.session_id, told)
    await store.aclose()
    return len(sessions)


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """Removed at the end: a long run fills it."""
    yield tmp_path / "home"
    shutil.rmtree(tmp_path / "home", ignore_errors=True)


def test_nothing_acknowledged_is_lost_when_writers_are_killed(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script, acks = Path(__file__).with_name("writers.py"), tmp_path / "acks"
    command = [sys.executable, str(script), "loop", str(home), str(acks), SEED, str(SECONDS), str(WRITERS)]
    subprocess.run(command, check=True, timeout=SECONDS + 60)
    told = Acknowledged(acks)
    sessions = asyncio.run(check_all(home, told))
    assert sessions and told.total
    with capsys.disabled():
        print(f"\nkilled writers: {WRITERS} at a time, {sessions} sessions, {told.total} acknowledgements")  # noqa: T201
