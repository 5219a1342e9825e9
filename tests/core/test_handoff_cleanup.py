"""Cleaning up on clocks of all kinds: what goes is named first, what is merged is united, nothing else is touched."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.memory.handoff.markdown import from_markdown, to_markdown
from palimpsest_mcp.models.handoffs import Check, Choice, Cleanup, ImplementationProgress, TaskSummary
from palimpsest_mcp.ports.store import StoredHandoff
from palimpsest_mcp.settings.settings import Settings
from palimpsest_mcp.store import DiskStore, MemoryStore

pytestmark = pytest.mark.anyio
START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
SETTINGS = Settings.load()


def summary(task: str, day: datetime, **fields: Any) -> TaskSummary:
    """A handoff as the program writes it."""
    known: dict[str, Any] = {"task": task, "complete": ("a",), "facts": ("f",), "project": "/srv/shop", **fields}
    return TaskSummary(title=task, date=day.date().isoformat(), written=day.isoformat(), **known)


class World:
    """A store whose clock is set by hand."""

    def __init__(self, store: Any = None) -> None:
        self.store = store or MemoryStore()
        self.now = START

    async def add(self, task: str, days_ago: int = 0, **fields: Any) -> StoredHandoff:
        one = summary(task, self.now - timedelta(days=days_ago), **fields)
        return await self.store.handoffs.add("memory", f"{one.date}-{task}", to_markdown(one))

    async def clean(self, *, dry_run: bool = False) -> Cleanup:
        async with Palimpsest.open(settings=SETTINGS, clock=lambda: self.now, store=self.store) as p:
            return await p.clean_handoffs(dry_run=dry_run)

    async def names(self) -> dict[str, list[str]]:
        found = await self.store.handoffs.list()
        return {place: [one.name for one in found if one.place == place] for place in ("memory", "archive")}

    async def one(self) -> TaskSummary:
        (found,) = [one for one in await self.store.handoffs.list() if one.place == "memory"]
        handoff = from_markdown(found.text or "")
        assert isinstance(handoff, TaskSummary)
        return handoff


def told(done: Cleanup) -> list[tuple[str, str]]:
    return [(step.action, step.name) for step in done.steps]


async def test_day_30_stays_day_31_is_archived_day_90_stays_and_day_91_is_deleted() -> None:
    world = World()
    for days in (30, 31, 90, 91):
        await world.add(f"t{days}", days)
    done = await world.clean()
    assert {(action, name[-3:]) for action, name in told(done)} == {
        ("archive", "t31"), ("archive", "t90"), ("delete", "t91"),
    }  # fmt: skip
    assert {place: [name[11:] for name in names] for place, names in (await world.names()).items()} == {
        "memory": ["t30"],
        "archive": ["t90", "t31"],
    }


async def test_age_is_counted_from_the_day_written_on_and_on_in_the_archive() -> None:
    world = World()
    await world.add("t", 10)
    for days, where in ((0, "memory"), (20, "memory"), (21, "archive"), (80, "archive"), (81, "")):
        world.now = START + timedelta(days=days)
        await world.clean()
        assert [place for place, names in (await world.names()).items() if names] == ([where] if where else []), days
    (note,) = await world.store.handoffs.removed()
    assert json.loads(note)["name"] == "2026-02-19-t" and json.loads(note)["task"] == "t"


async def test_a_dry_run_says_the_same_and_does_nothing() -> None:
    world = World()
    for task, days in (("old", 40), ("older", 100), ("a", 3), ("a", 2)):
        await world.add(task, days)
    before = await world.store.handoffs.list()
    planned = await world.clean(dry_run=True)
    assert await world.store.handoffs.list() == before and await world.store.handoffs.removed() == ()
    assert sorted(action for action, _ in told(planned)) == ["archive", "delete", "merge"]
    done = await world.clean()
    assert sorted(action for action, _ in told(done)) == ["archive", "delete", "merge"] and planned.kept == done.kept


async def test_several_of_one_task_become_one_with_nothing_said_twice() -> None:
    world = World()
    old = await world.add(
        "import", 5, decisions=(Choice(decision="Keep the first", rationale="they repeat"), Choice(decision="Use UTC")),
        in_progress=("load.py",), questions=("May old rows go?", "Which disk?"), complete=("plan",), session="s1",
    )  # fmt: skip
    new = await world.add(
        "import", 1, decisions=(Choice(decision="use utc.", rationale="one hour happens twice"),),
        in_progress=("its test",), questions=("May old rows go?", "Who tells the users?"), complete=("load.py", "plan"),
        session="s1",
    )  # fmt: skip
    await world.add("import", 0, project="/srv/other")
    done = await world.clean()
    (step,) = done.steps
    assert (step.action, step.sources) == ("merge", (old.name, new.name))
    names = await world.names()
    assert names["archive"] == [old.name, new.name] and len(names["memory"]) == 2
    (merged,) = [one for one in await world.store.handoffs.list() if one.name == step.name]
    handoff = from_markdown(merged.text or "")
    assert isinstance(handoff, TaskSummary)
    assert handoff.decisions == (
        Choice(decision="Keep the first", rationale="they repeat"),
        Choice(decision="use utc.", rationale="one hour happens twice"),
    )
    assert (handoff.in_progress, handoff.complete) == (("its test",), ("plan", "load.py"))
    assert handoff.questions == ("May old rows go?", "Who tells the users?"), "the session settled the other one"
    assert [source.name for source in handoff.sources] == [old.name, new.name]
    assert handoff.date == "2026-02-28", "merging makes nothing younger"


async def test_questions_of_another_session_stay_open_and_what_was_under_way_is_not_revived() -> None:
    world = World()
    await world.add("import", 5, session="s1", questions=("Which disk?",), in_progress=("load.py",))
    await world.add("import", 1, session="s2", questions=("Which night?",), complete=("load.py",))
    await world.clean()
    handoff = await world.one()
    assert handoff.questions == ("Which disk?", "Which night?") and handoff.in_progress == ()


async def test_phases_are_merged_by_themselves_and_boxes_take_their_latest_state() -> None:
    world = World()
    await world.add("import", 1)
    for days, done, left, issues in ((2, ("load.py",), ("test",), ("slow disk",)), (1, ("load.py", "test"), (), ())):
        day = (START - timedelta(days=days)).date().isoformat()
        one = ImplementationProgress(
            title="import",
            date=day,
            written=f"{day}T10:00:00+00:00",
            project="/srv/shop",
            completed=tuple(Check(text=text, state="done") for text in done),
            remaining=tuple(Check(text=text) for text in left),
            issues=issues,
        )
        await world.store.handoffs.add("memory", f"{day}-import-implementation", to_markdown(one))
    (step,) = (await world.clean()).steps
    assert step.action == "merge" and step.name.endswith("-implementation-2")
    merged = next(one for one in await world.store.handoffs.list() if one.name == step.name)
    handoff = from_markdown(merged.text or "")
    assert isinstance(handoff, ImplementationProgress)
    assert [one.text for one in handoff.completed] == ["load.py", "test"] and handoff.issues == ("slow disk",)


async def test_a_handoff_written_after_a_merge_is_taken_in_by_the_next_one() -> None:
    world = World()
    for days in (3, 2):
        await world.add("import", days, decisions=(Choice(decision=f"day {days}"),))
    await world.clean()
    await world.add("import", 1, decisions=(Choice(decision="day 1"),))
    await world.clean()
    assert [one.decision for one in (await world.one()).decisions] == ["day 3", "day 2", "day 1"]
    assert len((await world.one()).sources) == 4


async def test_a_clock_that_jumps_deletes_nothing_that_is_not_named_and_back_again_nothing_at_all() -> None:
    world = World()
    await world.add("import", 1)
    world.now = START - timedelta(days=400)
    back = await world.clean()
    assert back.steps == () and "after today" in back.notes[0]
    world.now = START + timedelta(days=4000)
    assert told(await world.clean(dry_run=True)) == [("delete", "2026-02-28-import")]
    assert (await world.names())["memory"] == ["2026-02-28-import"], "the first look only shows"
    await world.clean()
    assert "2026-02-28-import" in (await world.store.handoffs.removed())[0]


async def test_files_of_others_forks_and_undated_ones_are_left_alone() -> None:
    world = World()
    await world.store.handoffs.add("memory", "notes", "# My notes\n")
    await world.store.handoffs.add("memory", "undated", "# Task Summary: x\n\n## Task\nx\n")
    fork = summary("f", START - timedelta(days=400))
    await world.store.handoffs.add("temp", "fork", to_markdown(fork))
    before = await world.store.handoffs.list()
    done = await world.clean()
    assert done.steps == () and await world.store.handoffs.list() == before
    assert any("no date" in note for note in done.notes) and any("no handoff" in note for note in done.notes)


async def test_archives_of_originals_are_never_touched(tmp_path: Path) -> None:
    store = DiskStore(tmp_path / "home", temp=tmp_path)
    world = World(store)
    messages: list[Any] = [{"role": "user", "content": "Look at the logs."}]
    for n in range(14):
        use = {"type": "tool_use", "id": f"c{n}", "name": "Bash", "input": {"command": f"./run {n}"}}
        body = "\n".join(f"2026-01-01 row {n}-{line} took {line}.{n} ms" for line in range(80))
        messages += [
            {"role": "assistant", "content": [use]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"c{n}", "content": body}]},
        ]
    async with Palimpsest.open(settings=SETTINGS, store=store) as p:
        await p.compact_messages(messages, session_id="s", target=0.3, force=True)
    await world.add("old", 200)
    before = originals(tmp_path)
    assert before and told(await world.clean()) == [("delete", "2025-08-13-old")]
    assert originals(tmp_path) == before
    await store.aclose()


def originals(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("offloaded/*.jsonl")}


def edit(path: Path) -> None:
    path.write_text(path.read_text() + "\n## For Ana\nkeep this\n")


@pytest.mark.parametrize("days", [[40], [100], [2, 1]], ids=["archive", "delete", "merge"])
async def test_what_a_writer_changes_meanwhile_is_left_alone(
    days: Sequence[int], tmp_path: Path, monkeypatch: Any
) -> None:
    name = f"{(START - timedelta(days=days[0])).date().isoformat()}-import"
    store = DiskStore(tmp_path)
    world = World(store)
    for ago in days:
        await world.add("import", ago)
    found = await store.handoffs.list()
    for path in (one.path for one in found if one.name == name):
        edit(Path(path))
    monkeypatch.setattr(store.handoffs, "list", lambda principal="": _deps(found))
    done = await world.clean()
    monkeypatch.undo()
    kept = [one for one in await store.handoffs.list() if one.name == name]
    assert [one.place for one in kept] == ["memory"] and "keep this" in (kept[0].text or "")
    assert "meanwhile" in done.notes[-1] and await store.handoffs.removed() == ()


async def _deps(found: tuple[StoredHandoff, ...]) -> tuple[StoredHandoff, ...]:
    return found


tasks = st.sampled_from(["a", "b", "c"])


@given(st.lists(st.tuples(tasks, st.integers(0, 120)), max_size=9), st.lists(st.integers(-200, 200), max_size=3))
@pytest.mark.filterwarnings("ignore")
async def test_done_twice_it_does_nothing_and_no_fact_goes_unnamed(
    written: list[tuple[str, int]], jumps: list[int]
) -> None:
    """Whatever was written when, and however the clock jumps."""
    world = World()
    for number, (task, days) in enumerate(written):
        await world.add(task, days, decisions=(Choice(decision=f"decision {number} of {task}"),))
    async with Palimpsest.open(settings=SETTINGS, clock=lambda: world.now, store=world.store) as p:
        for jump in (0, *jumps):
            world.now += timedelta(days=jump)
            await p.clean_handoffs(dry_run=False)
            again = await p.clean_handoffs(dry_run=False)
            assert again.steps == ()
            texts = [one.text or "" for one in await world.store.handoffs.list()]
            gone = [json.loads(note)["task"] for note in await world.store.handoffs.removed()]
            for number, (task, _) in enumerate(written):
                assert any(f"decision {number} of {task}" in text for text in texts) or task in gone
