"""Measures quality: the judges of digests, values in context beside other programs, the ablation, search, drift, cost.

    python benchmarks/quality/run.py [--only owners,ablation] [--out FILE]

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

from measuring import CHECKOUT, Skipped

from quality.ablation import ablation
from quality.archive import archive
from quality.billing import billing
from quality.cases import cases
from quality.drift import drift
from quality.later import later
from quality.needles import needles
from quality.outcomes import outcomes
from quality.owners import owners
from quality.page import PAGE, tables, written
from quality.targets import targets

RESULTS = CHECKOUT / "benchmarks" / "quality" / "results.md"
PARTS: dict[str, tuple[str, Callable[[], tuple[str, Any]]]] = {
    "owners": ("Whose value is it?", owners),
    "outcomes": ("What was the result?", outcomes),
    "later": ("What was needed later?", later),
    "cases": ("The smallest texts that went wrong", cases),
    "needles": ("Values in context, planted strings, restore; beside other programs", needles),
    "ablation": ("What each constant moves", ablation),
    "archive": ("What a search of the archive finds", archive),
    "drift": ("Ten rounds", drift),
    "billing": ("Billed cost and passes", billing),
    "targets": ("Targets, pairs, later use beside clearing, the bill of a pass that is asked for", targets),
}


def measured(only: tuple[str, ...] = (), jobs: int = 1) -> tuple[dict[str, str], str]:
    """(tables of the page by marker, all details). With more jobs, parts run side by side."""
    names = [name for name in PARTS if not only or name in only]
    if jobs > 1:
        with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
            done = list(pool.map(_part, names))
    else:
        done = [_part(name) for name in names]
    found = {name: data for name, (_, data) in zip(names, done, strict=True) if data is not None}
    texts = [f"## {PARTS[name][0]}\n\n{text}" for name, (text, _) in zip(names, done, strict=True)]
    return tables(found), "\n\n".join(texts)


def _part(name: str) -> tuple[str, Any]:
    started = time.perf_counter()
    try:
        text, data = PARTS[name][1]()
    except Skipped as reason:
        text, data = f"Skipped: {reason}", None
    print(f"{name}: {time.perf_counter() - started:.0f} s", file=sys.stderr, flush=True)
    return text, data


def quality(_repeats: int = 1) -> str:
    """Guards what digests say: owners, outcomes, what is needed later, values in context, drift, cost; no model."""
    made, details = measured()
    write_pages(made, details)
    return "All tables: [quality/results.md](quality/results.md); how made: [docs/quality.md](../docs/quality.md)."


def write_pages(made: dict[str, str], details: str) -> None:
    """The page of results, and the tables in docs/quality.md."""
    RESULTS.write_text(f"{_title()}\n\n{details}\n", encoding="utf-8")
    PAGE.write_text(written(PAGE.read_text("utf-8"), made), encoding="utf-8")


def _title() -> str:
    when = f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
    machine = f"{platform.system()} {platform.machine()}, Python {platform.python_version()}, {os.cpu_count()} cores"
    load = f"load {os.getloadavg()[0]:.1f} at the end"
    return f"# Are digests of use?\n\nWritten by `benchmarks/quality/run.py` on {when}: {machine}, {load}."


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure digests; write quality/results.md and docs/quality.md.")
    parser.add_argument(
        "--only", action="append", default=[], help=f"repeatable, or with commas; printed: {', '.join(PARTS)}"
    )
    parser.add_argument("--out", type=Path, default=None, help="one page here, instead of the two of the project")
    parser.add_argument("--page", action="store_true", help="with --only: put these tables into docs/quality.md")
    parser.add_argument("--jobs", type=int, default=1, help="parts at a time; seconds are honest with one only")
    options = parser.parse_args()
    only = tuple(name for given in options.only for name in given.split(",") if name)
    if unknown := [name for name in only if name not in PARTS]:
        parser.error(f"no such part: {', '.join(unknown)}")
    made, details = measured(only, options.jobs)
    print("\n\n".join([*made.values(), details]))
    if options.out:
        options.out.write_text(f"{_title()}\n\n{details}\n", encoding="utf-8")
    elif not only:
        write_pages(made, details)
        print(f"\nwritten: {RESULTS}, {PAGE}")
    if only and options.page:
        PAGE.write_text(written(PAGE.read_text("utf-8"), made), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
