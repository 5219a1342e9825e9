"""What a pass, a listing, a search and a restore answer."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

from .items import Content
from .records import SpecificCounts
from .text import counted

# Probes: questions made from originals, which what stays in the context must still answer (seed 003).

ProbeType: TypeAlias = Literal[
    "intent",
    "file_path",
    "file_changes",
    "decision",
    "rationale",
    "error",
    "resolution",
    "blocker",
    "progress",
    "next_steps",
    "recall",
    "outcome",
    "owner",
    "standing_order",
]

ProbeState: TypeAlias = Literal["passed", "passed with a warning", "failed", "not enough to judge", "not validated"]
"""`failed`: a critical probe failed, or less than 70 % passed. `not enough to judge`: fewer than ten were asked, and no
critical one failed. `not validated`: nothing could be asked that only what left can answer."""


def net_share(passed: int, asked: int, emptied: int) -> float | None:
    """What is answered beyond the control, of what the control leaves open; None where that is nothing."""
    return max(0, passed - emptied) / (asked - emptied) if asked > emptied else None


class ProbeCount(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The probes of one type."""

    passed: int = 0
    total: int = 0
    critical_failed: int = 0


class FailedProbe(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A question that what stays does not answer."""

    type: ProbeType
    question: str
    expected: tuple[str, ...]
    """All of them must stand in one passage, case and all. Redacted; empty where the original cannot be read."""
    critical: bool = False
    item_id: str = ""
    """The item that the question was made from."""
    batch_id: str = ""
    """The batch whose digest should answer it; empty where no digest was to."""


class JudgedProbes(msgspec.Struct, frozen=True, kw_only=True):
    """A model's second opinion: beside the verdict, never part of it."""

    author: str
    asked: int
    """Probes that it was shown: at most twelve, of items that are no longer there as they were."""
    answered: int
    """Of these, answered by what stays, as it sees it."""


class ProbeReport(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What came of the probes of a pass, or of a session as it stands."""

    state: ProbeState = "not validated"
    passed: int = 0
    total: int = 0
    emptied: int = 0
    """The control: of `total`, so many have all their values somewhere in what stays when every digest is emptied."""
    by_type: dict[str, ProbeCount] = {}
    """In the order of `ProbeType`; types without a probe are left out."""
    failed: tuple[FailedProbe, ...] = ()
    """The critical ones first; at most `MAX_FAILED`, `by_type` counts them all."""
    distractors: int = 0
    """Values that no original holds, asked in the same way; each must be answered "no"."""
    distractors_taken: int = 0
    """Of these, answered "yes": counted as failed probes too."""
    retries: int = 0
    """How often batches were made again, with more room or one by one."""
    kept_raw: int = 0
    """Batches that were not used, so that their items stay as they were."""
    elapsed_s: float | None = None
    """Seconds that asking took, over all rounds."""
    judged: JudgedProbes | None = None
    """None: nobody was asked (the default), or no answer came; then a note says why."""
    notes: tuple[str, ...] = ()

    @property
    def score(self) -> float | None:
        """(passed - emptied) / (total - emptied), 0.0-1.0: what the digests themselves answer; None for no question."""
        return net_share(self.passed, self.total, self.emptied)

    @property
    def line(self) -> str:
        """`passed with a warning: 36 of 42 (0 with the digests emptied; recall 22 of 28), 1 retry`."""
        if not self.total:
            return self.state
        lacking = [f"{name} {c.passed} of {c.total}" for name, c in self.by_type.items() if c.passed < c.total]
        if self.distractors_taken:
            lacking.append(f"{self.distractors_taken} of {self.distractors} distractors taken")
        beside = "; ".join([f"{self.emptied} with the digests emptied", *([", ".join(lacking)] if lacking else [])])
        words = f"{self.state}: {self.passed} of {self.total} ({beside})"
        if self.retries:
            words += f", {counted(self.retries, 'retry')}"
        return words + (f", {counted(self.kept_raw, 'batch')} kept raw" if self.kept_raw else "")


MAX_FAILED = 12


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


def in_lines(counts: SpecificCounts) -> str:
    """`11 of 14 with "deadlock", 3 left out`: the lines that were to be kept; empty where none were."""
    return "; ".join(
        f'{one.shown:,} of {one.total:,} with "{words}", {one.total - one.shown:,} left out'
        for words, one in counts.wanted.items()
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


class AskedFor(msgspec.Struct, frozen=True, kw_only=True):
    """What the digests of a pass were asked for, masked."""

    instructions: str = ""
    """Given with the pass."""
    request: str = ""
    """The newest one of the user."""
    todos: tuple[str, ...] = ()
    """Those that are open."""


def in_request(asked: AskedFor) -> str:
    """`instructions "…"; newest request "…"; 2 open todos, the first "…"`."""
    todos = f'{counted(len(asked.todos), "open todo")}, the first "{asked.todos[0]}"' if asked.todos else ""
    told = (("instructions", asked.instructions), ("newest request", asked.request))
    return "; ".join(filter(None, [*(f'{name} "{text}"' for name, text in told if text), todos]))


class Thinking(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the thinking blocks of a list, of which newer models refuse those behind a change."""

    kept: int = 0
    dropped: int = 0
    """Invalid ones that left the list; they are in the archive of what was seen."""
    dropped_tokens: int = 0
    """They are still counted in `after`."""
    invalid: int = 0
    """Among those that were kept: the model refuses them, unless the request has `request_options`."""
    said: str = ""
    """The same in words, with what is needed; empty where nothing changed for them."""


class Saved(msgspec.Struct, frozen=True, kw_only=True):
    """What offloading saved, in tokens, and what came back of it since; all of it counted from the ledger.

    Over every batch that was ever committed and neither purged nor put back as a whole.
    """

    batches: int = 0
    results: int = 0
    """Tool results that left."""
    offloaded: int = 0
    """Originals as they stood in the context, with what a result takes beside its text."""
    digests: int = 0
    """What stands for them, with the same beside it."""
    restored: int = 0
    """Given back by restores, each page of each."""
    restored_results: int = 0
    """Results of which something was given back, each counted once."""
    read_again: int | None = 0
    """Of results that came in later with the same bytes, or from the same file that nothing had changed; None where an
    older version did not write down what the context held."""
    read_again_results: int | None = 0

    @property
    def net(self) -> int:
        """Originals, less what stands for them and what came back; without re-reads where those are not known."""
        return self.offloaded - self.digests - self.restored - (self.read_again or 0)

    @property
    def restores_per_hundred(self) -> float | None:
        """Of a hundred results that left, how many were asked back; None where none left."""
        return round(100 * self.restored_results / self.results, 1) if self.results else None

    @property
    def came_back(self) -> str:
        """One line for people."""
        share = f" ({self.restores_per_hundred:g}%)" if self.results else ""
        again = (
            "what was read again is not known"
            if self.read_again is None
            else f"{counted(self.read_again_results or 0, 'result')} read again ({counted(self.read_again, 'token')})"
        )
        return (
            f"{self.restored_results:,} of {counted(self.results, 'result')} restored{share}, "
            f"{counted(self.restored, 'token')}; {again}"
        )

    def __add__(self, other: Saved) -> Saved:
        """The same of several sessions: what is not known of one is not counted, and `came_back` cannot say so."""
        mine, others = msgspec.structs.asdict(self), msgspec.structs.asdict(other)
        return Saved(**{name: (mine[name] or 0) + (others[name] or 0) for name in mine})

    def to_json(self) -> dict[str, Any]:
        """Every number, with those that follow from others."""
        more = {"net": self.net, "restores_per_hundred": self.restores_per_hundred}
        return {**msgspec.structs.asdict(self), **more}


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
    asked_for: AskedFor = AskedFor()
    """What came first in the digests. Which lines were to be kept, and how many are, is in `specifics.wanted`."""
    specifics: SpecificCounts = SpecificCounts()
    redaction: dict[str, int] = {}
    cache: CacheCost | None = None
    probes: ProbeReport = ProbeReport()
    compression: float | None = None
    """1 - after/before over the replaced items; pointers are not counted (design §9.15)."""
    thinking: Thinking = Thinking()
    how_to_apply: str = ""
    """What makes it real in this host (design §7)."""
    saved: Saved = Saved()
    """The session's so far, this pass included, and what came back of it."""
    undo: str = ""
    """One step back; empty where nothing was replaced."""
    plan_id: str = ""
    slots: tuple[dict[str, Any], ...] = ()
    notes: tuple[str, ...] = ()
    defects: tuple[Defect, ...] = ()
    """What a provider may refuse in the list that came in; it goes out as it came, and nothing is added to it."""

    def to_json(self) -> dict[str, Any]:
        """What `--json` prints: this report with `before` and `after` as `{"tokens", "ratio", …}`."""
        data: dict[str, Any] = msgspec.to_builtins(self, enc_hook=str)  # advice is a string of its own kind
        data["specifics"] = counts_to_json(self.specifics)
        data["saved"] = self.saved.to_json()
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


class ContextView(msgspec.Struct, frozen=True, kw_only=True):
    """Answer to "what do you still have in context?"."""

    session_id: str
    handle: str
    usage: Usage
    items: tuple[ItemView, ...]
    """Their tokens, what no item accounts for and what waits to be applied sum to `usage.used`: `usage.parts`."""
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


# fmt: skip

# What a status line tells of a session.


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
