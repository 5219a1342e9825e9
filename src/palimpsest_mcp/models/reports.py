"""What a pass, a listing, a search and a restore answer."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from .items import Content
from .probes import ProbeReport
from .records import ClassCount, SpecificCounts
from .usage import Part, Usage

Status = Literal["planned", "nothing_to_do", "compacted", "partial", "failed", "target_not_reached"]


def counts_to_json(counts: SpecificCounts) -> dict[str, Any]:
    """Every count, the zeros too, which the archive leaves out."""
    return {name: msgspec.to_builtins(getattr(counts, name)) for name in counts.__struct_fields__}


class BatchReport(msgspec.Struct, frozen=True, kw_only=True):
    """One batch of a pass."""

    batch_id: str
    items: int
    original_tokens: int
    digest_tokens: int
    item_ids: tuple[str, ...]
    specifics: SpecificCounts
    mode: str = "digest"
    notes: tuple[str, ...] = ()


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
    level: int
    mode: str
    state: Literal["replaced", "prepared", "reinstated", "superseded", "purged", "damaged"]
    """`prepared`: archived, the context unchanged (L10). `superseded`: a level-2 digest stands for it."""
    restorable: bool
    specifics: SpecificCounts
    """Re-checked against what is in view now (D9)."""
    digest: str = ""


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


__all__ = [
    "BatchReport", "BatchView", "CacheCost", "ClassCount", "ContextView", "Defect", "Finding", "Hit", "ItemView",
    "ProbeReport", "Recorded", "Report", "Restored", "SessionRow", "Status", "StoreStatus", "VerifyReport",
    "counts_to_json",
]  # fmt: skip
