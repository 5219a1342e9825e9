"""How much of the harness runs, and what a part tells when it has run.

In a test run each part is bounded by time, `TEST_CRASH_SECONDS` (3), with a least number of cases. `make torture` gives
a number instead, `TEST_CRASH_COUNT`; both together: whichever comes first. `TEST_CRASH_SEED` (1) seeds all of it.
`TEST_CRASH_TELL` names a file that gets one JSON line for each part that has run.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

SEED = int(os.environ.get("TEST_CRASH_SEED", "1"))
COUNT = int(os.environ.get("TEST_CRASH_COUNT", "0"))
SECONDS = float(os.environ.get("TEST_CRASH_SECONDS", "inf" if COUNT else "3"))
LONG = bool(COUNT) or SECONDS >= 60

Tell = Callable[..., None]
"""A part's name, then what was counted by name: whole numbers, or words."""


def bound(least: int = 1, *, share: float = 1.0) -> Callable[[int], bool]:
    """Whether to go on after so many cases: asked before each, from now on.

    Args:
        share: of a test run's time; a long run takes all of it.
    """
    until = time.monotonic() + SECONDS * (1.0 if LONG else share)

    def more(done: int) -> bool:
        if COUNT:
            return done < COUNT and time.monotonic() < until
        return done < least or time.monotonic() < until

    return more


@pytest.fixture
def tell(capsys: pytest.CaptureFixture[str]) -> Tell:
    """Prints what a part has counted, and keeps it for `benchmarks/torture.py`."""
    started = time.monotonic()

    def say(part: str, **counts: object) -> None:
        took = round(time.monotonic() - started, 1)
        if path := os.environ.get("TEST_CRASH_TELL"):
            with Path(path).open("a") as file:
                file.write(json.dumps({"part": part, "counts": counts, "seconds": took, "seed": SEED}) + "\n")
        said = ", ".join(f"{name.replace('_', ' ')} {count}" for name, count in counts.items())
        with capsys.disabled():
            sys.stdout.write(f"\n{part}: {said}; seed {SEED}\n")

    return say
