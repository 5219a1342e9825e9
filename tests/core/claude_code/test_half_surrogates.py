"""The client is JavaScript and cuts strings by UTF-16 units: half of a pair may stand in any text it hands over."""

from __future__ import annotations

from pathlib import Path

import pytest

from palimpsest_mcp.core.palimpsest import Palimpsest

from .conftest import Open, log_of

pytestmark = pytest.mark.anyio
HIGH, LOW = "\ud83d", "\udc80"


def halved(number: int) -> str:
    return f"{HIGH} began\n{log_of(number)}\nkey{LOW}={number} /var/{HIGH}/x-{number}.py cut here {HIGH}"


async def test_every_answer_can_be_sent_and_every_original_comes_back(
    p: Palimpsest, client: Open, tmp_path: Path
) -> None:
    c = client()
    said = [await c.hook("SessionStart", source="startup", model="m")]
    c.say(f"Why does it fail? {LOW}")
    said += [await c.bash(f"toolu_{n:03d}", f"./x.sh {HIGH} --step {n}", halved(n), used=175_000) for n in range(18)]
    said.append(await c.hook("UserPromptSubmit", prompt=f"and now? {HIGH}"))
    said.append(await c.hook("PreCompact", trigger="manual", custom_instructions=f"keep {LOW}"))
    answer = await c.compact("auto")
    assert answer["apply"] and len(answer["results"]) >= 12
    c.apply(answer["results"])
    said.append(await c.hook("PostCompact", trigger="auto", compact_summary=f"It failed {HIGH}"))
    said.append(await c.hook("SessionStart", source="compact", model="m"))
    said.append(await c.hook("SessionEnd", reason="other"))
    for text in (*said, *answer["results"].values()):
        assert text.encode("utf-8") or not text
    kept = 0
    for batch in await p.list_offloaded("main-session"):
        for one in await p.restore_batch("main-session", batch.batch_id):
            if one.item_id.startswith("toolu_"):
                assert one.text == halved(int(one.item_id.removeprefix("toolu_")))
                kept += 1
    assert kept >= len(answer["results"])
    assert not (tmp_path / "home" / "claude-code" / "troubles.jsonl").exists()
    assert (await p.verify()).ok
