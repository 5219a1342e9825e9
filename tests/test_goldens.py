"""What the program writes for known sessions, byte for byte: digests, summaries, handoffs, experience, the store.

A change of structure must not move one of these. A change that is meant to is written down by `make goldens`; its
commit says why. The sessions are the demo's and, where they are beside the checkout, shared ones.
"""

from __future__ import annotations

import gzip
import hashlib
import itertools
import json
import os
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from palimpsest_mcp import Palimpsest

from .conftest import first_of

GOLDENS = Path(__file__).with_name("goldens.json")
SHARED = (
    ("deer-flow", 0),
    ("spotter", 1),
    ("intercode", 3),
    ("tau-bench", 2),
    ("openhands-sdk", 0),
    ("inspect_ai", 0),
    ("toolbench", 0),
    ("pi-mono", 0),
)

pytestmark = pytest.mark.anyio


def hash_of(value: Any) -> str:
    data = value if isinstance(value, bytes) else json.dumps(value, sort_keys=True, default=str).encode()
    return hashlib.sha256(data).hexdigest()[:16]


def files_of(folder: Path) -> dict[str, bytes]:
    """Path -> bytes of every file but locks, and but what names the folder, its files and their times: witnesses of
    handoffs, and a checkpoint's list of segments."""
    found = (file for file in sorted(folder.rglob("*")) if file.is_file() and file.suffix != ".lock")
    paths = {file.relative_to(folder).as_posix(): file for file in found}
    return {path: file.read_bytes() for path, file in paths.items() if not _names_files(path)}


def _names_files(path: str) -> bool:
    return path.startswith("witness/memory/") or path.endswith("/checkpoint/about.json")


async def session_goldens(home: Path, name: str, messages: list[Any]) -> dict[str, str]:
    """One session through every use: two passes, list, restore, summary, handoff; then every byte on disk."""
    ticks = itertools.count()
    draws = itertools.count()

    def clock() -> datetime:
        return datetime(2026, 11, 22, 9, tzinfo=UTC) + timedelta(seconds=next(ticks))

    def random_hex(size: int = 32) -> str:
        return hashlib.sha256(f"{name} {next(draws)}".encode()).hexdigest()[: 2 * size]

    found: dict[str, str] = {}
    async with Palimpsest.open(home, clock=clock, random_hex=random_hex) as palimpsest:
        for target in (0.5, 0.3):
            done = await palimpsest.compact_messages(messages, session_id=name, target=target, force=True)
            found[f"{name}: list at {target}"] = hash_of(done.messages)
        batches = await palimpsest.list_offloaded(name)
        records = [await palimpsest.record(name, batch.batch_id) for batch in batches]
        found[f"{name}: digests"] = hash_of([record.digest_replacing_inline for record in records])
        originals = [await palimpsest.restore_batch(name, batch.batch_id) for batch in batches]
        found[f"{name}: originals"] = hash_of([[one.sha256 for one in batch] for batch in originals])
        found[f"{name}: summary"] = hash_of(await palimpsest.summary_markdown(name))
        written = await palimpsest.write_handoff(name, "carry on")
        found[f"{name}: handoff"] = hash_of(written.text.replace(str(home), "HOME"))
    for place, data in files_of(home).items():
        if not place.startswith("index.sqlite3"):
            # A handoff names the files that have the originals, where they are on this machine.
            found[f"{name}: {place}"] = hash_of(data.replace(str(home).encode(), b"HOME"))
    return found


async def experience_goldens(home: Path, skills: Path) -> dict[str, str]:
    """Twelve uses of a skill, compacted twice a month apart."""
    now = [datetime(2026, 9, 1, 9, tzinfo=UTC)]
    draws = itertools.count()
    folder = skills / "searcher"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text("# Searcher\n", encoding="utf-8")
    async with Palimpsest.open(
        home,
        clock=lambda: now[0],
        random_hex=lambda size=32: hashlib.sha256(f"x {next(draws)}".encode()).hexdigest()[: 2 * size],
    ) as palimpsest:
        for n in range(12):
            now[0] += timedelta(days=2)
            event = {
                "ts": now[0].isoformat(),
                "session_id": f"s{n}",
                "group_id": f"g{n // 4}",
                "outcome": "success" if n % 4 else "failure",
                "winning_pattern": "search the issue tracker by the exact error text" if n % 4 else None,
                "failure_mode": None if n % 4 else "search by the product's name alone",
                "metrics": {"relevance": 0.8, "yield": 5},
            }
            await palimpsest.record_experience("searcher", {k: v for k, v in event.items() if v is not None})
            if n in (7, 11):
                await palimpsest.compact_experience("searcher")
    return {f"experience: {place}": hash_of(data) for place, data in files_of(skills).items()}


def check(found: dict[str, str]) -> None:
    """Compare with the file, or write it where `GOLDENS=write` asks for that."""
    known: dict[str, str] = json.loads(GOLDENS.read_text("utf-8")) if GOLDENS.exists() else {}
    names = {name.partition(":")[0] for name in found}
    expected = {key: value for key, value in known.items() if key.partition(":")[0] in names}
    if os.environ.get("GOLDENS") == "write":
        kept = {key: value for key, value in known.items() if key not in expected}
        GOLDENS.write_text(json.dumps({**kept, **found}, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        return
    assert found == expected


@pytest.fixture(autouse=True)
def one_writer_in_one_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """Segments are named by the process id, which the checksums cover; a handoff names the working folder."""
    monkeypatch.setattr(os, "getpid", lambda: 4711)
    monkeypatch.chdir("/")


@pytest.mark.parametrize("name", ["coding_session", "research_session"])
async def test_the_demo_sessions_are_written_as_they_always_were(tmp_path: Path, name: str) -> None:
    messages = json.loads((files("palimpsest_mcp") / "demo" / f"{name}.json").read_bytes())
    check(await session_goldens(tmp_path / "home", name, messages))


@pytest.mark.shared
@pytest.mark.parametrize(("source", "line"), first_of(SHARED, kept=4), ids=[source for source, _ in SHARED])
async def test_shared_sessions_are_written_as_they_always_were(
    tmp_path: Path, shared: Path, source: str, line: int
) -> None:
    with gzip.open(shared / "data" / "converted" / f"{source}.jsonl.gz", "rt", encoding="utf-8") as lines:
        row: dict[str, Any] = json.loads(next(itertools.islice(lines, line, None)))
    check(await session_goldens(tmp_path / "home", source, row["messages"]))


async def test_the_files_of_a_skill_are_written_as_they_always_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PALIMPSEST_SKILLS_ROOTS", str(tmp_path / "skills"))
    check(await experience_goldens(tmp_path / "home", tmp_path / "skills"))
