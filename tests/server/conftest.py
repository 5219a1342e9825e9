"""What the tests of the server share."""

from __future__ import annotations

from pathlib import Path

import pytest

from palimpsest_mcp.core.palimpsest import Palimpsest


@pytest.fixture(autouse=True)
def local(one_authority: None) -> None:
    """All clients are on this machine."""


async def begin(home: Path, *sessions: str) -> None:
    """Start sessions of these ids, as programs do; a tool starts one by `new` only."""
    async with Palimpsest.open(home) as p:
        for session in sessions:
            await p.record_items(session, ())
