"""The three policies of the seeds, the strategies of seed 003, and the making of others out of them.

Strategies are settings of one engine, not engines: two of them its original had beside those of the seed.
"""

from __future__ import annotations

import difflib
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import msgspec

from ..errors import InvalidPolicy
from ..models.plans import ARCHIVE_PATH, HARD_FLOOR_TOOL_RESULTS, NEVER_COMPACT, ContextItem, Policy, Zone
from ..text.specifics.vocabulary import DECIDED
from .gates import cures, forgettable
from .scene import Result, Scene

# One scorer for the strategies that do not go by age alone: what scores least leaves first.


_READ_CHARS = 4_000
"""Of a result, so much is looked at for words of decisions."""
_ACKNOWLEDGED = ("successfully", "done", "ok", "created", "updated", "no output")
_SHORT = 300


class Scorer(msgspec.Struct, frozen=True, kw_only=True):
    """Weights of the signals, each of which is 0 to 1 before it is weighed."""

    recency: float
    """1 for the newest result, 0 for the oldest."""
    error: float = 0.0
    """It says that something failed, and nothing shows that it was resolved."""
    path: float = 0.0
    """It is about a file that is being worked on, or one that was changed at all (half)."""
    decision: float = 0.0
    """It words a decision."""
    mention: float = 0.0
    """Later messages name the file or command it is about."""
    repeat: float = 0.0
    """It is said again, resolved or superseded: taken off."""
    acknowledgement: float = 0.0
    """It only says that a call was carried out: taken off."""


IMPORTANCE = Scorer(recency=1, error=2, path=1.5, decision=1, mention=1, repeat=3, acknowledgement=2)
"""Importance sampling: paths, decisions and errors up, acknowledgements and repeats down; age decides among equals."""

HYBRID = msgspec.structs.replace(IMPORTANCE, recency=4)
"""The same beside a window of newest messages: what is near the window counts for more than what is far from it."""


def scores(items: Sequence[ContextItem], policy: Policy, scorer: Scorer) -> dict[str, float]:
    """Item id -> score of every result of a call; the least leaves first. Deterministic."""
    scene = Scene(items, policy)
    said_again = forgettable(scene) if scorer.repeat else {}
    mentions = _mentions(scene) if scorer.mention else Counter[str]()
    last = max((one.order for one in scene.results), default=0) or 1
    return {
        one.item.id: scorer.recency * one.order / last
        + scorer.error * (bool(one.outcome.failed) and not _cured(scene, one))
        + scorer.path * _about(scene, one)
        + scorer.decision * (DECIDED.search(one.text[:_READ_CHARS]) is not None)
        + scorer.mention * bool(mentions[one.target])
        - scorer.repeat * (one.item.id in said_again)
        - scorer.acknowledgement * _acknowledges(one)
        for one in scene.results
    }


def _cured(scene: Scene, one: Result) -> bool:
    return any(later.order > one.order and later.asked == one.asked and cures(later, one) for later in scene.results)


def _about(scene: Scene, one: Result) -> float:
    return 1.0 if one.target in scene.in_work else 0.5 if one.target in scene.changes else 0.0


def _mentions(scene: Scene) -> Counter[str]:
    """How many messages name the target of a call, or its last part where that says enough."""
    found: Counter[str] = Counter()
    said = "\n".join(scene.texts.values())
    for target in {one.target for one in scene.results if one.target}:
        name = target.rstrip("/").rpartition("/")[2] if " " not in target else target
        found[target] = len(name) >= 5 and name in said
    return found


def _acknowledges(one: Result) -> bool:
    low = one.text[:_SHORT].lower()
    return len(one.text) <= _SHORT and any(word in low for word in _ACKNOWLEDGED)


TOO_MUCH = 0.95
"""Compression above this keeps next to nothing (seed 003: "too aggressive")."""


class Strategy(msgspec.Struct, frozen=True, kw_only=True):
    """How a pass goes about it. Where a field is None, the policy's own value holds."""

    name: str
    expected: tuple[float, float]
    """Usual range of 1 - after/before over what it replaces; the report has a note outside it."""
    scorer: Scorer | None = None
    """What decides the order; None: the oldest leave first."""
    takes_all: bool = False
    """Everything that may leave does, also once the target is met."""
    budget_share: float | None = None
    pointers: bool = False
    """Pointers with their manifest stand in the place of digests."""
    batch_items: int | None = None
    window: int = 0
    """Newest messages that stay whole."""
    min_messages: int = 0
    """It acts only on so many messages since the last pass."""
    remakes: bool = False
    """Digests of earlier passes are made anew, together, from their originals."""
    refuse_above: float | None = TOO_MUCH
    """A pass that compresses more and leaves specifics out is refused; None: never, that is the point."""


_ALL = (
    # The oldest results become digests, as many as the target needs; the anchored summary grows by merging.
    Strategy(
        name="anchored",
        expected=(0.60, 0.80),
    ),
    # All but the newest 10 messages and the K newest results becomes digests, with room for more detail.
    Strategy(
        name="sliding_window",
        expected=(0.50, 0.70),
        takes_all=True,
        budget_share=0.35,
        window=10,
    ),
    # All that may leave becomes digests of six, and digests of earlier passes are made anew from originals.
    Strategy(
        name="regenerative",
        expected=(0.70, 0.85),
        takes_all=True,
        budget_share=0.18,
        batch_items=6,
        remakes=True,
    ),
    # Pointers alone: what was there is counted and restorable, nothing of it is shown.
    Strategy(
        name="opaque",
        expected=(0.95, 0.99),
        pointers=True,
        refuse_above=None,
    ),
    # What scores least leaves first: paths, decisions and errors stay longer, repeats go at once.
    Strategy(
        name="importance",
        expected=(0.60, 0.75),
        scorer=IMPORTANCE,
        budget_share=0.25,
    ),
    # The scorer of importance beside a window of the newest 5 messages, above 20 messages only.
    Strategy(
        name="hybrid",
        expected=(0.60, 0.80),
        scorer=HYBRID,
        window=5,
        min_messages=21,
    ),
)

STRATEGIES: Mapping[str, Strategy] = MappingProxyType({strategy.name: strategy for strategy in _ALL})
DEFAULT_STRATEGY = "anchored"


def under(policy: Policy, strategy: Strategy) -> Policy:
    """The policy with what the strategy changes in it; its name stays. What keeps more wins where both speak."""
    share = policy.budget_share if strategy.budget_share is None else strategy.budget_share
    return msgspec.structs.replace(
        policy,
        budget_share=share,
        min_budget_share=min(policy.min_budget_share, share),
        batch_items=strategy.batch_items or policy.batch_items,
        keep_last_messages=max(policy.keep_last_messages, strategy.window),
        min_messages=max(policy.min_messages, strategy.min_messages),
        prefer_compact_over_drop=policy.prefer_compact_over_drop and not strategy.pointers,
        expected_compression=_usual(policy, strategy),
    )


def limit_of(policy: Policy, strategy: Strategy, *, lossless: bool = False) -> float | None:
    """Compression above which a pass is refused; None where none is. What left nothing out has only the policy's."""
    if strategy.refuse_above is None:
        return None
    limits = (policy.refuse_compression_above, None if lossless else strategy.refuse_above)
    return min((one for one in limits if one is not None), default=None)


def _usual(policy: Policy, strategy: Strategy) -> tuple[float, float]:
    """The policy's own range belongs to the default strategy."""
    own = policy.expected_compression
    return own if own is not None and strategy.name == DEFAULT_STRATEGY else strategy.expected


# How much a pass compressed, and what a policy says to that.


class Compressed(msgspec.Struct, frozen=True, kw_only=True):
    """Compression of a pass."""

    share: float | None
    """1 - after/before over the replaced items; None when nothing but pointers took their place."""
    refused: bool = False
    missing: int = 0
    """Tokens by which digests would have to be larger not to be refused."""
    note: str = ""


def compression(
    batches: Iterable[tuple[int, int, str]],
    policy: Policy,
    *,
    strategy: str = "anchored",
    kept_specifics: bool = True,
    left_out: int = 0,
) -> Compressed:
    """Judge the batches of a pass by the policy's range.

    Above the policy's own limit a pass is refused whatever it kept; above the strategy's (95 %) where specifics were
    left out. A log that only repeats itself may well become a twentieth of its size and lose nothing. What is so large
    that the longest digest there may be (D20) is above the limit is judged by nobody.

    Args:
        batches: original tokens, digest tokens and mode of each; pointers and copies are not counted.
        strategy: `opaque` is never refused, and its pointers are what it compresses by: they count.
        kept_specifics: specifics are in view and probes passed (or were not run): then a high compression is praise.
        left_out: specifics that are not in view any more.
    """
    counted = ("digest", "pointer") if strategy == "opaque" else ("digest",)
    sizes = [(before, after) for before, after, mode in batches if mode in counted]
    before = sum(size for size, _ in sizes)
    if before <= 0:
        return Compressed(share=None)
    share = 1 - sum(size for _, size in sizes) / before
    limit = limit_of(policy, STRATEGIES[strategy], lossless=not left_out)
    if limit is not None and (missing := _missing(sizes, limit, policy.max_digest_tokens)) > 0:
        note = f"{share:.1%} compression is above the limit of {limit:.0%}"
        return Compressed(share=share, refused=True, missing=missing, note=note)
    usual = policy.expected_compression
    if usual is not None and share < usual[0]:
        return Compressed(share=share, note=f"{share:.1%} compression is below the usual {usual[0]:.0%}")
    if usual is not None and share > usual[1]:
        word = "above the usual" if kept_specifics else "too aggressive, specifics were lost: above the usual"
        return Compressed(share=share, note=f"{share:.1%} compression is {word} {usual[1]:.0%}")
    return Compressed(share=share)


def _missing(sizes: Iterable[tuple[int, int]], limit: float, most_tokens: int) -> int:
    """Tokens by which these digests are too small, of those that may be large enough; 0 or less where they are not."""
    judged = [(before, after) for before, after in sizes if round((1 - limit) * before, 6) <= most_tokens]
    return math.ceil(round((1 - limit) * sum(before for before, _ in judged), 6)) - sum(after for _, after in judged)


# The ranges of a policy's values.


_AT_LEAST = {
    "keep_last_k_tool_results": -1,
    "floor_tool_results": HARD_FLOOR_TOOL_RESULTS,
    "keep_last_messages": 0,
    "min_messages": 0,
    "min_tool_calls": 0,
    "batch_items": 1,
    "max_digest_tokens": 200,
    "min_item_tokens": 0,
    "restored_protection": 0,
    "max_break_even_turns": 0,
    "min_gain_share": 0,
}
_SHARES = (
    "offload_trigger_token_ratio",
    "offload_target_token_ratio",
    "budget_share",
    "min_budget_share",
    "level2_share",
    "critical_ratio",
)


def problem(policy: Policy) -> str | None:
    """The first value outside its range, as the end of a sentence; None when all are inside."""
    for name, low in _AT_LEAST.items():
        if not getattr(policy, name) >= low:
            return f"{name} must be at least {low}, not {getattr(policy, name)}."
    for name in _SHARES:
        if not 0.0 < getattr(policy, name) <= 1.0:
            return f"{name} must be above 0 and at most 1, not {getattr(policy, name)}."
    return _pairs(policy) or _compression(policy) or _zones(policy) or _fixed(policy)


def _pairs(policy: Policy) -> str | None:
    if policy.offload_target_token_ratio >= policy.offload_trigger_token_ratio:
        return (
            f"offload_target_token_ratio ({policy.offload_target_token_ratio}) must be below "
            f"offload_trigger_token_ratio ({policy.offload_trigger_token_ratio})."
        )
    if policy.min_budget_share > policy.budget_share:
        return f"min_budget_share ({policy.min_budget_share}) must not be above budget_share ({policy.budget_share})."
    if not 0.0 <= policy.min_shown <= 1.0:
        return f"min_shown must be from 0 to 1, not {policy.min_shown}."
    return None


def _compression(policy: Policy) -> str | None:
    usual = policy.expected_compression
    if usual is not None and not 0.0 <= usual[0] < usual[1] <= 1.0:
        return f"expected_compression must be two rising values from 0 to 1, not {list(usual)}."
    if policy.refuse_compression_above is not None and not 0.0 < policy.refuse_compression_above <= 1.0:
        return f"refuse_compression_above must be above 0 and at most 1, not {policy.refuse_compression_above}."
    return None


def _zones(policy: Policy) -> str | None:
    starts = [zone.start for zone in policy.zones]
    # A ratio may exceed 1, and so may the start of a zone.
    if not starts or starts[0] != 0.0 or not all(low < high for low, high in zip(starts, starts[1:], strict=False)):
        return f"zones must start at 0 and rise, not {starts}."
    return None


def _fixed(policy: Policy) -> str | None:
    if policy.offload_archive_path != ARCHIVE_PATH:
        return (
            f"offload_archive_path is fixed at {ARCHIVE_PATH!r} under the home folder and cannot be moved; "
            "set PALIMPSEST_HOME to keep the store elsewhere."
        )
    if not policy.name:
        return "name must not be empty."
    if policy.strategy not in STRATEGIES:
        return f"strategy must be one of {', '.join(STRATEGIES)}, not {policy.strategy!r}."
    return None


DEFAULT = "research"

RESEARCH = Policy()

ANCHORED = Policy(
    name="anchored",
    keep_last_k_tool_results=HARD_FLOOR_TOOL_RESULTS,
    offload_trigger_token_ratio=0.7,
    offload_target_token_ratio=0.5,
    keep_last_messages=5,
    min_messages=10,
    expected_compression=(0.6, 0.8),
    refuse_compression_above=0.95,
    zones=(
        Zone("ok", 0.0, "no action"),
        Zone("warning", 0.6, "prepare: the trigger is near"),
        Zone("compress", 0.7, "compact"),
        Zone("critical", 0.9, "compact now"),
    ),
    critical_ratio=0.9,
    gates=True,
)

PHASED = Policy(
    name="phased",
    keep_last_k_tool_results=HARD_FLOOR_TOOL_RESULTS,
    offload_trigger_token_ratio=0.4,
    offload_target_token_ratio=0.3,
    # Five turns, the careful end of "3-5"; an agent's turn is its message and the message that answers it.
    keep_last_messages=10,
    zones=(
        Zone("no_action", 0.0, "no action"),
        Zone("prepare", 0.3, "prepare: identify summarization candidates"),
        Zone("summarise", 0.4, "write summary to memory/, start fresh context window"),
        Zone("reduce", 0.5, "summarize everything except current task"),
        Zone("restart", 0.65, "full summary to memory/, start new conversation"),
    ),
    critical_ratio=0.65,
    gates=True,
)

PRESETS: Mapping[str, Policy] = MappingProxyType({policy.name: policy for policy in (RESEARCH, ANCHORED, PHASED)})
FIELDS = frozenset(field.name for field in msgspec.structs.fields(Policy))


class Checked(msgspec.Struct, frozen=True):
    """A policy that may be used, and what had to be said about it."""

    policy: Policy
    notes: tuple[str, ...] = ()


def unknown_policy(name: str, known: Mapping[str, Policy]) -> InvalidPolicy:
    """The error for a name that is not among the known policies."""
    names = ", ".join(sorted(known))
    return InvalidPolicy(
        f"There is no policy named {name!r}.", next=f"Use one of {names}, or define it in the settings."
    )


def build_policy(base: Policy, changes: Mapping[str, Any], *, name: str = "", from_text: bool = False) -> Checked:
    """A policy with some values changed, checked.

    `kind_by_tool` is added to; every other value replaces the base's.

    Args:
        changes: values by the fields' names, as TOML or JSON has them.
        name: of the new policy; empty keeps the base's.
        from_text: accept numbers and truth values written as text, for environment variables.

    Raises:
        InvalidPolicy: it names the field, and its range where that is what is wrong.
    """
    for key in changes:
        if key not in FIELDS:
            raise _unknown_field(key)
    values: dict[str, Any] = msgspec.to_builtins(base)
    values |= changes
    if isinstance(tools := changes.get("kind_by_tool"), Mapping):
        values["kind_by_tool"] = {**base.kind_by_tool, **tools}
    if name:
        values["name"] = name
    try:
        return check(msgspec.convert(values, Policy, strict=not from_text))
    except msgspec.ValidationError as error:
        raise _wrong_type(str(error)) from error


def check(policy: Policy) -> Checked:
    """The policy as it will be used: K below the floor is raised to it, and that is noted.

    Raises:
        InvalidPolicy: a value is outside its range; the message names field and range.
    """
    if (wrong := problem(policy)) is not None:
        raise InvalidPolicy(
            f"Policy {policy.name!r}: {wrong}", next="Correct the value, or leave it out for the default."
        )
    notes: list[str] = []
    floor = policy.floor_tool_results
    if 0 <= policy.keep_last_k_tool_results < floor:
        notes.append(
            f"keep_last_k_tool_results = {policy.keep_last_k_tool_results} was raised to {floor}: "
            f"the newest {floor} tool results always stay"
        )
        policy = msgspec.structs.replace(policy, keep_last_k_tool_results=floor)
    if missing := [kind for kind in NEVER_COMPACT if kind not in policy.never_compact]:
        notes.append(f"never_compact leaves out {', '.join(missing)}: a session may not finish correctly without them")
    return Checked(policy, tuple(notes))


def _unknown_field(key: str) -> InvalidPolicy:
    near = difflib.get_close_matches(key, sorted(FIELDS), n=1)
    hint = f"Did you mean {near[0]}?" if near else f"The fields are {', '.join(sorted(FIELDS))}."
    return InvalidPolicy(f"A policy has no field {key!r}.", next=hint)


def _wrong_type(message: str) -> InvalidPolicy:
    """msgspec names the place as `$.field`; the sentence should name the field."""
    place = re.search(r" - at `\$\.?([^`]*)`", message)
    what = message[: place.start()] if place else message
    where = place[1] if place else "policy"
    return InvalidPolicy(f"Policy field {where}: {what}.", next="Give a value of that type.")
