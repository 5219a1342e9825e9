"""The program run in this process on a home of its own, and session files to feed it."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from palimpsest_mcp.cli.main import run


@dataclass(frozen=True)
class Ran:
    """What one command left behind."""

    status: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        return self.out.decode()

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def error(self) -> dict[str, str]:
        """The error that `--json` prints."""
        return json.loads(self.err)


Program = Callable[..., Ran]


def no_server(*_: object) -> int:
    raise AssertionError("nothing here may serve")


def quietly(home: Path, *arguments: str | Path) -> Ran:
    """Run one command where no test captures what is printed: for what many tests share."""
    out, err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        status = run(["--home", str(home), *map(str, arguments)], serve=no_server)
    out.flush()
    return Ran(status, out.buffer.getvalue(), err.getvalue())


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def program(home: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> Program:
    """Run one command; no traceback may ever come out of it."""

    def call(*arguments: str | Path) -> Ran:
        capsysbinary.readouterr()
        status = run(["--home", str(home), *map(str, arguments)], serve=no_server)
        out, err = capsysbinary.readouterr()
        assert b"Traceback" not in err
        return Ran(status, out, err.decode())

    return call


def log_of(number: int) -> str:
    """A tool result of some 1,000 tokens."""
    rows = (
        f"2026-03-{1 + number % 28:02d}T10:{row:02d}:00Z INFO wrote /var/data/part-{number}-{row}.bin "
        f"{number * 1000 + row} bytes in {row}.{number} ms"
        for row in range(30)
    )
    return "\n".join(
        [f"job {number} started", *rows, f"ERROR E{4000 + number}: checksum differs in part-{number}-7", ""]
    )


def conversation(calls: int = 16) -> list[dict[str, Any]]:
    """An Anthropic-style list: a question, `calls` tool calls with their results, a last word."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Why does the nightly job fail? Ticket OPS-77."}]
    for number in range(calls):
        use = {"type": "tool_use", "id": f"toolu_{number}", "name": "read_log", "input": {"job": number}}
        result = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": log_of(number)}
        messages.append({"role": "assistant", "content": [{"type": "text", "text": f"Step {number}."}, use]})
        messages.append({"role": "user", "content": [result]})
    return [*messages, {"role": "assistant", "content": "Part 7 is damaged in every job."}]


@pytest.fixture
def messages() -> list[dict[str, Any]]:
    return conversation()


@pytest.fixture
def session_file(tmp_path: Path, messages: list[dict[str, Any]]) -> Path:
    path = tmp_path / "night.json"
    path.write_text(json.dumps(messages), encoding="utf-8")
    return path


COMPACT = ("--force", "--target", "0.4", "--keep-last", "3", "--json")


@pytest.fixture(scope="session")
def compacted_home(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A store with a compacted session, which nobody changes, and the handle of that."""
    folder = tmp_path_factory.mktemp("compacted")
    (folder / "night.json").write_text(json.dumps(conversation()), encoding="utf-8")
    ran = quietly(folder / "home", "compact", folder / "night.json", *COMPACT)
    assert ran.status == 0, ran.err
    return folder / "home", ran.json["handle"]


@pytest.fixture
def compacted(request: pytest.FixtureRequest, home: Path) -> str:
    """The handle of a session that has been compacted."""
    if "session_file" in request.fixturenames:  # a file is its session by its place, so that only its own store has it
        ran = request.getfixturevalue("program")("compact", request.getfixturevalue("session_file"), *COMPACT)
        assert ran.status == 0, ran.err
        return ran.json["handle"]
    made, handle = request.getfixturevalue("compacted_home")
    shutil.copytree(made, home, dirs_exist_ok=True)
    return handle
