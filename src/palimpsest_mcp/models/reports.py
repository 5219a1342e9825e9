"""What a pass answers, and how full a window is.

What purge, repair, export and import say before and after, and the file by which sessions move.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import msgspec

from .events import SessionInfo
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


class Forgotten(msgspec.Struct, frozen=True, kw_only=True):
    """What has to go."""

    keys: frozenset[str] = frozenset()
    """Of contents: hashes, and for short ones hash and item id (`PurgedEvent.keys`)."""
    mask: Callable[[str], str] | None = None
    """Takes what else has to go out of a text; gives any other text back as it is."""
    whole: bool = False
    """Everything of the session but its id and its decisions."""
    about: Callable[[str], bool] | None = None
    """Of what belongs to no session, which texts it concerns; None: all."""


class PurgedSession(msgspec.Struct, frozen=True, kw_only=True):
    """One session in a purge."""

    session_id: str
    handle: str
    whole: bool
    """Everything of it but its id goes."""
    items: tuple[str, ...]
    """Whose texts go."""
    batches: tuple[str, ...]
    """Of which nothing is left to restore."""
    live: int
    """How many of the items still stand in the host's context, by our last view of it. The host's own copy stays."""
    size_bytes: int
    """Of the texts."""


class Elsewhere(msgspec.Struct, frozen=True, kw_only=True):
    """Another session that holds some of the same texts, and keeps them."""

    session_id: str
    handle: str
    items: int


class PurgeReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a purge removes, or did."""

    dry_run: bool
    sessions: tuple[PurgedSession, ...]
    elsewhere: tuple[Elsewhere, ...] = ()
    changed: tuple[str, ...] = ()
    """What else was changed: summary, handoffs, notes, experience."""
    left: tuple[str, ...] = ()
    """Places that still hold the text."""
    notes: tuple[str, ...] = ()


THE_DIGEST = "the digest"


class Repair(msgspec.Struct, frozen=True, kw_only=True):
    """One damaged thing."""

    where: str
    what: str
    """Batch, items, or the event."""
    source: str
    """What it is rebuilt from; empty where it is lost."""
    lost: tuple[str, ...] = ()
    """Items, or `THE_DIGEST`, of which no whole copy is left."""

    @property
    def possible(self) -> bool:
        """Whether it can be, or was, mended as a whole."""
        return bool(self.source) and not self.lost

    @property
    def restorable(self) -> bool:
        """Whether every original comes back as it is, and only the digest that stood for them is lost."""
        return bool(self.source) and self.lost == (THE_DIGEST,)


class RepairReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a repair mends, or did."""

    dry_run: bool
    repairs: tuple[Repair, ...]
    mended: int = 0
    """Lines, lists and purges."""
    accepted: int = 0
    """Files that were taken as they are: from now on `verify` notices what goes missing in them."""
    given_up: tuple[str, ...] = ()
    """What was lost for good, and is not missed any more since the user accepted it."""

    @property
    def ok(self) -> bool:
        """Whether nothing is beyond repair, or the user gave it up."""
        return all(one.possible for one in self.repairs) or (bool(self.given_up) and not self.dry_run)


class BackupReport(msgspec.Struct, frozen=True, kw_only=True):
    """A copy of a store that was made, or checked."""

    path: str
    files: int
    size_bytes: int


class MovedStore(msgspec.Struct, frozen=True, kw_only=True):
    """What was copied from one store into another."""

    dry_run: bool
    sessions: int
    """Written now; with `dry_run`, that would be."""
    already_there: int
    """Of an earlier run, and equal."""
    events: int
    records: int
    """Of these sessions, the earlier ones too."""
    handoffs: int
    left: tuple[str, ...] = ()
    """What was not copied, and why."""


class Migration(msgspec.Struct, frozen=True, kw_only=True):
    """What brings a store to what this program makes, or did."""

    dry_run: bool
    version: int
    """Format of the store, from now on."""
    changes: tuple[str, ...]
    """In words; none where there is nothing to do."""


class PackedSession(msgspec.Struct, frozen=True, kw_only=True):
    """One session whose segments were put together."""

    handle: str
    before: int
    """Segments of ledger and archive."""
    after: int


class RetentionReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a retention removes, or did."""

    dry_run: bool
    sessions: tuple[PurgedSession, ...]
    """Oldest first."""
    kept: tuple[str, ...] = ()
    """Handles of those it would have taken, with the reason why they stay."""
    size_bytes: int = 0
    """Of the store before."""
    size_after: int = 0
    """Of the store afterwards; for a dry run what is expected."""


# The file by which sessions go from one store to another (`docs/format.md`).


EXCHANGE_SCHEMA = 1
"""Version of the exchange file. A reader refuses a higher one."""


class ExchangeHead(msgspec.Struct, frozen=True, kw_only=True):
    """The first line."""

    exchange: int
    sessions: int
    created: str
    """ISO-8601 with offset."""


class ExchangeSession(msgspec.Struct, frozen=True, kw_only=True):
    """The line before a session's events and records."""

    session: SessionInfo
    events: int
    records: int
    summary: str | None = None
    """Its anchored summary as markdown."""
    purged: tuple[str, ...] = ()
    """Keys of contents that nobody may record again."""


class ExchangeEnd(msgspec.Struct, frozen=True, kw_only=True):
    """The last line."""

    lines: int
    """How many stand before it."""
    sha256: str
    """Of all bytes before it."""


class ExchangedSession(msgspec.Struct, frozen=True, kw_only=True):
    """One session of an export or import."""

    session_id: str
    handle: str
    events: int
    records: int
    status: Literal["exported", "imported", "already_here", "would_import"]


class ExchangeReport(msgspec.Struct, frozen=True, kw_only=True):
    """What was exported or imported."""

    sessions: tuple[ExchangedSession, ...]
    sha256: str
    """Of the file's content, unpacked, without its last line."""
    notes: tuple[str, ...] = ()
