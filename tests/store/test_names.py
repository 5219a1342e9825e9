"""Names on disk."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.models.events import SessionKey
from palimpsest_mcp.store.home import folder_name, segment_name, spare_handle
from palimpsest_mcp.testing.contract_values import HARD_IDS

SAFE_EVERYWHERE = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")


@pytest.mark.parametrize("name", ["s1", "0198f2c4-7d2e-7b3a-9c11-aa42", "a_b", "x" * 64])
def test_a_safe_id_is_its_own_folder(name: str) -> None:
    assert folder_name(SessionKey(name)) == name


@pytest.mark.parametrize("name", [name for name in HARD_IDS if name not in ("abc", "s1")])
def test_any_other_id_becomes_a_hash(name: str) -> None:
    assert re.fullmatch(r"h-[a-z2-7]{32}", folder_name(SessionKey(name)))


@pytest.mark.parametrize("name", ["con", "nul", "aux", "prn", "com1", "lpt9", "com0"])
def test_a_windows_device_is_no_folder(name: str) -> None:
    assert folder_name(SessionKey(name)).startswith("h-")


def test_an_id_that_looks_like_a_hash_cannot_take_the_folder_of_another() -> None:
    taken = folder_name(SessionKey("A"))
    assert folder_name(SessionKey(taken)) != taken


def test_a_principal_always_gives_a_hash_of_both() -> None:
    names = [folder_name(SessionKey("s1", who)) for who in ("", "ann", "anns", "1")]
    assert len({*names, folder_name(SessionKey("1", "anns")), folder_name(SessionKey("3:anns1"))}) == 6


def test_two_spellings_of_one_word_are_two_sessions() -> None:
    """A disk that unifies Unicode forms would give both one folder."""
    assert folder_name(SessionKey("e\u0301")) != folder_name(SessionKey("\u00e9"))


@given(st.text(min_size=1), st.text())
def test_every_folder_name_is_safe_on_every_file_system(session: str, principal: str) -> None:
    assert SAFE_EVERYWHERE.fullmatch(folder_name(SessionKey(session, principal)))


@given(st.lists(st.tuples(st.text(min_size=1, max_size=4), st.text(max_size=4)), unique=True, max_size=20))
def test_no_two_keys_share_a_folder(keys: list[tuple[str, str]]) -> None:
    assert len({folder_name(SessionKey(*key)).lower() for key in keys}) == len(keys)


def test_segments_sort_by_time_whatever_the_offset() -> None:
    early = datetime(2026, 11, 20, 12, 0, tzinfo=timezone(timedelta(hours=5)))
    late = datetime(2026, 11, 20, 8, 0, 0, 1, tzinfo=UTC)
    assert segment_name(early, "9-ff") == "20261120T070000000000Z-9-ff.jsonl" < segment_name(late, "1-aa")


@pytest.mark.parametrize("year", [1970, 9999])
def test_a_wrong_system_date_still_gives_a_name(year: int) -> None:
    assert segment_name(datetime(year, 1, 1, tzinfo=UTC), "1-a").startswith(str(year))


def test_a_spare_handle_has_the_form_of_a_handle() -> None:
    assert re.fullmatch(r"s[a-z2-7]{8}", spare_handle(SessionKey("s1")))
