"""What every use case is given: the store, the pure engines' partners, clock and chance. Built once, in `wiring`.

What is done, for which session, and how long it takes: a line of JSON on standard error, and a span and metrics
where the process has a use for them. Names, ids and counts of ours only: nothing that is stored, no path, no id that
a user gave.
"""

from __future__ import annotations

import json
import logging
import sys
import time
from collections import deque
from collections.abc import Awaitable, Callable, Generator, Iterable, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from ..errors import InvalidArgument, PalimpsestError
from ..models.events import SessionKey, SummarizationEvent
from ..models.host_table import HostOverrides
from ..models.items import Content, Item
from ..models.plans import Policy
from ..ports.seams import (
    Clock,
    Digester,
    Judge,
    RandomHex,
    Redactor,
    Registry,
    SummaryAuthor,
    Writer,
)
from ..ports.store import Store
from .surface import Surface

if TYPE_CHECKING:
    from ..digest.study import Studies


MOST_UNREAD = 1_000
"""Results that wait to be read ahead; of more the oldest are read in the pass."""

Listener: TypeAlias = Callable[[SummarizationEvent], Awaitable[None] | None]


def local_time() -> datetime:
    """The clock where nobody gives another."""
    return datetime.now().astimezone()


class ContentCounter(Protocol):
    """A token counter that also knows images and other blocks."""

    @property
    def name(self) -> str: ...

    @property
    def per_result_overhead(self) -> int:
        """Tokens that a tool result takes beside its text."""
        ...

    def count(self, text: str) -> int: ...

    def count_content(self, content: Content) -> int:
        """Tokens of an item's whole content."""
        ...


@dataclass(frozen=True)
class StudyPage:
    """A file of what was read of a session's results."""

    name: str
    studies: dict[bytes, bytes] = field(default_factory=dict[bytes, bytes])
    """By what their texts are kept under."""
    keys: set[str] = field(default_factory=set[str])
    """Of the results (`context.tombstones.key_of`): when one of them is purged, the file goes."""


@dataclass(frozen=True, kw_only=True)
class Dependencies:
    """Everything a use case may touch."""

    store: Store
    clock: Clock
    random_hex: RandomHex
    redactor: Redactor
    registry: Registry
    counter_for: Callable[[str], ContentCounter]
    """Model name, empty for unknown -> its counter."""
    digester_for: Callable[[ContentCounter], Digester]
    studies: Callable[[], Studies]
    """What was read of texts, for all of these; its module is imported with the first call."""
    unread: deque[tuple[SessionKey, Item]] = field(
        default_factory=lambda: deque[tuple[SessionKey, Item]](maxlen=MOST_UNREAD)
    )
    """Results that were recorded and not read ahead yet: the newest, each with its session."""
    study_pages: dict[SessionKey, StudyPage] = field(default_factory=dict[SessionKey, StudyPage])
    """What was read ahead of sessions, and is kept in files that go on growing."""
    writer: Writer | None = None
    """What puts results into words above their digests; None: nobody does."""
    author: SummaryAuthor | None = None
    """What words sections of summaries after a pass; None: nobody does."""
    judge: Judge | None = None
    """Who is asked for a second opinion on probes; None: nobody is."""
    policy_named: Callable[[str | None], Policy]
    """Name, None for the configured default -> policy.

    Raises:
        InvalidPolicy: there is no such policy.
    """
    principal: str = ""
    model: str = ""
    """Configured model, used where nobody reports one."""
    window_tokens: int | None = None
    """Configured window of the model."""
    effective_window_tokens: int | None = None
    automatic: bool = True
    """False (`PALIMPSEST_AUTO=off`) stops everything that runs on its own."""
    recall: bool = False
    """At a new request, pointers to what left the context and may be needed for it."""
    redact_archive: bool = False
    """Originals are stored redacted; restore then gives the redacted text and says so."""
    host_overrides: Callable[[str, str], HostOverrides] = lambda _host, _project: HostOverrides()
    """Host and project folder -> what the user set about the host's own compaction."""
    only_session: str = ""
    """Id or handle of the one session that may be asked about, with its parents' batches; empty: every one."""
    attached: str = ""
    """The host in which an adapter of ours acts; empty for none."""
    at_birth: bool = False
    """Results that the host would cut are replaced before they enter the context."""
    at_birth_tokens: int | None = None
    """So are results of more tokens than this."""
    kind_by_tool: Mapping[str, str] = field(default_factory=dict[str, str])
    listeners: list[Listener] = field(default_factory=list[Listener])

    @property
    def is_owner(self) -> bool:
        """Whether the caller may see the whole store, and not one principal's sessions or one session only."""
        return not self.principal and not self.only_session

    def refuse_all_but_owner(self, what: str) -> None:
        """Refuse what touches the sessions of others.

        Raises:
            InvalidArgument: the caller is not the store's owner.
        """
        if not self.is_owner:
            raise InvalidArgument(
                f"{what} concerns the whole store, of which this caller may see a part.",
                next="Ask the store's owner: it takes a store opened without principal and without only_session.",
            )

    @property
    def may_read_ahead(self) -> bool:
        """Whether results are read ahead of a pass at all: principals share one machine, and each would take its
        memory."""
        return self.automatic and not self.principal

    def note_unread(self, key: SessionKey, items: Iterable[Item]) -> None:
        """Take note of items that were recorded: results among them may be read ahead of a pass."""
        if self.may_read_ahead:
            self.unread.extend((key, one) for one in items if one.role == "tool" and one.content is not None)

    @cached_property
    def surface(self) -> Surface:
        """Masks what faces show; one for all of them, since each text is shown by several."""
        return Surface(self.redactor)

    def masked(self, text: str) -> str:
        """A text as it may be shown or stored apart from its original."""
        return self.redactor.redact(text).text

    def now(self) -> str:
        """ISO-8601 with offset, to the millisecond."""
        return self.clock().isoformat(timespec="milliseconds")


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
