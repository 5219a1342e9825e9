"""Every mutant can still be applied; `make mutants` then runs them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def test_every_mutant_still_finds_its_line_exactly_once_and_names_tests_that_exist() -> None:
    done = subprocess.run([sys.executable, HERE / "run.py", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
