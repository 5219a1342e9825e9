"""The strategies of seed 003, and the two that its original had beside them: settings of one engine, not engines.

A policy says when and what, a strategy says how: in which order items leave, what stands for them, what stays.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

import msgspec

from ..models.policies import Policy
from .importance import HYBRID, IMPORTANCE, Scorer

TOO_MUCH = 0.95
"""Compression above this keeps next to nothing (seed 003: "too aggressive")."""


class Strategy(msgspec.Struct, frozen=True, kw_only=True):
    """How a pass goes about it. Where a field is None, the policy's own value holds."""

    name: str
    summary: str
    """What it does, in one sentence."""
    expected: tuple[float, float]
    """Usual range of 1 - after/before over what it replaces; the report has a note outside it."""
    interpretable: bool
    """Whether a reader sees what was there."""
    verifiable: Literal["yes", "partial", "no"]
    """Whether probes can be answered from what stays."""
    best_for: str
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
    Strategy(
        name="anchored",
        summary="the oldest results become digests, as many as the target needs; the anchored summary grows by merging",
        expected=(0.60, 0.80),
        interpretable=True,
        verifiable="yes",
        best_for="long sessions",
    ),
    Strategy(
        name="sliding_window",
        summary="all but the newest 10 messages and the K newest results becomes digests, with room for more detail",
        expected=(0.50, 0.70),
        interpretable=True,
        verifiable="yes",
        best_for="real-time chat",
        takes_all=True,
        budget_share=0.35,
        window=10,
    ),
    Strategy(
        name="regenerative",
        summary="all that may leave becomes digests of six, and digests of earlier passes are made anew from originals",
        expected=(0.70, 0.85),
        interpretable=True,
        verifiable="partial",
        best_for="simple tasks",
        takes_all=True,
        budget_share=0.18,
        batch_items=6,
        remakes=True,
    ),
    Strategy(
        name="opaque",
        summary="pointers alone: what was there is counted and restorable, nothing of it is shown",
        expected=(0.95, 0.99),
        interpretable=False,
        verifiable="no",
        best_for="storage-critical sessions",
        pointers=True,
        refuse_above=None,
    ),
    Strategy(
        name="importance",
        summary="what scores least leaves first: paths, decisions and errors stay longer, repeats go at once",
        expected=(0.60, 0.75),
        interpretable=True,
        verifiable="yes",
        best_for="sessions in which old results still matter",
        scorer=IMPORTANCE,
        budget_share=0.25,
    ),
    Strategy(
        name="hybrid",
        summary="the scorer of importance beside a window of the newest 5 messages, above 20 messages only",
        expected=(0.60, 0.80),
        interpretable=True,
        verifiable="yes",
        best_for="long chats with a lively end",
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


__all__ = ["DEFAULT", "STRATEGIES", "TOO_MUCH", "Strategy", "limit_of", "under"]
