"""A file that the user named is written whole or not at all, and never over anything that was not given up."""

from __future__ import annotations

import errno
import os
import resource
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.errors import InvalidArgument, OutputRefused, WriteFailed
from palimpsest_mcp.store.out_file import OutFile


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A folder with what every store has."""
    made = tmp_path / "home"
    (made / "session").mkdir(parents=True)
    (made / "VERSION").write_text("1\n")
    (made / "secret").write_bytes(b"s" * 32)
    return made


@given(st.binary(max_size=300))
def test_what_was_written_reads_back_in_a_file_of_its_owner_alone(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    folder = tmp_path_factory.mktemp("out")
    path = folder / "messages.json"
    OutFile(path, home=folder / "home").write(data)
    assert path.read_bytes() == data
    assert path.stat().st_mode & 0o777 == 0o600 and path.stat().st_nlink == 1
    assert list(folder.iterdir()) == [path]


def test_what_exists_is_refused_before_any_work_and_stays(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("mine")
    with pytest.raises(OutputRefused) as refused:
        OutFile(path, home=tmp_path / "home")
    assert "--overwrite" in refused.value.next and str(path) in refused.value.message
    assert path.read_text() == "mine"


def test_a_link_exists_even_where_it_leads_nowhere(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "nowhere")
    with pytest.raises(OutputRefused):
        OutFile(link, home=tmp_path / "home")
    assert link.is_symlink() and not (tmp_path / "nowhere").exists()


def test_what_came_there_during_the_work_stays(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    out = OutFile(path, home=tmp_path / "home")
    with pytest.raises(OutputRefused), out.open() as file:
        file.write(b"new")
        path.write_text("somebody's")
    assert path.read_text() == "somebody's"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("without", [errno.EPERM, errno.EOPNOTSUPP, errno.EMLINK])
def test_what_comes_between_the_last_look_and_the_name_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, without: int
) -> None:
    path = tmp_path / "out.json"

    def somebody_is_quicker(_source: object, target: Path) -> None:
        Path(target).write_text("somebody's")
        raise OSError(without, "no hard links here")

    monkeypatch.setattr(os, "link", somebody_is_quicker)
    with pytest.raises(OutputRefused):
        OutFile(path, home=tmp_path / "home").write(b"new")
    assert path.read_text() == "somebody's"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_system_without_hard_links_gets_the_file_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_links(_source: object, _target: object) -> None:
        raise OSError(errno.EPERM, "no hard links here")

    monkeypatch.setattr(os, "link", no_links)
    OutFile(tmp_path / "out.json", home=tmp_path / "home").write(b"new")
    assert (tmp_path / "out.json").read_bytes() == b"new"
    assert [path.name for path in tmp_path.iterdir()] == ["out.json"]


def test_with_overwrite_a_file_is_replaced_with_its_permissions_and_a_link_stays_a_link(tmp_path: Path) -> None:
    path, link = tmp_path / "out.json", tmp_path / "link"
    path.write_text("old")
    path.chmod(0o640)
    link.symlink_to(path)
    OutFile(link, home=tmp_path / "home", overwrite=True).write(b"new")
    assert link.is_symlink() and path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o640


def test_with_overwrite_other_names_of_the_old_file_keep_the_old_bytes(tmp_path: Path) -> None:
    path, other = tmp_path / "out.json", tmp_path / "other"
    path.write_text("old")
    other.hardlink_to(path)
    OutFile(path, home=tmp_path / "home", overwrite=True).write(b"new")
    assert (path.read_bytes(), other.read_bytes()) == (b"new", b"old")


@pytest.mark.parametrize(
    "name", ["source.json", "hard", "soft", "soft-to-soft", "folder/../source.json", "way/source.json"]
)
def test_the_source_is_not_replaced_by_any_of_its_names(tmp_path: Path, name: str) -> None:
    source = tmp_path / "source.json"
    source.write_text("the only copy")
    (tmp_path / "folder").mkdir()
    (tmp_path / "hard").hardlink_to(source)
    (tmp_path / "soft").symlink_to(source)
    (tmp_path / "soft-to-soft").symlink_to("soft")
    (tmp_path / "way").symlink_to(tmp_path)
    for read in (source, tmp_path / "soft"):
        with pytest.raises(OutputRefused):
            OutFile(tmp_path / name, home=tmp_path / "home", sources=[read], overwrite=True)
    assert source.read_text() == "the only copy"


def test_a_path_that_becomes_the_source_during_the_work_is_not_replaced(tmp_path: Path) -> None:
    source, path = tmp_path / "source.json", tmp_path / "out.json"
    source.write_text("the only copy")
    out = OutFile(path, home=tmp_path / "home", sources=[source], overwrite=True)
    with pytest.raises(OutputRefused), out.open() as file:
        file.write(b"new")
        path.symlink_to(source)
    assert source.read_text() == "the only copy"


def test_a_file_that_has_the_name_of_an_unknown_source_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "night.json"
    OutFile(path, home=tmp_path / "home", source_names=["night.json"], overwrite=True).write(b"free name")
    (tmp_path / "link").symlink_to(path)
    for name in ("night.json", "link"):
        with pytest.raises(OutputRefused):
            OutFile(tmp_path / name, home=tmp_path / "home", source_names=["night.json"], overwrite=True)


@pytest.mark.parametrize("name", ["VERSION", "secret", "new.json", "session/new.json", "session/../new.json"])
@pytest.mark.parametrize("spelled", ["home", "name", "way/home"])
@pytest.mark.parametrize("in_use", ["home", "name", "way/home", "another"])
def test_nothing_is_written_in_a_store_by_whatever_name(
    tmp_path: Path, store: Path, name: str, spelled: str, in_use: str
) -> None:
    (tmp_path / "name").symlink_to(store)
    (tmp_path / "way").symlink_to(tmp_path)
    before = sorted(path.relative_to(store) for path in store.rglob("*"))
    with pytest.raises(OutputRefused, match="store"):
        OutFile(tmp_path / spelled / name, home=tmp_path / in_use, overwrite=True)
    assert sorted(path.relative_to(store) for path in store.rglob("*")) == before
    assert (store / "VERSION").read_text() == "1\n"


def test_a_link_into_a_store_is_in_the_store(tmp_path: Path, store: Path) -> None:
    (tmp_path / "inner").symlink_to(store / "session")
    (tmp_path / "version").symlink_to(store / "VERSION")
    for name in ("inner/x", "version"):
        with pytest.raises(OutputRefused, match="store"):
            OutFile(tmp_path / name, home=store, overwrite=True)


def test_a_store_that_is_still_to_be_made_has_its_place_kept_free(tmp_path: Path) -> None:
    for home in (tmp_path / "new", tmp_path / "new" / "deeper" / "home"):
        with pytest.raises(OutputRefused, match="store"):
            OutFile(tmp_path / "new", home=home)


def test_a_place_that_cannot_become_a_file_is_refused_before_any_work(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing" / "out.json", tmp_path / ("long" * 100)):
        with pytest.raises(InvalidArgument):
            OutFile(path, home=tmp_path / "home")


def test_what_is_no_plain_file_is_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "null").symlink_to("/dev/null")
    for name in ("pipe", "null"):
        with pytest.raises(OutputRefused):
            OutFile(tmp_path / name, home=tmp_path / "home", overwrite=True)


def test_a_link_that_leads_nowhere_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(OutputRefused, match="nowhere"):
        OutFile(tmp_path / "link", home=tmp_path / "home", overwrite=True)
    assert [path.name for path in tmp_path.iterdir()] == ["link"]


def test_where_a_source_stands_another_name_is_advised(tmp_path: Path) -> None:
    source = tmp_path / "source.json"
    source.write_text("the only copy")
    for sources, names in (([source], []), ([], ["source.json"])):
        with pytest.raises(OutputRefused) as refused:
            OutFile(source, home=tmp_path / "home", sources=sources, source_names=names)
        assert "--overwrite" not in refused.value.next


def test_a_full_disk_leaves_the_old_file_and_no_rest(tmp_path: Path) -> None:
    path = tmp_path / "messages.json"
    path.write_text("old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, hard))
    try:
        with pytest.raises(WriteFailed):
            OutFile(path, home=tmp_path / "home", overwrite=True).write(b"x" * 10_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_what_is_cut_short_by_an_error_gets_no_name(tmp_path: Path) -> None:
    with pytest.raises(KeyError), OutFile(tmp_path / "out.json", home=tmp_path / "home").open() as file:
        file.write(b"half")
        raise KeyError
    assert not list(tmp_path.iterdir())
