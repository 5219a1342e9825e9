"""The pinned client, and users of it. `make e2e` installs it and names its folder in TEST_CLAUDE_CODE."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from .driver import Client
from .fake_messages import FakeMessages
from .terminal import Terminal


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here):
            item.add_marker(pytest.mark.e2e)


FOLDER = os.environ.get("TEST_CLAUDE_CODE", "")


@pytest.fixture(scope="module", autouse=True)
def own_variables_only() -> Generator[None]:
    """What these tests open in their own process reads no setting of this machine, nor the names of test folders."""
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.startswith("PALIMPSEST_"):
                patch.delenv(name)
        yield


@pytest.fixture(scope="session")
def program() -> Path:
    """The client's program."""
    found = sorted((Path(FOLDER) / "node_modules" / "@anthropic-ai").glob("claude-code-*/claude")) if FOLDER else []
    if not found:
        pytest.skip("Claude Code is not installed; `make e2e` gets it from the npm registry")
    reasons: list[str] = []
    for one in found:
        try:
            subprocess.run([one, "--version"], check=True, capture_output=True, timeout=60)
        except (OSError, subprocess.SubprocessError) as error:
            reasons.append(str(error))
        else:
            return one
    pytest.skip(f"the installed Claude Code does not run on this machine: {'; '.join(reasons)}")


@pytest.fixture(scope="module")
def users(program: Path, tmp_path_factory: pytest.TempPathFactory) -> Generator[Callable[[str], Client]]:
    """Makes users of the client: each with a home, a store and an API of its own."""
    stops: list[Callable[[], None]] = []

    def make(name: str) -> Client:
        api = FakeMessages()
        stops.append(api.start())
        return Client(program, tmp_path_factory.mktemp(name), api)

    yield make
    for stop in stops:
        stop()


@pytest.fixture
def client(users: Callable[[str], Client]) -> Client:
    """A user who has the plugin and nothing else."""
    return users("user")


@pytest.fixture
def terminal(tmp_path: Path) -> Generator[Callable[..., Terminal]]:
    """Opens the interactive client in a terminal of its own: `terminal(client, *flags)`."""
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed; the interactive client needs a terminal")
    opened: list[Terminal] = []

    def open_one(client: Client, *flags: str) -> Terminal:
        opened.append(Terminal(client, tmp_path / f"tmux-{len(opened)}", *flags))
        return opened[-1]

    yield open_one
    for one in opened:
        one.close()
