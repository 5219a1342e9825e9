"""Events for tests: one JSON line each, with as little in it as the test is about."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

NOW = datetime(2026, 4, 22, 12, tzinfo=UTC)
"""What the clock of a test says, unless it says otherwise."""


def event_line(session: str | None = "s1", *, days_ago: float = 0, now: datetime = NOW, **fields: Any) -> bytes:
    """One line of a log, newline included; a success unless `outcome` says otherwise."""
    ts = (now - timedelta(days=days_ago)).isoformat()
    return json.dumps({"ts": ts, "session_id": session, "outcome": "success", **fields}).encode() + b"\n"


def successes(pattern: str, number: int = 3, *, first: int = 0, days_ago: float = 0, **fields: Any) -> bytes:
    """As many sessions in which a pattern won."""
    return b"".join(
        event_line(f"{pattern[:9]}-{first + n}", days_ago=days_ago, winning_pattern=pattern, **fields)
        for n in range(number)
    )


def failures(pattern: str, number: int = 3, *, days_ago: float = 0, **fields: Any) -> bytes:
    """As many sessions in which a pattern was tried and failed."""
    return b"".join(
        event_line(f"{pattern[:9]}-f{n}", days_ago=days_ago, outcome="failure", winning_pattern=pattern, **fields)
        for n in range(number)
    )
