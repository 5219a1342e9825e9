"""verify looks at handoffs too: what cannot be read is damage, costs itself alone, and comes with a next step."""

from __future__ import annotations

import errno
import os
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.errors import HandoffUnknown
from palimpsest_mcp.models.views import Finding
from palimpsest_mcp.store.disk_store import DiskStore
from palimpsest_mcp.store.memory import MemoryStore
from palimpsest_mcp.store.real_disk import RealDisk

pytestmark = pytest.mark.anyio
TASK = "Move the importer"
FIELDS = {"facts": ["The port is 5432"], "in_progress": ["the loader"]}


@pytest.fixture
async def p(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[Palimpsest]:
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "shop")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    async with Palimpsest.open(tmp_path / "home") as opened:
        yield opened


async def written(p: Palimpsest, task: str = TASK) -> Path:
    return Path((await p.write_handoff("new", task, fields=FIELDS)).path)


async def findings(p: Palimpsest) -> list[Finding]:
    return [one for one in (await p.verify()).findings if one.where.endswith(".md")]


async def test_whole_handoffs_are_counted_and_have_no_findings(p: Palimpsest) -> None:
    await written(p)
    report = await p.verify()
    assert report.ok and report.handoffs == 1 and not report.findings


async def test_a_session_alone_is_verified_without_the_handoffs(p: Palimpsest) -> None:
    path = await written(p)
    path.write_bytes(b"\xff\xfe")
    (session,) = await p.sessions()
    report = await p.verify(session.session_id)
    assert report.ok and report.handoffs == 0


@pytest.mark.parametrize(
    ("left", "what"),
    [
        (b"\xff\xfe\x00", "UTF-8"),
        (b"a" * (1024 * 1024 + 1), "longer than 1,048,576"),
        (b"", "lost its title"),
        (b"<!-- palimpsest handoff, format 1; may be ed", "lost its title"),
        (b"# Task Summary: x\n\n## Task\n\0\0\0\0", "zeros"),
    ],
)
async def test_a_handoff_that_cannot_be_read_is_damage_with_a_next_step(p: Palimpsest, left: bytes, what: str) -> None:
    path = await written(p)
    path.write_bytes(left)
    report = await p.verify()
    (found,) = report.findings
    assert not report.ok and found.severity == "damage" and found.where == str(path)
    assert what in found.what and "backup" in found.next and "handoff write" in found.next


class BadDisk(RealDisk):
    """A disk with a bad sector under one file."""

    def __init__(self, bad: Path) -> None:
        super().__init__()
        self.bad = str(bad)

    def open(self, path: str) -> int:
        if path == self.bad:
            raise OSError(errno.EIO, "Input/output error")
        return super().open(path)


async def test_one_that_the_disk_does_not_give_back_costs_itself_alone(p: Palimpsest) -> None:
    path = await written(p)
    await written(p, "Another task")
    store = DiskStore(p.settings.home, clock=p.deps.clock, random_hex=p.deps.random_hex, disk=BadDisk(path))
    async with Palimpsest.open(p.settings.home, store=store) as again:
        (found,) = await findings(again)
        assert found.severity == "damage" and "cannot be read (EIO)" in found.what and found.where == str(path)
        assert "5432" in (await again.load_handoff("Another task")).text
    await store.aclose()


async def test_one_that_was_cut_off_is_named_with_the_sections_it_lacks(p: Palimpsest) -> None:
    path = await written(p)
    text = path.read_text("utf-8")
    path.write_text(text[: text.index("## Skills Applied")], "utf-8")
    (found,) = await findings(p)
    assert found.severity == "note" and "Skills Applied, Pointers" in found.what and found.next


async def test_a_file_of_somebody_else_is_left_alone_and_said(p: Palimpsest, tmp_path: Path) -> None:
    await written(p)
    (tmp_path / "home" / "memory" / "readme.md").write_text("my own notes", "utf-8")
    (found,) = await findings(p)
    assert found.severity == "note" and "no handoff" in found.what and (await p.verify()).ok


async def test_one_of_a_newer_program_says_so(p: Palimpsest) -> None:
    path = await written(p)
    path.write_text(path.read_text("utf-8").replace("format 1;", "format 7;"), "utf-8")
    (found,) = await findings(p)
    assert found.severity == "note" and "format 7" in found.what and "newer" in found.next


async def test_where_none_can_be_read_loading_says_so(p: Palimpsest) -> None:
    (await written(p)).write_bytes(b"\xff")
    with pytest.raises(HandoffUnknown, match="cannot") as raised:
        await p.load_handoff()
    assert "verify" in raised.value.next


async def test_a_store_in_memory_is_looked_at_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    async with Palimpsest.open(tmp_path / "unused", store=MemoryStore()) as p:
        await written(p)
        await p.store.handoffs.add("memory", "2026-11-22-nothing", "no title at all")
        (found,) = [one for one in (await p.verify()).findings if one.severity == "damage"]
        assert found.where == "memory:/memory/2026-11-22-nothing.md"
        assert os.listdir(tmp_path) in ([], ["unused"])
