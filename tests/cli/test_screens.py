"""What a person sees: one screen for a report, signs of life, and colours that mean one thing."""

from __future__ import annotations

import io
import re
import sys
import textwrap
import threading
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import click
import pytest

from palimpsest_mcp.cli import face
from palimpsest_mcp.cli.main import run
from palimpsest_mcp.cli.screen import COLOURS

Program = Callable[..., Any]
LINES, CELLS = 24, 80
CODES = {"green": "32", "yellow": "33", "red": "31", "cyan": "36", "dim": "2"}


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def no_server(*_: object) -> int:
    raise AssertionError("nothing here may serve")


def seen(home: Path, monkeypatch: pytest.MonkeyPatch, *arguments: str, colours: bool = False) -> str:
    """What one command shows on a terminal of 80 cells."""
    terminal = Terminal()
    with monkeypatch.context() as patched:
        patched.setenv("COLUMNS", str(CELLS))
        patched.setenv("PAGER", "cat")
        patched.setenv("TERM", "xterm-256color")
        if colours:
            patched.delenv("NO_COLOR", raising=False)
        else:
            patched.setenv("NO_COLOR", "1")
        patched.setattr(sys, "stdout", terminal)
        assert run(["--home", str(home), *arguments], serve=no_server) == 0
    return terminal.getvalue()


def screen_lines(text: str, home: Path) -> int:
    """As a terminal wraps them, with paths as short as a user's own."""
    plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", text)
    plain = re.sub(r" --home \S+", "", plain).replace(str(home.parent) + "/", "")
    return sum(max(1, len(textwrap.wrap(line, CELLS))) for line in plain.splitlines())


def test_a_report_fits_one_screen_and_verbose_has_the_rest(
    home: Path, session_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    common = ("compact", str(session_file), "--window", "40000", "--force", "--target", "0.4")
    plan = seen(home, monkeypatch, *common, "--dry-run")
    short = seen(home, monkeypatch, *common, "--session", "short")
    long = seen(home, monkeypatch, *common, "--session", "long", "--verbose")
    assert screen_lines(plan, home) <= LINES
    assert screen_lines(short, home) <= LINES
    for word in ("before", "after", "batch", "cache", "probes", "apply:", "undo:", "restore:"):
        assert word in short and word in long, word
    for word in ("policy", "stayed", "filled by", "compression", "form"):
        assert word in long and word not in short, word


def test_a_report_of_many_batches_fits_one_screen_and_counts_those_it_does_not_show(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = str(files("palimpsest_mcp.demo") / "coding_session.json")
    monkeypatch.chdir(home.parent)
    report = seen(home, monkeypatch, "compact", file, "--force", "--session", "many", "--out", "short.json")
    assert screen_lines(report, home) <= LINES
    shown = len(re.findall(r"^offload_\d+ ", report, re.MULTILINE))
    more = re.search(r"^… (\d+) more batches: ", report, re.MULTILINE)
    listed = seen(home, monkeypatch, "list", "many")
    assert more is not None and shown + int(more[1]) == len(re.findall(r"^offload_\d+ ", listed, re.MULTILINE)) >= 10


def test_what_fills_a_window_fits_one_screen(home: Path, compacted: str, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = seen(home, monkeypatch, "show", compacted)
    assert screen_lines(shown, home) <= LINES + 6  # a map, and ten items
    assert "filled by" not in shown and "filled by" in seen(home, monkeypatch, "show", compacted, "--verbose")


@pytest.mark.long
def test_the_demo_says_it_in_one_screen(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert screen_lines(seen(home, monkeypatch, "demo"), home) <= LINES + 6


def test_no_colour_comes_out_where_it_is_not_wanted(
    home: Path, compacted: str, monkeypatch: pytest.MonkeyPatch, program: Program
) -> None:
    for command in (("show", compacted), ("diff", compacted, "offload_0001"), ("doctor",)):
        assert not re.search(r"\x1b\[[0-9;]*3[0-9]", seen(home, monkeypatch, *command)), command
        assert "\x1b" not in program(*command).text, command
        assert re.search(r"\x1b\[[0-9;]*m", seen(home, monkeypatch, *command, colours=True)), command


def test_a_colour_means_one_thing(home: Path, compacted: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(COLOURS.values()) == set(CODES)
    digest = seen(home, monkeypatch, "diff", compacted, "offload_0001", colours=True)
    used = set(re.findall(r"\x1b\[([0-9;]+)m", digest)) - {"0"}
    assert used == {CODES[COLOURS["digest"]], CODES[COLOURS["apart"]]}
    for line in digest.splitlines():
        for coloured in re.findall(r"\x1b\[36m(.*?)\x1b\[0m", line):
            assert coloured in line.split("│", 1)[1]  # right of the line stands the digest
    checks = seen(home, monkeypatch, "doctor", colours=True)
    marked = set(re.findall(r"\x1b\[(\d+)m(ok|warn|fail) *\x1b", checks))
    assert marked <= {("32", "ok"), ("33", "warn"), ("31", "fail")} and ("32", "ok") in marked


def told_while(wanted: bool, terminal: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> str:
    """What stderr has once a command called `slow` worked for longer than anybody is patient."""
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(face, "PATIENCE_S", 0.0)
    shown = threading.Event()
    before = terminal.write

    def write(text: str) -> int:
        written = before(text)
        if "slow" in terminal.getvalue():
            shown.set()
        return written

    monkeypatch.setattr(terminal, "write", write)
    with click.Context(click.Command("slow"), info_name="slow"), face.patience(wanted=wanted):
        if wanted and terminal.isatty():
            assert shown.wait(20)
    return terminal.getvalue()


def test_what_takes_longer_than_half_a_second_says_that_it_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    assert face.PATIENCE_S == 0.5
    monkeypatch.setenv("TERM", "xterm")
    assert "slow" in told_while(True, Terminal(), monkeypatch)


def test_nothing_is_told_to_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    assert told_while(True, io.StringIO(), monkeypatch) == ""
    assert told_while(False, Terminal(), monkeypatch) == ""
