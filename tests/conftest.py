"""Fixtures that every room may use."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real sessions and labs beside the checkout; not part of the project."""
    folder = Path(os.environ.get("PALIMPSEST_SHARED", Path(__file__).resolve().parents[2] / "shared"))
    if not (folder / "data" / "converted").is_dir():
        pytest.skip(f"the shared sessions are not here ({folder}); set PALIMPSEST_SHARED to their folder")
    return folder
