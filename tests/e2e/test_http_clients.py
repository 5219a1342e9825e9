"""Many clients at once on the real server over HTTP; `benchmarks/http_clients.py` runs a hundred for a minute."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "http_clients.py"


@pytest.mark.long
@pytest.mark.parametrize("era", ["2026-07-28", "2025-11-25"])
def test_clients_at_once_meet_no_error_and_no_words_of_another(era: str) -> None:
    options = ["--clients", "8", "--seconds", "0.1", "--era", era]
    done = subprocess.run([sys.executable, str(SCRIPT), *options], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
