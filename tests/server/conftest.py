"""What the tests of the server share."""

from __future__ import annotations

from pathlib import Path

from palimpsest_mcp.core.palimpsest import Palimpsest


async def begin(home: Path, *sessions: str) -> None:
    """Start sessions of these ids, as programs do; a tool starts one by `new` only."""
    async with Palimpsest.open(home) as p:
        for session in sessions:
            await p.record_items(session, ())
