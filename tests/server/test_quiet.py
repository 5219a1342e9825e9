"""Results are read ahead only while nobody waits for an answer."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.server import lifespan

pytestmark = pytest.mark.anyio


async def test_a_server_that_was_just_asked_is_not_quiet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hooks come a few milliseconds apart: what is read between them makes each wait five times as long."""
    async with anyio.create_task_group() as tasks:
        opening = lifespan.OpenOnFirstUse(lambda: Palimpsest.open(tmp_path), tasks)
        await opening.facade()
        monkeypatch.setattr(lifespan, "QUIET_S", 3600.0)
        assert not opening.is_quiet
        monkeypatch.setattr(lifespan, "QUIET_S", 0.0)
        assert opening.is_quiet
        tasks.cancel_scope.cancel()
