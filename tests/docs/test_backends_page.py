"""The examples of the page about backends are contracts that pytest collects, and that our own stores keep."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "backends.md"
BACKEND = "import pytest\n\n\n@pytest.fixture\ndef anyio_backend() -> str:\n    return 'asyncio'\n"


def test_the_examples_are_tests_of_a_backend(tmp_path: Path) -> None:
    examples = re.findall(r"^```python\n(.*?)^```", PAGE.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    (tmp_path / "conftest.py").write_text(BACKEND)
    (tmp_path / "test_mine.py").write_text("\n".join(examples))
    chosen = "same_secret or disk_use or another_process_reads or snapshots"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", chosen, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", cwd=tmp_path)
    assert "4 passed" in done.stdout, done.stdout
