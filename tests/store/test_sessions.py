"""Who a session is, when `session.json` or the ledger's first line is not there to say it."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest

from palimpsest_mcp.models.events import Replaced, SessionKey
from palimpsest_mcp.store import DiskStore
from palimpsest_mcp.store.home import folder_name, spare_handle
from palimpsest_mcp.store.segments import encode
from palimpsest_mcp.testing.contract_values import S1, applied, info_of, record

pytestmark = pytest.mark.anyio

ANN = SessionKey("Session/1", "ann")


async def created(home: Path, key: SessionKey = S1) -> Path:
    """A store with one session; returns the session's folder."""
    store = DiskStore(home)
    await store.ledger.create(key, info_of(key))
    await store.aclose()
    return home / "session" / folder_name(key)


@pytest.mark.parametrize("garbage", [b"", b"{", b"{}", b"\0" * 60, b'{"session_id":"s1","handle":"sxxxx"}', b"[1]\n"])
async def test_a_garbled_cache_is_made_again_from_the_ledger(tmp_path: Path, garbage: bytes) -> None:
    cache = await created(tmp_path) / "session.json"
    good = cache.read_bytes()
    cache.write_bytes(garbage)
    store = DiskStore(tmp_path)
    assert await store.ledger.sessions() == (info_of(S1),)
    assert await store.ledger.info(S1) == info_of(S1)
    assert cache.read_bytes() == good


@pytest.mark.parametrize("key", [S1, ANN])
async def test_a_lost_cache_is_made_again_from_the_ledger(tmp_path: Path, key: SessionKey) -> None:
    cache = await created(tmp_path, key) / "session.json"
    cache.unlink()
    store = DiskStore(tmp_path)
    assert await store.ledger.sessions(key.principal) == (info_of(key),)
    assert await store.ledger.info(key) == info_of(key) and cache.exists()


@pytest.mark.parametrize("what", ["link", "folder", "pipe"])
async def test_a_planted_cache_is_not_followed(tmp_path: Path, what: str) -> None:
    cache = await created(tmp_path / "home") / "session.json"
    (tmp_path / "outside").write_bytes(encode(info_of(S1, created="1999-01-01T00:00:00Z")))
    cache.unlink()
    {
        "link": lambda: cache.symlink_to(tmp_path / "outside"),
        "folder": cache.mkdir,
        "pipe": lambda: os.mkfifo(cache),
    }[what]()
    before = (tmp_path / "outside").read_bytes()
    assert await DiskStore(tmp_path / "home").ledger.info(S1) == info_of(S1)
    assert (tmp_path / "outside").read_bytes() == before


async def test_the_cache_of_another_session_is_not_believed(tmp_path: Path) -> None:
    folder = await created(tmp_path)
    other = await created(tmp_path, SessionKey("s2"))
    (folder / "session.json").write_bytes((other / "session.json").read_bytes())
    store = DiskStore(tmp_path)
    assert await store.ledger.info(S1) == info_of(S1)
    assert {info.session_id for info in await store.ledger.sessions()} == {"s1", "s2"}


async def test_without_its_first_line_a_session_is_what_the_cache_says(tmp_path: Path) -> None:
    folder = await created(tmp_path)
    (segment,) = (folder / "ledger").iterdir()
    segment.write_bytes(b"garbled\n")
    store = DiskStore(tmp_path)
    assert await store.ledger.info(S1) == info_of(S1)
    assert await store.ledger.create(S1, info_of(S1, created="2030-01-01T00:00:00Z")) == info_of(S1)


@pytest.mark.parametrize("key", [S1, SessionKey("Not A Safe Name")])
async def test_without_both_its_id_comes_from_its_records(tmp_path: Path, key: SessionKey) -> None:
    store = DiskStore(tmp_path)
    await store.archive.append(key, [record("offload_0001", key=key)])
    (info,) = await DiskStore(tmp_path).ledger.sessions()
    assert (info.session_id, info.handle) == (key.session_id, spare_handle(key))


async def test_without_both_its_id_comes_from_a_pass_of_it(tmp_path: Path) -> None:
    key = SessionKey("Not A Safe Name")
    store = DiskStore(tmp_path)
    await store.ledger.decide(key, [Replaced(pass_id="p", session_id=key.session_id, batches=())], after_rev=0)
    assert [info.session_id for info in await DiskStore(tmp_path).ledger.sessions()] == [key.session_id]


async def test_a_record_that_names_another_session_does_not_name_the_folder(tmp_path: Path) -> None:
    key = SessionKey("Not A Safe Name")
    store = DiskStore(tmp_path)
    await store.archive.append(key, [record("offload_0001", key=key)])
    (segment,) = (tmp_path / "session" / folder_name(key) / "offloaded").iterdir()
    segment.write_bytes(encode(record("offload_0001", key=SessionKey("Liar"))))
    assert await DiskStore(tmp_path).ledger.sessions() == ()


async def test_a_folder_that_nothing_was_written_to_is_no_session(tmp_path: Path) -> None:
    await created(tmp_path)
    (tmp_path / "session" / "empty" / "ledger").mkdir(parents=True)
    (tmp_path / "session" / ("h-" + "a" * 32)).mkdir()
    (tmp_path / "session" / "stray.txt").write_text("x")
    assert await DiskStore(tmp_path).ledger.sessions() == (info_of(S1),)


async def test_a_session_is_created_even_after_it_was_written_to(tmp_path: Path) -> None:
    store = DiskStore(tmp_path)
    await store.ledger.observe(S1, [applied(1)])
    assert await store.ledger.create(S1, info_of(S1)) == info_of(S1)
    (tmp_path / "session" / "s1" / "session.json").unlink()
    assert await DiskStore(tmp_path).ledger.info(S1) == info_of(S1)


async def test_half_a_surrogate_pair_in_an_info_survives(tmp_path: Path) -> None:
    info = msgspec.structs.replace(info_of(S1), project="half \ud83d", source="null")
    await DiskStore(tmp_path).ledger.create(S1, info)
    assert await DiskStore(tmp_path).ledger.info(S1) == info
