"""What the tests of the server share."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest
from mcp import Client

from palimpsest_mcp.core.palimpsest import Palimpsest


@pytest.fixture(autouse=True)
def local(one_authority: None) -> None:
    """All clients are on this machine."""


async def begin(home: Path, *sessions: str) -> None:
    """Start sessions of these ids, as programs do; a tool starts one by `new` only."""
    async with Palimpsest.open(home) as p:
        for session in sessions:
            await p.record_items(session, ())


@pytest.fixture(scope="session")
def store_with_secret(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A store with a compacted session and a secret in it, which nobody changes, and the handle of the session."""
    from .test_resources import compacted
    from .test_tools import server_over

    home = tmp_path_factory.mktemp("secret")

    async def make() -> str:
        async with Client(server_over(home)) as client:
            return await compacted(client)

    return home, asyncio.run(make())


@pytest.fixture
def with_secret(store_with_secret: tuple[Path, str], tmp_path: Path) -> str:
    """The handle of that session in the client's own store."""
    shutil.copytree(store_with_secret[0], tmp_path / "home", dirs_exist_ok=True)
    return store_with_secret[1]
