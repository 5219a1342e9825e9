"""A plan: a verdict with its reason for every item, and the batches that would leave."""

from __future__ import annotations

from typing import Literal

import msgspec


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What the rules say of one item."""

    item_id: str
    unit: str
    tokens: int
    """What the item takes of the window now."""
    verdict: Literal["protected", "keep", "free"]
    """`protected`: never leaves in this pass. `keep`: leaves only when a target cannot be met otherwise (soft K). `free`."""
    reason: str
    """Stable name of the rule that fitted first: `original_query`, `newest_3_tool_results`, `small`, `pinned` …"""


class Slot(msgspec.Struct, frozen=True, kw_only=True):
    """One batch of a plan: about three items, whole units, oldest first."""

    item_ids: tuple[str, ...]
    tokens: int
    budget_tokens: int
    ceiling_tokens: int


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
    reaches_target: bool
    """Whether the prediction meets the target."""
    keep_last: int
    """K after shrinking."""
    notes: tuple[str, ...] = ()
