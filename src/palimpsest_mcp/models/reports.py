"""What a pass, a listing, a search and a restore answer."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from .items import Content
from .probes import ProbeReport
from .records import SpecificCounts
from .text import counted

# How full the window is, and where each number comes from.


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """One number with its origin. None is unknown, never 0."""

    value: int | None
    source: str
    """`argument`, `provider usage`, `provider usage + estimate`, `estimate (o200k x 1.55)`, `characters rule`,
    `model table`, `setting`, `host`, `forced`, `unknown`."""


OUTSIDE = "outside_the_list"
"""Reason of the part that no item accounts for: the system prompt, tool definitions, what was not measured."""
NOT_APPLIED = "not_applied_yet"
"""Reason of the part that waiting digests would free."""


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a breakdown: the lines sum to its total, in items and in tokens."""

    reason: str
    items: int
    tokens: int


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """A measurement of one agent's context in one session."""

    used: Measured
    window: Measured
    """The model's whole window."""
    effective_window: Measured
    """What is left of it after the host's own reserve; the ratio divides by this."""
    ratio: float | None
    """used / effective window of the host's own list; may exceed 1. None when either is unknown."""
    zone: str
    """Name of the policy's zone, or `unknown`."""
    action: str
    policy: str
    model: str = ""
    compacted_view_tokens: int | None = None
    """Our own view after passes that the host has not applied yet (L12); None where it shows all of them."""
    compacted_view_ratio: float | None = None
    """That view / effective window."""
    waiting: int = 0
    """Results that have a digest which the host's list does not show."""
    meaning: str = ""
    """One sentence: which list the ratio is of, and what the next step is."""
    how_to_apply: str = ""
    """How the shorter list becomes real in this host; empty where nothing waits."""
    parts: tuple[Part, ...] = ()
    """What fills the window, by why it stays: sums to `used`. Only where it was asked for."""
    host: str = ""
    host_compacts: bool | None = None
    """Whether the host compacts by itself with this model; None: not known."""
    host_compaction_point: str = ""
    """Where it does, in words; empty for a list that no host keeps, and for hosts that are not in the table."""
    signals: tuple[str, ...] = ()
    """Seed 004's signs of a full window, used where there are no numbers."""
    notice: str = ""
    """Said once when a zone is entered; empty ever after, until a pass or a fall below it."""
    candidates: tuple[str, ...] = ()
    """Where the zone asks to prepare: the largest items that a pass would take, with their tokens. Redacted."""
    candidates_total: int = 0
    would_free_tokens: int | None = None
    """What a pass would free; None where the zone does not ask to prepare."""
    notes: tuple[str, ...] = ()


class Prices(msgspec.Struct, frozen=True, kw_only=True):
    """Price multipliers over the model's plain input price."""

    write: float
    """Writing to the prompt cache for 5 minutes; 1.0 where caching costs nothing extra."""
    read: float
    """Reading from the cache; 1.0 where there is none."""
    write_1h: float | None = None
    """Writing for an hour, where that is sold."""
    source: str
    """Whose prices these are."""


DEFAULT_PRICES = Prices(write=1.25, read=0.10, write_1h=2.0, source="most Claude models: write x 1.25, read x 0.1")

Status = Literal["planned", "nothing_to_do", "compacted", "partial", "failed", "target_not_reached"]


def counts_to_json(counts: SpecificCounts) -> dict[str, Any]:
    """Every count, the zeros too, which the archive leaves out."""
    return {name: msgspec.to_builtins(getattr(counts, name)) for name in counts.__struct_fields__}


def in_counts(counts: SpecificCounts) -> str:
    """`12 of 70 rows, 5 of 9 errors`: what of the records of all kinds is shown; empty where none were counted."""
    return ", ".join(
        f"{one.shown:,} of {counted(one.total, kind)}"
        for kind, one in sorted(counts.records.items(), key=lambda kind: (-kind[1].total, kind[0]))
    )


class BatchReport(msgspec.Struct, frozen=True, kw_only=True):
    """One batch of a pass."""

    batch_id: str
    items: int
    original_tokens: int
    digest_tokens: int
    overhead_tokens: int = 0
    """What every result takes beside its text: among `original_tokens`, and beside the digest too."""
    item_ids: tuple[str, ...]
    specifics: SpecificCounts
    mode: str = "digest"
    notes: tuple[str, ...] = ()

    @property
    def tokens_after(self) -> int:
        """What stands in the context in the place of `original_tokens`."""
        return self.digest_tokens + self.overhead_tokens


class CacheCost(msgspec.Struct, frozen=True, kw_only=True):
    """What rewriting the prompt's prefix costs (`reference` prices are data, not constants)."""

    invalidated_tokens: int
    break_even_turns: float | None
    """Model requests after which the pass has paid for itself; None when it never does."""
    prices: str


class Defect(msgspec.Struct, frozen=True, kw_only=True):
    """Something in a message list that a provider may refuse, as it came in."""

    message: int
    """0-based place in the list."""
    id: str = ""
    """Of the call that it is about; empty where there is none."""
    what: str

    def __str__(self) -> str:
        return f"messages[{self.message}]: {self.what}{f': {self.id}' if self.id else ''}"


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """The report of one pass (design §5, §10)."""

    status: Status
    reason: str
    session_id: str
    handle: str
    before: Usage
    after: Usage
    target_ratio: float | None
    target_tokens: int | None
    policy: str
    strategy: str
    batches: tuple[BatchReport, ...] = ()
    protected: dict[str, int] = {}
    """Reason -> how many items stayed for it."""
    stayed: tuple[Part, ...] = ()
    """What the context holds after the pass, by why it stays: sums to `after.tokens`, and in items to all of them."""
    target_of: int | None = None
    """What the target is a share of: the window, or the session's own tokens where a forced pass names none."""
    meaning: str = ""
    """One sentence: which list `before` and `after` are of, and what the next step is."""
    specifics: SpecificCounts = SpecificCounts()
    redaction: dict[str, int] = {}
    cache: CacheCost | None = None
    probes: ProbeReport = ProbeReport()
    compression: float | None = None
    """1 - after/before over the replaced items; pointers are not counted (design §9.15)."""
    how_to_apply: str = ""
    """What makes it real in this host (design §7)."""
    plan_id: str = ""
    slots: tuple[dict[str, Any], ...] = ()
    notes: tuple[str, ...] = ()
    defects: tuple[Defect, ...] = ()
    """What a provider may refuse in the list that came in; it goes out as it came, and nothing is added to it."""

    def to_json(self) -> dict[str, Any]:
        """What `--json` prints: this report with `before` and `after` as `{"tokens", "ratio", …}`."""
        data: dict[str, Any] = msgspec.to_builtins(self, enc_hook=str)  # advice is a string of its own kind
        data["specifics"] = counts_to_json(self.specifics)
        for row, batch in zip(data["batches"], self.batches, strict=True):
            row["specifics"] = counts_to_json(batch.specifics)
        for side, usage in (("before", self.before), ("after", self.after)):
            data[side] = {
                "tokens": usage.used.value,
                "ratio": usage.ratio,
                "tokens_source": usage.used.source,
                "window": usage.effective_window.value,
                "window_source": usage.effective_window.source,
                "zone": usage.zone,
                "host_compaction_point": usage.host_compaction_point,
            }
        return data


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
    state: Literal["replaced", "prepared", "reinstated", "superseded", "purged", "damaged"]
    """`prepared`: archived, the context unchanged (L10). `superseded`: a level-2 digest stands for it."""
    restorable: bool
    specifics: SpecificCounts
    """Re-checked against what is in view now (D9)."""
    digest: str = ""

    @property
    def tokens_after(self) -> int:
        """What stands in the context in the place of `original_tokens`."""
        return self.digest_tokens + self.overhead_tokens


class ItemView(msgspec.Struct, frozen=True, kw_only=True):
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


class ContextView(msgspec.Struct, frozen=True, kw_only=True):
    """Answer to "what do you still have in context?"."""

    session_id: str
    handle: str
    usage: Usage
    items: tuple[ItemView, ...]
    """Their tokens, what no item accounts for and what waits to be applied sum to `usage.used`: `usage.parts`."""
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
    """Redacted, one line."""
    score: float


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
    """Originals offloaded, less their digests and what restores gave back."""
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
    standing_tokens: int
    """Of our own tool list, paid by every session that attaches us over MCP."""
    net_saved_tokens: int
    recent: tuple[dict[str, Any], ...] = ()


# fmt: skip

# What a status line tells of a session.


class StatusNote(msgspec.Struct, frozen=True, kw_only=True):
    """What was offloaded from a session and not put back."""

    handle: str
    batches: int
    items: int
    saved_tokens: int
    """Tokens of the originals less those of what stands for them."""
    probes_passed: int = 0
    probes_asked: int = 0
    """Of the last pass that asked any."""
