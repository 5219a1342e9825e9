"""The commands on the page of the command line print what the page shows."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_every_command_of_the_page_prints_what_the_page_shows() -> None:
    command = [sys.executable, CHECKOUT / "tests" / "docs" / "readme_commands.py", CHECKOUT / "docs" / "cli.md"]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=600)
    assert done.returncode == 0, done.stdout
