"""Classes of specifics that a user added in the settings, in a pass."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.text.specifics.registry import RULES

pytestmark = pytest.mark.anyio
WORDS = ("oak", "tin", "ash", "zinc", "yew", "iron")


def tagged(make: Callable[..., list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Every line of every result ends in a mark that no built-in class finds: a tree, then a metal."""
    messages = make(12, lines=60)
    for n, message in enumerate(messages[2:-1:2]):
        lines: list[str] = message["content"][0]["content"].split("\n")
        message["content"][0]["content"] = "\n".join(
            f"{line} <{WORDS[at % 6]}:{'abcdefghij'[at // 6 % 10]}{'klmnop'[at % 6]}{'qrstuvwxyz'[n % 10]}>"
            for at, line in enumerate(lines)
        )
    return messages


async def counts(home: Path, messages: list[dict[str, Any]]) -> tuple[int, int]:
    async with Palimpsest.open(home) as p:
        result = await p.compact_messages(messages, session_id="s1", target=0.35, keep_last=3, force=True)
        assert (await p.verify("s1")).findings == ()
        records = [await p.record("s1", batch.batch_id) for batch in result.report.batches]
        assert all(record.registry.startswith(f"{RULES}+") for record in records)
        found = [record.specifics.by_class["tree"] for record in records]
        assert all(one.shown + one.elsewhere + one.left_out == one.total for one in found)
        return sum(one.shown for one in found), sum(one.total for one in found)


async def test_the_weight_that_a_user_gives_decides_what_is_shown(
    session: Callable[..., list[dict[str, Any]]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: dict[float, int] = {}
    for weight in (0.5, 6):
        mine = [
            {"name": "tree", "pattern": r"(?:oak|ash|yew):[a-z]{3}", "weight": weight},
            {"name": "metal", "pattern": r"(?:tin|zinc|iron):[a-z]{3}", "weight": 3},
        ]
        monkeypatch.setenv("PALIMPSEST_SPECIFICS", json.dumps(mine))
        shown[weight], total = await counts(tmp_path / str(weight), tagged(session))
        assert total > 100
    assert shown[6] > 2 * shown[0.5]
