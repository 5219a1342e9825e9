"""What every framework's tests use."""

from __future__ import annotations

from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from palimpsest_mcp.integrations.window import AgentWindow

WINDOW = 20_000
"""Tokens: a long run of `material.result` is far above its trigger."""


@pytest.fixture(autouse=True)
def local(one_authority: None) -> None:
    """All models are on this machine."""


@pytest.fixture
def make_window(tmp_path: Path) -> Generator[Callable[..., AgentWindow]]:
    """Windows over one store; the model's window is `WINDOW` tokens unless told otherwise."""
    made: list[AgentWindow] = []

    def make(**options: object) -> AgentWindow:
        told = {"home": tmp_path / "home", "window_tokens": WINDOW, "model": "gpt-5", **options}
        made.append(AgentWindow(**told))  # pyright: ignore[reportArgumentType]
        return made[-1]

    yield make
    for window in made:
        window.close()
