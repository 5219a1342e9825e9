"""Whole passes through the public library, in this process, each with a store of its own; and floors of equal size."""

from __future__ import annotations

import asyncio
import random
import tempfile
from typing import Any

from palimpsest_mcp import Palimpsest

from .replay import Message, results_of


def compacted(messages: list[Message], target: float | None, session: str = "judged") -> list[Message]:
    """The shorter list; `target` is the share of its tokens that is wanted, None for what the policy wants."""
    return asyncio.run(_pass(messages, target, session))


async def _pass(messages: list[Message], target: float | None, session: str) -> list[Message]:
    wanted: dict[str, Any] = {} if target is None else {"target": target}
    with tempfile.TemporaryDirectory(prefix="palimpsest-quality-") as home:
        async with Palimpsest.open(home) as palimpsest:
            return (await palimpsest.compact_messages(messages, session_id=session, force=True, **wanted)).messages


def around(text: str) -> list[Message]:
    """A session in which this text is the one result that is old."""
    messages: list[Message] = [{"role": "user", "content": "Look at everything, then report."}]
    for number, result in enumerate((text, "ok", "ok", "ok")):
        use = {
            "type": "tool_use",
            "id": f"t{number}",
            "name": "Bash",
            "input": {"command": "true" if number else "show"},
        }
        back = {"type": "tool_result", "tool_use_id": f"t{number}", "content": result}
        messages += [{"role": "assistant", "content": [use]}, {"role": "user", "content": [back]}]
    return [*messages, {"role": "user", "content": "go on"}]


def digest_of(text: str, target: float) -> str:
    """What stands in the place of a lone text."""
    return results_of(compacted(around(text), target, "o"))["t0"]


def head_and_tail(text: str, size: int) -> str:
    """Three fifths of so many characters from the beginning, the rest from the end."""
    return text if size >= len(text) else f"{text[: size * 3 // 5]}\n{text[len(text) - size * 2 // 5 :]}"


def lines_by_lot(text: str, size: int, rng: random.Random) -> str:
    """Whole lines drawn until so many characters are full."""
    lines = text.splitlines()
    rng.shuffle(lines)
    kept: list[str] = []
    used = 0
    for line in lines:
        if used + len(line) <= size:
            kept.append(line)
            used += len(line) + 1
    return "\n".join(kept)
