"""Measures quality: what survives compaction, Q1 to Q6 and the made sessions; one table of the goals, then the details.

    python benchmarks/quality/run.py [--only q4,planted] [--out FILE]

`make bench` runs it as its section `quality`. docs/quality.md says how each figure is made.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import platform
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from measuring import CHECKOUT, Skipped, table

from quality.archive import q2
from quality.atoms import q1
from quality.billing import q6
from quality.drift import q5
from quality.later_use import q4
from quality.overview import HEAD, rows
from quality.pages import q3
from quality.planted import planted

RESULTS = CHECKOUT / "benchmarks" / "quality" / "results.md"
PAGE = CHECKOUT / "docs" / "quality.md"
_BEGIN, _END = "<!-- overview: written by benchmarks/quality/run.py -->\n", "<!-- end -->"
PARTS: dict[str, tuple[str, Callable[[], tuple[str, Any]]]] = {
    "planted": ("Planted and natural specifics on the made sessions", planted),
    "q1": ("Q1 Atom recall at matched savings", q1),
    "q2": ("Q2 Archive recall", q2),
    "q3": ("Q3 Web pages", q3),
    "q4": ("Q4 Needed-later recall", q4),
    "q5": ("Q5 Ten rounds of drift", q5),
    "q6": ("Q6 Billed cost and passes", q6),
}


def measured(only: tuple[str, ...] = (), jobs: int = 1) -> tuple[str, str]:
    """(the table of figures that have a goal, all other tables). With more jobs, parts run side by side."""
    names = [name for name in PARTS if not only or name in only]
    if jobs > 1:
        with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
            done = list(pool.map(_part, names))
    else:
        done = [_part(name) for name in names]
    found = {name: data for name, (_, data) in zip(names, done, strict=True) if data is not None}
    texts = [f"## {PARTS[name][0]}\n\n{text}" for name, (text, _) in zip(names, done, strict=True)]
    return table(HEAD, rows(found)), "\n\n".join(texts)


def _part(name: str) -> tuple[str, Any]:
    started = time.perf_counter()
    try:
        text, data = PARTS[name][1]()
    except Skipped as reason:
        text, data = f"Skipped: {reason}", None
    print(f"{name}: {time.perf_counter() - started:.0f} s", file=sys.stderr, flush=True)
    return text, data


def quality(_repeats: int = 1) -> str:
    """Guards what survives: specifics in view at each saving, values needed later, drift, cost; no model."""
    overview, details = measured()
    write_pages(overview, details)
    links = "All tables: [quality/results.md](quality/results.md); how made: [docs/quality.md](../docs/quality.md)."
    return f"{overview}\n\n{links}"


def write_pages(overview: str, details: str) -> None:
    """The page of results, and the table in docs/quality.md."""
    RESULTS.write_text(f"{_title()}\n\n## Overview\n\n{overview}\n\n{details}\n", encoding="utf-8")
    before, _, rest = PAGE.read_text("utf-8").partition(_BEGIN)
    after = rest[rest.index(_END) :]
    PAGE.write_text(f"{before}{_BEGIN}\n{overview}\n\n{after}", encoding="utf-8")


def _title() -> str:
    when = f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
    machine = f"{platform.system()} {platform.machine()}, Python {platform.python_version()}, {os.cpu_count()} cores"
    load = f"load {os.getloadavg()[0]:.1f} at the end"
    return f"# What survives\n\nWritten by `benchmarks/quality/run.py` on {when}: {machine}, {load}."


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure what survives; write quality/results.md and docs/quality.md.")
    parser.add_argument("--only", default="", help=f"comma-separated, only printed: {', '.join(PARTS)}")
    parser.add_argument("--out", type=Path, default=None, help="one page here, instead of the two of the project")
    parser.add_argument("--jobs", type=int, default=1, help="parts at a time; seconds are honest with one only")
    options = parser.parse_args()
    only = tuple(name for name in options.only.split(",") if name)
    if unknown := [name for name in only if name not in PARTS]:
        parser.error(f"no such part: {', '.join(unknown)}")
    overview, details = measured(only, options.jobs)
    print(f"{overview}\n\n{details}")
    if options.out:
        options.out.write_text(f"{_title()}\n\n## Overview\n\n{overview}\n\n{details}\n", encoding="utf-8")
    elif not only:
        write_pages(overview, details)
        print(f"\nwritten: {RESULTS}, {PAGE}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
