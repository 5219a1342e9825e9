"""The examples on these pages are what the program prints."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ..conftest import first_of

HERE = Path(__file__).resolve().parent


@pytest.mark.slow
@pytest.mark.parametrize(("page", "steps"), first_of([("probes", 2), ("summary", 2), ("priorities", 2)]))
def test_the_example_on_the_page_is_what_the_program_prints(page: str, steps: int) -> None:
    path = HERE.parents[1] / "docs" / f"{page}.md"
    done = subprocess.run([sys.executable, HERE / "readme_commands.py", path], capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("ok ") == steps
