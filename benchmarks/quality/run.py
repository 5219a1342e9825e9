"""Measures quality: what survives compaction, Q1 to Q6 and the made sessions; one table of the goals, then the details.

    python benchmarks/quality/run.py [--only q4,planted] [--out FILE]

`make bench` runs it as its section `quality`. docs/quality.md says how each figure is made.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
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
PARTS: dict[str, tuple[str, Callable[[], tuple[str, Any]]]] = {
    "planted": ("Planted and natural specifics on the made sessions", planted),
    "q1": ("Q1 Atom recall at matched savings", q1),
    "q2": ("Q2 Archive recall", q2),
    "q3": ("Q3 Web pages", q3),
    "q4": ("Q4 Needed-later recall", q4),
    "q5": ("Q5 Ten rounds of drift", q5),
    "q6": ("Q6 Billed cost and passes", q6),
}


def quality(_repeats: int = 1, only: tuple[str, ...] = ()) -> str:
    """Guards what survives: specifics in view at each saving, values needed later, drift, cost; no model."""
    texts: list[str] = []
    found: dict[str, Any] = {}
    for name, (title, part) in PARTS.items():
        if only and name not in only:
            continue
        started = time.perf_counter()
        try:
            text, found[name] = part()
        except Skipped as reason:
            text = f"Skipped: {reason}"
        texts.append(f"### {title}\n\n{text}")
        print(f"{name}: {time.perf_counter() - started:.0f} s", file=sys.stderr, flush=True)
    return "\n\n".join(["### Overview", table(HEAD, rows(found)), *texts])


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure what survives, and write benchmarks/quality/results.md.")
    parser.add_argument("--only", default="", help=f"comma-separated: {', '.join(PARTS)}")
    parser.add_argument(
        "--out", type=Path, default=None, help="where the page goes; a part of the tables is only printed"
    )
    options = parser.parse_args()
    only = tuple(name for name in options.only.split(",") if name)
    if unknown := [name for name in only if name not in PARTS]:
        parser.error(f"no such part: {', '.join(unknown)}")
    text = quality(only=only)
    print(text)
    out = options.out or (None if only else RESULTS)
    if out:
        out.write_text(f"# What survives\n\nWritten by `benchmarks/quality/run.py`.\n\n{text}\n", encoding="utf-8")
        print(f"\nwritten: {out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
