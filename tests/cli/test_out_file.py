"""Files that the user named are written whole or not at all."""

from __future__ import annotations

import json
import resource
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palimpsest_mcp.cli.out_file import check_out, write_json
from palimpsest_mcp.errors import InvalidArgument, WriteFailed

STRINGS = st.text(st.characters(codec=None, categories=None), max_size=30)
VALUES = st.recursive(st.none() | st.booleans() | st.integers() | STRINGS, lambda inner: st.lists(inner, max_size=4))


@given(VALUES)
@settings(max_examples=60, deadline=None)
def test_what_was_written_reads_back(tmp_path_factory: pytest.TempPathFactory, value: object) -> None:
    path = tmp_path_factory.mktemp("out") / "messages.json"
    write_json(path, value)
    assert json.loads(path.read_bytes()) == value


def test_a_full_disk_leaves_the_old_file_and_no_rest(tmp_path: Path) -> None:
    path = tmp_path / "messages.json"
    write_json(path, ["old"])
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, hard))
    try:
        with pytest.raises(WriteFailed):
            write_json(path, ["x" * 10_000])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert json.loads(path.read_bytes()) == ["old"]
    assert list(tmp_path.iterdir()) == [path]


def test_a_place_that_cannot_become_a_file_is_refused_before_any_work(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument):
        check_out(tmp_path)
    with pytest.raises(InvalidArgument):
        check_out(tmp_path / "missing" / "out.json")
