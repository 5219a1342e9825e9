"""The labelled sets are modules of this folder, which is no package."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from palimpsest_mcp.text.redaction.redactor import RuleRedactor, open_redactor

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session")
def redactor() -> RuleRedactor:
    return open_redactor(b"k" * 32)
