"""Every call site of a day fails once, in every way, by its name: `flush of ledger`, `lock of pass` …

The sites are those that an undisturbed day reaches; each fault goes to one of the site's calls, drawn by the seed, and
the run counts how many were really injected. Every site comes once before any comes twice.

After each fault: no traceback, every error one of ours, what was acknowledged is there, `verify` finds no damage, a
context whose pass failed is unchanged, and a whole day after it goes well.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest

from ..conftest import PROFILE
from .conftest import SEED, Tell, bound

pytestmark = [pytest.mark.crash, pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")]

LEAST_CASES = 2 if PROFILE == "ci" else 5
HOWS = ("EIO", "ENOSPC", "EMFILE", "ENOLCK", "EINTR", "kill")
SCRIPT = Path(__file__).with_name("day.py")
CODES = {
    *("ok", "refused", "write_failed", "store_unusable", "lock_timeout", "record_damaged"),
    *("session_unknown", "handoff_unknown"),
}
"""What a step may end with. A session is unknown where the step that makes it failed; a handoff where the one that is
there cannot be read, and the error says so."""
INTERRUPTED = "a purge was interrupted"
"""What `verify` may say after the fault, until the purge is asked for again."""


class Days:
    """The process that lives days, one case after the other."""

    def __init__(self, folder: Path) -> None:
        command = [sys.executable, str(SCRIPT), str(folder)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def live(self, **case: Any) -> dict[str, Any]:
        """One day with its fault, the store afterwards, a whole day after it."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(case) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, "the process of days died"
        return json.loads(line)

    def close(self) -> None:
        """End it."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(60)
        self._process.stdout.close()


@contextmanager
def living(folder: Path) -> Generator[Days]:
    """Days, ended with the block."""
    days = Days(folder)
    try:
        yield days
    finally:
        days.close()


def cases(calls: Mapping[str, int], random: Random) -> Iterator[dict[str, Any]]:
    """Each site with each fault, in rounds: every site once with one of the faults, then with another one."""
    sites = sorted(calls)
    for step in range(len(HOWS)):
        random.shuffle(sites)
        for at, site in enumerate(sites):
            yield {"site": site, "how": HOWS[(step + at) % len(HOWS)], "number": random.randint(1, calls[site])}


def wrong(outcome: Mapping[str, Any], *, killed: bool) -> list[str]:
    """What a day and the store after it did that they must not."""
    first = outcome["first"]
    found = [str(first["broken"])] if "broken" in first else []
    if killed != ("died" in first):
        found.append(f"died: {first.get('died')}")
    found += [f"{step}: {code}" for step, code in first.get("said", ()) if code not in CODES]
    found += [
        f"again: {step}: {code}" for step, code in outcome["again"].get("said", ()) if code not in ("ok", "refused")
    ]
    for name in ("found", "again", "after"):
        found += [str(outcome[name]["broken"])] if "broken" in outcome[name] else []
        allowed = INTERRUPTED if name == "found" else "nothing"
        found += [f"{name}: {one}" for one in outcome[name].get("wrong", ()) if allowed not in one]
    if [step for step, code in outcome["again"].get("said", ()) if code == "refused" and step != "born"]:
        found.append("the next day's pass was refused")
    return found


def test_every_call_site_may_fail_once_and_nothing_acknowledged_is_lost(tmp_path: Path, tell: Tell) -> None:
    hit, by_how, bad, done, total = Counter[str](), Counter[str](), list[str](), 0, 0
    with living(tmp_path) as days:
        whole = days.live()
        assert not wrong(whole, killed=False), whole
        every = list(cases(whole["first"]["calls"], Random(SEED)))
        total, more = len(every), bound(LEAST_CASES)
        for case in every:
            if not more(done):
                break
            outcome = days.live(**case)
            killed = outcome["first"].get("died") == -9
            if killed or outcome["first"].get("hit"):
                hit[case["site"]] += 1
                by_how[case["how"]] += 1
            bad += [f"{case['site']} #{case['number']} {case['how']}: {one}" for one in wrong(outcome, killed=killed)]
            done += 1
    counts = {"cases": f"{done} of {total}", "injected": sum(hit.values())}
    tell("faults by site", **counts, sites=f"{len(hit)} of {len(whole['first']['calls'])}", **by_how, wrong=len(bad))
    assert not bad, "\n".join(bad)
    assert sum(hit.values()) >= min(done, LEAST_CASES) * 3 // 4, "faults did not reach their sites"
