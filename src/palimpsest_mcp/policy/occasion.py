"""Whether a pass should run at all, before anything is chosen."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ..models.nouns import counted
from ..models.plans import ContextItem
from ..models.policies import Policy
from .zones import is_critical, ratio_of, triggers


class Occasion(msgspec.Struct, frozen=True, kw_only=True):
    """Under what circumstances a pass is considered."""

    used: int
    window: int
    """The effective one."""
    force: bool = False
    requested: bool = False
    """Somebody asked for this pass; otherwise only the trigger starts one."""
    host_compacts: str = ""
    """Where the host compacts by itself, in words, where no adapter of ours acts in or before it; else empty."""
    messages_since_pass: int = 0
    measured_ratio: float | None = None
    """As the host's numbers give it, where used and window were converted into the items' unit and so were rounded."""

    @property
    def ratio(self) -> float:
        """used / window."""
        return (ratio_of(self.used, self.window) or 0.0) if self.measured_ratio is None else self.measured_ratio


def why_not(items: Sequence[ContextItem], policy: Policy, occasion: Occasion) -> str | None:
    """Why nothing is to do, as one sentence; None when a pass may go on. A forced pass always may."""
    if occasion.force:
        return None
    if not occasion.window:
        return "The window is unknown; give window_tokens, or force to take the session's own tokens as the window."
    ratio = occasion.ratio
    if occasion.host_compacts:
        return (
            f"The host compacts by itself ({occasion.host_compacts}) and no adapter of ours acts in it, so this stands "
            "aside; force overrides."
        )
    if not triggers(ratio, policy) and not occasion.requested:
        return f"The window is {ratio:.1%} full, below the trigger of {policy.offload_trigger_token_ratio:.0%}."
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
