"""What tools of the tests answer, and how examples of the docs are run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

STEPS = 30
"""Calls of a long run: together some 50,000 tokens."""
MOST = 18_000
"""Tokens that no request in a window of 20,000 may have: with fewer than ten calls a pass waits for 0.90."""
PAGE = Path(__file__).resolve().parents[2] / "docs" / "frameworks.md"


def result(step: int, lines: int = 40) -> str:
    """What the tool `check` answers: specifics of its own, the same each time."""
    return "\n".join(
        f"2026-11-{1 + step % 28:02d}T10:{line:02d}:00Z worker-{step:03d}-{line:03d} imported {1000 * step + line} "
        f"rows in {line}.{step} ms from /data/in/part-{step:04d}-{line:04d}.csv"
        for line in range(lines)
    )


def need(module: str) -> Any:
    """A framework's module, or the reason why this file is skipped."""
    return pytest.importorskip(
        module, reason=f"{module.split('.')[0]} is not installed here; `make frameworks` runs this"
    )


def example(heading: str) -> str:
    """The example of a framework in docs/frameworks.md: the first block of code below its heading."""
    section = PAGE.read_text("utf-8").split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
    code = re.search(r"```python\n(.*?)```", section, re.DOTALL)
    assert code is not None, f"no example below {heading}"
    lines = [line for line in code[1].splitlines() if line.strip()]
    assert len(lines) <= 15, f"the example of {heading} has {len(lines)} lines"
    return code[1]


def example_settings(heading: str) -> str:
    """What stands indented below the example: a file of settings."""
    section = PAGE.read_text("utf-8").split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
    lines = [line[4:] for line in section.splitlines() if line.startswith("    ")]
    assert lines, f"no settings below {heading}"
    return "\n".join(lines) + "\n"


async def run_example(heading: str, **names: Any) -> dict[str, Any]:
    """Run it as it stands, with what it takes for given; what it defines comes back."""
    import ast

    code = compile(example(heading), f"docs/frameworks.md, {heading}", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    there: dict[str, Any] = dict(names)
    running = eval(code, there)
    if running is not None:
        await running
    return there
