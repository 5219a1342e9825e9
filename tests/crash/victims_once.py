"""Victims that do one thing and end: rewrite, migrate, repair, purge, pack, backup, import.

Each first has an item of its own acknowledged, on a disk that nothing happens to; the kill comes in a call after it.
"""

from __future__ import annotations

import json
import shutil
from typing import Any

from victim import OLD, SECRET, Check, Kind, Place, Told, Work, fill, is_filled, is_whole, session_of

from palimpsest_mcp.core.palimpsest import Palimpsest


def after_an_item(work: Work) -> Work:
    """The work, and before it an item that must not be lost by it."""

    async def run(place: Place) -> None:
        disk, place.disk = place.disk, None
        async with place.open() as p:
            await p.record_items("before", [{"id": "mine", "role": "user", "content": "It was told first."}])
        place.tell("item")
        place.disk = disk
        await work(place)

    return run


async def has_the_item(p: Palimpsest, told: Told) -> None:
    """Where it was acknowledged."""
    if ["item"] in told:
        assert [item.item_id for item in (await p.show_context("before")).items] == ["mine"], "an item is lost"


def and_the_item(check: Check) -> Check:
    """The check, and then that the item is there."""

    async def run(place: Place, told: Told) -> None:
        await check(place, told)
        async with place.open() as p:
            await has_the_item(p, told)

    return run


async def write_transcript(place: Place) -> None:
    rows: list[dict[str, Any]] = []
    for one in session_of(16):
        row = {"type": one["role"], "uuid": f"u{len(rows)}", "parentUuid": rows[-1]["uuid"] if rows else None}
        message = {**one, "id": f"m{len(rows)}", "model": "claude-opus-5-5"} if one["role"] == "assistant" else one
        rows.append({**row, "sessionId": OLD, "cwd": "/p", "message": message})
    (place.folder / "projects").mkdir()
    (place.folder / "projects" / f"{OLD}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


async def rewrite(place: Place) -> None:
    async with place.open() as p:
        done = await p.rewrite_session(place.folder / "projects" / f"{OLD}.jsonl")
        assert done.file is not None
        place.tell("file", str(done.file))


async def check_rewritten(place: Place, told: Told) -> None:
    folder, source = place.folder / "projects", place.folder / "projects" / f"{OLD}.jsonl"
    whole = source.read_text()
    written = [path for path in folder.glob("*.jsonl") if path != source]
    assert {words[0] for kind, *words in told if kind == "file"} <= {str(path) for path in written}
    async with place.open() as p:
        for again in (False, True):
            for path in written:
                rows = [json.loads(line) for line in path.read_text().splitlines()]
                shown = [row["message"] for row in rows if row.get("type") in ("user", "assistant")]
                messages = [{key: one[key] for key in ("role", "content")} for one in shown]
                assert await p.expand_messages(messages, session_id=path.stem) == session_of(16), "half a session"
            await is_whole(p)
            if not again:
                done = await p.rewrite_session(source)
                assert done.file is not None and source.read_text() == whole
                written = [done.file]


async def grow_old(place: Place) -> None:
    """As an older program left it: another format, no witnesses, and other users may read it."""
    await fill(place)
    (place.home / "VERSION").write_text("0\n")
    shutil.rmtree(place.home / "witness")
    for path in place.home.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)


async def migrate(place: Place) -> None:
    async with place.open() as p:
        await p.migrate(dry_run=False)
        place.tell("done")


async def check_migrated(place: Place, told: Told) -> None:
    async with place.open() as p:
        await is_whole(p)
        await is_filled(p)
        done = await p.migrate()
        assert ["done"] not in told or not done.changes, done.changes
        await p.migrate(dry_run=False)
        left = (*(await p.migrate()).changes, *(await p.verify()).findings, *(await p.store.flaws()))
        assert not left, left
        await is_filled(p)


async def be_harmed(place: Place) -> None:
    """Originals changed on the disk, and a segment cut off: the ledger holds the same texts."""
    await fill(place)
    for path in sorted(place.home.glob("session/s/offloaded/*.jsonl")):
        data = bytearray(path.read_bytes())
        data[data.index(b'"result":"') + 200] ^= 4
        path.write_bytes(data[:-1])


async def repair(place: Place) -> None:
    async with place.open() as p:
        await p.repair(dry_run=False)
        place.tell("done")


async def check_repaired(place: Place, told: Told) -> None:
    async with place.open() as p:
        if ["done"] in told:
            await is_whole(p)
        await p.repair(dry_run=False)
        await is_whole(p)
        await is_filled(p)
        assert not (await p.repair()).repairs


async def purge(place: Place) -> None:
    async with place.open() as p:
        await p.purge(matching=SECRET, dry_run=False)
        place.tell("done")


async def check_purged(place: Place, told: Told) -> None:
    async with place.open() as p:
        await is_whole(p, but="purge was interrupted" if ["done"] not in told else "nothing")
        if place.number % 2:
            await p.purge(matching=SECRET, dry_run=False)
        else:
            await p.repair(dry_run=False)
            await p.purge(matching=SECRET, dry_run=False)
        await is_whole(p)
        await is_filled(p, purged=True)
    holders = [path.name for path in place.home.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()]
    assert not holders, holders


async def pack(place: Place) -> None:
    async with place.open() as p:
        await p.pack()
        place.tell("done")


async def check_packed(place: Place, told: Told) -> None:
    for _ in range(2):
        async with place.open() as p:
            await is_whole(p)
            await is_filled(p)
            await p.pack()


async def back_up(place: Place) -> None:
    async with place.open() as p:
        await p.backup(place.folder / "copy")
        place.tell("done")


async def check_backed_up(place: Place, told: Told) -> None:
    copy = place.folder / "copy"
    assert copy.exists() or ["done"] not in told
    if not copy.exists():
        async with place.open() as p:
            await is_whole(p)
            await p.backup(copy)
    async with Palimpsest.open(copy) as p:
        await is_whole(p)
        await is_filled(p)
        await has_the_item(p, told)


async def export(place: Place) -> None:
    await fill(place)
    async with place.open() as p:
        await p.purge("other", matching=f"{SECRET} 0", dry_run=False)
        with (place.folder / "exported").open("wb") as file:
            await p.export_sessions(["s", "other"], file)
    shutil.rmtree(place.home)


async def take_in(place: Place) -> None:
    async with place.open() as p:
        await p.import_sessions(place.folder / "exported")
        place.tell("done")


async def check_taken_in(place: Place, told: Told) -> None:
    async with place.open() as p:
        await is_whole(p)
        if ["done"] in told:
            await is_filled(p, purged=True)
        await p.import_sessions(place.folder / "exported")
        await is_whole(p)
        await is_filled(p, purged=True)


def _once(work: Work, check: Check, prepare: Work) -> Kind:
    return Kind(and_the_item(check), (after_an_item(work),), prepare, rounds=1)


ONCE: dict[str, Kind] = {
    "rewrite": _once(rewrite, check_rewritten, write_transcript),
    "migrate": _once(migrate, check_migrated, grow_old),
    "repair": _once(repair, check_repaired, be_harmed),
    "purge": _once(purge, check_purged, fill),
    "pack": _once(pack, check_packed, fill),
    "backup": _once(back_up, check_backed_up, fill),
    "import": _once(take_in, check_taken_in, export),
}
