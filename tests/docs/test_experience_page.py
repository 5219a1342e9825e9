"""The example on the page of experience is what the program prints."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent


@pytest.mark.slow
def test_the_example_on_the_page_of_experience_is_what_the_program_prints() -> None:
    page = HERE.parents[1] / "docs" / "experience.md"
    done = subprocess.run([sys.executable, HERE / "readme_commands.py", page], capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("ok") == 8
