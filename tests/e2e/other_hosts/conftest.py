"""The pinned hosts, and users of them. `make e2e` installs them and names their folder in TEST_HOSTS."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from ..claude_code.fake_messages import FakeMessages, by_characters, say
from .driver import NODE, User, tokens_of

FOLDER = os.environ.get("TEST_HOSTS", "")
PROGRAMS = {
    "opencode": "opencode-linux-x64/bin/opencode",
    "pi": ".bin/pi",
    "gemini-cli": ".bin/gemini",
    "codex": "@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here):
            item.add_marker(pytest.mark.e2e)


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The program of a host; skips with the reason where there is none."""
    homes = tmp_path_factory.mktemp("homes")

    def find(host: str) -> Path:
        program = Path(FOLDER) / "node_modules" / PROGRAMS[host]
        if not FOLDER or not program.exists():
            pytest.skip(f"{host} is not installed; `make e2e` gets it from the npm registry")
        environment = {"HOME": str(homes), "PATH": f"{NODE}:{os.environ['PATH']}"}
        try:
            subprocess.run([program, "--version"], env=environment, check=True, capture_output=True, timeout=60)
        except (OSError, subprocess.SubprocessError) as error:
            pytest.skip(f"the installed {host} does not run on this machine: {error}")
        return program

    return find


@pytest.fixture(scope="module", params=["pi", "opencode"])
def user(
    request: pytest.FixtureRequest, programs: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory
) -> Generator[User]:
    """One who has installed what `install HOST` enters, and nothing else."""
    # Pi holds 16,384 tokens back and compacts by itself behind that: a quarter of a window as small as this one.
    counts = by_characters if request.param == "pi" else tokens_of
    api = FakeMessages(rules=[(lambda asked: not asked.body.get("tools"), say("a title"))], tokens_of=counts)
    stop = api.start()
    one = User(request.param, programs(request.param), tmp_path_factory.mktemp(request.param), api)
    one.ours("install", one.host)
    yield one
    stop()
