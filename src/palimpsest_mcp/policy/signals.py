"""Signs of a full window for hosts that report no numbers (seed 004, and what its successors look at)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence

import msgspec

from ..models.items import Item, content_text
from ..models.nouns import counted
from ..models.plans import ContextItem
from ..specifics.outcomes import outcome_of

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
