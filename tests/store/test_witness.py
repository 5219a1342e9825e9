"""Witnesses: what is missing is noticed, what is there is never missed, and no append depends on them."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from palimpsest_mcp.ports.store import Flaw
from palimpsest_mcp.store import DiskStore
from palimpsest_mcp.store.home import Home, Witnesses, encoded, witness_of
from palimpsest_mcp.store.real_disk import RealDisk
from palimpsest_mcp.store.segments import encode
from palimpsest_mcp.testing.contract_values import S1, applied, info_of, record

pytestmark = pytest.mark.anyio
DOCS = Path(__file__).resolve().parents[2] / "docs"


def segment(home: Path, kind: str = "ledger") -> Path:
    return sorted((home / "session" / "s1" / kind).glob("*.jsonl"))[0]


def witness_for(home: Path, path: Path) -> Path:
    return home / "witness" / path.relative_to(home)


def files(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


async def fill(home: Path, *, disk: RealDisk | None = None) -> DiskStore:
    store = DiskStore(home, disk=disk)
    await store.ledger.create(S1, info_of(S1))
    await store.ledger.observe(S1, [applied(number) for number in range(5)])
    await store.archive.append(S1, [record("offload_0001"), record("offload_0002")])
    return store


async def damaged(store: DiskStore) -> list[str]:
    return [flaw.where for flaw in await store.flaws() if flaw.severity == "damage"]


async def test_a_store_that_nobody_harmed_has_no_flaw_whoever_wrote_it_last(tmp_path: Path) -> None:
    for _ in range(3):
        store = await fill(tmp_path)
        assert await store.flaws() == ()
        await store.aclose()
        assert await DiskStore(tmp_path).flaws() == ()


HARMS: dict[str, Callable[[Path], object]] = {
    "deleted": lambda path: path.unlink(),
    "emptied": lambda path: path.write_bytes(b""),
    "cut at a line": lambda path: path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1])),
    "cut in a line": lambda path: path.write_bytes(path.read_bytes()[:-7]),
    "without a line": lambda path: path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[1:])),
    "reordered": lambda path: path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[::-1])),
    "foreign": lambda path: path.write_bytes(b"".join(encode(applied(90 + n)) for n in range(6))),
}


@pytest.mark.parametrize("kind", ["ledger", "offloaded"])
@pytest.mark.parametrize("harm", HARMS)
async def test_a_segment_that_is_not_what_was_written_is_damage(tmp_path: Path, kind: str, harm: str) -> None:
    await (await fill(tmp_path)).aclose()
    HARMS[harm](segment(tmp_path, kind))
    (flaw,) = await DiskStore(tmp_path).flaws()
    assert flaw.severity == "damage" and flaw.where.startswith(f"session/s1/{kind}/")


async def test_a_missing_segment_says_how_many_lines_it_had(tmp_path: Path) -> None:
    await (await fill(tmp_path)).aclose()
    segment(tmp_path).unlink()
    (flaw,) = await DiskStore(tmp_path).flaws()
    assert flaw.what == "is missing" and flaw.lines == 6


async def test_a_whole_session_and_a_whole_store_s_sessions_are_missed(tmp_path: Path) -> None:
    await (await fill(tmp_path)).aclose()
    shutil.rmtree(tmp_path / "session")
    assert {where.split("/")[2] for where in await damaged(DiskStore(tmp_path))} == {"ledger", "offloaded"}


async def test_lines_that_were_never_flushed_are_missed_without_alarm(tmp_path: Path) -> None:
    store = await fill(tmp_path)
    before = segment(tmp_path).read_bytes()
    await store.ledger.observe(S1, [applied(7)], durable=False)
    await store.aclose()
    segment(tmp_path).write_bytes(before)
    (flaw,) = await DiskStore(tmp_path).flaws()
    assert flaw.severity == "note" and "not flushed" in flaw.what
    segment(tmp_path).write_bytes(before[:-5])
    assert await damaged(DiskStore(tmp_path))


async def test_a_store_of_an_older_program_is_a_note_until_it_is_accepted(tmp_path: Path) -> None:
    await (await fill(tmp_path)).aclose()
    shutil.rmtree(tmp_path / "witness")
    store = DiskStore(tmp_path)
    await store.ledger.observe(S1, [applied(8)])
    found = await store.flaws()
    assert {flaw.severity for flaw in found} == {"note"} and all(flaw.acceptable for flaw in found)
    assert await store.accept() == len(found)
    assert await store.flaws() == ()
    await store.aclose()
    segment(tmp_path).unlink()
    assert await damaged(DiskStore(tmp_path)) == [f"session/s1/ledger/{witness_names(tmp_path)[0]}"]


def witness_names(home: Path) -> list[str]:
    return sorted(path.name for path in (home / "witness" / "session" / "s1" / "ledger").iterdir())


async def test_what_is_missing_stays_missed_when_the_rest_is_accepted(tmp_path: Path) -> None:
    await (await fill(tmp_path)).aclose()
    segment(tmp_path).unlink()
    store = DiskStore(tmp_path)
    assert await store.accept() == 0
    assert len(await damaged(store)) == 1


@pytest.mark.parametrize("spoil", [b"", b"{}\n", b"\0" * 300])
async def test_a_witness_that_is_gone_or_garbled_is_a_note(tmp_path: Path, spoil: bytes) -> None:
    await (await fill(tmp_path)).aclose()
    witness = witness_for(tmp_path, segment(tmp_path))
    if spoil:
        witness.write_bytes(spoil)
    else:
        witness.unlink()
    (flaw,) = await DiskStore(tmp_path).flaws()
    assert flaw.severity == "note" and "witness" in flaw.what and flaw.acceptable


class NoWitnesses(RealDisk):
    """Has no room for them."""

    def overwrite(self, path: str, data: bytes) -> None:
        raise OSError(28, "no room")


async def test_an_append_does_not_depend_on_its_witness(tmp_path: Path) -> None:
    store = await fill(tmp_path, disk=NoWitnesses())
    assert len((await store.ledger.read(S1)).events) == 6
    assert not await damaged(store)


@pytest.mark.skipif(os.name != "posix", reason="links")
async def test_a_link_in_the_place_of_the_witnesses_is_not_followed(tmp_path: Path) -> None:
    outside, home = tmp_path / "outside", tmp_path / "home"
    await (await fill(home)).aclose()
    shutil.move(home / "witness", outside)
    before = files(outside)
    (home / "witness").symlink_to(outside)
    await (await fill(home)).aclose()
    assert files(outside) == before


async def test_the_store_s_key_is_missed_also_after_a_new_one_was_made(tmp_path: Path) -> None:
    store = await fill(tmp_path)
    await store.secret()
    await store.aclose()
    (tmp_path / "secret").unlink()
    assert await damaged(DiskStore(tmp_path)) == ["secret"]
    await DiskStore(tmp_path).secret()
    assert await damaged(DiskStore(tmp_path)) == ["secret"]
    await DiskStore(tmp_path).accept()
    assert not await damaged(DiskStore(tmp_path))


async def test_a_lost_version_is_missed_and_written_again(tmp_path: Path) -> None:
    await (await fill(tmp_path)).aclose()
    (tmp_path / "VERSION").unlink()
    store = DiskStore(tmp_path)
    assert await damaged(store) == ["VERSION"]
    assert await store.accept() == 1 and await store.flaws() == ()


async def test_the_index_is_missed_and_one_that_is_garbled_is_named(tmp_path: Path) -> None:
    store = await fill(tmp_path)
    await store.search.indexed("", "s1")
    await store.aclose()
    index = tmp_path / "index.sqlite3"
    index.write_bytes(b"no database" * 400)
    (flaw,) = await DiskStore(tmp_path).flaws()
    assert flaw == Flaw(where="index.sqlite3", what=flaw.what, severity="note") and "garbled" in flaw.what
    index.unlink()
    (flaw,) = await DiskStore(tmp_path).flaws()
    assert flaw.where == "index.sqlite3" and flaw.severity == "note"


async def test_looking_for_flaws_writes_nothing(tmp_path: Path) -> None:
    store = await fill(tmp_path)
    await store.search.indexed("", "s1")
    await store.secret()
    await store.aclose()
    for name in ("VERSION", "secret", "session/s1/session.json"):
        (tmp_path / name).unlink()
    before = files(tmp_path)
    await DiskStore(tmp_path).flaws()
    assert files(tmp_path) == before


def test_the_witness_on_the_page_is_the_one_we_write_of_the_page_s_first_event() -> None:
    page = (DOCS / "format.md").read_text("utf-8")
    first = next(line for line in page.split("\n") if line.startswith('{"k":"opened"')) + "\n"
    assert encoded(witness_of(first.encode())).decode() in page


def test_all_witnesses_are_of_one_length(tmp_path: Path) -> None:
    assert len(encoded(witness_of(b""))) == len(encoded(witness_of(b"x\n" * 100_000)))
    home = Home(tmp_path, RealDisk(), secrets.token_hex)
    Witnesses(home.disk, home.root).put_whole(str(tmp_path.parent / "elsewhere"), b"x")
    assert list(tmp_path.iterdir()) == [], "what stands elsewhere has none"
