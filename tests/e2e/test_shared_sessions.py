"""Shared sessions compact to valid lists, and every original comes back in a new process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ..conftest import PROFILE

WHICH = {"ci": ("--only", "deer-flow", "--every", "36"), "torture": ()}.get(PROFILE, ("--every", "3"))
SWEEP = Path(__file__).resolve().parents[2] / "benchmarks" / "sweep.py"


@pytest.mark.slow
@pytest.mark.shared
def test_every_shared_session_compacts_and_comes_back(shared: Path) -> None:
    """One of three of each file (`.ci/run`: one session); `make torture` takes all of them."""
    command = [sys.executable, SWEEP, *WHICH]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    assert "\n0 faults" in done.stdout
