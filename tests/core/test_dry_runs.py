"""A dry run says what the run would, and nothing of it stays: in the library too, whatever the session was before."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palimpsest_mcp.core.messages import CompactedMessages
from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.errors import PlanStale
from palimpsest_mcp.models.events import PolicySet, SessionKey

from .conftest import make_session


def hashes(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        for path in folder.rglob("*")
    }


@given(
    results=st.integers(0, 18),
    known=st.integers(0, 18),
    target=st.sampled_from([None, 0.2, 0.4, 0.7]),
    keep_last=st.sampled_from([None, 3, 6, -1]),
    policy=st.sampled_from([None, "anchored", "phased"]),
    window=st.sampled_from([None, 20_000, 60_000]),
)
@settings(max_examples=min(25, settings().max_examples), deadline=None)
def test_it_says_what_the_run_then_finds_and_leaves_the_store_as_it_was(
    tmp_path_factory: pytest.TempPathFactory,
    results: int,
    known: int,
    target: float | None,
    keep_last: int | None,
    policy: str | None,
    window: int | None,
) -> None:
    home = tmp_path_factory.mktemp("dry")
    messages = make_session(results, lines=20)
    how: dict[str, Any] = {"session_id": "s", "force": True, "window_tokens": window, "policy": policy}
    how |= {"target": target, "keep_last": keep_last}

    async def both() -> tuple[CompactedMessages, CompactedMessages]:
        async with Palimpsest.open(home) as p:
            if 0 < known <= results:
                await p.compact_messages(messages[: 1 + 2 * known], session_id="s", force=True, target=0.5)
            before = hashes(home)
            planned = await p.compact_messages(messages, **how, dry_run=True)
            assert hashes(home) == before
            return planned, await p.compact_messages(messages, **how)

    planned, done = anyio.run(both)
    assert (done.session_id, done.handle) == (planned.session_id, planned.handle)
    assert done.report.before == planned.report.before
    assert done.report.target_tokens == planned.report.target_tokens
    if planned.report.status == "planned":
        assert planned.report.slots
    else:
        assert (done.report.status, done.report.reason) == (planned.report.status, planned.report.reason)
        assert done.messages == planned.messages


@pytest.mark.anyio
async def test_a_recorded_session_is_as_it_was_and_its_plan_can_be_carried_out(tmp_path: Path) -> None:
    items = [
        {"role": "tool", "tool_name": "Bash", "tool_use_id": f"call_{n}", "content": make_session(1, seed=n)[2]}
        for n in range(20)
    ]
    how: dict[str, Any] = {"force": True, "target": 0.4, "policy": "anchored", "window_tokens": 60_000}
    async with Palimpsest.open(tmp_path) as p:
        await p.record_items("s", items)
        before = hashes(tmp_path)
        plan = await p.compact_session("s", dry_run=True, used_tokens=50_000, **how)
        other = await p.compact_session("s", dry_run=True, used_tokens=50_000, force=True, target=0.2)
        assert hashes(tmp_path) == before
        assert plan.plan_id != other.plan_id
        with pytest.raises(PlanStale):
            await p.compact_session("s", used_tokens=50_000, **how, plan_id=other.plan_id)
        done = await p.compact_session("s", used_tokens=50_000, **how, plan_id=plan.plan_id)
        planned = {name for slot in plan.slots for name in slot["item_ids"]}
        assert done.batches and planned >= {name for batch in done.batches for name in batch.item_ids}


async def _revision(p: Palimpsest) -> int:
    page = await p.store.ledger.read(SessionKey("s"))
    return max((event.rev for event in page.events if isinstance(event, PolicySet)), default=0)


@pytest.mark.anyio
async def test_a_policy_that_is_named_again_is_not_decided_again(tmp_path: Path) -> None:
    async with Palimpsest.open(tmp_path) as p:
        for _ in range(3):
            await p.compact_messages(make_session(3), session_id="s", window_tokens=10**6, policy="anchored")
        assert await _revision(p) == 1


@pytest.mark.anyio
async def test_a_session_and_a_listener_hear_nothing_of_it(tmp_path: Path) -> None:
    heard: list[Any] = []
    async with Palimpsest.open(tmp_path) as p:
        p.subscribe(heard.append)
        await p.compact_messages(make_session(), session_id="new one", force=True, dry_run=True)
        assert await p.sessions() == () and not heard


@pytest.mark.anyio
async def test_a_store_that_is_not_there_is_not_made_where_nothing_is_to_be_kept(tmp_path: Path) -> None:
    async with Palimpsest.open(tmp_path / "home", make=False) as p:
        done = await p.compact_messages(make_session(), session_id="s", force=True, target=0.4)
        assert done.report.status == "compacted"
        assert await p.restore_all("s") == make_session()
    assert not (tmp_path / "home").exists()
