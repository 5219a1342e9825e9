"""macOS and Windows, simulated: what their system calls answer, and what we make of it."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from palimpsest_mcp.store.real_disk import (
    F_FULLFSYNC,
    FullFlush,
    PatientReplace,
    PosixFlush,
    RealDisk,
    WindowsFlush,
    flush_for,
    replace_for,
)


class Control:
    """A stand-in for `fcntl`: answers with an error, or not at all."""

    def __init__(self, error: int = 0) -> None:
        self.error = error
        self.asked: list[tuple[int, int]] = []

    def __call__(self, fd: int, command: int) -> int:
        self.asked.append((fd, command))
        if self.error:
            raise OSError(self.error, "simulated")
        return 0


def test_macos_asks_for_the_full_flush_and_for_nothing_else() -> None:
    control, plain = Control(), list[int]()
    FullFlush(control, plain.append).file(7)
    assert (control.asked, plain) == ([(7, F_FULLFSYNC)], [])


@pytest.mark.parametrize("code", [errno.ENOTSUP, errno.EINVAL])
def test_macos_takes_the_plain_flush_only_where_there_is_no_full_one(code: int) -> None:
    plain = list[int]()
    FullFlush(Control(code), plain.append).file(7)
    assert plain == [7]


@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC, errno.EBADF])
def test_macos_never_asks_again_after_an_io_error(code: int) -> None:
    plain = list[int]()
    with pytest.raises(OSError):
        FullFlush(Control(code), plain.append).file(7)
    assert plain == []


class Busy:
    """A target that somebody has open for the first few tries."""

    def __init__(self, times: int) -> None:
        self.left = times
        self.done: list[tuple[str, str]] = []

    def __call__(self, source: str, target: str, /) -> None:
        if self.left:
            self.left -= 1
            raise PermissionError(errno.EACCES, "simulated")
        self.done.append((source, target))


def test_windows_replaces_as_soon_as_the_target_is_let_go() -> None:
    busy, slept = Busy(3), list[float]()
    PatientReplace(busy, slept.append)("a", "b")
    assert busy.done == [("a", "b")] and len(slept) == 3 and slept == sorted(slept)


def test_windows_gives_up_with_the_system_s_own_error() -> None:
    slept = list[float]()
    with pytest.raises(PermissionError):
        PatientReplace(Busy(10**9), slept.append)("a", "b")
    assert 0.5 < sum(slept) < 2


def test_other_errors_are_not_waited_for() -> None:
    slept = list[float]()
    with pytest.raises(FileNotFoundError):
        PatientReplace(sleep=slept.append)("/nonexistent/a", "/nonexistent/b")
    assert slept == []


def test_each_platform_gets_its_own() -> None:
    assert isinstance(flush_for("linux"), PosixFlush) and not isinstance(flush_for("linux"), FullFlush)
    assert isinstance(flush_for("darwin"), FullFlush)
    assert isinstance(flush_for("win32"), WindowsFlush)
    assert isinstance(replace_for("win32"), PatientReplace) and not isinstance(replace_for("linux"), PatientReplace)


def test_windows_flushes_no_folder(tmp_path: Path) -> None:
    WindowsFlush().folder(str(tmp_path / "not even there"))


def test_a_store_works_on_each_platform_s_own_parts(tmp_path: Path) -> None:
    for flush in (FullFlush(Control(errno.ENOTSUP)), WindowsFlush(), PosixFlush()):
        disk = RealDisk(flush=flush, replace=PatientReplace())
        name = str(tmp_path / type(flush).__name__)
        fd = disk.create(name)
        assert disk.write(fd, memoryview(b"abc")) == 3
        disk.flush(fd)
        disk.close(fd)
        disk.replace(name, name + "2")
        disk.flush_folder(str(tmp_path))
        assert Path(name + "2").read_bytes() == b"abc"
