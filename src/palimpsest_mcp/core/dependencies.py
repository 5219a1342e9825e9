"""What every use case is given: the store, the pure engines' partners, clock and chance. Built once, in `wiring`."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Protocol, TypeAlias

from ..errors import InvalidArgument
from ..models.events import SessionKey, SummarizationEvent
from ..models.host_table import HostOverrides
from ..models.items import Content, Item
from ..models.plans import Policy
from ..ports.store import Store
from ..ports.text import Clock, Digester, Judge, RandomHex, Redactor, Registry, SummaryAuthor, Writer
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
