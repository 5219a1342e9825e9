"""Every crash point and every single failure of a workload on a simulated disk, over what may be left on it.

A test run visits every point once at least; then again with other chances, until its time or number is reached.
"""

from __future__ import annotations

import errno
import itertools
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import chain
from pathlib import Path
from random import Random

import pytest

from palimpsest_mcp.errors import PalimpsestError
from palimpsest_mcp.models.events import Applied, Decision, Pinned, Replaced, ReplacedBatch
from palimpsest_mcp.store.archive import ArchiveFiles
from palimpsest_mcp.store.flaws import Comparison
from palimpsest_mcp.store.home import Home
from palimpsest_mcp.store.ledger import LedgerFiles
from palimpsest_mcp.testing.contract_values import S1, applied, info_of, pinned, record
from palimpsest_mcp.testing.disks import CHANGES, Crash, SimulatedDisk

from ..conftest import PROFILE
from .conftest import SEED, Tell, bound

pytestmark = pytest.mark.crash

ROLL_BYTES = 700
"""So small that the workload fills several segments."""

_numbers = itertools.count(1)


def _backward_clock() -> datetime:
    """The system's time may go backward; nothing may depend on it."""
    return datetime(2026, 11, 20, tzinfo=UTC) - timedelta(seconds=next(_numbers))


def _hex(size: int) -> str:
    return f"{next(_numbers):0{2 * size}x}"


class Process:
    """A process that has the store open."""

    def __init__(self, disk: SimulatedDisk) -> None:
        home = self.home = Home(Path("/data/home"), disk, _hex)
        self.ledger = LedgerFiles(home, clock=_backward_clock, random_hex=_hex, roll_bytes=ROLL_BYTES)
        self.archive = ArchiveFiles(home, clock=_backward_clock, random_hex=_hex, roll_bytes=ROLL_BYTES)

    def rev(self) -> int:
        return max((getattr(event, "rev", 0) for event in self.ledger.read(S1).events), default=0)

    def decide(self, *decisions: Decision) -> int:
        return self.ledger.decide(S1, decisions, after_rev=self.rev())


class Promises:
    """What was acknowledged, and what was refused."""

    def __init__(self) -> None:
        self.created = False
        self.observed: set[str] = set()
        self.decided: dict[int, str] = {}
        self.archived: set[str] = set()
        self.refused: set[str] = set()


def replaced(batch_id: str) -> Replaced:
    batch = ReplacedBatch(batch_id=batch_id, items=(), original_tokens=10, digest_tokens=2)
    return Replaced(pass_id=batch_id, session_id="s1", batches=(batch,))


def steps(process: Process, promises: Promises, round: int) -> Iterator[tuple[str, Callable[[], None]]]:
    """What one process does; each step notes what it was promised."""

    def create() -> None:
        process.ledger.create(S1, info_of(S1))
        promises.created = True

    def observe(first: int, count: int) -> None:
        events = [applied(first + number) for number in range(count)]
        process.ledger.observe(S1, events)
        promises.observed.update(event.item_id for event in events)

    def guess(number: int) -> None:
        process.ledger.observe(S1, [applied(number)], durable=False)

    def offload(batch_id: str) -> None:
        process.archive.append(S1, [record(batch_id, f"original of {batch_id} " * 5), record(batch_id + "1")])
        promises.archived.add(batch_id)
        rev = process.decide(replaced(batch_id))
        promises.decided[rev] = batch_id

    def adopt() -> None:
        """A pass takes over what a dead one had archived (L10)."""
        replaced_now = {name_of(event) for event in process.ledger.read(S1).events}
        for batch_id in process.archive.batch_ids(S1):
            if batch_id not in replaced_now and process.archive.get(S1, batch_id):
                promises.decided[process.decide(replaced(batch_id))] = batch_id
                promises.refused.discard(batch_id)

    def pin(number: int) -> None:
        rev = process.decide(pinned(number), pinned(number + 1))
        promises.decided.update({rev - 1: f"i{number}", rev: f"i{number + 1}"})

    base = 100 * round
    yield "create", create
    yield "", adopt
    yield f"i{base}", lambda: observe(base, 3)
    yield f"offload_{base}", lambda: offload(f"offload_{base}")
    yield "", lambda: guess(base + 90)
    yield f"i{base + 10}", lambda: pin(base + 10)
    yield f"i{base + 20}", lambda: observe(base + 20, 1)
    yield f"offload_{base + 30}", lambda: offload(f"offload_{base + 30}")


def work(disk: SimulatedDisk, promises: Promises) -> None:
    """Two processes, one after the other; a failure of the store is told to the caller, who goes on."""
    for round in (11, 22):
        disk.process = round
        for name, step in steps(Process(disk), promises, round):
            try:
                step()
            except PalimpsestError:
                promises.refused.add(name)


def name_of(event: object) -> str:
    match event:
        case Applied(item_id=name) | Pinned(item_ids=(name,)):
            return name
        case Replaced(batches=(batch,)):
            return batch.batch_id
        case _:
            return ""


def check_promises(process: Process, promises: Promises) -> None:
    """Everything acknowledged is there, once; a decision about an original never without the original."""
    page = process.ledger.read(S1)
    events = page.events
    found = [name_of(event) for event in events]
    revs = {rev: name_of(event) for event in events if (rev := getattr(event, "rev", 0))}
    assert promises.observed <= set(found), "an acknowledged observation is lost"
    assert promises.decided.items() <= revs.items(), "an acknowledged decision is lost"
    assert len({(event.w, event.n) for event in events}) == len(events), "one event has two lines"
    assert len(revs) == sum(1 for event in events if getattr(event, "rev", 0)), "two decisions have one revision"
    assert set(revs) == set(range(1, len(revs) + 1)) or page.damage, "a revision is missing, and no damage reported"
    for batch_id in promises.archived | {name for name in revs.values() if name.startswith("offload")}:
        assert process.archive.get(S1, batch_id) is not None, "a replaced original is not in the archive"
    pairs = [name for name in found if name.endswith(("10", "11")) and name.startswith("i")]
    assert len(pairs) % 2 == 0 or page.damage, "half of a step was decided, and no damage reported"
    missed = [flaw for flaw in Comparison(process.home).flaws() if flaw.severity == "damage"]
    assert not missed, f"a crash is taken for damage: {missed}"
    if promises.created:
        assert process.ledger.info(S1) == info_of(S1), "the session is not what it was"
        assert process.ledger.sessions("") == (info_of(S1),)


def check_disk(disk: SimulatedDisk, promises: Promises, random: Random) -> None:
    """Another process opens what is left, reads, goes on; then the power goes once more."""
    process = Process(disk)
    check_promises(process, promises)
    after = Promises()
    for other in ("created", "observed", "decided", "archived"):
        value = getattr(promises, other)
        setattr(after, other, value if isinstance(value, bool) else value.copy())
    for _, step in steps(process, after, 33):
        step()
    check_promises(process, after)
    for left in disk.power_cuts(random, 1):
        check_promises(Process(left), after)


def explored(points: int, visit: Callable[[int, Random, int], int], *, least: int) -> tuple[int, int]:
    """Visit the `least` first points once, all others too, then again with other chances, until it is enough.

    Returns:
        How many visits, and disks looked at; half of these are what a second power cut left (`check_disk`).
    """
    random, disks, visits = Random(SEED), 0, 0
    more = bound()
    while visits < least or more(disks):
        disks += 2 * visit(visits % points, random, 2 if visits < points else 4)
        visits += 1
    return visits, disks


def test_nothing_acknowledged_is_lost_at_any_crash_point(tell: Tell) -> None:
    whole = SimulatedDisk()
    work(whole, Promises())
    points = [number for number, call in enumerate(whole.calls, 1) if call in CHANGES] + [len(whole.calls) + 1]

    def visit(point: int, random: Random, count: int) -> int:
        disk, promises = SimulatedDisk(crash_at=points[point]), Promises()
        with suppress(Crash):
            work(disk, promises)
        for left in [disk.killed(), *disk.power_cuts(random, count)]:
            check_disk(left, promises, random)
        return count + 1

    visits, disks = explored(len(points), visit, least=len(points) // (2 if PROFILE == "ci" else 1))
    tell("power cuts", disks_looked_at=disks, crashes=visits, crash_points=len(points))


FAULTS = (errno.EIO, errno.ENOSPC, errno.EINTR, errno.EMFILE, errno.EACCES)


def test_nothing_acknowledged_is_lost_when_any_single_call_fails(tell: Tell) -> None:
    whole = SimulatedDisk()
    work(whole, Promises())
    calls = range(1, len(whole.calls) + 1)
    turns = [
        [(number, OSError(FAULTS[(number + turn) % len(FAULTS)], "injected")) for number in calls] for turn in range(5)
    ]
    short = [(number, "short") for number, call in enumerate(whole.calls, 1) if call == "write"]
    for turn in turns:
        Random(SEED).shuffle(turn)
    cases: list[tuple[int, OSError | str]] = [*short, *chain.from_iterable(turns)]

    def visit(point: int, random: Random, count: int) -> int:
        number, fault = cases[point]
        disk = SimulatedDisk(faults={number: fault})  # pyright: ignore[reportArgumentType]  # "short" is one of its words
        promises = Promises()
        work(disk, promises)
        assert fault != "short" or not promises.refused, "a short write is no failure"
        assert disk.open_files <= 4, "a failure leaves a file open"
        events = {name_of(event) for event in Process(disk.killed()).ledger.read(S1).events}
        assert not (promises.refused - {""}) & events, "what was refused is there all the same"
        lefts = [disk.killed(), *disk.power_cuts(random, count - 1)] if count > 2 else list(disk.power_cuts(random, 1))
        for left in lefts:
            check_disk(left, promises, random)
        return len(lefts)

    least = (len(short) + len(calls)) // (6 if PROFILE == "ci" else 1)
    visits, disks = explored(len(cases), visit, least=least)
    tell("power cuts after a failing call", disks_looked_at=disks, failures=visits, calls=len(calls))
