"""The strategies of seed 003, and the two that its original had beside them: settings of one engine, not engines.

A policy says when and what, a strategy says how: in which order items leave, what stands for them, what stays.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

import msgspec

from ..models.plans import ContextItem, Policy
from ..text.specifics.cues import DECIDED
from .forget import cures, forgettable
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
DEFAULT = "anchored"


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
    return own if own is not None and strategy.name == DEFAULT else strategy.expected


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
