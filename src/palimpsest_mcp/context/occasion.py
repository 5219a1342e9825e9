"""Whether a pass should run at all, before anything is chosen."""

from __future__ import annotations

import math
from collections.abc import Sequence

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
