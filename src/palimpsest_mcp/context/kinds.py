"""Which kind an item is under a policy, and which kinds may leave at all."""

from __future__ import annotations

from ..models.items import Item
from ..models.plans import Policy

CONVERSATION = frozenset(
    {
        "message",
        "original_query",
        "clarify_verification",
        "system_prompt",
        "tool_call",
        "thinking",
        "image",
        "document",
        "host_block",
        "digest_part",
    }
)
"""What carries the conversation itself, and stays so that calls stay paired and turns readable; and digests that came
with a parent session: none is digested again (L16)."""

LEAVING = frozenset({"tool_result", "evidence", "restored_copy"})
"""What a pass may take. Another kind may leave only where it is the result of a call."""


def kind_under(item: Item, policy: Policy) -> str:
    """The item's kind: its own where it says one, else by its tool (`kind_by_tool`)."""
    if item.kind == "tool_result" and item.tool_name:
        return policy.kind_by_tool.get(item.tool_name, item.kind)
    return item.kind


def never_leaves(kind: str, policy: Policy) -> bool:
    """Whether the policy protects the kind.

    The two `keep_all_…` flags count by themselves. Rubrics come inside the result of the clarifying tool, so keeping
    them keeps that result too.
    """
    if kind in policy.never_compact:
        return True
    if policy.keep_all_citations_index and kind == "citation_index":
        return True
    return policy.keep_all_rubrics and kind in ("rubrics", "clarify_result")


def may_leave(item: Item, kind: str) -> bool:
    """Whether items of this kind can be replaced, before any rule that protects this one."""
    return kind in LEAVING or _answers_a_call(item)


def is_result(item: Item) -> bool:
    """Whether the item is a result of a call, whatever kind a policy makes of it."""
    return item.kind in LEAVING or _answers_a_call(item)


def _answers_a_call(item: Item) -> bool:
    return item.kind not in CONVERSATION and (item.role == "tool" or bool(item.unit))
