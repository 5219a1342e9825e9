"""Whether a pass should run at all, before anything is chosen, and what it must free to be worth it; and whether a
result is replaced before it ever enters the context."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence

import msgspec

from ..models.plans import ContextItem, Policy
from ..models.text import counted
from .meter import is_critical, ratio_of, triggers


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
