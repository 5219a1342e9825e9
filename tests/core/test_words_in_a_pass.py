"""What a pass shows of old results: no bare lists, values in the lines that say what they are."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.digest.notation import expanded

pytestmark = pytest.mark.anyio
Messages = list[dict[str, Any]]


def _report(number: int) -> str:
    draw = random.Random(number)
    words = [draw.choice("aeiou") + draw.choice("bdfgk") + draw.choice("aeiou") + "rn" for _ in range(40)]
    return "\n".join(
        f"Then {word} of group {n} went over {draw.randint(10_000, 99_999)} as nobody had thought it would, {word}."
        for n, word in enumerate(words)
    )


async def test_in_a_pass_every_number_stands_in_its_whole_line(p: Palimpsest, session: Callable[..., Messages]) -> None:
    messages = session(14)
    for n in range(2, 24, 2):
        messages[n]["content"][0]["content"] = _report(n)
    done = await p.compact_messages(messages, session_id="s", target=0.6, keep_last=3, force=True)
    assert done.report.batches and not [batch for batch in done.report.batches if batch.mode != "digest"]
    for n in range(2, 24, 2):
        shown = expanded(done.messages[n]["content"][0]["content"]).split("\n")
        lines = [line for line in shown if not line.startswith("[")]
        assert len(lines) > 10 and set(lines) <= set(_report(n).split("\n"))
