"""A plan: a verdict with its reason for every item, and the batches that would leave."""

from __future__ import annotations

from typing import Literal

import msgspec

from .items import Item


class ContextItem(msgspec.Struct, frozen=True, kw_only=True):
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


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
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

    @property
    def lone(self) -> bool:
        """Whether one result is all there is to digest."""
        return sum(len(slot.item_ids) for slot in self.slots if not slot.copies) == 1
