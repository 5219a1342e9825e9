"""System calls of a real writer that fail, or kill it, one at a time, by strace. Linux with ptrace only."""

from __future__ import annotations

import asyncio
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from palimpsest_mcp.models.events import Applied, Replaced, SessionKey
from palimpsest_mcp.store import DiskStore

from .conftest import SEED, Tell, bound

pytestmark = pytest.mark.crash

LEAST_CASES = 6
FAULTS = {
    "fsync": ("error=EIO", "error=ENOSPC", "signal=KILL"),
    "write": ("error=ENOSPC", "error=EIO", "error=EDQUOT", "signal=KILL"),
    "mkdir": ("error=ENOSPC", "error=EROFS", "signal=KILL"),
    "rename": ("error=EIO", "error=EACCES", "signal=KILL"),
    "ftruncate": ("error=EIO",),
    "flock": ("error=ENOLCK", "error=EINTR", "signal=KILL"),
    "pread64": ("error=EIO", "signal=KILL"),
}
"""By system call. Interrupted writes and reads are Python's own business."""
SCRIPT = Path(__file__).with_name("writers.py")


def traced(folder: Path, *options: str) -> subprocess.CompletedProcess[bytes]:
    """A writer in `folder/home` under strace, with its acknowledgements in `folder/acks`."""
    writer = [sys.executable, str(SCRIPT), "once", str(folder / "home"), str(folder / "acks")]
    command = ["strace", "-f", "--seccomp-bpf", "-o", str(folder / "trace"), *options, *writer]
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=60)


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> Counter[str]:
    """How often an undisturbed writer makes each call."""
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed: no system calls can be made to fail")
    folder = tmp_path_factory.mktemp("undisturbed")
    done = traced(folder, "-e", f"trace={','.join(FAULTS)}")
    if done.returncode != 0:
        pytest.skip(f"strace cannot trace here (ptrace not allowed?): {done.stderr[-200:].decode(errors='replace')}")
    return Counter(re.findall(r"^\d+ +(\w+)\(", (folder / "trace").read_text(errors="replace"), re.MULTILINE))


async def check(folder: Path) -> None:
    """What was acknowledged is there, and a new process can go on."""
    key = SessionKey("s0")
    acks = [line.split() for line in (folder / "acks").read_text().splitlines()] if (folder / "acks").exists() else []
    store = DiskStore(folder / "home")
    events = (await store.ledger.read(key)).events
    observed = {event.item_id for event in events if isinstance(event, Applied)}
    revs = {event.rev: event.batches[0].batch_id for event in events if isinstance(event, Replaced)}
    assert len(revs) == sum(isinstance(event, Replaced) for event in events)
    for kind, *words in acks:
        assert kind != "o" or words[1] in observed, "an acknowledged observation is lost"
        assert kind != "d" or revs.get(int(words[1])) == words[2], "an acknowledged decision is lost"
    for batch_id in {words[1] for kind, *words in acks if kind == "a"} | set(revs.values()):
        assert await store.archive.get(key, batch_id) is not None, "an original is lost"
    await store.ledger.observe(key, [Applied(item_id="after", batch_id="", part_sha256="")])
    assert any(
        isinstance(event, Applied) and event.item_id == "after" for event in (await store.ledger.read(key)).events
    )
    await store.aclose()


def test_nothing_acknowledged_is_lost_when_a_system_call_fails(calls: Counter[str], tmp_path: Path, tell: Tell) -> None:
    cases = [(call, fault, k) for call in FAULTS for fault in FAULTS[call] for k in range(1, calls[call] + 1)]
    Random(SEED).shuffle(cases)
    more, done = bound(LEAST_CASES), 0
    for call, fault, k in cases:
        if not more(done):
            break
        folder = tmp_path / f"{call}-{fault}-{k}"
        folder.mkdir()
        traced(folder, "-e", f"trace={call}", "-e", f"inject={call}:{fault}:when={k}")
        asyncio.run(check(folder))
        shutil.rmtree(folder)
        done += 1
    tell("system calls that failed or killed", cases=f"{done} of {len(cases)}")
