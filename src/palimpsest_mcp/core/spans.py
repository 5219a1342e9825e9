"""What is done, for which session, and how long it takes: a line of JSON on standard error, and a span and metrics
where the process has a use for them. Names, ids and counts of ours only: nothing that is stored, no path, no id that
a user gave.
"""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from datetime import UTC, datetime
from functools import cache
from typing import Any

from ..errors import PalimpsestError

Counts = dict[str, "int | str"]
_log = logging.getLogger(__name__)
doing: ContextVar[Counts | None] = ContextVar("palimpsest_now", default=None)
"""What is being done now, by its counts: whoever learns for which session it is adds `session`."""
KINDS = ("tool", "event", "status", "error")
"""What tells series of one metric apart: names from lists of ours. A session would give every session series of its
own."""
SUMS = {
    "batches": "{batch}",
    "refused": "{batch}",
    "tokens_offloaded": "{token}",
    "tokens_digests": "{token}",
}
"""Counts that are summed up as metrics, with their units."""
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
"""Buckets of durations; the API's own are meant for milliseconds."""


@contextmanager
def noted(what: str, **known: int | str) -> Generator[Counts]:
    """Log one thing that is done, when it is over; the block adds counts to what it is given.

    A span of the OpenTelemetry API goes with it where somebody imported that API, as the MCP SDK does, and metrics
    where somebody imported those: who installs an SDK for them in the same process sees them.
    """
    outer, counts = doing.get(), dict(known)
    token, begun = doing.set(counts), time.monotonic()
    with _span(f"palimpsest.{what}") as span:
        try:
            yield counts
        except PalimpsestError as error:
            counts["error"] = error.code
            raise
        except BaseException as error:
            counts["error"] = type(error).__name__
            raise
        finally:
            doing.reset(token)
            if outer is not None and "session" in counts:
                outer.setdefault("session", counts["session"])
            seconds = time.monotonic() - begun
            counts["ms"] = round(1_000 * seconds)
            _measure(what, seconds, counts)
            if span is not None:
                span.set_attributes({f"palimpsest.{name}": value for name, value in counts.items()})
            _log.info("%s", what, extra={"counts": counts})


def _span(name: str) -> AbstractContextManager[Any]:
    trace = sys.modules.get("opentelemetry.trace")
    if trace is None:  # a hook does not pay for the import
        return nullcontext()
    # Not the exception itself: its text may quote a session.
    return trace.get_tracer("palimpsest_mcp").start_as_current_span(
        name, record_exception=False, set_status_on_exception=False
    )


def _measure(what: str, seconds: float, counts: Counts) -> None:
    """Metrics of one thing that was done: `palimpsest.operation.duration`, and `palimpsest.<count>` for each of `SUMS`
    that it has."""
    if "opentelemetry.metrics" not in sys.modules:
        return
    kinds = {"operation": what, **{name: counts[name] for name in KINDS if name in counts}}
    duration, sums = instruments()
    duration.record(seconds, kinds)
    for name, total in sums.items():
        if isinstance(value := counts.get(name), int):
            total.add(value, kinds)


@cache
def instruments() -> tuple[Any, dict[str, Any]]:
    """Made once; where a provider is set only later, the API hands their values on to it from then on."""
    meter = sys.modules["opentelemetry.metrics"].get_meter("palimpsest_mcp")
    duration = meter.create_histogram(
        "palimpsest.operation.duration",
        unit="s",
        description="How long a tool, hook, pass or upkeep took.",
        explicit_bucket_boundaries_advisory=SECONDS,
    )
    sums = {
        name: meter.create_counter(f"palimpsest.{name}", unit=unit, description="Summed over passes.")
        for name, unit in SUMS.items()
    }
    return duration, sums


class JsonLines(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        """`ts`, `level`, `what`, and the counts, or the words of a warning."""
        counts: Counts | None = getattr(record, "counts", None)
        said: dict[str, Any] = {
            "ts": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "what": record.getMessage() if counts is not None else record.name.rpartition(".")[2],
        }
        if counts is None:
            said["text"] = self._masked(record)
        return json.dumps(said | (counts or {}))

    def _masked(self, record: logging.LogRecord) -> str:
        from .surface import storeless

        text = record.getMessage()
        if record.exc_info:
            text = f"{text}\n{self.formatException(record.exc_info)}"
        return storeless().text(text)


def log_to_stderr(level: str) -> None:
    """Log ours as JSON lines, from a level on; other programs' loggers stay as they are."""
    ours = logging.getLogger(__name__.partition(".")[0])
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    ours.handlers[:] = [handler]
    ours.setLevel(level)
    ours.propagate = False
