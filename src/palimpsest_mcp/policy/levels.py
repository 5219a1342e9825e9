"""Level 2 (L16): when digests themselves fill the window, the oldest of them become one, made from their originals."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from ..models.plans import ContextItem
from ..models.policies import Policy

BATCHES_A_GROUP = 4
"""Digests that become one: enough to pay for its header, few enough that one restore still names a stretch of work."""
SHARE = 0.4
"""Tokens of a level-2 digest, as a share of the digests it stands for."""


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """Digests that would become one."""

    batch_ids: tuple[str, ...]
    item_ids: tuple[str, ...]
    """Of all their items, in the host's order."""
    tokens: int
    """What their parts take now."""
    budget_tokens: int


def level2_groups(
    items: Sequence[ContextItem],
    policy: Policy,
    *,
    window_tokens: int | None,
    excess: int,
    all_of_them: bool = False,
) -> tuple[Group, ...]:
    """Which digests of earlier passes become level 2, oldest first; none unless the rule allows it.

    Never while the target is met: a digest keeps its bytes. Above the target they may, when digests take more than
    `level2_share` of the window, or when this meets the target; a prefix is not rewritten in vain.

    Args:
        excess: tokens above the target after everything else was tried; 0 or less when it is met.
        all_of_them: the strategy remakes digests (`regenerative`): whoever chose it wants them rewritten, whatever the
            rule.
    """
    by_batch = _first_level(items, policy)
    total = sum(one.tokens for one in items if one.state == "replaced")
    crowded = window_tokens is not None and total > policy.level2_share * window_tokens
    if excess <= 0 and not all_of_them:
        return ()
    names = list(by_batch)
    groups: list[Group] = []
    gained = 0
    for start in range(0, len(names) - 1, BATCHES_A_GROUP):
        if gained >= excess and not all_of_them:
            break
        chosen = names[start : start + BATCHES_A_GROUP]
        if len(chosen) < 2:
            break
        members = [one for name in chosen for one in by_batch[name]]
        tokens = sum(one.tokens for one in members)
        budget = math.ceil(SHARE * tokens)
        groups.append(
            Group(
                batch_ids=tuple(chosen),
                item_ids=tuple(one.item.id for one in members),
                tokens=tokens,
                budget_tokens=budget,
            )
        )
        gained += tokens - budget
    return tuple(groups) if all_of_them or crowded or gained >= excess else ()


def _first_level(items: Sequence[ContextItem], policy: Policy) -> dict[str, list[ContextItem]]:
    """Level-1 batches that stand whole and unprotected, oldest first."""
    by_batch: dict[str, list[ContextItem]] = {}
    held: set[str] = set()
    for one in items:
        if one.state != "replaced" or one.level != 1 or one.copy_of:
            continue
        by_batch.setdefault(one.batch_id, []).append(one)
        restored = one.restored_ago is not None and one.restored_ago < policy.restored_protection
        if one.pinned or restored or one.call_open:
            held.add(one.batch_id)
    return {name: members for name, members in by_batch.items() if name not in held}
