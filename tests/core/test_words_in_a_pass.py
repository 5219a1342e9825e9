"""What a pass shows of old results: no bare lists, values beside what says what they are."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from palimpsest_mcp.core.palimpsest import Palimpsest

pytestmark = pytest.mark.anyio
Messages = list[dict[str, Any]]


def _report(number: int) -> str:
    draw = random.Random(number)
    words = [draw.choice("aeiou") + draw.choice("bdfgk") + draw.choice("aeiou") + "rn" for _ in range(40)]
    return "\n".join(
        f"Then {word} of group {n} went over {draw.randint(10_000, 99_999)} as nobody had thought it would, {word}."
        for n, word in enumerate(words)
    )


async def test_in_a_pass_every_number_stands_beside_a_word_of_its_line(
    p: Palimpsest, session: Callable[..., Messages]
) -> None:
    messages = session(14)
    for n in range(2, 24, 2):
        messages[n]["content"][0]["content"] = _report(n)
    done = await p.compact_messages(messages, session_id="s", target=0.35, keep_last=3, force=True)
    parts = [one["content"][0]["content"] for one in done.messages[2:20:2]]
    lists = [line for part in parts for line in part.split("\n") if line.startswith(("number: ", "also: "))]
    shown = [line for part in parts for line in part.split("\n") if " … " in line]
    assert done.report.batches and shown
    assert not lists


async def test_where_one_result_is_all_there_is_to_digest_its_values_come_first(
    p: Palimpsest, session: Callable[..., Messages]
) -> None:
    messages = session(4, lines=8)
    messages[2]["content"][0]["content"] = "\n".join(_report(n) for n in range(3))
    for n in (4, 6, 8):
        messages[n]["content"][0]["content"] = "ok"
    done = await p.compact_messages(messages, session_id="s", target=0.17, keep_last=3, force=True)
    part = done.messages[2]["content"][0]["content"]
    assert [line for line in part.split("\n") if line.startswith("number: ")]
