"""From loose numbers to a `Usage`, its zone, and what a pass costs: the best source first; unknown is None, never 0."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import msgspec

from ..models.items import Item, content_text
from ..models.plans import HARD_FLOOR_TOOL_RESULTS, ContextItem, Policy, Verdict, Zone
from ..models.reports import DEFAULT_PRICES, OUTSIDE, CacheCost, Measured, Part, Prices, Usage
from ..models.text import counted, verb
from ..text.specifics.vocabulary import outcome_of

# In which zone of a policy a ratio lies, and what to do there.


UNKNOWN_ZONE = Zone("unknown", 0.0, "say how much is used, of how large a window")


def ratio_of(used: int | None, window: int | None) -> float | None:
    """used / window, not capped; None where either is unknown.

    Compare this quotient with a bound, never `used` with `bound * window`: the quotient of 7 and 10 is exactly the
    float 0.7, while 0.7 times a window may come out above it.
    """
    if used is None or window is None or window <= 0:
        return None
    return used / window


def zone_of(ratio: float | None, policy: Policy) -> Zone:
    """The zone with the highest start not above the ratio: lower bounds belong to their zone."""
    if ratio is None:
        return UNKNOWN_ZONE
    return max(
        (zone for zone in policy.zones if zone.start <= ratio), key=lambda zone: zone.start, default=UNKNOWN_ZONE
    )


def triggers(ratio: float | None, policy: Policy) -> bool:
    """Whether a pass runs on its own: the trigger itself counts, an unknown ratio never does."""
    return ratio is not None and ratio >= policy.offload_trigger_token_ratio


def is_critical(ratio: float | None, policy: Policy) -> bool:
    """Whether the ratio is in the policy's critical zone, where even a short session is compacted."""
    return ratio is not None and ratio >= policy.critical_ratio


FORCED = "forced"
UNKNOWN = Measured(value=None, source="unknown")


class Numbers(msgspec.Struct, frozen=True, kw_only=True):
    """What is known about one agent's context. None: nobody said."""

    told_used: int | None = None
    """Given as argument."""
    provider_used: int | None = None
    """Input, cache creation, cache read and output of the last main-chain answer that reported them all."""
    added_since: int = 0
    """Estimate of what came into the context after that answer (negative when a pass took out more than came)."""
    estimate: int | None = None
    """Estimate of the whole context; None where nothing of it is known."""
    counter: str = ""
    """Name of the counter behind the estimates, `o200k x 1.55`."""
    told_window: int | None = None
    """Given as argument; taken as effective."""
    set_effective_window: int | None = None
    set_window: int | None = None
    """From the settings."""
    host_window: int | None = None
    """Reported by the host; the model's window, before the reserve."""
    model_window: int | None = None
    model_source: str = "model table"
    reserve: int = 0
    """What hosts hold back of a whole window for the answer."""
    forced: bool = False
    """With no window from anywhere, the session's own tokens are the window."""


def measure(
    numbers: Numbers,
    policy: Policy,
    *,
    model: str = "",
    host: str = "",
    host_compacts: bool | None = None,
    host_compaction_point: str = "",
    signals: tuple[str, ...] = (),
) -> Usage:
    """Combine numbers into a usage under a policy.

    Used: argument, provider usage (with the estimate of what came after it), estimate. Window: argument, settings,
    host, model table, forced. The ratio is used / effective window and may exceed 1; under `window_kind = static` it
    is used / whole window. The signals are kept only where there is no ratio.
    """
    used = used_tokens(numbers)
    window, effective = windows(numbers, used, static=policy.window_kind == "static")
    ratio = ratio_of(used.value, effective.value)
    zone = zone_of(ratio, policy)
    return Usage(
        used=used,
        window=window,
        effective_window=effective,
        ratio=ratio,
        zone=zone.name,
        action=zone.action,
        policy=policy.name,
        model=model,
        host=host,
        host_compacts=host_compacts,
        host_compaction_point=host_compaction_point,
        signals=signals if ratio is None else (),
    )


def used_tokens(numbers: Numbers) -> Measured:
    """Tokens in the window now."""
    if numbers.told_used is not None:
        return Measured(value=numbers.told_used, source="argument")
    if numbers.provider_used is not None:
        source = "provider usage + estimate" if numbers.added_since else "provider usage"
        return Measured(value=max(0, numbers.provider_used + numbers.added_since), source=source)
    if numbers.estimate is not None:
        if numbers.counter.startswith("characters"):
            return Measured(value=numbers.estimate, source="characters rule")
        return Measured(value=numbers.estimate, source=f"estimate ({numbers.counter})")
    return UNKNOWN


def windows(numbers: Numbers, used: Measured, *, static: bool) -> tuple[Measured, Measured]:
    """The whole window and the effective one, in that order."""
    if numbers.told_window is not None:
        told = Measured(value=numbers.told_window, source="argument")
        return told, told
    if numbers.set_effective_window is not None and not static:
        effective = Measured(value=numbers.set_effective_window, source="setting")
        return _whole(numbers, used) or effective, effective
    whole = _whole(numbers, used)
    if whole is None or whole.source == FORCED:
        return whole or UNKNOWN, whole or UNKNOWN
    if static or whole.value is None or not numbers.reserve:
        return whole, whole
    left = max(1, whole.value - numbers.reserve)
    return whole, Measured(value=left, source=f"{whole.source}, less {numbers.reserve:,} for the answer")


def _whole(numbers: Numbers, used: Measured) -> Measured | None:
    for value, source in (
        (numbers.set_window, "setting"),
        (numbers.host_window, "host"),
        (numbers.model_window, numbers.model_source),
        ((used.value or None) if numbers.forced else None, FORCED),
    ):
        if value is not None:
            return Measured(value=value, source=source)
    return None


# Signs of a full window for hosts that report no numbers (seed 004, and what its successors look at).


MAX_TURNS = 40
"""More turns than this is a sign; a turn is one user message."""
MAX_READS = 25
REPEATS = 3
ERROR_STREAK = 3
"""So many results in a row that failed."""


def signals(items: Sequence[ContextItem]) -> tuple[str, ...]:
    """The signs that hold, one sentence each: many turns, many file reads, repeated calls, errors in a row.

    The last two stand for degraded answers: an agent that asks again for what it had has lost it.
    """
    present = [entry.item for entry in items if entry.state != "gone"]
    calls = [item for item in present if item.kind == "tool_call"]
    # Sessions recorded by hand may hold results only; then those tell of their calls.
    calls = calls or [item for item in present if item.kind == "tool_result"]
    signs: list[str] = []
    turns = len(
        {item.position for item in present if item.role == "user" and item.kind in ("message", "original_query")}
    )
    if turns > MAX_TURNS:
        signs.append(f"{turns} turns (over {MAX_TURNS})")
    reads = sum(item.action is not None and item.action.verb == "read" for item in calls)
    if reads > MAX_READS:
        signs.append(f"{counted(reads, 'file')} read (over {MAX_READS})")
    repeated = sum(count >= REPEATS for count in Counter(_call_key(item) for item in calls if item.tool_name).values())
    if repeated:
        signs.append(f"{counted(repeated, 'call')} made {REPEATS} times or more")
    streak = _longest_streak(present)
    if streak >= ERROR_STREAK:
        signs.append(f"{streak} errors in a row ({ERROR_STREAK} or more)")
    return tuple(signs)


def _longest_streak(present: Sequence[Item]) -> int:
    """Most failed results that came one after the other."""
    longest = current = 0
    for item in present:
        if item.role == "tool":
            current = current + 1 if _failed(item) else 0
            longest = max(longest, current)
    return longest


def _failed(item: Item) -> bool:
    ran = item.action is not None and item.action.verb == "run"
    return item.is_error or bool(ran and outcome_of(content_text(item.content)).failed)


def _call_key(item: Item) -> tuple[str, bytes]:
    """A long session has thousands of calls and is asked often: msgspec is ten times as fast as `json`."""
    try:
        return item.tool_name, msgspec.json.encode(item.args, order="sorted", enc_hook=str)
    except ValueError:  # half of a surrogate pair
        return item.tool_name, json.dumps(item.args, sort_keys=True, default=str).encode()


# What a pass costs: rewriting a prompt's prefix throws away its cache, and fewer tokens pay that back.


def break_even_turns(
    *, removed: int, digest: int, suffix: int, prices: Prices = DEFAULT_PRICES, model_cost: float = 0.0
) -> float | None:
    """Model requests after which a pass has paid for itself.

    `((w - r)(D + S) + C) / (r R)`: the digest D and the suffix S behind the first edit are written anew instead of
    read, and R tokens fewer are read by every later request. With no extra price for writing it is 0.

    Args:
        removed: R, net tokens that leave the prompt.
        digest: D, tokens of the digests.
        suffix: S, tokens after the first edit that stay as they are.
        model_cost: C, of a model that wrote the digests, in input-token units; 0 offline.

    Returns:
        None when the pass never pays, because nothing is removed.
    """
    if removed <= 0:
        return None
    rewritten = max(0.0, prices.write - prices.read) * (digest + suffix)
    return (rewritten + model_cost) / (prices.read * removed)


def suffix_tokens(items: Sequence[ContextItem], leaving: Collection[str]) -> int:
    """Tokens that stay as they are behind the first item that leaves; 0 when none does.

    Args:
        items: the whole context, in the host's order.
        leaving: ids of the items that a pass replaces.
    """
    ids = frozenset(leaving)
    present = [entry for entry in items if entry.state != "gone"]
    first = next((place for place, entry in enumerate(present) if entry.item.id in ids), len(present))
    return sum(entry.tokens for entry in present[first:] if entry.item.id not in ids)


def cache_cost(
    items: Sequence[ContextItem],
    leaving: Collection[str],
    *,
    original: int,
    digest: int,
    prices: Prices = DEFAULT_PRICES,
    model_cost: float = 0.0,
) -> CacheCost:
    """The cache lines of a report, for items that were or would be replaced.

    Args:
        original: tokens of those items before.
        digest: tokens of what stands in their place.
    """
    suffix = suffix_tokens(items, leaving)
    turns = break_even_turns(
        removed=original - digest, digest=digest, suffix=suffix, prices=prices, model_cost=model_cost
    )
    return CacheCost(
        # What was cached behind the first edit and is so no more: the originals themselves and what follows them.
        invalidated_tokens=original + suffix if leaving else 0,
        break_even_turns=None if turns is None else round(turns, 1),
        prices=prices.source,
    )


# What a usage means: which list its ratio is of, what waits to be applied, and what to do next (L12).

MAY_LEAVE = "may_leave"
"""Reason of what stays although nothing protects it: the target is met without it."""
HANDOFF = "write_handoff with fields, then start a new conversation"
"""The action where nothing is recorded: a pass would have nothing to take."""
ASIDE = "let the host compact by itself, or compact with force and start afresh"
"""The action where the host compacts by itself and nothing of ours acts in it: only a forced pass runs."""
APPLY = "apply the shorter list"
"""The action where digests stand ready that the host does not show: another pass would bring nothing."""


def explained(
    usage: Usage,
    policy: Policy,
    *,
    view_used: int | None,
    waiting: int,
    how_to_apply: str,
    fresh_start: bool = False,
    recorded: bool = True,
    aside: bool = False,
) -> Usage:
    """The usage of the host's list with the compacted view beside it, and the sentence that says which is which.

    Args:
        view_used: tokens of the window with every stored digest in its place.
        waiting: results whose digest the host does not show.
        how_to_apply: what makes the shorter list real in this host.
        fresh_start: only a new conversation is shorter in it.
        recorded: whether anything of the session is here that a pass could take; without, no pass is advised.
        aside: the host compacts by itself, and nothing of ours acts in it.
    """
    used = usage.used.value
    if used is not None and usage.effective_window.value is None:
        usage = msgspec.structs.replace(usage, action="say how large the window is")
    due = usage.ratio is not None and zone_of(usage.ratio, policy) != policy.zones[0]
    if due and not recorded and triggers(usage.ratio, policy):
        said = f"{usage.ratio:.1%} is what was told of the host; nothing of the session is recorded, so nothing "
        said += f"could leave. Next: {HANDOFF}."
        return msgspec.structs.replace(usage, action=HANDOFF, meaning=said)
    if due and aside:
        usage = msgspec.structs.replace(usage, action=ASIDE)
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
    again = triggers(ratio, policy)
    return msgspec.structs.replace(usage, meaning=_two_lists(usage, view_used, again=again, fresh_start=fresh_start))


def _one_list(usage: Usage) -> str:
    if usage.ratio is None:
        return f"It is not known how full the window is. Next: {usage.action}."
    next_step = "" if usage.action == "no action" else f" Next: {usage.action}."
    return f"The host's own list fills {usage.ratio:.1%}; no digest waits to be applied.{next_step}"


def _two_lists(usage: Usage, view_used: int, *, again: bool, fresh_start: bool) -> str:
    host = "" if usage.ratio is None else f"The host's own list fills {usage.ratio:.1%}. "
    share = "" if usage.compacted_view_ratio is None else f" ({usage.compacted_view_ratio:.1%})"
    ready = verb(
        usage.waiting,
        "has a digest that the host does not show yet; with it",
        "have digests that the host does not show yet; with them",
    )
    after = ", and compact again then" if again else ""
    cost = ", which is what a fresh start costs" if fresh_start else ""
    next_step = "" if usage.action == "no action" else f" Next: {usage.action}{after}."
    return (
        f"{host}{counted(usage.waiting, 'result')} {ready} it would hold {view_used:,} tokens{share}{cost}.{next_step}"
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


DIGESTS, STAND = "digest", "already_replaced"
"""Reasons of what stands in the place of originals: since this pass, and since earlier ones."""


def gain_more(parts: Iterable[Part], policy: Policy, *, keep_last: int | None, strategy: str) -> str:
    """`what would gain more: keep_last 3 with force (last_messages 12,000), …; `: which setting would let which kind
    leave, the largest first; empty where no setting would.

    Args:
        parts: what stays.
        keep_last: as it was given.
    """
    least = HARD_FLOOR_TOOL_RESULTS
    ways = {
        "newest_k_tool_results": f"keep_last {policy.floor_tool_results}",
        "newest_k_evidence": f"keep_last {policy.floor_tool_results}",
        "pinned": "unpin",
        "small": f"min_item_tokens under {policy.min_item_tokens} in the policy",
        OUTSIDE: "fewer tools, or a shorter system prompt",
    }
    if policy.floor_tool_results > least:
        ways[f"newest_{policy.floor_tool_results}_tool_results"] = f"floor_tool_results {least} in the policy"
    if keep_last is None:
        ways |= dict.fromkeys(("last_messages", "verbatim"), f"keep_last {policy.floor_tool_results} with force")
    if strategy != "opaque":
        ways[DIGESTS] = "strategy opaque, which leaves pointers"
    if strategy != "regenerative":
        ways[STAND] = "strategy regenerative, which tells digests again"
    found = [f"{ways[one.reason]} ({one.reason} {one.tokens:,})" for one in parts if one.reason in ways and one.tokens]
    return f"what would gain more: {', '.join(found)}; " if found else ""


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
