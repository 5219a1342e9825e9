"""A plan: a verdict with its reason for every item, and the batches that would leave."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias, TypedDict, get_args

import msgspec

from .items import Item


class ContextItem(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One item as it stands in a context now: what the policy judges. Lists of them are in the host's order (L2)."""

    item: Item
    tokens: int
    """What it takes of the window now (its part's tokens where it is replaced), with the per-result overhead."""
    state: Literal["live", "replaced", "gone"] = "live"
    batch_id: str = ""
    """Of the digest that stands for it, when replaced."""
    level: int = 0
    """Level of that digest; 0 while live."""
    pinned: bool = False
    restored_ago: int | None = None
    """Assistant messages since it was fetched or reinstated; None when it never was."""
    call_open: bool = False
    """Belongs to a turn with a call that still waits for its result."""
    unshrinkable: bool = False
    """An earlier pass found no digest smaller than it (D14): not tried again."""
    copy_of: str = ""
    """Batch and item, `offload_0007 toolu_1`, when this is a fetched copy of what the archive has (L13)."""


class Gate(msgspec.Struct, frozen=True):
    """Through which of seed 004's gates an item goes, and what shows it."""

    name: Literal["forget", "preserve", "verbatim"]
    """`forget`: leaves first, as a pointer. `preserve`: may leave as a digest. `verbatim`: stays whole."""
    evidence: str
    """One sentence that names ids, paths or commands of the session; unredacted."""


class Verdict(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What the rules say of one item."""

    item_id: str
    unit: str
    tokens: int
    """What the item takes of the window now."""
    verdict: Literal["protected", "keep", "free"]
    """`protected`: never leaves in this pass. `keep`: only when a target cannot be met otherwise (soft K). `free`."""
    reason: str
    """Stable name of the rule that fitted first: `original_query`, `newest_3_tool_results`, `small`, `pinned` …"""
    gate: Gate | None = None
    """None where the policy has no gates, or the item is no longer there as it was."""


class Slot(msgspec.Struct, frozen=True, kw_only=True):
    """One batch of a plan: about three items, whole units, oldest first."""

    item_ids: tuple[str, ...]
    tokens: int
    budget_tokens: int
    ceiling_tokens: int
    overhead_tokens: int = 0
    """Of `tokens`, what stays beside the digest: every result has its own."""
    pointer: bool = False
    """A pointer is wanted, no digest: what it stands for may be forgotten."""
    copies: bool = False
    """Fetched copies of what the archive has: they become pointers (L13)."""
    repeated: bool = False
    """Results that a later call says again: pointers that name it."""
    arguments: bool = False
    """Calls whose long arguments give way to notes; a pointer, too."""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What a pass would do."""

    status: Literal["planned", "nothing_to_do"]
    reason: str
    """Why nothing is to do, or what the plan expects, as one sentence."""
    verdicts: tuple[Verdict, ...]
    slots: tuple[Slot, ...]
    before_tokens: int
    predicted_tokens: int
    target_tokens: int
    keep_last: int
    """K after shrinking."""
    notes: tuple[str, ...] = ()
    given_way: int = 0
    """Results that leave pointers for the target, so that the others can be digested."""


# Policies as data: when to compact, what to keep. Field names and values of the seed stay as they are.


NEVER_COMPACT = ("clarify_result", "reflective_loop_state", "graph_plan", "citation_index", "rubrics")
ARCHIVE_PATH = "session/<id>/offloaded/<ts>.jsonl"
HARD_FLOOR_TOOL_RESULTS = 3
"""Newest tool results that no policy gives up (seed 000)."""


class Zone(msgspec.Struct, frozen=True):
    """A band of the ratio, lower bound inclusive, and what to do in it."""

    name: str
    start: float
    """0.0-1.0 of the effective window; the zone reaches to the next one's start."""
    action: str


class Policy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When a pass runs and what it may take. Shares are 0.0-1.0 of the effective window unless said otherwise."""

    name: str = "research"
    """Its own name."""
    # The seed's block, by its names.
    keep_last_k_tool_results: int = 12
    """Newest tool results kept whole; soft, shrinks toward the floor. -1 keeps all; below the floor is raised to it."""
    keep_all_citations_index: bool = True
    """The citation index never leaves."""
    keep_all_rubrics: bool = True
    """Rubrics never leave."""
    offload_trigger_token_ratio: float = 0.7
    """A pass is due from this fill on."""
    offload_target_token_ratio: float = 0.4
    """A pass goes on until the fill is at or below this."""
    offload_archive_path: str = ARCHIVE_PATH
    """Fixed; here so that a policy block of the specification is valid."""
    prefer_compact_over_drop: bool = True
    """False leaves a pointer in the place of a digest; the original is archived all the same."""
    never_compact: tuple[str, ...] = NEVER_COMPACT
    """Kinds of items that never leave."""
    floor_tool_results: int = HARD_FLOOR_TOOL_RESULTS
    """Newest tool results, and pieces of evidence, that never leave, whatever K; settings may raise it."""
    # Ours.
    keep_last_messages: int = 0
    """Newest messages that stay whole whatever their kind."""
    min_messages: int = 0
    """Fewer messages since the last pass: nothing to do."""
    min_tool_calls: int = 10
    """A session shorter than this is left alone below the critical zone."""
    batch_items: int = 3
    """Items a batch; nine, or more small ones, where the target leaves digests less than `budget_share`."""
    min_item_tokens: int = 200
    """A smaller item is left alone: replacing it would not pay. Where the next pass would soon follow, or the context
    would stay above the trigger, results from 100 tokens on leave pointers."""
    keep_files: int = 5
    """Files in work of which the newest version stays whole while the target can be met without it."""
    min_argument_tokens: int = 400
    """Arguments of a call that have fewer tokens than this together are left alone, too."""
    budget_share: float = 0.2
    """Tokens of a digest, as a share of its batch; twice as many where the target leaves room."""
    min_budget_share: float = 0.05
    """How far a target may press that share, once all that may leave has left; below it the oldest become pointers."""
    max_digest_tokens: int = 2_000
    """Most tokens of one digest with its header, by the session's own counter (D20). In a pass over a
    larger window 3 % of it, up to 6,000, and 6,000 where no window is named; a number of your own holds everywhere."""
    min_shown: float = 0.5
    """Least share of an item's specifics in view (D11)."""
    max_break_even_turns: float = 20.0
    """A pass that is asked for below the trigger is refused when the cache pays back only after more model requests."""
    min_gain_share: float = 0.1
    """Of the window: a later pass that misses the policy's target waits until it frees so much; half of it in the
    critical zone, a quarter where the window is full. As much less as of the prompt stays as it is, down to a
    quarter; nothing where it comes below the trigger."""
    restored_protection: int = 5
    """Assistant messages for which a restored item is left alone."""
    level2_share: float = 0.25
    """Digests above this share of the window may become level 2 (L16)."""
    expected_compression: tuple[float, float] | None = None
    """Usual range of 1 - after/before over the replaced items; outside it the report has a note."""
    refuse_compression_above: float | None = None
    """A pass that would compress more than this is refused, unless the strategy is `opaque`."""
    kind_by_tool: dict[str, str] = msgspec.field(default_factory=lambda: {"run_clarify": "clarify_result"})
    """Tool name -> kind of its results, where an item does not say."""
    zones: tuple[Zone, ...] = (
        Zone("ok", 0.0, "no action"),
        Zone("compact", 0.7, "compact"),
        Zone("critical", 0.9, "compact now"),
    )
    """Bands of the fill, with what to do in each."""
    critical_ratio: float = 0.9
    """From this fill on short sessions are compacted too."""
    window_kind: Literal["effective", "static"] = "effective"
    """`static` divides by the whole window."""
    strategy: str = "anchored"
    """How a pass goes about it, where the call does not say (seed 003)."""
    gates: bool = False
    """The gates forget, preserve and verbatim are asked (anchored, phased)."""


# The options of a pass: each is named here once, and every face takes it from here.

Progress: TypeAlias = Callable[[int, int, str], Awaitable[None]]
"""Called with steps done, steps in all, and what is being done."""


DROP, DROP_BLOCK, KEEP, REFUSE = THINKING = ("drop", "drop_block", "keep", "refuse")
"""Ways to deal with thinking."""


class Offer(NamedTuple):
    """How the faces offer an option; one without an offer is for programs."""

    help: str = ""
    """Of its flag on the command line; empty where it has none."""
    flag: str = ""
    """Where it is not the option's own name."""
    metavar: str | None = None
    least: int | None = None
    """The smallest number that fits."""
    to_agents: bool = True
    """Whether the tool takes it as an argument."""
    said: str = ""
    """Of the tool's argument, in as few tokens as will do; empty where its name explains it."""


class PassOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How a pass is asked for."""

    policy: Annotated[
        str | None,
        Offer("research (default), anchored, phased, or one from the settings file.", said="research|anchored|phased"),
    ] = None
    """None: the one that the session was given before, else the default."""
    strategy: Annotated[
        str,
        Offer(
            "How: anchored, sliding_window, opaque … Default: the policy's, anchored.",
            said="anchored|sliding_window|regenerative|opaque|importance|hybrid",
        ),
    ] = ""
    """Empty: the policy's own."""
    target: Annotated[float | None, Offer("Ratio to come down to, such as 0.4.", said="ratio, e.g. 0.4")] = None
    """Share of the window to reach, above 0 and below 1; None takes the policy's."""
    force: Annotated[
        bool,
        Offer(
            "Run below the trigger too; without --window the session's own size is taken for it.",
            said="also below the trigger",
        ),
    ] = False
    """Run below the trigger too; with no window from anywhere the session's own size is the window."""
    dry_run: Annotated[bool, Offer("Show the plan and change nothing.")] = False
    focus: Annotated[
        str,
        Offer(
            "What matters to these words is kept first; `keep every deadlock line` keeps those lines.",
            said="what to keep first",
        ),
    ] = ""
    """Instructions, as for `/compact`: words of the task count for more; words whose every line is to be kept are found
    in it, too (`core/compaction/digests.py`)."""
    window_tokens: Annotated[int | None, Offer("Tokens of the context window.", flag="window", least=1)] = None
    """The effective window."""
    used_tokens: Annotated[
        int | None, Offer("Tokens now in it, as the provider reported them.", flag="used", least=0)
    ] = None
    """What the provider reported for this context; None estimates."""
    keep_last: Annotated[
        int | None,
        Offer("Newest tool results to keep whole; -1 keeps all.", metavar="K", said="newest results kept whole"),
    ] = None
    """Newest tool results that stay whole, at least 3; -1 keeps all; None takes the policy's."""
    plan_id: Annotated[str, Offer(said="of a dry_run")] = ""
    """Of a dry run; the pass is refused when the session changed since."""
    digests: Annotated[Mapping[str, str] | None, Offer(said="{slot of plan_id: your summary}")] = None
    """The caller's own summaries by the number of their slot in that plan, `{"1": "…"}`. Each stands, labelled, above
    what code shows, or a note of the report says why it does not (I4)."""
    thinking: Annotated[
        str,
        Offer(
            "Thinking that newer models would refuse after a change: drop (default), drop_block, keep, refuse.",
            metavar="WAY",
            to_agents=False,
        ),
    ] = DROP
    """What becomes of thinking that the model binds to a history which changes now. `drop`: it leaves the list, which
    may then be sent as it is. `drop_block`: it stays, and `request_options` has the API leave out what is invalid.
    `keep`: it stays, and the caller sees to it. `refuse`: no pass runs that would make any of it invalid."""
    model: Annotated[str, Offer("Model id: decides the tokenizer's factor and the usual window.", to_agents=False)] = ""
    host: str = ""
    """Of the client that asks, by its own name."""
    progress: Progress | None = None


def offers() -> Iterator[tuple[str, Any, Any, Offer]]:
    """Every option that a face offers: its name, its type, its default, and how."""
    for field in msgspec.structs.fields(PassOptions):
        for offer in get_args(field.type):
            if isinstance(offer, Offer):
                yield field.name, get_args(field.type)[0], field.default, offer


class PassKeywords(TypedDict, total=False):
    """The same as keyword arguments of the library, for any context."""

    policy: str | None
    strategy: str
    target: float | None
    force: bool
    dry_run: bool
    focus: str
    window_tokens: int | None
    used_tokens: int | None
    keep_last: int | None
    thinking: str
    model: str
    progress: Progress | None


class SessionPassKeywords(PassKeywords, total=False):
    """And those for a session that is recorded already."""

    plan_id: str
    digests: Mapping[str, str] | None
    host: str
