"""Builds a message list call by call."""

from __future__ import annotations

from pathlib import Path
from typing import Any

ROOT = "/srv/harbourline"
"""Where the invented project lives."""

SOURCES = Path(__file__).resolve().parent / "demo_sources"


class Session:
    """Anthropic-style messages: what is said, and calls with their results."""

    def __init__(self, prefix: str) -> None:
        self.messages: list[dict[str, Any]] = []
        self._prefix = prefix
        self._calls = 0

    def user(self, text: str) -> None:
        self.messages.append({"role": "user", "content": text})

    def assistant(self, text: str) -> None:
        self.messages.append({"role": "assistant", "content": [{"type": "text", "text": text}]})

    def call(self, say: str, tool: str, arguments: dict[str, Any], result: str, *, is_error: bool = False) -> None:
        """One call and its result."""
        self._calls += 1
        call_id = f"toolu_{self._prefix}_{self._calls:03d}"
        blocks: list[dict[str, Any]] = [{"type": "text", "text": say}] if say else []
        blocks.append({"type": "tool_use", "id": call_id, "name": tool, "input": arguments})
        answer: dict[str, Any] = {"type": "tool_result", "tool_use_id": call_id, "content": result}
        if is_error:
            answer["is_error"] = True
        self.messages.append({"role": "assistant", "content": blocks})
        self.messages.append({"role": "user", "content": [answer]})


def source(name: str) -> str:
    """The text of an invented file."""
    return (SOURCES / f"{name}.txt").read_text(encoding="utf-8")


def numbered(text: str, first: int = 1, last: int = 10_000) -> str:
    """Lines with their numbers, as a reading tool gives them."""
    lines = text.splitlines()[first - 1 : last]
    return "\n".join(f"{number:>6}\t{line}" for number, line in enumerate(lines, start=first))
