"""What a listing, a search, a restore and a look at the store answer, and what a person is shown of a session."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, TypeAlias

import msgspec

from .items import Content
from .records import SpecificCounts
from .reports import CacheCost, Part, Report, Usage

BatchState: TypeAlias = Literal["replaced", "prepared", "reinstated", "superseded", "purged", "damaged"]


class BatchView(msgspec.Struct, frozen=True, kw_only=True):
    """One row of `list`: what was dropped, when, why, how big."""

    batch_id: str
    ts: str
    reason: str
    kinds: dict[str, int]
    """Kind or tool name -> count."""
    item_ids: tuple[str, ...]
    original_tokens: int
    digest_tokens: int
    overhead_tokens: int = 0
    """As in `BatchReport`. What was purged counts in none of the three."""
    level: int
    mode: str
    state: BatchState
    """`prepared`: archived, the context unchanged (L10). `superseded`: a level-2 digest stands for it."""
    restorable: bool
    specifics: SpecificCounts
    """Re-checked against what is in view now (D9)."""
    digest: str = ""
    first: str = ""
    """Title, target or address of the first item, redacted; empty where it has none."""

    @property
    def tokens_after(self) -> int:
        """What stands in the context in the place of `original_tokens`."""
        return self.digest_tokens + self.overhead_tokens


class ItemView(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One row of `show`."""

    item_id: str
    kind: str
    role: str
    tool_name: str
    tokens: int
    state: Literal["live", "replaced", "gone"]
    batch_id: str = ""
    protected: str = ""
    """The rule that protects it now; empty when it may leave."""
    pinned: bool = False
    preview: str = ""
    """One line, redacted."""
    gate: str = ""
    """`forget`, `preserve` or `verbatim`; empty under a policy without gates, and where a digest stands for it."""
    evidence: str = ""
    """What shows that this gate is the right one. One line, redacted."""


Chooser: TypeAlias = Callable[[Iterable[ItemView]], Sequence[ItemView]]
"""Takes of a context's rows, in its order and without `preview` and `evidence`, those that are to be shown."""


class ContextView(msgspec.Struct, frozen=True, kw_only=True):
    """Answer to "what do you still have in context?"."""

    session_id: str
    handle: str
    usage: Usage
    item_count: int
    """Of the items in context; `items` are all of them, or those that were asked for."""
    items: tuple[ItemView, ...]
    """The tokens of all, what no item accounts for and what waits to be applied sum to `usage.used`: `usage.parts`."""
    by_kind: tuple[Part, ...] = ()
    """The same window by what stands in it: `message`, `thinking`, `tool_call`, `tool_result`, `digest` and other
    kinds; sums to `usage.used` as `usage.parts` does."""
    batches: tuple[BatchView, ...]
    citations: tuple[str, ...] = ()
    """The citation index: one numbered line a URL."""


class Hit(msgspec.Struct, frozen=True, kw_only=True):
    """One search hit."""

    session_id: str
    handle: str
    batch_id: str
    item_id: str
    snippet: str
    """Redacted, one line: the best passage."""
    score: float
    tool_name: str = ""
    title: str = ""
    """Or what the call acted on. Redacted, one line."""
    ts: str = ""
    """When the result came in, else when it was offloaded."""
    line: int | None = None
    """1-based line in which the rarest word of the best passage stands; None where masking moved the lines."""
    offset: int | None = None
    """Where `restore_batch` goes on from to show it, with `item_id`; None where masking moved the characters."""

    @property
    def about(self) -> str:
        """Tool, title, day and line, as far as they are known."""
        line = f"line {self.line:,}" if self.line is not None else ""
        return " · ".join(filter(None, (self.source, line)))

    @property
    def source(self) -> str:
        """Tool, title and day, as far as they are known."""
        title = self.title if self.title != self.item_id else ""
        return " · ".join(filter(None, (" ".join(filter(None, (self.tool_name, title))), self.ts[:10])))


class Restored(msgspec.Struct, frozen=True, kw_only=True):
    """An original, as it was."""

    session_id: str
    batch_id: str
    item_id: str
    content: Content
    text: str
    """The string as it came; for blocks their texts joined by a newline."""
    data: bytes
    """The exact bytes of the string, or of the decoded base64."""
    sha256: str

    @property
    def blocks(self) -> list[Any] | None:
        """The content blocks, where the original was a list of them."""
        return self.content if isinstance(self.content, list) else None


class Recorded(msgspec.Struct, frozen=True, kw_only=True):
    """Answer of `record_items`."""

    session_id: str
    handle: str
    item_ids: tuple[str, ...]
    tokens: int
    usage: Usage
    crossed_trigger: bool
    """Whether this very call took the ratio over the policy's trigger."""
    warnings: tuple[str, ...] = ()
    report: Report | None = None
    """Of the pass that `auto` ran."""


COMPACTED = "compacted"
"""The view of a context that is the context itself, with its digests: to start afresh from."""
LAST_PASS = "last_pass"
"""As a batch id for an agent: what the newest pass replaced."""


class Undone(msgspec.Struct, frozen=True, kw_only=True):
    """A pass that was taken back: its originals stand in the context again."""

    session_id: str
    handle: str
    number: int
    """Of the pass, from 1, those that were taken back counted too."""
    batch_ids: tuple[str, ...]
    item_ids: tuple[str, ...]
    tokens: int
    """By which the context is longer."""
    how: str
    """What makes it real in the host."""


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that `verify` found."""

    where: str
    what: str
    severity: Literal["note", "damage"]
    next: str = ""


class VerifyReport(msgspec.Struct, frozen=True, kw_only=True):
    """What `verify` checked."""

    sessions: int
    records: int
    items: int
    events: int
    findings: tuple[Finding, ...]
    handoffs: int = 0
    """Files in `memory/`, its archive and among forks; looked at with the whole store only."""

    @property
    def ok(self) -> bool:
        """No damage found."""
        return not any(finding.severity == "damage" for finding in self.findings)


class SessionRow(msgspec.Struct, frozen=True, kw_only=True):
    """One row of `sessions`."""

    session_id: str
    handle: str
    title: str
    """Its first request: one line, redacted."""
    host: str
    project: str
    source: str
    path: str
    """Of the file that it was read from; empty for none."""
    created: str
    usage: Usage | None = None
    """How full it is, as `check_context_ratio` says; None where it cannot be read."""
    items: int = 0
    batches: int = 0
    saved_tokens: int = 0
    """Originals offloaded, less their digests and what restores and re-reads brought back."""
    restores_per_hundred: float | None = None
    """Of a hundred results that left, how many were asked back; None where none left."""
    note: str = ""
    """Why it cannot be read."""


class StoreStatus(msgspec.Struct, frozen=True, kw_only=True):
    """Answer of `status`: disk use and savings over the store's life."""

    home: str
    sessions: int
    batches: int
    disk_bytes: int
    ledger_bytes: int
    archive_bytes: int
    index_bytes: int
    tokens_offloaded: int
    tokens_digests: int
    tokens_restored: int
    """Given back by restores, which eat from the savings."""
    tokens_read_again: int
    """Of results that came in again after they had left; of the sessions of which that is known."""
    results_offloaded: int
    results_restored: int
    restores_per_hundred: float | None
    """None where no result was ever offloaded."""
    read_again_unknown: int
    """Sessions of which it is not known what was read again: an older version wrote their passes down."""
    standing_tokens: int
    """Of our own tool list, paid by every session that attaches us over MCP."""
    net_saved_tokens: int
    beside_bytes: int = 0
    """Everything else: summaries, handoffs, experience, witnesses, caches."""
    largest: tuple[dict[str, Any], ...] = ()
    """Handle, session id and bytes of the sessions that take most, the largest first."""
    recent: tuple[dict[str, Any], ...] = ()


class StatusNote(msgspec.Struct, frozen=True, kw_only=True):
    """What was offloaded from a session and not put back."""

    handle: str
    batches: int
    items: int
    saved_tokens: int
    """`Saved.net`: below zero where more came back than was saved."""
    restores_per_hundred: float | None = None
    probes_passed: int = 0
    probes_asked: int = 0
    """Of the last pass that asked any."""
    last_pass_at: str = ""
    """When the newest pass that still stands was committed; empty for none."""
    last_pass_tokens: int = 0
    """By how many its digests are shorter than what they stand for."""


PassState = Literal["stands", "partly stands", "superseded", "taken back", "purged"]


class PassView(msgspec.Struct, frozen=True, kw_only=True):
    """One pass over a context, and what became of it."""

    number: int
    """From 1, as `undo --pass` takes it; 0 for a result that was digested on its way in, which is no pass."""
    ts: str
    reason: str
    policy: str
    row: int
    """Newest message that the context held then, from 0; -1: not written down."""
    before_tokens: int
    after_tokens: int
    """Of the context by our own view: digests count as such, whether the host shows them yet or not."""
    batch_ids: tuple[str, ...]
    items: int
    original_tokens: int
    digest_tokens: int
    """With what a result takes beside its text, as `list` counts them."""
    state: PassState
    cache: CacheCost | None = None
    """Worked out again from the ledger, as the report of the pass did; None where nothing left, or its place is not
    written down."""
    probes: str = ""
    """Verdict and counts; empty where none were asked."""
    restored_results: int = 0
    """Results of its batches of which something was given back since."""
    restored_tokens: int = 0


class Moment(msgspec.Struct, frozen=True, kw_only=True):
    """One thing beside the passes that the ledger tells of: a restore, a step back, a measurement, a pin."""

    kind: Literal["restored", "reinstated", "measured", "pinned", "unpinned", "host compacted", "purged"]
    ts: str
    batch_id: str = ""
    items: int = 0
    tokens: int | None = None
    """Given back; or, of `measured`, used of the window."""
    row: int = -1
    """Message at which it was, where that is written down."""


class Timeline(msgspec.Struct, frozen=True, kw_only=True):
    """How a context filled, and every pass over it."""

    session_id: str
    handle: str
    usage: Usage
    """As `check_context_ratio` says it."""
    fill: tuple[tuple[int, int], ...]
    """(message, tokens): what the context held behind it, by our own view; it falls where a pass was. Ends at what the
    view holds now. Counted for the items that are in it now: what a host dropped is not in it."""
    passes: tuple[PassView, ...]
    moments: tuple[Moment, ...]


class Quote(msgspec.Struct, frozen=True):
    """Where a line of a digest stands in its original."""

    line: int
    """Of the digest, from 0."""
    source: int
    """Of the original, from 0: its first line, where several are behind it."""
    whole: bool
    """The original's line as it is; else values or pieces of it."""


class Beside(msgspec.Struct, frozen=True, kw_only=True):
    """One item: its original, and what stands in its place. All texts are masked."""

    session_id: str
    handle: str
    item_id: str
    kind: str
    role: str
    tool_name: str
    title: str
    """One line: what the call acted on, or what the result is."""
    ts: str
    state: str
    """`live`, `replaced`, `gone`; of a batch whose digest no longer stands, the batch's state."""
    batch_id: str
    original_tokens: int
    digest_tokens: int
    original: str
    original_lines: int
    """Of the whole original; `original` may end before."""
    cut: bool = False
    """Whether `original` is only its beginning."""
    digest: str = ""
    quotes: tuple[Quote, ...] = ()
    quoted_lines: int = 0
    """Lines of the original that a line of the digest was found in."""
    batch_specifics: SpecificCounts = SpecificCounts()
    """Of the whole batch, as `list` counts them now."""
    batch_items: tuple[str, ...] = ()
    restorable: bool = False
    note: str = ""
    """Why the original cannot be shown."""
