"""What the pools of a process tell whoever measures it, by the names that OpenTelemetry has for clients of databases.

Nothing is measured where nobody imported the metrics API, and nothing but numbers is told.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, Protocol

POOL = {"db.client.connection.pool.name": "palimpsest"}
SECONDS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30)
"""Buckets of waits."""


class Counted(Protocol):
    """A pool, as it stands now."""

    most: int
    used: int
    waiting: int

    @property
    def idle(self) -> int: ...


_POOLS: set[Counted] = set()


def begin(pool: Counted) -> None:
    """Count a pool from now on."""
    _POOLS.add(pool)
    _instruments_if_any()


def end(pool: Counted) -> None:
    """Count it no more."""
    _POOLS.discard(pool)


def note_wait(seconds: float) -> None:
    """A caller waited so long for its turn."""
    if (wait := _instruments_if_any()) is not None:
        wait.record(seconds, POOL)


def _instruments_if_any() -> Any:
    return instruments() if "opentelemetry.metrics" in sys.modules else None


@cache
def instruments() -> Any:
    """Made once; what is not a count of now is recorded with what comes back: the histogram of waits."""
    metrics = sys.modules["opentelemetry.metrics"]
    meter = metrics.get_meter("palimpsest_mcp")

    def of(count: Callable[[Counted], int], **kinds: str) -> Any:
        known = {**POOL, **{f"db.client.connection.{name}": value for name, value in kinds.items()}}
        return metrics.Observation(sum(map(count, tuple(_POOLS))), known)

    def connections(_: object) -> Iterator[Any]:
        yield of(lambda pool: pool.used, state="used")
        yield of(lambda pool: pool.idle, state="idle")

    def most(_: object) -> list[Any]:
        return [of(lambda pool: pool.most)]

    def waiting(_: object) -> list[Any]:
        return [of(lambda pool: pool.waiting)]

    observed = meter.create_observable_up_down_counter
    observed("db.client.connection.count", [connections], unit="{connection}", description="Connections that are open.")
    observed(
        "db.client.connection.max",
        [most],
        unit="{connection}",
        description="Most connections that may be open.",
    )
    observed(
        "db.client.connection.pending_requests",
        [waiting],
        unit="{request}",
        description="Callers that wait for a connection.",
    )
    return meter.create_histogram(
        "db.client.connection.wait_time",
        unit="s",
        description="How long callers waited for a connection.",
        explicit_bucket_boundaries_advisory=SECONDS,
    )
