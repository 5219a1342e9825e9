"""verify and repair, where something is missing: what it was, what comes back from where, and by which command."""

from __future__ import annotations

import shutil
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.models.advice import in_form
from palimpsest_mcp.models.events import SessionKey
from palimpsest_mcp.models.views import Finding

pytestmark = pytest.mark.anyio
MakeSession = Callable[..., list[dict[str, Any]]]


@pytest.fixture
async def home(tmp_path: Path, session: MakeSession) -> AsyncGenerator[Path]:
    """A store of one compacted session, which nobody has open."""
    async with Palimpsest.open(tmp_path / "home") as p:
        await p.compact_messages(session(16, lines=12), session_id="s", target=0.4, force=True)
    yield tmp_path / "home"


async def verified(home: Path) -> dict[str, Finding]:
    async with Palimpsest.open(home, make=False) as p:
        return {one.where.split(" ")[-1]: one for one in (await p.verify()).findings}


async def test_a_deleted_ledger_is_damage_and_its_archived_originals_are_named(home: Path) -> None:
    shutil.rmtree(home / "session" / "s" / "ledger")
    found = await verified(home)
    (ledger,) = [one for where, one in found.items() if where.startswith("ledger/")]
    assert ledger.severity == "damage" and "is missing: it had" in ledger.what
    assert "--home /elsewhere list" in in_form(ledger.next, "command", "/elsewhere")
    note = found["offload_0001"]
    assert "no line that is left of the ledger says whether" in note.what
    assert "restore" in in_form(note.next, "command") and "offload_0001" in in_form(note.next, "command")


async def test_archived_but_never_committed_is_said_where_the_ledger_is_whole(home: Path) -> None:
    async with Palimpsest.open(home) as p:
        record = await p.record("s", "offload_0001")
        await p.deps.store.archive.append(SessionKey("s"), [replace(record, batch_id="offload_9000")])
    assert "archived but never committed" in (await verified(home))["offload_9000"].what


async def test_a_deleted_session_is_damage_with_what_it_held(home: Path) -> None:
    shutil.rmtree(home / "session" / "s")
    found = await verified(home)
    assert found["session/s"].severity == "damage" and "the whole session is missing" in found["session/s"].what


async def test_another_session_is_not_told_of_it(home: Path, session: MakeSession) -> None:
    async with Palimpsest.open(home) as p:
        await p.compact_messages(session(8, lines=12, seed=1), session_id="t", force=True)
    shutil.rmtree(home / "session" / "s" / "ledger")
    async with Palimpsest.open(home) as p:
        assert (await p.verify("t")).findings == ()
        assert not (await p.verify("s")).ok


async def test_the_list_of_what_was_purged_is_made_again_from_the_ledger(home: Path) -> None:
    async with Palimpsest.open(home) as p:
        await p.purge("s", matching="worker-001-001", dry_run=False)
    path = home / "session" / "s" / "purged.jsonl"
    before = path.read_bytes()
    path.unlink()
    assert (await verified(home))["purged.jsonl"].severity == "damage"
    async with Palimpsest.open(home) as p:
        assert (await p.repair()).ok
        assert (await p.repair(dry_run=False)).mended == 1
        assert (await p.verify()).ok
    assert path.read_bytes() == before


async def test_a_repair_lists_what_is_gone_and_verify_goes_on_to_say_it(home: Path) -> None:
    shutil.rmtree(home / "session" / "s" / "ledger")
    async with Palimpsest.open(home) as p:
        done = await p.repair(dry_run=False)
        assert not done.ok and [one.lost for one in done.repairs if one.what == "is missing"]
        assert not (await p.verify()).ok


async def test_a_handoff_that_was_deleted_by_hand_is_missed_and_one_that_clean_deleted_is_not(home: Path) -> None:
    fields = {"in_progress": ["x"], "facts": ["The port is 5432"]}
    async with Palimpsest.open(home) as p:
        path = Path((await p.write_handoff("s", "import job", fields=fields)).path)
        assert (await p.verify()).findings == ()
        stored = await p.deps.store.handoffs.list()
        assert await p.deps.store.handoffs.archive(stored[0])
        assert (await p.verify()).findings == ()
        (home / "memory" / "archive" / path.name).unlink()
        assert not (await p.verify()).ok


async def test_a_store_of_an_older_program_is_one_note_a_session_until_it_is_repaired(home: Path) -> None:
    shutil.rmtree(home / "witness")
    async with Palimpsest.open(home) as p:
        report = await p.verify()
        assert report.ok and all("without a witness" in one.what for one in report.findings) and report.findings
        assert (await p.repair(dry_run=False)).accepted > 3
        assert (await p.verify()).findings == ()
