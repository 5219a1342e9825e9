"""What is said to stand elsewhere stands there, or counts as left out from then on (D8, D9)."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs

from palimpsest_mcp.core.compaction.digests import left_to
from palimpsest_mcp.core.dependencies import ContentCounter
from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.digest.verdict import shown_in
from palimpsest_mcp.errors import DigestRefused
from palimpsest_mcp.models.items import Specific
from palimpsest_mcp.models.records import Digest, DigestRequest
from palimpsest_mcp.models.views import BatchView
from palimpsest_mcp.ports.seams import Digester

pytestmark = pytest.mark.anyio
Messages = list[dict[str, Any]]
_TICKET = re.compile(r"OPS-\d{5}")


def words(draw: random.Random) -> str:
    """Prose in which no two lines are alike."""
    return " ".join("".join(draw.choice("aeioubdfgklmnrst") for _ in range(draw.randint(2, 9))) for _ in range(5))


def turns(first: int, count: int, *, repeats: int, again: int) -> Messages:
    """Results that name tickets of their own, and once more some of the result `repeats` before."""
    messages: Messages = []
    for n in range(first, first + count):
        call = f"toolu_{n:03d}"
        use = {"type": "tool_use", "id": call, "name": "Bash", "input": {"command": f"./tickets --page {n}"}}
        draw = random.Random(n)
        lines = [f"{words(draw)} OPS-{10_000 + 40 * n + k} {words(draw)}" for k in range(40)]
        old = n - repeats
        lines += [f"{words(draw)} OPS-{10_000 + 40 * old + k} {words(draw)}" for k in range(again) if old >= 0]
        result = {"type": "tool_result", "tool_use_id": call, "content": "\n".join(lines)}
        messages += [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
    return messages


def session(count: int, *, repeats: int = 6, again: int = 40) -> Messages:
    asked: Messages = [{"role": "user", "content": "List the tickets."}]
    return [*asked, *turns(0, count, repeats=repeats, again=again), {"role": "user", "content": "Which are open?"}]


async def rows(p: Palimpsest, name: str) -> dict[str, BatchView]:
    return {row.batch_id: row for row in await p.list_offloaded(name)}


def leaving(found: dict[str, BatchView]) -> tuple[str, str]:
    """A batch that leaves specifics to an earlier one, and that one."""
    for name, row in found.items():
        for holder in row.specifics.holders:
            if holder != name and holder in found:
                return name, holder
    raise AssertionError("no batch leaves anything to another")


def sums_up(row: BatchView) -> bool:
    counts = row.specifics
    classes = counts.by_class.values()
    return (
        counts.shown + counts.elsewhere + counts.left_out == counts.total
        and sum(one.elsewhere for one in classes) == counts.elsewhere
        and sum(one.left_out for one in classes) == counts.left_out
        and all(one.shown + one.elsewhere + one.left_out == one.total for one in classes)
    )


async def test_what_the_host_dropped_holds_nothing_any_more(p: Palimpsest) -> None:
    messages = session(20)
    done = await p.compact_messages(messages, session_id="s", target=0.5, keep_last=3, force=True)
    before = await rows(p, "s")
    name, holder = leaving(before)
    gone = {item.partition("#")[0] for item in before[holder].item_ids}
    shorter = [one for one in done.messages if not _of(one, gone)]
    after = await p.compact_messages(shorter, session_id="s", window_tokens=10**6)
    now = (await rows(p, "s"))[name]
    lost = before[name].specifics.holders[holder]
    assert now.specifics.left_out == before[name].specifics.left_out + lost
    assert now.specifics.elsewhere == before[name].specifics.elsewhere - lost
    assert sums_up(now) and sums_up(before[name])
    assert now.digest == before[name].digest
    assert any("count as left out" in note for note in after.report.notes)
    shown = await p.show_context("s")
    assert next(row for row in shown.batches if row.batch_id == name).specifics == now.specifics
    assert any("count as left out" in one.what for one in (await p.verify("s")).findings)


async def test_a_batch_that_was_put_back_holds_nothing_any_more(p: Palimpsest) -> None:
    await p.compact_messages(session(20), session_id="s", target=0.5, keep_last=3, force=True)
    before = await rows(p, "s")
    name, holder = leaving(before)
    await p.reinstate("s", holder)
    now = (await rows(p, "s"))[name]
    assert now.specifics.left_out > before[name].specifics.left_out
    assert sums_up(now)


async def test_a_fork_counts_what_it_does_not_show(p: Palimpsest) -> None:
    done = await p.compact_messages(session(20), session_id="s", target=0.5, keep_last=3, force=True)
    before = await rows(p, "s")
    name, holder = leaving(before)
    await p.compact_messages(done.messages, session_id="whole", parent="s", window_tokens=10**6)
    assert (await rows(p, "whole"))[name].specifics == before[name].specifics
    gone = {item.partition("#")[0] for item in before[holder].item_ids}
    part = [one for one in done.messages if not _of(one, gone)]
    await p.compact_messages(part, session_id="part", parent="s", window_tokens=10**6)
    assert (await rows(p, "part"))[name].specifics.left_out > before[name].specifics.left_out
    assert (await rows(p, "s"))[name].specifics == before[name].specifics


async def test_a_digest_of_a_higher_level_shows_all_that_others_left_to_what_it_replaces(p: Palimpsest) -> None:
    messages = session(30, repeats=13, again=4)
    context, end = messages[:51], messages[-1:]
    done = await p.compact_messages([*context, *end], session_id="s", target=0.5, keep_last=3, force=True)
    whole = [*done.messages[:-1], *messages[51:]]
    second = await p.compact_messages(whole, session_id="s", target=0.3, keep_last=3, force=True)
    third = await p.compact_messages(second.messages, session_id="s", target=0.5, keep_last=3, force=True)
    found = await rows(p, "s")
    raised = [row for row in found.values() if row.level > 1 and row.state == "replaced"]
    assert raised
    replaced = {name for name, row in found.items() if row.state == "superseded"}
    dependents = [row for row in found.values() if row.state == "replaced" and replaced & row.specifics.holders.keys()]
    assert dependents, "something was left to a digest that is no longer there"
    view = "\n".join(row.digest for row in found.values() if row.state == "replaced")
    for row in dependents:
        record = await p.record("s", row.batch_id)
        assert row.specifics == record.specifics, "nothing was lost"
        missing = {one for item in record.items for one in _TICKET.findall(str(item.result))} - set(
            _TICKET.findall(view)
        )
        assert len(missing) <= row.specifics.left_out
    assert third.report.status in ("compacted", "nothing_to_do", "target_not_reached")


class Forgetful:
    """A digester whose digests of several show nothing of what others left to them."""

    def __init__(self, whole: Digester) -> None:
        self._whole = whole

    @property
    def name(self) -> str:
        return "forgetful/1"

    async def digest(self, request: DigestRequest) -> Digest:
        return await self._whole.digest(structs.replace(request, carried=frozenset()))


async def forgetful(p: Palimpsest) -> tuple[Palimpsest, Messages, int]:
    """The same, a list in which digests leave tickets to older ones, and its tokens."""
    whole = p.deps.digester_for

    def forgets(counter: ContentCounter) -> Digester:
        return Forgetful(whole(counter))

    p = Palimpsest(replace(p.deps, digester_for=forgets), p.settings)
    messages = session(60, repeats=26, again=20)
    done = await p.compact_messages([*messages[:61], messages[-1]], session_id="s", target=0.5, keep_last=3, force=True)
    longer = [*done.messages[:-1], *messages[61:]]
    second = await p.compact_messages(longer, session_id="s", target=0.5, keep_last=3, force=True)
    assert {row.level for row in (await rows(p, "s")).values()} == {1}
    return p, second.messages, second.report.after.used.value or 0


async def lost(p: Palimpsest) -> int:
    """Specifics that another digest showed when theirs was made, and none shows now."""
    standing = [row for row in (await rows(p, "s")).values() if row.state == "replaced"]
    made = [(await p.record("s", row.batch_id)).specifics.left_out for row in standing]
    return sum(row.specifics.left_out for row in standing) - sum(made)


@pytest.mark.long
async def test_above_the_trigger_what_others_left_to_digests_keeps_them_from_going_up_no_more(p: Palimpsest) -> None:
    p, sent, used = await forgetful(p)
    again = await p.compact_messages(sent, session_id="s", window_tokens=used)
    assert again.report.after.ratio is not None and again.report.after.ratio < 0.7
    assert await lost(p) > 0, "counted as left out"
    assert (await p.compact_messages(sent, session_id="s", window_tokens=used)).messages == again.messages
    assert await p.expand_messages(again.messages, session_id="s") == session(60, repeats=26, again=20)


class Short:
    """A digester whose digests of so many results would be longer than a digest may be."""

    def __init__(self, whole: Digester, most: int) -> None:
        self._whole = whole
        self._most = most

    @property
    def name(self) -> str:
        return "short/1"

    async def digest(self, request: DigestRequest) -> Digest:
        if len(request.sources) > self._most:
            raise DigestRefused("Too long.", next="Leave these items as they are.")
        return await self._whole.digest(request)


@pytest.mark.long
async def test_above_the_trigger_a_digest_goes_up_by_itself_where_one_for_two_would_be_too_long(p: Palimpsest) -> None:
    p, sent, used = await forgetful(p)
    most = max(len(row.item_ids) for row in (await rows(p, "s")).values())
    whole = p.deps.digester_for

    def short(counter: ContentCounter) -> Digester:
        return Short(whole(counter), most)

    p, window = Palimpsest(replace(p.deps, digester_for=short), p.settings), used * 100 // 72
    again = await p.compact_messages(sent, session_id="s", window_tokens=window)
    assert again.report.after.ratio is not None and again.report.after.ratio < 0.7
    found = [row for row in (await rows(p, "s")).values() if row.state == "replaced" and row.level == 2]
    replaced = [(await p.record("s", row.batch_id)).replaces for row in found]
    assert replaced and all(len(names) == 1 for names in replaced)
    assert (await p.compact_messages(sent, session_id="s", window_tokens=window)).messages == again.messages
    assert await p.expand_messages(again.messages, session_id="s") == session(60, repeats=26, again=20)


@pytest.mark.long
async def test_below_the_trigger_a_digest_of_a_higher_level_shows_all_that_others_left_to_it(p: Palimpsest) -> None:
    p, sent, used = await forgetful(p)
    again = await p.compact_messages(sent, session_id="s", window_tokens=used * 5 // 4)
    found = await rows(p, "s")
    assert {row.level for row in found.values() if row.state == "replaced"} == {1, 2}
    assert again.report.status == "target_not_reached" and await lost(p) == 0


async def test_what_others_left_to_a_digest_is_found(p: Palimpsest) -> None:
    await p.compact_messages(session(20), session_id="s", target=0.5, keep_last=3, force=True)
    found = await rows(p, "s")
    name, holder = leaving(found)
    records = {one: await p.record("s", one) for one in found}
    held: dict[Specific, str] = {}
    for one, record in records.items():
        for item in record.items:
            for specific in shown_in(record.part(item), p.deps.registry):
                held.setdefault(specific, one)
    others = [record for one, record in records.items() if one != holder]
    carried = {text for _, text in left_to(p.deps, {holder}, held, others, [])}
    own = {one for item in records[name].items for one in _TICKET.findall(str(item.result))}
    left = own - set(_TICKET.findall(found[name].digest))
    there = {specific.text for specific, one in held.items() if one == holder}
    assert left & there and left & there <= carried <= there
    assert not left_to(p.deps, {"offload_9999"}, held, others, [])


def _of(message: dict[str, Any], calls: set[str]) -> bool:
    content: str | list[dict[str, Any]] = message["content"]
    return not isinstance(content, str) and any(one.get("tool_use_id", one.get("id")) in calls for one in content)
