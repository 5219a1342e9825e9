"""What a pass would take: oldest first, whole units, no more than the target needs.

Whether a pass should run at all, before anything is chosen, and what it must free to be worth it; and whether a
result is replaced before it ever enters the context.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from typing import TypedDict, Unpack

import msgspec

from ..errors import InvalidArgument
from ..models.plans import ContextItem, Plan, Policy, Slot, Verdict
from ..models.reports import DEFAULT_PRICES, Part, Prices
from ..models.text import counted, verb
from .budgets import Group, Share, crowded, level2_groups
from .fit import Fit, Wish, fit
from .judge import Facts, judge
from .meter import breakdown, cache_cost, gain_more, in_words, is_critical, ratio_of, stays, triggers
from .policies import DEFAULT_STRATEGY, STRATEGIES, Strategy


class Occasion(msgspec.Struct, frozen=True, kw_only=True):
    """Under what circumstances a pass is considered."""

    used: int
    window: int
    """The effective one."""
    force: bool = False
    requested: bool = False
    """Somebody asked for this pass; otherwise only the trigger starts one."""
    off: bool = False
    """Nothing runs on its own (`PALIMPSEST_AUTO=off`)."""
    host_compacts: str = ""
    """Where the host compacts by itself, in words, where no adapter of ours acts in or before it; else empty."""
    messages_since_pass: int = 0
    measured_ratio: float | None = None
    """As the host's numbers give it, where used and window were converted into the items' unit and so were rounded."""

    @property
    def ratio(self) -> float:
        """used / window."""
        return (ratio_of(self.used, self.window) or 0.0) if self.measured_ratio is None else self.measured_ratio


def why_not(items: Sequence[ContextItem], policy: Policy, occasion: Occasion, said: Said) -> str | None:
    """Why nothing is to do, as one sentence; None when a pass may go on. A forced pass always may."""
    if not items:
        return "Nothing of the session is recorded, so that nothing can leave; write_handoff keeps what is known of it."
    if occasion.force:
        return None
    if occasion.off and not occasion.requested:
        return "PALIMPSEST_AUTO=off: nothing runs on its own; force overrides."
    if not occasion.window:
        return "The window is unknown; give window_tokens, or force to take the session's own tokens as the window."
    ratio = occasion.ratio
    if occasion.host_compacts:
        return (
            f"The host compacts by itself ({occasion.host_compacts}) and no adapter of ours acts in it, so this stands "
            "aside; force overrides."
        )
    if not triggers(ratio, policy) and not occasion.requested:
        trigger, window = policy.offload_trigger_token_ratio, said.window or said.tokens(occasion.window)
        return (
            f"The window is {ratio:.1%} full; the trigger of {trigger:.0%} is "
            f"{counted(max(1, math.ceil((trigger - ratio) * window)), 'token')} away. Force overrides."
        )
    calls = tool_calls(items)
    if calls < policy.min_tool_calls and not is_critical(ratio, policy):
        return (
            f"A short session: {counted(calls, 'tool call')}, under the policy's {policy.min_tool_calls}, and "
            f"{ratio:.1%} full, below the critical {policy.critical_ratio:.0%}; force overrides."
        )
    if occasion.messages_since_pass < policy.min_messages and not is_critical(ratio, policy):
        return (
            f"Only {counted(occasion.messages_since_pass, 'message')} since the last pass, under the policy's "
            f"{policy.min_messages}; force overrides."
        )
    return None


def tool_calls(items: Sequence[ContextItem]) -> int:
    """Calls over the whole session, whether their results are still in the context or not."""
    return len({entry.item.unit or entry.item.id for entry in items if _is_call(entry)})


def messages_since(items: Sequence[ContextItem]) -> int:
    """Messages behind the newest replaced item: an upper bound of those since the last pass."""
    rows = {entry.item.position[0] for entry in items if entry.state != "gone" and entry.item.role != "system"}
    last = max((entry.item.position[0] for entry in items if entry.state == "replaced"), default=-1)
    return sum(row > last for row in rows)


def _is_call(entry: ContextItem) -> bool:
    item = entry.item
    return item.kind in ("tool_call", "tool_result", "evidence", "restored_copy") or item.role == "tool"


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """In which unit a plan's sentence gives its numbers: the host's, so that they equal those of every other answer."""

    scale: float = 1.0
    """Tokens of the host for one of the items."""
    window: int | None = None
    """The host's window, which shares are of; None takes the plan's own."""

    def tokens(self, ours: int) -> int:
        """The host's tokens for so many of ours."""
        return round(ours * self.scale)


AS_COUNTED = Said()


# What a pass that misses its target has to free: each rewrites the prompt, and one that frees little is soon followed
# by the next.


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


# Whether a result is replaced before it ever enters the context (design §9.16). Pure rules: unsure means leave.


CUT_ABOVE_TOKENS = 25_000
CUT_ABOVE_CHARACTERS = 50_000
"""Beyond either, the host cuts a result or puts it into a file and shows a preview of 2 KB (client 2.1.328)."""

_READ_ONLY = "log txt out err csv tsv jsonl ndjson lock map snap har trace dump patch diff"
_FOREIGN = "node_modules site-packages dist-packages .venv venv dist build target .git tool-results"
_DATA = frozenset(_READ_ONLY.split())
"""Ends of names of files that are read for what they say. Anything else may well be edited next."""
_MADE = frozenset(_FOREIGN.split())
"""Folders with files that somebody else made."""


class Newborn(msgspec.Struct, frozen=True, kw_only=True):
    """A result that is about to enter the context."""

    characters: int
    tokens: int
    spilled: bool = False
    """The host put it into a file already."""
    target: str = ""
    """File that was read, where it was one."""


class Decision(msgspec.Struct, frozen=True):
    """What becomes of it, and why: a stable name."""

    replace: bool
    reason: str


def decide(newborn: Newborn, *, above_tokens: int | None = None, touched: Collection[str] = ()) -> Decision:
    """Whether a digest takes a result's place at birth.

    Args:
        above_tokens: the user's own threshold; None leaves only what the host would cut.
        touched: files that the session wrote or edited.
    """
    cut = newborn.spilled or newborn.tokens > CUT_ABOVE_TOKENS or newborn.characters > CUT_ABOVE_CHARACTERS
    long = above_tokens is not None and newborn.tokens > above_tokens
    if not cut and not long:
        return Decision(False, "the host takes it whole")
    if newborn.target and _same_file(newborn.target, touched):
        return Decision(False, "a file being edited")
    if newborn.target and not _only_read(newborn.target):
        return Decision(False, "a file that may be edited next")
    return Decision(True, "the host would cut it" if cut else "above the user's threshold")


def _same_file(target: str, touched: Collection[str]) -> bool:
    """Whether a session worked on a file; a relative path fits every file that ends so."""
    mine = _plain(target)
    others = [_plain(path) for path in touched]
    return any(mine == other or mine.endswith("/" + other) or other.endswith("/" + mine) for other in others)


def _plain(path: str) -> str:
    return re.sub(r"/(\./)+", "/", path.replace("\\", "/")).removeprefix("./")


def _only_read(target: str) -> bool:
    *folders, name = _plain(target).split("/")
    _, dot, suffix = name.rpartition(".")
    return bool(dot and suffix.lower() in _DATA) or not _MADE.isdisjoint(folders)


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a slot."""

    item_ids: tuple[str, ...]
    digest_tokens: int | None
    """What really stands in its place; None when no digest was smaller, so that its items stay."""


class PlanNumbers(TypedDict, total=False):
    """What a plan and its recheck are given alike."""

    used_tokens: int | None
    window_tokens: int | None
    target: float | None
    force: bool
    keep_last: int | None
    strategy: Strategy
    result_overhead: int
    thinking: Mapping[str, int]
    share_by: Share | None
    digests_only: bool
    enough: int | None


def plan(
    items: Sequence[ContextItem],
    policy: Policy,
    *,
    requested: bool = False,
    off: bool = False,
    host_compacts: str = "",
    messages_since_pass: int | None = None,
    ratio: float | None = None,
    prices: Prices = DEFAULT_PRICES,
    said: Said = AS_COUNTED,
    stuck: Collection[str] = (),
    stuck_pressed: Collection[str] = (),
    facts: Facts | None = None,
    **numbers: Unpack[PlanNumbers],
) -> Plan:
    """Judge a context and choose what leaves it. Deterministic.

    Units leave oldest first, in batches of about `batch_items` items, until the predicted ratio meets the target; the
    prediction is that every digest takes its whole budget. When the free units do not suffice, K shrinks from the
    policy's value toward the floor, only as far as needed; a `keep_last` that was given does not shrink. When that does
    not suffice either, the budgets shrink down to `min_budget_share`, and then the oldest give way to pointers; what
    the target leaves is shared out by need (`share_by`). A target that is given is met like the policy's own.

    Nothing is to do below the trigger unless `force` or `requested`; for a short session below the critical zone, too
    few messages since the last pass, or a host that compacts by itself, unless `force`; where the target is met
    already; where, after an earlier pass, the policy's target cannot be met and less than `min_gain_share` of the
    window would leave (half of it in the critical zone, a quarter where the window is full), unless the pass comes
    below the trigger; and where a `requested` pass below the trigger would pay back its prompt cache only after more
    than `max_break_even_turns` model requests.

    Args:
        items: one agent's context in the host's order; gone items may be among them.
        used_tokens: measured; None takes the sum of the items. Savings are taken off it, so what it counts beyond the
            items (system prompt, tool schemas) stays.
        window_tokens: the effective window; None is unknown, and then only a forced pass runs, over its own tokens.
        target: share of the window to reach; None takes the policy's.
        off: nothing runs on its own, only what is requested or forced.
        messages_since_pass: None counts those behind the newest replaced item.
        ratio: as measured, for the trigger and the critical zone; None divides used by window. Give it where those two
            were converted into the items' unit: rounding must not move a ratio of exactly 0.70 below the trigger.
        strategy: the order in which units leave, and whether all do; the policy is one that was put `under` it.
        result_overhead: tokens that a tool result takes beside its text, its digest too.
        thinking: tokens of the thinking that leaves with the first result, by the id of its item.
        share_by: how the target is shared out among digests; None gives each batch the policy's share of its tokens.
        digests_only: no digest gives way to a pointer for the target.
        said: the unit of the numbers in the plan's sentence.
        stuck: batches that could not go up a level before (`level2_groups`).
        stuck_pressed: those that could not although it was to show less (`under_pressure`).
        enough: as `enough_tokens` has it; None where a pass that misses its target need not be worth it.
        facts: as `fit` has it.

    Raises:
        InvalidArgument: `target` is not between 0 and 1, or `keep_last` is below -1.
    """
    wish, window, share = _wish(items, policy, numbers)
    used, force, strategy = wish.used, wish.force, wish.strategy
    occasion = Occasion(
        used=used,
        window=window,
        force=force,
        requested=requested,
        off=off,
        host_compacts=host_compacts,
        messages_since_pass=messages_since(items) if messages_since_pass is None else messages_since_pass,
        measured_ratio=ratio,
    )
    refusal = why_not(items, policy, occasion, said)
    if refusal is None and used <= wish.goal:
        refusal = f"The context is {occasion.ratio:.1%} full, already within the target of {share:.0%}."
    if refusal is not None:
        return _nothing(refusal, wish, judge(items, policy, keep_last=wish.keep_last, force=force), policy)
    found = fit(items, policy, wish, facts)
    rising = _rising(items, policy, found, wish, occasion, stuck_pressed if wish.is_due(found.predicted) else stuck)
    # A pass of digests alone would rewrite with every repetition what an earlier one with the same target wrote (L6).
    alone = strategy.remakes or wish.enough is not None or crowded(items, policy, window)
    if not found.slots and not (rising and alone):
        return _nothing(_all_stays(found, wish, rising, said), wish, found.verdicts, policy)
    if requested and not force and not triggers(occasion.ratio, policy):
        late = _pays_late(items, policy, found.slots, prices)
        if late is not None:
            return _nothing(late, wish, found.verdicts, policy)
    if (
        not force
        and numbers.get("target") is None
        and (drip := _drips(items, found, wish, occasion, policy, rising, said)) is not None
    ):
        return _nothing(drip, wish, found.verdicts, policy)
    return _planned(found, wish, window, policy, rising=() if found.slots else rising, said=said)


def replan(
    items: Sequence[ContextItem],
    policy: Policy,
    outcomes: Sequence[Outcome],
    *,
    facts: Facts | None = None,
    **numbers: Unpack[PlanNumbers],
) -> Plan:
    """Go on after slots of a plan were really digested: the recheck with the real counts.

    Give the same items and arguments as to `plan`, and every outcome of this pass so far. The answer's slots are those
    still to do: none when the real counts meet the target, or when nothing is left that may leave. Items of an outcome
    are never offered again, so a loop of digesting the first slot and calling this ends. `before_tokens` of the answer
    is what the context takes now, outcomes applied.

    Raises:
        InvalidArgument: as `plan`.
    """
    wish, window, _ = _wish(items, policy, numbers, own_window=True)
    tokens = {entry.item.id: entry.tokens for entry in items}
    saved = sum(
        sum(tokens.get(item_id, 0) for item_id in outcome.item_ids) - outcome.digest_tokens
        for outcome in outcomes
        if outcome.digest_tokens is not None
    )
    taken = frozenset(item_id for outcome in outcomes for item_id in outcome.item_ids)
    wish = msgspec.structs.replace(wish, used=wish.used - saved, taken=taken)
    return _planned(fit(items, policy, wish, facts), wish, window, policy)


def _wish(
    items: Sequence[ContextItem], policy: Policy, numbers: PlanNumbers, *, own_window: bool = False
) -> tuple[Wish, int, float]:
    """What slots are looked for, the window, and the target as a share of it.

    Args:
        own_window: an unknown window is what is used, as for a forced pass.
    """
    target, force, enough = numbers.get("target"), numbers.get("force", False), numbers.get("enough")
    if target is not None and not 0.0 < target < 1.0:
        raise InvalidArgument(
            f"target must be above 0 and below 1, not {target}.", next="Give a share of the window, such as 0.4."
        )
    used = numbers.get("used_tokens")
    if used is None:
        used = sum(entry.tokens for entry in items if entry.state != "gone")
    window = numbers.get("window_tokens") or (used if force or own_window else 0)
    share = policy.offload_target_token_ratio if target is None else target
    goal = goal_tokens(share, window)
    wish = Wish(
        used=used,
        goal=goal,
        keep_last=numbers.get("keep_last"),
        force=force,
        result_overhead=numbers.get("result_overhead", 0),
        thinking=numbers.get("thinking", {}),
        share_by=numbers.get("share_by"),
        digests_only=numbers.get("digests_only", False),
        strategy=numbers.get("strategy", STRATEGIES[DEFAULT_STRATEGY]),
        enough=enough,
        lasts=None if enough is None else lasting_tokens(policy, window=window, goal=goal),
        due=None if enough is None else due_tokens(policy, window),
    )
    return wish, window, share


def _pays_late(items: Sequence[ContextItem], policy: Policy, slots: Sequence[Slot], prices: Prices) -> str | None:
    leaving = {item_id for slot in slots for item_id in slot.item_ids}
    cost = cache_cost(
        items,
        leaving,
        original=sum(slot.tokens for slot in slots),
        digest=sum(slot.budget_tokens for slot in slots),
        prices=prices,
    )
    turns = cost.break_even_turns
    if turns is not None and turns <= policy.max_break_even_turns:
        return None
    after = "never" if turns is None else f"only after {turns:.1f} model requests"
    return (
        f"Below the trigger of {policy.offload_trigger_token_ratio:.0%} the pass would not pay: it rewrites "
        f"{cost.invalidated_tokens:,} cached tokens and pays that back {after}, over the policy's "
        f"{policy.max_break_even_turns:g}; force overrides."
    )


def _rising(
    items: Sequence[ContextItem],
    policy: Policy,
    found: Fit,
    wish: Wish,
    occasion: Occasion,
    stuck: Collection[str],
) -> tuple[Group, ...]:
    """Digests that may go up a level once everything else has left (L16); a pass may consist of these alone."""
    return level2_groups(
        items,
        policy,
        window_tokens=occasion.window,
        excess=found.predicted - wish.goal,
        result_overhead=wish.result_overhead,
        stuck=stuck,
        all_of_them=wish.strategy.remakes,
        worth=worth_raising(
            found.predicted,
            wish.lasts,
            wish.due,
            occasion.ratio,
            occasion.window,
            policy,
        ),
    )


def _drips(
    items: Sequence[ContextItem],
    found: Fit,
    wish: Wish,
    occasion: Occasion,
    policy: Policy,
    rising: Sequence[Group],
    said: Said,
) -> str | None:
    """Why a pass that would miss its target waits, after others that took what there was: each rewrites the prompt, and
    one that frees little is soon followed by the next."""
    excess, ratio = found.predicted - wish.goal, occasion.ratio
    if excess <= 0 or not any(entry.state == "replaced" for entry in items):
        return None
    freed = wish.used - found.predicted + sum(group.tokens - group.budget_tokens for group in rising)
    leaving = {item_id for one in (*found.slots, *rising) for item_id in one.item_ids}
    rewritten = rewritten_share(items, leaving)
    under = wish.due is not None and not wish.is_due(wish.used - freed)
    least = least_gain(ratio, occasion.window, policy, rewritten=rewritten, under=under)
    if freed >= least:
        return None
    return (
        f"The pass would free about {said.tokens(freed):,} of {said.tokens(wish.used):,} tokens and miss its target, "
        f"so it waits until {said.tokens(least):,} can leave at once; what stays: {_held(found, wish, said)}; force "
        "overrides."
    )


def _planned(
    found: Fit, wish: Wish, window: int, policy: Policy, *, rising: Sequence[Group] = (), said: Said = AS_COUNTED
) -> Plan:
    predicted = found.predicted - sum(group.tokens - group.budget_tokens for group in rising)
    reached = predicted <= wish.goal
    count = sum(len(slot.item_ids) for slot in found.slots)
    what = f"{counted(len(found.slots), 'batch')} of {counted(count, 'item')}"
    if rising:
        count = sum(len(group.batch_ids) for group in rising)
        what = f"{counted(count, 'digest')}, told again in {len(rising)} of a higher level,"
    takes = verb(count if rising else len(found.slots), "takes", "take")
    words = f"{what} {takes} {said.tokens(wish.used):,} tokens to about {said.tokens(predicted):,}"
    of = said.window or said.tokens(window)
    share = f" ({said.tokens(predicted) / of:.1%})" if of else ""
    if not reached:
        above = counted(said.tokens(predicted - wish.goal), "token")
        more = gain_more(_parts(found, wish, said), policy, keep_last=wish.keep_last, strategy=wish.strategy.name)
        words = f"{words}{share}, {above} above the target; {more}what stays: {_held(found, wish, said)}"
    return Plan(
        status="planned",
        reason=f"{words}." if not reached else f"{words}{share}.",
        verdicts=found.verdicts,
        slots=found.slots,
        before_tokens=wish.used,
        predicted_tokens=predicted,
        target_tokens=wish.goal,
        keep_last=found.keep_last,
        notes=found.notes,
        given_way=found.given_way,
    )


def _nothing(reason: str, wish: Wish, verdicts: tuple[Verdict, ...], policy: Policy) -> Plan:
    return Plan(
        status="nothing_to_do",
        reason=reason,
        verdicts=verdicts,
        slots=(),
        before_tokens=wish.used,
        predicted_tokens=wish.used,
        target_tokens=wish.goal,
        keep_last=policy.keep_last_k_tool_results if wish.keep_last is None else wish.keep_last,
    )


def _all_stays(found: Fit, wish: Wish, rising: Sequence[Group], said: Said) -> str:
    further = "; the strategy regenerative tells digests again, shorter" if rising else ""
    return f"Nothing may leave; what stays: {_held(found, wish, said)}{further}."


def _held(found: Fit, wish: Wish, said: Said) -> str:
    """What the planned slots leave, by reason; it sums to what is left."""
    return in_words(_parts(found, wish, said), most=3)


def _parts(found: Fit, wish: Wish, said: Said) -> tuple[Part, ...]:
    leaving = {item_id for slot in found.slots for item_id in slot.item_ids}
    left = wish.used - sum(slot.tokens for slot in found.slots)
    if found.slots or wish.taken:
        leaving |= wish.thinking.keys()
        left -= wish.leaves_anyway
    return breakdown(stays(found.verdicts, leaving), said.tokens(left), scale=said.scale)


# What a pass would take and free, named before it is time for one (seed 004: "identify summarization candidates").


NAMED = 5
"""The largest are named, the rest counted."""
PREPARE = "prepare"
"""Zones whose action begins with this word ask for candidates: 30-40 % of `phased`, 60-70 % of `anchored`."""


class Candidates(msgspec.Struct, frozen=True):
    """What would leave first."""

    items: tuple[ContextItem, ...] = ()
    """The largest of them, largest first."""
    total: int = 0
    frees_tokens: int = 0
    """If every digest takes its whole budget, in the unit of the items' tokens."""


def candidates(
    items: Sequence[ContextItem], policy: Policy, *, used_tokens: int | None, window_tokens: int | None
) -> Candidates:
    """What a pass to the policy's target would take now."""
    found = plan(items, policy, used_tokens=used_tokens, window_tokens=window_tokens, force=True)
    by_id = {entry.item.id: entry for entry in items}
    leaving = [by_id[item_id] for slot in found.slots for item_id in slot.item_ids]
    largest = sorted(leaving, key=lambda entry: -entry.tokens)[:NAMED]
    return Candidates(tuple(largest), len(leaving), found.before_tokens - found.predicted_tokens)
