"""How fast a log becomes rules, in how much memory, and how well: python benchmarks/experience.py [events …]

It guards against two slownesses: a log that is read into memory, and rules whose parts are compared pair by pair. Each
size runs in a process of its own, through the library as a program would use it: find, read, count, decide, write,
rotate. Memory is the highest resident size of that process.
"""

from __future__ import annotations

import asyncio
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.experience.models import lower_bound
from palimpsest_mcp.settings.settings import Settings

SIZES = (10_000, 1_000_000)
TOPICS = ("prices", "opinions", "repairs", "releases", "jobs", "papers", "recalls", "maps", "visas", "recipes")


def lines(number: int, now: datetime) -> Iterator[bytes]:
    """Events of the seed's shape, each with texts of its own numbers: 600 patterns, 40 query templates."""
    chance = random.Random(20260422)
    for n in range(number):
        topic, kind = TOPICS[n % 10], n // 10 % 60
        event = {
            "ts": (now - timedelta(seconds=n % (29 * 86_400), microseconds=n)).isoformat(),
            "session_id": f"session-{n:07d}",
            "skill": "search-x",
            "group": "channels",
            "task_domain": "products",
            "query_type": "opinion",
            "input_shape": "brand + feature",
            "method": "api:search",
            "environment": {"auth": "paid", "locale": "en"},
            "outcome": "success" if chance.random() < 0.05 + kind / 63 else "failure",
            "metrics": {"yield": 18, "relevant": 9, "unique_sources": 7, "latency_ms": n % 9_000, "cost_usd": 0.02},
            "winning_pattern": f"search {topic} way {chr(97 + kind % 26)}{chr(97 + kind // 26)} within {n % 90} days",
            "failure_mode": None,
            "good_query": f"{{brand}} {topic} {{feature}} {kind % 4}",
            "bad_query": None,
            "evidence_refs": [f"https://example.org/{n}"],
            "promote_candidate": False,
            "notes": "checked against a second source",
        }
        yield json.dumps(event).encode() + b"\n"


def measure(number: int) -> dict[str, float | str]:
    """One compaction of so many events."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "skills"
        log = root / "search-x" / "experience" / "patterns.jsonl"
        log.parent.mkdir(parents=True)
        with log.open("wb") as file:
            file.writelines(lines(number, datetime.now(UTC)))
        return asyncio.run(compacted(Path(folder) / "home", root, log.stat().st_size))


async def compacted(home: Path, root: Path, size: int) -> dict[str, float | str]:
    async with Palimpsest.open(settings=Settings.load(home=home, skills_roots=[root], rule_wording="off")) as p:
        began, busy = time.perf_counter(), time.process_time()
        done = await p.compact_experience("search-x")
        seconds, cpu = time.perf_counter() - began, time.process_time() - busy
        again = time.perf_counter()
        assert (await p.compact_experience("search-x")).status == "nothing_to_do"
        return {
            "events": done.events,
            "megabytes": size / 1e6,
            "seconds": seconds,
            "cpu_seconds": cpu,
            "again_seconds": time.perf_counter() - again,
            "peak_megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
            "rotated": done.rotated,
            "lines": done.text.count("\n"),
        }


def promoted(rate: float, events: int, *, min_wilson: float, rounds: int = 20_000) -> float:
    """Share of rules with this true rate that are promoted, judged once on all their events."""
    chance = random.Random(7)
    hits = 0
    for _ in range(rounds):
        won = sum(chance.random() < rate for _ in range(events))
        hits += won >= 2 and lower_bound(won, events) >= min_wilson
    return hits / rounds


def say(text: str) -> None:
    sys.stdout.write(text + "\n")


def main() -> None:
    sizes = [int(text) for text in sys.argv[1:]] or list(SIZES)
    say("| events | log MB | seconds | CPU s | again s | peak MB |\n|---:|---:|---:|---:|---:|---:|")
    for size in sizes:
        code = f"import runpy; print(__import__('json').dumps(runpy.run_path({__file__!r})['measure']({size})))"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        row = json.loads(done.stdout)
        figures = (row["seconds"], row["cpu_seconds"], row["again_seconds"])
        timed = " | ".join(f"{value:.2f}" for value in figures)
        say(f"| {row['events']:,} | {row['megabytes']:.0f} | {timed} | {row['peak_megabytes']:.0f} |")
    say("\n| true success | events | the seed's counts promote | ours |\n|---:|---:|---:|---:|")
    for rate in (0.3, 0.9):
        for events in (10, 20):
            seed, ours = (promoted(rate, events, min_wilson=bound) for bound in (0.0, 0.40))
            say(f"| {rate:.0%} | {events} | {seed:.1%} | {ours:.1%} |")


if __name__ == "__main__":
    main()
