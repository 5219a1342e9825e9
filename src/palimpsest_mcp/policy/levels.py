"""Levels (L16): when digests themselves fill the window, the oldest of them become one, made from their originals.

A digest is never digested at its own level: level 2 stands for digests of level 1, and where those do not suffice any
more, level 3 for digests of level 2, and so on, so that a session can go on for ever.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

import msgspec

from ..models.plans import ContextItem
from ..models.policies import Policy

BATCHES_A_GROUP = 4
"""Digests that become one: enough to pay for its header, few enough that one restore still names a stretch of work."""
SHARE = 0.4
"""Tokens of a level-2 digest, as a share of the digests it stands for."""


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """Digests that would become one."""

    level: int
    """Of the digest to be made."""
    batch_ids: tuple[str, ...]
    item_ids: tuple[str, ...]
    """Of all their items, in the host's order."""
    tokens: int
    """What their parts take now, without what every result takes beside its text."""
    budget_tokens: int


def level2_groups(
    items: Sequence[ContextItem],
    policy: Policy,
    *,
    window_tokens: int | None,
    excess: int,
    result_overhead: int = 0,
    stuck: Collection[str] = (),
    all_of_them: bool = False,
) -> tuple[Group, ...]:
    """Which digests of earlier passes may go up one level: the lowest level first, in each the oldest; none unless the
    rule allows it. No more of them need to than the excess takes.

    Never while the target is met: a digest keeps its bytes. Above the target they may, when digests take more than
    `level2_share` of the window, or when this meets the target; a prefix is not rewritten in vain.

    Args:
        excess: tokens above the target after everything else was tried; 0 or less when it is met.
        stuck: batches of which one digest was tried before and was not smaller (D14).
        all_of_them: the strategy remakes digests (`regenerative`): whoever chose it wants them rewritten, whatever the
            rule.
    """
    if excess <= 0 and not all_of_them:
        return ()
    groups: list[Group] = []
    gained = 0
    for level, by_batch in sorted(_by_level(items, policy).items()):
        names = [name for name in by_batch if name not in stuck]
        for start in range(0, len(names) - 1, BATCHES_A_GROUP):
            chosen = names[start : start + BATCHES_A_GROUP]
            members = [one for name in chosen for one in by_batch[name]]
            tokens = sum(one.tokens - (result_overhead if one.item.role == "tool" else 0) for one in members)
            budget = min(math.ceil(SHARE * tokens), policy.max_digest_tokens)
            groups.append(
                Group(
                    level=level + 1,
                    batch_ids=tuple(chosen),
                    item_ids=tuple(one.item.id for one in members),
                    tokens=tokens,
                    budget_tokens=budget,
                )
            )
            gained += tokens - budget
    return tuple(groups) if all_of_them or gained >= excess or crowded(items, policy, window_tokens) else ()


def crowded(items: Sequence[ContextItem], policy: Policy, window_tokens: int | None) -> bool:
    """Whether digests take more than `level2_share` of the window."""
    total = sum(one.tokens for one in items if one.state == "replaced")
    return window_tokens is not None and total > policy.level2_share * window_tokens


def _by_level(items: Sequence[ContextItem], policy: Policy) -> dict[int, dict[str, list[ContextItem]]]:
    """Level -> batches that stand whole and unprotected, oldest first."""
    by_level: dict[int, dict[str, list[ContextItem]]] = {}
    held: set[str] = set()
    for one in items:
        if one.state != "replaced" or one.copy_of:
            continue
        by_level.setdefault(one.level, {}).setdefault(one.batch_id, []).append(one)
        restored = one.restored_ago is not None and one.restored_ago < policy.restored_protection
        if one.pinned or restored or one.call_open:
            held.add(one.batch_id)
    return {
        level: {name: members for name, members in by_batch.items() if name not in held}
        for level, by_batch in by_level.items()
    }
