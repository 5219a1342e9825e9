"""Results of parallel calls: their hooks run at once, in any order, and each is recorded exactly once."""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from dataclasses import replace
from pathlib import Path

import anyio.lowlevel
import pytest

from palimpsest_mcp.core.claude_code.conversations import Conversations
from palimpsest_mcp.core.claude_code.events import ToolResults
from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.core.sessions import Sessions
from palimpsest_mcp.errors import LockTimeout
from palimpsest_mcp.hosts.hook_call import HookCall
from palimpsest_mcp.models.events import Seen, SessionKey
from palimpsest_mcp.settings.settings import Settings
from palimpsest_mcp.store.host_files import HostFiles
from palimpsest_mcp.store.memory import MemoryStore

from ...conftest import LONG, first_of
from .conftest import FakeClient, Open

pytestmark = pytest.mark.anyio
PATIENT_S = 600.0
"""Nobody gives up; with 0 whoever finds the turn taken gives up at once. Neither depends on the machine's speed."""


class Batches:
    """Parallel batches of one conversation, in a store in memory."""

    def __init__(self, p: Palimpsest, session_id: str, *, wait_s: float) -> None:
        given = replace(p.deps, store=MemoryStore())
        self.session_id = session_id
        self.ledger = given.store.ledger
        self.conversations = Conversations(given, Sessions(given))
        self.results = ToolResults(given, Sessions(given), self.conversations, wait_s=wait_s)
        self.late = 0

    def call(self, name: str) -> HookCall:
        done = {"tool_name": "Bash", "tool_use_id": name, "tool_response": f"what {name} printed"}
        return HookCall(event="PostToolUse", fields={"session_id": self.session_id, **done})

    async def take(self, name: str, steps: int) -> None:
        """One hook, which starts after so many turns of the event loop."""
        for _ in range(steps):
            await anyio.lowlevel.checkpoint()
        try:
            await self.results.take(self.call(name))
        except LockTimeout:
            self.late += 1

    async def run(self, names: list[str], draw: random.Random) -> None:
        async with anyio.create_task_group() as tasks:
            for name in names:
                tasks.start_soon(self.take, name, draw.randrange(12))
        await self.results.take_late(self.call(names[0]), wait_s=PATIENT_S)

    async def recorded(self) -> Counter[str]:
        events = (await self.ledger.read(SessionKey(self.session_id))).events
        return Counter(event.item.id for event in events if isinstance(event, Seen))


@pytest.mark.parametrize("seed", first_of(range(20 if LONG else 5), kept=2))
async def test_fifty_parallel_batches_record_every_result_once(p: Palimpsest, seed: int) -> None:
    """With all seeds 1,000 batches of 2 to 16 results; in every second run whoever has to wait is late."""
    draw = random.Random(seed)
    batches = Batches(p, f"seed-{seed}", wait_s=PATIENT_S if seed % 2 else 0.0)
    wanted: list[str] = []
    for number in range(50):
        names = [f"toolu_{number}_{n}" for n in range(draw.randint(2, 16))]
        wanted += names
        await batches.run(names, draw)
    assert await batches.recorded() == Counter(wanted)
    assert (batches.late > 0) == (seed % 2 == 0)


async def test_four_results_that_wait_for_one_another_are_all_recorded(p: Palimpsest, client: Open) -> None:
    """On disk, by the events. The hooks of 2 of 4 parallel results raised, because a sibling had recorded theirs."""
    c = client()
    names = [f"toolu_{n}" for n in range(4)]
    c.answer("", *((name, "Bash", {"command": "ls"}) for name in names))
    async with anyio.create_task_group() as tasks:
        for name in names:
            tasks.start_soon(post_tool_use, c, name)
    assert HostFiles(p.settings.home).troubles() == []
    await c.hook("PreCompact", trigger="auto")
    items = [item for batch in await p.list_offloaded("main-session") for item in batch.item_ids]
    assert sorted(items) == names


async def post_tool_use(c: FakeClient, name: str) -> None:
    await c.hook("PostToolUse", tool_name="Bash", tool_use_id=name, tool_input={}, tool_response=f"{name}\n" * 50)


async def test_sixteen_parallel_results_are_all_replaced_at_birth(tmp_path: Path) -> None:
    """A digest takes longer than a hook waits for its turn: fifteen of sixteen went through as they were."""
    settings = Settings.load(home=tmp_path / "at-birth", at_birth_tokens=500)
    lines = range(60)
    texts = {f"toolu_{k}": "\n".join(f"t{k} row {n} wrote /srv/{k}/part-{n}.bin" for n in lines) for k in range(16)}
    async with Palimpsest.open(settings=settings, attached="claude-code") as p:
        born: dict[str, str] = {}

        async def take(name: str) -> None:
            response = {"stdout": texts[name], "stderr": "", "interrupted": False, "isImage": False}
            given = {"tool_name": "Bash", "tool_use_id": name, "tool_input": {"command": name}}
            answer = await p.host_event("PostToolUse", {"session_id": "s", **given, "tool_response": response})
            born[name] = json.loads(answer)["hookSpecificOutput"]["updatedToolOutput"]["stdout"]

        async with anyio.create_task_group() as tasks:
            for name in texts:
                tasks.start_soon(take, name)
        batches = await p.list_offloaded("s")
        assert sorted(name for batch in batches for name in batch.item_ids) == sorted(texts)
        for batch in batches:
            (name,) = batch.item_ids
            assert (batch.reason, batch.state) == ("at_birth", "replaced")
            assert f" {batch.batch_id}" in born[name].splitlines()[0]
            assert (await p.restore("s", batch.batch_id)).text == texts[name]
        assert HostFiles(p.settings.home).troubles() == []
        assert (await p.verify()).ok


async def test_a_result_whose_hook_was_called_off_while_it_waited_is_recorded_before_a_compaction(
    p: Palimpsest,
) -> None:
    batches = Batches(p, "s", wait_s=PATIENT_S)
    one = await batches.conversations.of(batches.call("toolu_0"))
    async with batches.conversations.turn(one):
        waiting = asyncio.create_task(batches.results.take(batches.call("toolu_0")))
        for _ in range(3):
            await anyio.lowlevel.checkpoint()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
    await batches.results.take_late(batches.call("toolu_0"), wait_s=PATIENT_S)
    assert await batches.recorded() == Counter(["toolu_0"])


async def test_a_conversation_in_which_something_is_at_work_is_kept_however_many_others_there_are(
    p: Palimpsest,
) -> None:
    conversations = Conversations(p.deps, Sessions(p.deps))
    busy = HookCall(event="Stop", fields={"session_id": "busy"})
    one = await conversations.of(busy)
    async with conversations.turn(one):
        for n in range(40):
            await conversations.of(HookCall(event="Stop", fields={"session_id": f"s{n}"}))
        assert await conversations.of(busy) is one
