"""What every place for experience must do, as tests, for one of your own in one call (`docs/backends.md`)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from ..errors import InvalidArgument, LockTimeout, SkillUnknown
from ..experience.models import LIVE_LOG, Experience, LogPart, SkillPlace

ODD_NAMES = [
    *("", ".", "..", "../x", "a/../b", "/abs", "C:\\x", "a\\b", "x\0y", "~root", "-rf", "CON", "nul.txt", "x.", "x "),
    *("a//b", "\u202ex", "a:b", "%2e%2e", "x y", ".git", "\uff0e\uff0e", "x" * 300),
]
ONE, TWO = b'{"n": 1}\n', b'{"n": 2}\n'


async def content(experience: Experience, place: SkillPlace, part: LogPart, start: int = 0) -> bytes:
    """A part's bytes from an offset on."""
    return b"".join([block async for block in experience.log.blocks(place, part, start)])


async def whole_log(experience: Experience, place: SkillPlace) -> bytes:
    """Every part's bytes, in order."""
    parts = await experience.log.parts(place)
    return b"".join([await content(experience, place, part) for part in parts])


@pytest.mark.anyio
class ExperienceContract:
    """The same behaviours for every `Experience`, ours or yours."""

    opens: Callable[[Path, float], Experience]

    @pytest.fixture(autouse=True)
    def empty_place(self, tmp_path: Path) -> None:
        self.place = tmp_path / "deep" / "home"

    def make(self, *, lock_timeout_s: float = 10.0) -> Experience:
        return self.opens(self.place, lock_timeout_s)

    async def test_a_skill_that_nobody_has_is_unknown_until_it_is_made(self) -> None:
        experience = self.make()
        with pytest.raises(SkillUnknown):
            await experience.find("search-x")
        place = await experience.find("search-x", create=True)
        assert place.name == "search-x"
        await experience.log.append(place, ONE)
        assert await experience.find("search-x") == place
        assert [one.name for one in await experience.skills()] == ["search-x"]

    @pytest.mark.parametrize("name", ODD_NAMES)
    async def test_a_name_that_could_lead_elsewhere_is_refused(self, name: str) -> None:
        with pytest.raises(InvalidArgument):
            await self.make().find(name, create=True)

    async def test_lines_stand_in_the_order_in_which_they_came(self) -> None:
        experience = self.make()
        place = await experience.find("x", create=True)
        assert await experience.log.parts(place) == ()
        await experience.log.append(place, ONE)
        await experience.log.append(place, TWO)
        (part,) = await experience.log.parts(place)
        assert (part.name, part.size) == (LIVE_LOG, len(ONE + TWO)) and part.head
        assert await content(experience, place, part) == ONE + TWO
        assert await content(experience, place, part, len(ONE)) == TWO

    async def test_a_torn_tail_is_closed_before_the_next_line(self) -> None:
        experience = self.make()
        place = await experience.find("x", create=True)
        await experience.log.append(place, ONE)
        await experience.log.append(place, b'{"n": 9, "te')  # as a writer that died leaves it
        await experience.log.append(place, TWO)
        assert await whole_log(experience, place) == ONE + b'{"n": 9, "te\n' + TWO

    async def test_a_part_ends_where_it_ended_when_it_was_listed(self) -> None:
        experience = self.make()
        place = await experience.find("x", create=True)
        await experience.log.append(place, ONE)
        (part,) = await experience.log.parts(place)
        await experience.log.append(place, TWO)
        assert await content(experience, place, part) == ONE

    async def test_a_rotation_renames_and_never_overwrites(self) -> None:
        experience = self.make()
        place = await experience.find("x", create=True)
        assert await experience.log.rotate(place, "2026-04") == ""
        names: list[str] = []
        for n in range(3):
            await experience.log.append(place, b'{"n": %d}\n' % n)
            names.append(await experience.log.rotate(place, "2026-04"))
        assert names == [f"experience/archive/2026-04{suffix}.jsonl" for suffix in ("", "-2", "-3")]
        await experience.log.append(place, TWO)
        parts = await experience.log.parts(place)
        assert parts[-1].name == LIVE_LOG and sorted(part.name for part in parts[:-1]) == sorted(names)
        assert sorted((await whole_log(experience, place)).split(b"\n")) == sorted(
            [b"", *(b'{"n": %d}' % n for n in range(3)), TWO.strip()]
        )

    async def test_a_rotated_log_keeps_its_head(self) -> None:
        experience = self.make()
        place = await experience.find("x", create=True)
        await experience.log.append(place, ONE)
        (before,) = await experience.log.parts(place)
        await experience.log.rotate(place, "2026-04")
        archive, live = await experience.log.parts(place)
        assert archive.head == before.head and live.size == 0

    async def test_appends_while_it_rotates_are_all_there_once(self) -> None:
        experience = self.make()
        place = await experience.find("x", create=True)
        lines = [b'{"n": %d}\n' % n for n in range(40)]

        async def rotate() -> None:
            for _ in range(5):
                await experience.log.rotate(place, "2026-04")

        await asyncio.gather(rotate(), *(experience.log.append(place, line) for line in lines))
        found = (await whole_log(experience, place)).split(b"\n")
        assert sorted(filter(None, found)) == sorted(line.strip() for line in lines)

    @pytest.mark.parametrize("file", ["digest", "side"])
    async def test_a_small_file_is_replaced_as_a_whole_and_removed(self, file: str) -> None:
        experience = self.make()
        place = await experience.find("x", create=True)
        name = "digest" if file == "digest" else "side"
        assert await experience.files.read(place, name) is None
        for data in (b"one", "zwei \u2028\n".encode(), b"", b"\xff" * 10_000):
            await experience.files.replace(place, name, data)
            assert await experience.files.read(place, name) == data
        await experience.files.replace(place, name, None)
        await experience.files.replace(place, name, None)
        assert await experience.files.read(place, name) is None

    async def test_snapshots_are_listed_read_and_removed(self) -> None:
        experience = self.make()
        place = await experience.find("x", create=True)
        assert await experience.files.snapshots(place) == ()
        for name in ("000002.json", "000001.json"):
            await experience.files.keep_snapshot(place, name, name.encode())
        assert await experience.files.snapshots(place) == ("000001.json", "000002.json")
        assert await experience.files.snapshot(place, "000001.json") == b"000001.json"
        await experience.files.keep_snapshot(place, "000001.json", None)
        assert await experience.files.snapshots(place) == ("000002.json",)
        assert await experience.files.snapshot(place, "000001.json") is None

    async def test_one_compaction_at_a_time_and_another_skill_is_free(self) -> None:
        experience = self.make(lock_timeout_s=0.1)
        place = await experience.find("x", create=True)
        other = await experience.find("y", create=True)
        async with experience.lock(place), experience.lock(other):
            with pytest.raises(LockTimeout):
                async with experience.lock(place):
                    raise AssertionError("two at a time")
        async with experience.lock(place):
            await experience.log.append(place, ONE)


def experience_contract(opens: Callable[[Path, float], Experience]) -> type[ExperienceContract]:
    """The contract for one kind of place. pytest collects the class under the name that you give it.

    Args:
        opens: opens an empty one at a folder that is not there yet; the second argument is how many seconds an append
            or a compaction waits for another one.
    """
    return type("ExperienceContract", (ExperienceContract,), {"opens": staticmethod(opens)})


# Events for tests: one JSON line each, with as little in it as the test is about.


NOW = datetime(2026, 4, 22, 12, tzinfo=UTC)
"""What the clock of a test says, unless it says otherwise."""


def event_line(session: str | None = "s1", *, days_ago: float = 0, now: datetime = NOW, **fields: Any) -> bytes:
    """One line of a log, newline included; a success unless `outcome` says otherwise."""
    ts = (now - timedelta(days=days_ago)).isoformat()
    return json.dumps({"ts": ts, "session_id": session, "outcome": "success", **fields}).encode() + b"\n"


def successes(pattern: str, number: int = 3, *, first: int = 0, days_ago: float = 0, **fields: Any) -> bytes:
    """As many sessions in which a pattern won."""
    return b"".join(
        event_line(f"{pattern[:9]}-{first + n}", days_ago=days_ago, winning_pattern=pattern, **fields)
        for n in range(number)
    )


def failures(pattern: str, number: int = 3, *, days_ago: float = 0, **fields: Any) -> bytes:
    """As many sessions in which a pattern was tried and failed."""
    return b"".join(
        event_line(f"{pattern[:9]}-f{n}", days_ago=days_ago, outcome="failure", winning_pattern=pattern, **fields)
        for n in range(number)
    )
