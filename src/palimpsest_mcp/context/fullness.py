"""What a usage means: which list its ratio is of, what waits to be applied, and what to do next (L12).

Every face says this in the same words: the sentence is made here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

import msgspec

from ..models.plans import Policy, Verdict
from ..models.reports import OUTSIDE, Part, Usage
from ..models.text import counted, verb
from .meter import ratio_of, triggers, zone_of

MAY_LEAVE = "may_leave"
"""Reason of what stays although nothing protects it: the target is met without it."""
APPLY = "apply the shorter list"
"""The action where digests stand ready that the host does not show: another pass would bring nothing."""


def explained(usage: Usage, policy: Policy, *, view_used: int | None, waiting: int, how_to_apply: str) -> Usage:
    """The usage of the host's list with the compacted view beside it, and the sentence that says which is which.

    Args:
        view_used: tokens of the window with every stored digest in its place.
        waiting: results whose digest the host does not show.
        how_to_apply: what makes the shorter list real in this host.
    """
    used = usage.used.value
    if used is None or view_used is None or view_used >= used or not waiting:
        return msgspec.structs.replace(usage, meaning=_one_list(usage))
    ratio = ratio_of(view_used, usage.effective_window.value)
    asked = zone_of(usage.ratio, policy) != policy.zones[0]
    usage = msgspec.structs.replace(
        usage,
        action=APPLY if usage.ratio is not None and asked else usage.action,
        compacted_view_tokens=view_used,
        compacted_view_ratio=ratio,
        waiting=waiting,
        how_to_apply=how_to_apply,
    )
    return msgspec.structs.replace(usage, meaning=_two_lists(usage, view_used, again=triggers(ratio, policy)))


def _one_list(usage: Usage) -> str:
    if usage.ratio is None:
        return f"How full it is, is not known. Next: {usage.action}."
    next_step = "" if usage.action == "no action" else f" Next: {usage.action}."
    return f"{usage.ratio:.1%} is the host's own list, in which no digest waits to be applied.{next_step}"


def _two_lists(usage: Usage, view_used: int, *, again: bool) -> str:
    host = "This" if usage.ratio is None else f"{usage.ratio:.1%}"
    share = "" if usage.compacted_view_ratio is None else f" ({usage.compacted_view_ratio:.1%})"
    ready = verb(
        usage.waiting,
        "has a digest that it does not show yet; with it",
        "have digests that it does not show yet; with them",
    )
    after = ", and compact again then" if again else ""
    next_step = "" if usage.action == "no action" else f" Next: {usage.action}{after}."
    return (
        f"{host} is the host's own list: {counted(usage.waiting, 'result')} of it {ready} it would hold "
        f"{view_used:,} tokens{share}.{next_step}"
    )


def breakdown(
    entries: Iterable[tuple[str, int]],
    total: int | None,
    *,
    scale: float = 1.0,
    beside: Mapping[str, int] | None = None,
) -> tuple[Part, ...]:
    """What fills a context by reason, the largest first; the parts sum to the total, and to the number of entries.

    What the entries do not account for is a part of its own, `OUTSIDE`. What was estimated at more than the total is
    scaled down to it.

    Args:
        entries: (reason, tokens) of every item.
        total: tokens in all; None where it is not known: the parts are then the estimates as they are.
        scale: tokens of the total's unit for one of the entries'.
        beside: reason -> tokens of what is no item, in the total's unit.
    """
    items: dict[str, int] = {}
    tokens: dict[str, int] = {}
    for reason, size in entries:
        items[reason] = items.get(reason, 0) + 1
        tokens[reason] = tokens.get(reason, 0) + size
    if scale != 1.0:
        tokens = _scaled(tokens, round(scale * sum(tokens.values())))
    for reason, size in (beside or {}).items():
        tokens[reason] = tokens.get(reason, 0) + size
    if total is not None:
        tokens = _scaled(tokens, total)
        if rest := total - sum(tokens.values()):
            tokens[OUTSIDE] = tokens.get(OUTSIDE, 0) + rest
    order = sorted(tokens, key=lambda reason: (-tokens[reason], reason))
    return tuple(Part(reason=reason, items=items.get(reason, 0), tokens=tokens[reason]) for reason in order)


def stays(verdicts: Iterable[Verdict], leaving: Collection[str] = ()) -> Iterator[tuple[str, int]]:
    """(reason, tokens) of every item that stays; one that might leave and need not, as `may_leave`."""
    for one in verdicts:
        if one.item_id not in leaving and one.reason != "gone":
            yield (MAY_LEAVE if one.verdict == "free" else one.reason), one.tokens


def _scaled(tokens: Mapping[str, int], total: int) -> dict[str, int]:
    """The same shares of the total, where the sum is more; the largest remainders are rounded up."""
    whole = sum(tokens.values())
    if whole <= total:
        return dict(tokens)
    scaled = {reason: size * total // whole for reason, size in tokens.items()}
    left = total - sum(scaled.values())
    for reason in sorted(tokens, key=lambda name: (-(tokens[name] * total % whole), name))[:left]:
        scaled[reason] += 1
    return scaled


def in_words(parts: Iterable[Part], most: int = 4) -> str:
    """`78,299 tokens: tool_call 10,426, …, 5 other reasons 12,345, outside_the_list 41,000`: sums to its total."""
    every = [part for part in parts if part.tokens]
    inside = [part for part in every if part.reason != OUTSIDE]
    outside = sum(part.tokens for part in every if part.reason == OUTSIDE)
    said = [f"{part.reason} {part.tokens:,}" for part in inside[:most]]
    if others := inside[most:]:
        said.append(f"{counted(len(others), 'other reason')} {sum(part.tokens for part in others):,}")
    if outside:
        said.append(f"outside the list (system prompt, tools, what was not measured) {outside:,}")
    return f"{counted(sum(part.tokens for part in every), 'token')}: {', '.join(said)}" if said else "nothing"
