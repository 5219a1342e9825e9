"""A day on a disk that is full, slow, or may only be read. Linux; the full one is a small tmpfs, which needs root.

In a long run the disk is filled at many points, else at two.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from .conftest import LONG, Tell
from .test_fault_sites import CODES, INTERRUPTED, living, wrong

pytestmark = [pytest.mark.crash, pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")]


@pytest.mark.long
def test_a_day_on_a_disk_that_fills_up_loses_nothing_that_was_acknowledged(tmp_path: Path, tell: Tell) -> None:
    """The disk's size is a share of what an undisturbed day takes."""
    full = 0
    with living(tmp_path / "days") as days:
        home = tmp_path / "whole" / "home"
        days.live(home=str(home), keep=True, again=False)
        used = sum(path.stat().st_size for path in home.rglob("*") if path.is_file())
        shares = [n / 12 for n in range(1, 12)] if LONG else [0.3, 0.8]
        for share in shares:
            disk = tmp_path / f"disk{share:.2f}"
            disk.mkdir()
            size = max(64, int(used * share) // 1024)
            mount = ["mount", "-t", "tmpfs", "-o", f"size={size}k,mode=700", "tmpfs", str(disk)]
            if subprocess.run(mount, capture_output=True, check=False).returncode:
                pytest.skip("no tmpfs can be mounted here: it needs root")
            try:
                outcome = days.live(home=str(disk / "home"), keep=True, again=False)
            finally:
                subprocess.run(["umount", str(disk)], check=True)
            said = dict(outcome["first"]["said"])
            assert set(said.values()) <= CODES, said
            assert not [one for one in outcome["found"]["wrong"] if INTERRUPTED not in one], (share, outcome["found"])
            full += "write_failed" in said.values()
    assert full >= len(shares) // 2, "the disk was never full"
    tell("full disks", full=f"{full} of {len(shares)} sizes", kB_that_a_day_takes=used // 1024)


@pytest.mark.long
def test_a_day_on_a_slow_disk_is_a_day(tmp_path: Path) -> None:
    with living(tmp_path) as days:
        outcome = days.live(flush_s=0.2 if LONG else 0.01, again=False)
    assert not wrong(outcome | {"again": {}, "after": {}}, killed=False)
    assert [step for step, code in outcome["first"]["said"] if code != "ok"] == []


@contextmanager
def only_read(home: Path) -> Generator[None]:
    """By modes; for root, who may write everywhere, by a mount that is read-only."""
    everything = [home, *home.rglob("*")]
    if os.geteuid() == 0:
        for options in (("--bind", str(home), str(home)), ("-o", "remount,ro,bind", str(home))):
            if (done := subprocess.run(["mount", *options], capture_output=True, text=True)).returncode:
                pytest.skip(f"root may write everywhere, and nothing can be mounted here: {done.stderr.strip()}")
        try:
            yield
        finally:
            subprocess.run(["umount", str(home)], check=True)
        return
    for path in everything:
        path.chmod(0o500 if path.is_dir() else 0o400)
    yield
    for path in everything:
        path.chmod(0o700 if path.is_dir() else 0o600)


@pytest.mark.long
@pytest.mark.skipif(os.name != "posix", reason="modes of Windows are others")
def test_a_home_that_may_only_be_read_is_read(tmp_path: Path) -> None:
    with living(tmp_path / "days") as days:
        home = tmp_path / "whole" / "home"
        days.live(home=str(home), keep=True, again=False)
        before = {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}
        with only_read(home):
            outcome = days.live(home=str(home), keep=True, again=False, day=2)
        after = {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}
    said = dict(outcome["first"]["said"])
    assert set(said.values()) <= CODES | {"output_refused"}, said
    assert {said[step] for step in ("find", "give_back", "check", "look")} == {"ok"}, "what only reads works"
    assert said["handoff"] == "write_failed", said
    assert not outcome["found"]["wrong"] and after == before


@pytest.mark.long
def test_few_files_may_be_open(tmp_path: Path) -> None:
    """The limit of the process is lowered until some steps fail."""
    with living(tmp_path) as days:
        for files in (9, 12, 16):
            outcome = days.live(files=files)
            assert not wrong(outcome, killed=False), (files, wrong(outcome, killed=False))
