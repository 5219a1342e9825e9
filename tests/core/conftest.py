"""Sessions to compact, and a store to do it in."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any

import pytest

from palimpsest_mcp.core.palimpsest import Palimpsest

Messages = list[dict[str, Any]]


@pytest.fixture
async def p(tmp_path: Path) -> AsyncGenerator[Palimpsest]:
    async with Palimpsest.open(tmp_path / "home") as opened:
        yield opened


@pytest.fixture
def session() -> Callable[..., Messages]:
    return make_session


def make_session(results: int = 16, *, lines: int = 30, seed: int = 0) -> Messages:
    """A coding session: one call and one result a turn, each result with specifics of its own."""
    messages: Messages = [{"role": "user", "content": "Find out why the import job fails and fix it."}]
    for n in range(results):
        call = f"toolu_{seed:02d}_{n:04d}"
        messages.append(
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": f"Step {n}."},
                    {"type": "tool_use", "id": call, "name": "Bash", "input": {"command": f"./check.sh --step {n}"}},
                ],
            }
        )
        body = "\n".join(
            f"2026-11-{1 + n % 28:02d}T10:{line:02d}:00Z worker-{n:03d}-{line:03d} imported "
            f"{1000 * n + line} rows in {line}.{n} ms from /data/in/part-{n:04d}-{line:04d}.csv"
            for line in range(lines)
        )
        messages.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": call, "content": body}]})
    messages.append({"role": "user", "content": "What did you find?"})
    return messages


def results(messages: Messages) -> dict[str, str]:
    """Call id -> text of its result."""
    found: dict[str, str] = {}
    for message in messages:
        content: str | list[dict[str, Any]] = message["content"]
        if not isinstance(content, str):
            found |= {block["tool_use_id"]: block["content"] for block in content if block["type"] == "tool_result"}
    return found
