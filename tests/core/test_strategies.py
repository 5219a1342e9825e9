"""The strategies over whole passes: chosen by call or by policy, each with its range, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from palimpsest_mcp.context.policies import STRATEGIES
from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.errors import InvalidArgument, InvalidPolicy
from palimpsest_mcp.settings.settings import Settings

pytestmark = pytest.mark.anyio
Messages = list[dict[str, Any]]
Make = Callable[..., Messages]
FORCED: dict[str, Any] = {"session_id": "s", "target": 0.5, "keep_last": 3, "force": True}


def configured(home: Path, text: str) -> Settings:
    home.mkdir(parents=True, exist_ok=True)
    (home / "config.toml").write_text(text, "utf-8")
    return Settings.load(home=home)


@pytest.mark.parametrize("name", STRATEGIES)
async def test_every_strategy_runs_and_gives_everything_back(p: Palimpsest, session: Make, name: str) -> None:
    messages = session(14)
    done = await p.compact_messages(messages, strategy=name, **FORCED)
    assert done.report.strategy == name and done.report.batches
    assert await p.expand_messages(done.messages, session_id="s") == messages
    low, high = STRATEGIES[name].expected
    share = done.report.compression
    noted = any("% compression is " in note for note in done.report.notes)
    assert share is not None and noted != (low <= share <= high), (share, done.report.notes)


async def test_a_window_slides_over_all_that_is_older_whatever_the_target(p: Palimpsest, session: Make) -> None:
    messages = session(16)
    how: dict[str, Any] = {"keep_last": 3, "target": 0.7, "window_tokens": 60_000, "used_tokens": 43_000}
    done = await p.compact_messages(messages, session_id="s", strategy="sliding_window", **how)
    assert done.messages[-10:] == messages[-10:]
    old = [one["content"][0]["content"] for one in done.messages[2:-10:2]]
    assert all(text.startswith("[") for text in old) and not any(text in str(messages) for text in old)


async def test_hybrid_acts_above_twenty_messages_and_keeps_the_newest_five(p: Palimpsest, session: Make) -> None:
    messages = session(30)
    how: dict[str, Any] = {"strategy": "hybrid", "window_tokens": 30_000, "used_tokens": 24_000}
    short = await p.compact_messages(messages[:20], session_id="short", **how)
    assert short.report.status == "nothing_to_do" and "under the policy's 21" in short.report.reason
    long = await p.compact_messages(messages[:21], session_id="long", **how)
    assert long.report.batches and long.messages[-5:] == messages[16:21]


async def test_opaque_shows_nothing_compresses_most_and_restores_all(p: Palimpsest, session: Make) -> None:
    messages = session(14)
    done = await p.compact_messages(messages, strategy="opaque", **FORCED)
    assert {batch.mode for batch in done.report.batches} == {"pointer"} and done.report.status == "compacted"
    first = done.report.batches[0]
    share = 1 - first.digest_tokens / first.original_tokens
    assert share > 0.95
    back = await p.restore("s", first.batch_id, first.item_ids[0])
    assert back.text == messages[2]["content"][0]["content"]


async def test_only_pointers_take_more_than_95_percent(tmp_path: Path, session: Make) -> None:
    settings = configured(
        tmp_path / "home", "[policy]\nbudget_share = 0.01\nmin_budget_share = 0.005\nmin_shown = 0.0\n"
    )
    messages = session(14, lines=120)
    async with Palimpsest.open(settings=settings) as p:
        how: dict[str, Any] = {**FORCED, "target": None}
        digests = await p.compact_messages(messages, **how)
        other: dict[str, Any] = {**how, "session_id": "other"}
        pointers = await p.compact_messages(messages, strategy="opaque", **other)
    assert (digests.report.compression or 1) <= 0.95 < (pointers.report.compression or 0)


async def test_a_policy_names_its_strategy_and_a_call_overrides_it(tmp_path: Path, session: Make) -> None:
    settings = configured(tmp_path / "home", '[policy]\nstrategy = "opaque"\n')
    other: dict[str, Any] = {**FORCED, "session_id": "other"}
    async with Palimpsest.open(settings=settings) as p:
        own = await p.compact_messages(session(14), **FORCED)
        named = await p.compact_messages(session(14), strategy="anchored", **other)
    assert own.report.strategy == "opaque" and {one.mode for one in own.report.batches} == {"pointer"}
    assert named.report.strategy == "anchored" and {one.mode for one in named.report.batches} == {"digest"}


async def test_a_strategy_that_is_none_is_refused_with_the_known_ones(tmp_path: Path, p: Palimpsest) -> None:
    with pytest.raises(InvalidArgument) as refused:
        await p.compact_messages([], strategy="magic")
    assert all(name in refused.value.next for name in STRATEGIES)
    with pytest.raises(InvalidPolicy, match="strategy must be one of anchored"):
        configured(tmp_path / "home", '[policy]\nstrategy = "magic"\n')


@pytest.mark.long
async def test_a_pass_that_would_keep_too_little_names_the_strategy_that_may(p: Palimpsest) -> None:
    log = "\n".join(f"{n}: id={n * 7919 % 100003} path=/api/v{n % 3}/orders/{n} ms={n % 977}" for n in range(4_000))
    texts = [*(f"row {n} of build {n}\n" * 400 for n in range(20)), log, *(f"later row {n}\n" * 100 for n in range(14))]
    items = [{"role": "tool", "tool_use_id": f"c{n}", "content": text} for n, text in enumerate(texts)]
    handle = (await p.record_items("new", items)).handle
    how: dict[str, Any] = {"target": 0.4, "window_tokens": 200_000, "used_tokens": 150_000}
    refused = await p.compact_session(handle, force=True, **how)
    assert refused.status == "nothing_to_do" and "strategy opaque" in refused.reason
    assert (await p.compact_session(handle, strategy="opaque", **how)).batches
