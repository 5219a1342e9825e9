"""Every example runs against a model on loopback and prints what stands beside it."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from ..conftest import first_of

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
NEEDS = {"langchain_agent": ("langchain", "langchain_anthropic"), "agent_sdk": ("claude_agent_sdk",)}
NAMES = ("anthropic_loop", "handoffs", "openai_loop", "langchain_agent", "agent_sdk", "research_agent")


@pytest.mark.slow
@pytest.mark.parametrize("name", first_of(NAMES))
def test_an_example_prints_what_stands_beside_it(name: str) -> None:
    missing = [one for one in NEEDS.get(name, ()) if importlib.util.find_spec(one) is None]
    if missing:
        pytest.skip(f"{', '.join(missing)} is not installed")
    command = [sys.executable, str(EXAMPLES / "play.py"), name]
    done = subprocess.run(command, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    assert done.stdout == (EXAMPLES / f"{name}.txt").read_text("utf-8"), f"python examples/play.py {name} --write"


def test_an_example_has_at_most_sixty_lines_and_its_place_on_the_page() -> None:
    page = (EXAMPLES / "README.md").read_text("utf-8")
    for name in NAMES:
        lines = (EXAMPLES / f"{name}.py").read_text("utf-8").count("\n")
        assert lines <= 60, f"{name}: {lines} lines"
        assert f"]({name}.py)" in page and f"]({name}.txt)" in page
