"""What is done, for which session, and how long it takes: a line of JSON on standard error, and a span where the
process traces. Names, ids and counts of ours only: nothing that is stored, no path, no id that a user gave.
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
from typing import Any

from ..errors import PalimpsestError

Counts = dict[str, "int | str"]
_log = logging.getLogger(__name__)
_now: ContextVar[Counts | None] = ContextVar("palimpsest_now", default=None)


@contextmanager
def noted(what: str, **known: int | str) -> Generator[Counts]:
    """Log one thing that is done, when it is over; the block adds counts to what it is given.

    A span of the OpenTelemetry API goes with it where somebody imported that API, as the MCP SDK does: who installs an
    SDK for it in the same process sees it.
    """
    outer, counts = _now.get(), dict(known)
    token, begun = _now.set(counts), time.monotonic()
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
            _now.reset(token)
            if outer is not None and "session" in counts:
                outer.setdefault("session", counts["session"])
            counts["ms"] = round(1_000 * (time.monotonic() - begun))
            if span is not None:
                span.set_attributes({f"palimpsest.{name}": value for name, value in counts.items()})
            _log.info("%s", what, extra={"counts": counts})


def note_session(handle: str) -> None:
    """Whatever is being done now is done for this session."""
    if (counts := _now.get()) is not None:
        counts.setdefault("session", handle)


def _span(name: str) -> AbstractContextManager[Any]:
    trace = sys.modules.get("opentelemetry.trace")
    if trace is None:  # a hook does not pay for the import
        return nullcontext()
    # Not the exception itself: its text may quote a session.
    return trace.get_tracer("palimpsest_mcp").start_as_current_span(
        name, record_exception=False, set_status_on_exception=False
    )


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
