"""Which session a name means, and when a name that nobody has makes a session."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.core.sessions import near, slips
from palimpsest_mcp.errors import SessionUnknown
from palimpsest_mcp.models.events import SessionInfo

ITEM: dict[str, Any] = {"role": "user", "content": "Why does the nightly job fail?"}
UUID = "8d1f2a7e-1111-4222-8333-444455556666"

pytestmark = pytest.mark.anyio


def info(session_id: str, handle: str = "saaaa") -> SessionInfo:
    return SessionInfo(session_id=session_id, handle=handle)


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("harbor", "harbour"),
        ("Harbour", "harbour"),
        ("habrour", "harbour"),
        ("task-harbuor-7", "task-harbour-7"),
        ("harbour", "harbour-1a2b3c4d"),
        ("8d1f2a7e", UUID),
        (UUID.replace("1111", "1112"), UUID),
        ("sabcd", "sabce"),
    ],
)
def test_a_slip_of_a_name_is_seen(name: str, known: str) -> None:
    assert slips(name, [info(known)]) == [info(known)]


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("task-1", "task-2"),
        ("task-1", "task-10"),
        ("worker7", "worker8"),
        ("run-2026-11-21", "run-2026-11-22"),
        ("a", "b"),
        ("team-a", "team-b"),
        ("north", "south"),
        ("left-side", "right-side"),
        ("harbour", "harbour-notes"),
        ("night-1a2b3c4d", "night-5e6f7a8b"),
        ("0b9e7c55-2222-4222-8333-444455556666", UUID),
    ],
)
def test_ids_in_a_row_and_names_of_their_own_are_no_slips(name: str, known: str) -> None:
    assert slips(name, [info(known)]) == []


@given(
    st.lists(st.integers(0, 10**9), min_size=2, max_size=8, unique=True), st.sampled_from(["s", "task-", "run_", ""])
)
def test_numbered_sessions_of_a_host_are_never_taken_for_each_other(numbers: list[int], prefix: str) -> None:
    names = [f"{prefix}{number}" for number in numbers]
    assert not slips(names[0], [info(name, handle="zzzzz") for name in names[1:]])


@given(st.text(max_size=60), st.lists(st.text(min_size=1, max_size=60), max_size=5))
def test_any_name_can_be_looked_up(name: str, known: list[str]) -> None:
    assert len(near(name, [info(one, handle=f"s{at:04d}") for at, one in enumerate(known)])) <= 3


async def test_a_mistyped_id_makes_no_session_whatever_it_brings(tmp_path: Path) -> None:
    async with Palimpsest.open(tmp_path) as p:
        handle = (await p.record_items("harbour", [ITEM])).handle
        calls: list[Any] = [
            p.check_context_ratio("harbor", used_tokens=40_000, window_tokens=64_000),
            p.check_context_ratio("harbor"),
            p.record_items("harbor", [ITEM]),
            p.update_summary("harbor", {"next_steps": ["Test with two files"]}),
            p.show_context("harbor"),
            p.compact_session("harbor", window_tokens=64_000),
        ]
        for call in calls:
            with pytest.raises(SessionUnknown) as said:
                await call
            assert said.value.message == f'No session is called "harbor". Did you mean harbour ({handle})?'
            assert said.value.near == (handle,) and said.value.name == "harbor"
        assert [one.session_id for one in await p.sessions()] == ["harbour"]


async def test_a_call_that_only_looks_makes_no_session(tmp_path: Path) -> None:
    async with Palimpsest.open(tmp_path) as p:
        for call in (p.check_context_ratio("fresh"), p.check_context_ratio("fresh", model="claude-opus-4-8")):
            with pytest.raises(SessionUnknown):
                await call
        assert await p.sessions() == ()
        assert (await p.check_context_ratio("fresh", used_tokens=1_000, window_tokens=64_000)).ratio == 1_000 / 64_000


async def test_a_beginning_finds_a_session_and_never_takes_the_place_of_a_new_one(tmp_path: Path) -> None:
    async with Palimpsest.open(tmp_path) as p:
        await p.record_items("task-10", [ITEM])
        assert (await p.session("task")).session_id == "task-10"
        await p.record_items("task-1", [ITEM])
        assert (await p.session("task-1")).session_id == "task-1"
        with pytest.raises(SessionUnknown, match=r'"task" may be 2 sessions: task-10 \(\w+\), task-1 \(\w+\)'):
            await p.session("task")
        with pytest.raises(SessionUnknown):
            await p.session("tas")


async def test_no_handle_is_like_the_id_of_another_session(tmp_path: Path) -> None:
    async with Palimpsest.open(tmp_path / "first") as p:
        await p.record_items("task-10", [ITEM])
        taken = (await p.session("task-10")).handle
    async with Palimpsest.open(tmp_path / "second") as p:
        await p.record_items(taken, [ITEM])
        await p.record_items("task-10", [ITEM])
        longer = (await p.session("task-10")).handle
        assert longer.startswith(taken) and longer != taken
        assert [(await p.session(name)).session_id for name in (taken, longer)] == [taken, "task-10"]
        assert p.handle_of("task-10") == longer and p.handle_of("nobody's") == "nobody's"
