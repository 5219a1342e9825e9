"""The program as a whole: options, exit statuses, terminals, pipes, start-up."""

from __future__ import annotations

import asyncio
import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from palimpsest_mcp import Palimpsest
from palimpsest_mcp.__main__ import main
from palimpsest_mcp.cli import main as entry
from palimpsest_mcp.cli.main import COMMANDS, GROUPS
from palimpsest_mcp.cli.main import program as group
from palimpsest_mcp.errors import PalimpsestError

from ..conftest import first_of

Program = Callable[..., Any]


def started(
    *arguments: str | Path, input: bytes = b"", env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "palimpsest_mcp", *map(str, arguments)]
    return subprocess.run(command, input=input, env=env, capture_output=True, timeout=60, check=False)


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; from palimpsest_mcp.__main__ import main; main(['--help']);"
        "print([name for name in ('mcp', 'pydantic', 'tiktoken', 'msgspec', 'asyncio', 'rich') if name in sys.modules],"
        "file=sys.stderr)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stderr.strip() == "[]" and "compact" in ran.stdout


UNUSED = "palimpsest_mcp.", ("core.compaction", "core.claude_code", "digest.engine", "digest.readers", "llm", "server")


@pytest.fixture(scope="module")
def read_only(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a session of which something was archived."""
    home = tmp_path_factory.mktemp("read-only")

    async def make() -> None:
        async with Palimpsest.open(home) as p:
            text = "\n".join(f"row {n} of the table is {n * 7} wide" for n in range(900))
            items = [{"role": "tool", "tool_name": "Bash", "tool_use_id": f"c{n}", "content": text} for n in range(6)]
            await p.record_items("s1", [{"role": "user", "content": "How wide is it?"}, *items])
            await p.compact_session("s1", force=True, keep_last=3)

    asyncio.run(make())
    return home


@pytest.mark.parametrize(
    "command", first_of(["status", "sessions", "list s1", "show s1", "restore s1 offload_0001"], kept=2)
)
def test_what_only_reads_imports_no_digester_no_host_no_model_and_no_vocabulary(command: str, read_only: Path) -> None:
    said = f"{UNUSED[0]!r}, {UNUSED[1]!r}"
    code = (
        f"import sys; from palimpsest_mcp.__main__ import main; main({command.split()!r}); own, unused = {said};"
        "found = [one for one in sys.modules if one.startswith(tuple(own + name + '.' for name in unused))];"
        "print([*found, *({'tiktoken', 'splintr', 'mcp', 'anthropic', 'pydantic'} & {*sys.modules})], file=sys.stderr)"
    )
    env = {**os.environ, "PALIMPSEST_HOME": str(read_only)}
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
    assert ran.stderr.strip().splitlines()[-1] == "[]"


def test_the_short_help_is_there_for_every_command_and_each_loads() -> None:
    context = group.make_context("palimpsest-mcp", ["status"])
    for name in COMMANDS:
        command = group.get_command(context, name)
        assert command is not None and command.help, name


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_takes_home_and_json(program: Program, name: str) -> None:
    text = program(name, "--help").text
    assert "--home FOLDER" in text and "--json" in text


def test_shared_options_stand_before_or_after_the_command(tmp_path: Path, program: Program) -> None:
    after = program("status", "--home", tmp_path / "other", "--json").json
    assert Path(after["home"]) == (tmp_path / "other").resolve()
    assert program("--json", "status").json["sessions"] == 0


def test_a_usage_error_has_a_code_a_next_step_and_status_2(program: Program) -> None:
    ran = program("compact")
    assert ran.status == 2 and ran.err.startswith("invalid_argument: ") and "\nnext: " in ran.err
    ran = program("nope", "--json")
    assert ran.status == 2 and ran.error.keys() == {"code", "message", "next"}
    assert program("compact", "x", "--target", "much").status == 2


def test_what_nobody_foresaw_is_one_line_without_its_text(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise KeyError("a stored secret")

    monkeypatch.setattr(entry.program, "invoke", broken)
    ran = program("status", "--json")
    assert ran.status == 1 and ran.error["code"] == "internal_error"
    assert "secret" not in ran.err and "PALIMPSEST_LOG_LEVEL=debug" in ran.error["next"]


def test_every_error_has_an_exit_status_of_its_own() -> None:
    found: list[type[PalimpsestError]] = [PalimpsestError]
    for error in found:
        found.extend(error.__subclasses__())
    own = [error for error in found if "code" in vars(error) and error is not PalimpsestError]
    assert len({error.exit_status for error in own}) == len({error.code for error in own}) == len(own)
    assert not {error.exit_status for error in own} & {0, 1, 130}


def test_a_reader_that_goes_away_is_no_error(compacted: str, home: Path) -> None:
    command = [sys.executable, "-m", "palimpsest_mcp", "--home", str(home), "restore", compacted, "offload_0001"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout is not None and running.stderr is not None
        running.stdout.close()
        assert running.stderr.read() == b""
        assert running.wait(60) == 0


def test_an_interrupt_ends_with_130(tmp_path: Path) -> None:
    code = (
        "import os, signal\nfrom palimpsest_mcp.cli import main as entry\n"
        # A job in the background of a shell ignores SIGINT from birth, and CI may be one.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "entry.program.invoke = lambda ctx: os.kill(os.getpid(), signal.SIGINT)\n"
        "raise SystemExit(entry.run(['status'], serve=print))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.returncode == 130 and ran.stderr.startswith("interrupted: ")


@pytest.mark.long
def test_without_arguments_and_terminal_it_is_the_server(tmp_path: Path) -> None:
    hello = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}},
    }
    environment = {**os.environ, "PALIMPSEST_HOME": str(tmp_path)}
    ran = started(input=json.dumps(hello).encode() + b"\n", env=environment)
    assert json.loads(ran.stdout.splitlines()[0])["result"]["serverInfo"]["name"] == "palimpsest"


def test_with_a_terminal_and_no_arguments_it_is_the_help(tmp_path: Path) -> None:
    controller, terminal = os.openpty()
    try:
        ran = subprocess.run([sys.executable, "-m", "palimpsest_mcp"], stdin=terminal, capture_output=True, timeout=60)
    finally:
        os.close(controller)
        os.close(terminal)
    assert ran.returncode == 0 and b"Usage: palimpsest-mcp" in ran.stdout


@pytest.mark.long
def test_a_terminal_gets_bars_and_a_pipe_gets_plain_lines(session_file: Path, tmp_path: Path) -> None:
    arguments = ["--home", str(tmp_path / "h"), "compact", str(session_file), "--force", "--target", "0.4"]
    controller, terminal = os.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "120"}
    command = [sys.executable, "-m", "palimpsest_mcp", *arguments]
    with subprocess.Popen(command, stdout=terminal, stderr=terminal, env=environment) as running:
        os.close(terminal)
        shown = b""
        try:
            while piece := os.read(controller, 65_536):
                shown += piece
        except OSError:  # Linux: the other end is closed
            pass
        assert running.wait(60) == 0
    os.close(controller)
    assert "█".encode() in shown and b"\x1b[" in shown
    plain = started(*arguments).stdout
    assert "█".encode() not in plain and b"\x1b" not in plain


def test_the_interrupt_signal_has_its_usual_number() -> None:
    assert entry.INTERRUPTED == 128 + signal.SIGINT


class Typed(io.TextIOWrapper):
    """What a person typed, and then Ctrl-D."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("command", [("statusline",), ("hook", "Stop"), ("experience", "record", "search-web")])
def test_a_command_that_a_program_should_start_says_so_to_a_person(
    command: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PALIMPSEST_HOME", str(tmp_path))
    typed = b'{"outcome": "success", "hook_event_name": "Stop"}'
    monkeypatch.setattr(sys, "stdin", Typed(io.BytesIO(typed)))
    main(list(command))
    assert capsys.readouterr().err.startswith("waiting: ")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(typed)))
    main(list(command))
    assert "waiting" not in capsys.readouterr().err


def test_every_command_stands_once_in_the_help() -> None:
    assert sorted(name for names in GROUPS.values() for name in names.split()) == sorted(COMMANDS)
