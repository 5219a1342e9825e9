"""What a pass that misses its target has to free: each rewrites the prompt, and one that frees little is soon followed
by the next."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

from ..models.plans import ContextItem, Policy
from .meter import is_critical, ratio_of, triggers


def goal_tokens(share: float, window: int) -> int:
    """The most tokens whose ratio still meets a share of the window."""
    goal = math.floor(share * window)
    # The product may come out a hair below a whole number, the quotient never above its own literal.
    return goal + 1 if window and (goal + 1) / window <= share else goal


LEAST_URGENT = 0.25
"""Of what a pass has to free: a pass for less, whatever it costs, is one at every other request."""


def least_gain(ratio: float, window: int, policy: Policy, *, rewritten: float = 1.0, under: bool = False) -> int:
    """Tokens that a pass has to free where it misses the policy's target and others came before it.

    Args:
        rewritten: share of the prompt that is written anew: what stands before the first change stays cached, and a
            pass that changes only the end of it costs little.
        under: it takes the context from above the trigger below it. That is where a request should be, whatever it
            costs: in recorded sessions waiting for more was dearer.
    """
    urgency = LEAST_URGENT if ratio >= 1 else 0.5 if is_critical(ratio, policy) else 1.0
    share = max(LEAST_URGENT, urgency * rewritten)
    return 1 if under else math.ceil(share * policy.min_gain_share * window)


def rewritten_share(items: Sequence[ContextItem], leaving: Collection[str]) -> float:
    """Share of a context from the first item that leaves on; 1 where none does."""
    present = [entry for entry in items if entry.state != "gone"]
    first = next((at for at, entry in enumerate(present) if entry.item.id in leaving), 0)
    total = sum(entry.tokens for entry in present)
    return sum(entry.tokens for entry in present[first:]) / total if total else 1.0


def enough_tokens(
    items: Sequence[ContextItem], policy: Policy, *, used: int, window: int, ratio: float | None
) -> int | None:
    """What a pass that misses the policy's target should come down to all the same: below the trigger, which the next
    request would meet again at once, and after other passes by so much that it is worth a new prefix; None below the
    trigger."""
    ratio = ratio_of(used, window) if ratio is None else ratio
    if ratio is None or not triggers(ratio, policy):
        return None
    later = any(entry.state == "replaced" for entry in items)
    below = due_tokens(policy, window) - 1
    return min(below, used - least_gain(ratio, window, policy)) if later else below


def due_tokens(policy: Policy, window: int) -> int:
    """The fewest tokens at which a pass is due."""
    return math.ceil(policy.offload_trigger_token_ratio * window)


def lasting_tokens(policy: Policy, *, window: int, goal: int) -> int:
    """Halfway between target and trigger: a pass that leaves more is soon followed by the next, and each rewrites the
    prompt."""
    return goal + max(0, goal_tokens(policy.offload_trigger_token_ratio, window) - goal) // 2


def worth_raising(
    left: int,
    lasts: int | None,
    due: int | None,
    ratio: float,
    window: int,
    policy: Policy,
    *,
    rewritten: float = 1.0,
) -> int | None:
    """Tokens that digests have to free by going up a level, where a pass leaves more than lasts: what is missing, or as
    much as a pass has to free by itself; where it leaves the context above the trigger, what that takes. None where it
    leaves less.

    Args:
        left: by the pass without them.
        due: tokens at which a pass is due.
        rewritten: as in `least_gain`.
    """
    if lasts is None or left <= lasts:
        return None
    worth = min(left - lasts, least_gain(ratio, window, policy, rewritten=rewritten))
    if due is None or left < due:
        return worth
    return min(worth, left - due + 1)
