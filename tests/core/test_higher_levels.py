"""Digests that are told again at a higher level: for a few tokens no prefix is rewritten (L16).

The digester lets only some of them go up: behind its seam it refuses the others.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import pytest

from palimpsest_mcp.core.dependencies import ContentCounter
from palimpsest_mcp.core.messages import CompactedMessages
from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.errors import DigestRefused
from palimpsest_mcp.models.records import Digest, DigestRequest
from palimpsest_mcp.ports.seams import Digester

pytestmark = pytest.mark.anyio
Messages = list[dict[str, Any]]
GoesUp = Callable[[tuple[str, ...]], bool]


class Low:
    """A digester that makes a digest of several only where it is let: implements `ports.text.Digester`."""

    def __init__(self, whole: Digester, goes_up: GoesUp) -> None:
        self._whole = whole
        self._goes_up = goes_up

    @property
    def name(self) -> str:
        return "low/1"

    async def digest(self, request: DigestRequest) -> Digest:
        if request.level > 1 and not self._goes_up(request.replaces):
            raise DigestRefused("It stays where it is.", next="Leave it.")
        return await self._whole.digest(request)


def tickets(results: int = 60) -> Messages:
    """Each result names a ticket, and the one before it, on top of a log in which no two lines are alike."""
    messages: Messages = [{"role": "user", "content": "Sort the tickets of the night import."}]
    for n in range(results):
        call = {"type": "tool_use", "id": f"toolu_{n:03d}", "name": "Bash", "input": {"command": f"./ticket.sh {n}"}}
        messages.append({"role": "assistant", "content": [{"type": "text", "text": "On."}, call]})
        draw = random.Random(n)
        text = f"NIGHT-{7000 + n} is open, after NIGHT-{6999 + n}\n\n" + "\n".join(
            f"part {n}-{line} waits: " + " ".join("".join(draw.choices("aeioubdfgklmnrst", k=6)) for _ in range(8))
            for line in range(40)
        )
        block = {"type": "tool_result", "tool_use_id": call["id"], "content": text}
        messages.append({"role": "user", "content": [block]})
    return [*messages, {"role": "user", "content": "Which are open?"}]


First = Callable[[int], Awaitable[tuple[Path, CompactedMessages]]]


@pytest.fixture(scope="module")
def first_pass(tmp_path_factory: pytest.TempPathFactory) -> First:
    """So many results, all replaced by digests of their own: a store that nobody changes, and the shorter list."""

    known: dict[int, tuple[Path, CompactedMessages]] = {}

    async def made(results: int) -> tuple[Path, CompactedMessages]:
        if results not in known:
            home = tmp_path_factory.mktemp("first")
            async with Palimpsest.open(home) as p:
                first = await p.compact_messages(
                    tickets(results), session_id="s", window_tokens=1_100 * results, target=0.3, keep_last=3, force=True
                )
                assert {batch.level for batch in await p.list_offloaded("s")} == {1}
            known[results] = home, first
        return known[results]

    return made


class Crowded(Protocol):
    """Opens such a session."""

    def __call__(
        self, goes_up: GoesUp, results: int = 60
    ) -> AbstractAsyncContextManager[tuple[Palimpsest, CompactedMessages, int]]: ...


@pytest.fixture
def crowded(first_pass: First, tmp_path: Path) -> Crowded:
    """A session of hardly anything but digests, and a window that is four fifths full of it."""

    @asynccontextmanager
    async def opened(goes_up: GoesUp, results: int = 60) -> AsyncGenerator[tuple[Palimpsest, CompactedMessages, int]]:
        made, first = await first_pass(results)
        shutil.copytree(made, tmp_path / "home")
        async with Palimpsest.open(tmp_path / "home") as whole:

            def low(counter: ContentCounter) -> Digester:
                return Low(whole.deps.digester_for(counter), goes_up)

            p = Palimpsest(replace(whole.deps, digester_for=low), whole.settings)
            yield p, first, int((first.report.after.used.value or 0) / 0.8)

    return opened


def waits_until(done: CompactedMessages) -> int:
    """Tokens that have to leave at once, as the reason has them."""
    return int(done.report.reason.partition("waits until ")[2].partition(" can")[0].replace(",", ""))


async def test_where_all_digests_can_go_up_a_level_a_pass_of_its_own_tells_them_again(crowded: Crowded) -> None:
    async with crowded(lambda _: True) as (p, first, window):
        again = await p.compact_messages(first.messages, session_id="s", window_tokens=window)
        levels = {batch.level for batch in await p.list_offloaded("s") if batch.state == "replaced"}
    assert 2 in levels and again.messages != first.messages
    before, after = again.report.before.used.value, again.report.after.used.value
    assert before is not None and after is not None and before - after > 0.1 * window


async def test_where_one_digest_would_have_to_show_too_much_each_half_becomes_one(crowded: Crowded) -> None:
    async with crowded(lambda batches: len(batches) <= 2) as (p, first, window):
        again = await p.compact_messages(first.messages, session_id="s", window_tokens=window)
        higher = [batch for batch in await p.list_offloaded("s") if batch.level == 2]
        assert len(higher) >= 2 and again.messages != first.messages
        assert await p.expand_messages(again.messages, session_id="s") == tickets()


@pytest.mark.long
async def test_where_only_one_group_can_the_little_it_frees_is_worth_no_rewritten_prefix(crowded: Crowded) -> None:
    async with crowded(lambda batches: "offload_0001" in batches, 240) as (p, first, window):
        again = await p.compact_messages(first.messages, session_id="s", window_tokens=window)
        batches = await p.list_offloaded("s")
        assert again.messages == first.messages and {batch.state for batch in batches} == {"replaced"}
        assert again.report.status == "nothing_to_do" and not again.report.batches
        assert (least := waits_until(again)) <= -(-window // 10) and least > 0.09 * window
        assert (await p.verify()).ok
        forced = await p.compact_messages(first.messages, session_id="s", window_tokens=window, force=True)
        assert forced.report.batches and forced.messages != first.messages


@pytest.mark.long
async def test_what_cannot_go_up_is_found_out_by_the_request_that_waits_for_more(crowded: Crowded) -> None:
    """It was only known to the next request, which then came to other bytes for the same list."""
    pair = ("offload_0003", "offload_0004")
    asked: list[tuple[str, ...]] = []

    def goes_up(batches: tuple[str, ...]) -> bool:
        asked.append(batches)
        return batches == pair

    async with crowded(goes_up, 240) as (p, first, window):
        once = await p.compact_messages(first.messages, session_id="s", window_tokens=window)
        tried = [*asked]
        again = await p.compact_messages(first.messages, session_id="s", window_tokens=window)
    assert once.messages == again.messages == first.messages and "would free" in once.report.reason
    assert tried.count(pair) == 2, "once more, once the others are known"
    assert {*asked[len(tried) :]} <= {pair}


async def test_where_none_can_it_says_that_none_is_smaller(crowded: Crowded) -> None:
    async with crowded(lambda _: False) as (p, first, window):
        again = await p.compact_messages(first.messages, session_id="s", window_tokens=window)
    assert again.messages == first.messages
    assert again.report.reason == "Nothing was replaced: no digest was smaller than what it would stand for."


@pytest.mark.long
async def test_a_later_pass_whose_digests_free_less_than_its_plan_promised_is_worth_no_rewritten_prefix(
    crowded: Crowded,
) -> None:
    """A list that was sent twice came back with other bytes the second time."""
    async with crowded(lambda _: False, 240) as (p, first, window):
        window, longer = window * 8 // 7, tickets(241)
        sent = await p.compact_messages(longer, session_id="s", window_tokens=window)
        assert sent.report.status == "nothing_to_do" and not sent.report.batches
        assert waits_until(sent) == -(-window // 40), "hardly anything is rewritten"
        again = await p.compact_messages(longer, session_id="s", window_tokens=window)
        assert again.messages == sent.messages
        assert again.messages[: len(first.messages) - 4] == first.messages[:-4] and (await p.verify()).ok
        forced = await p.compact_messages(longer, session_id="s", window_tokens=window, force=True)
        assert forced.report.batches and forced.messages != sent.messages
