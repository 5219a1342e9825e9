"""No variable of this machine may lead a test to a real service, or through a proxy."""

from __future__ import annotations

import os

import pytest


@pytest.fixture(autouse=True)
def alone(one_authority: None, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.upper().startswith(("ANTHROPIC_", "PALIMPSEST_")) or name.upper().endswith("_PROXY"):
            monkeypatch.delenv(name)
