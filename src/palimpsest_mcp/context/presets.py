"""The three policies of the seeds, and the making of others out of them."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from ..errors import InvalidPolicy
from ..models.plans import ARCHIVE_PATH, HARD_FLOOR_TOOL_RESULTS, NEVER_COMPACT, Policy, Zone
from .strategies import STRATEGIES

# The ranges of a policy's values.


_AT_LEAST = {
    "keep_last_k_tool_results": -1,
    "floor_tool_results": HARD_FLOOR_TOOL_RESULTS,
    "keep_last_messages": 0,
    "min_messages": 0,
    "min_tool_calls": 0,
    "batch_items": 1,
    "max_digest_tokens": 200,
    "min_item_tokens": 0,
    "restored_protection": 0,
    "max_break_even_turns": 0,
    "min_gain_share": 0,
}
_SHARES = (
    "offload_trigger_token_ratio",
    "offload_target_token_ratio",
    "budget_share",
    "min_budget_share",
    "level2_share",
    "critical_ratio",
)


def problem(policy: Policy) -> str | None:
    """The first value outside its range, as the end of a sentence; None when all are inside."""
    for name, low in _AT_LEAST.items():
        if not getattr(policy, name) >= low:
            return f"{name} must be at least {low}, not {getattr(policy, name)}."
    for name in _SHARES:
        if not 0.0 < getattr(policy, name) <= 1.0:
            return f"{name} must be above 0 and at most 1, not {getattr(policy, name)}."
    return _pairs(policy) or _compression(policy) or _zones(policy) or _fixed(policy)


def _pairs(policy: Policy) -> str | None:
    if policy.offload_target_token_ratio >= policy.offload_trigger_token_ratio:
        return (
            f"offload_target_token_ratio ({policy.offload_target_token_ratio}) must be below "
            f"offload_trigger_token_ratio ({policy.offload_trigger_token_ratio})."
        )
    if policy.min_budget_share > policy.budget_share:
        return f"min_budget_share ({policy.min_budget_share}) must not be above budget_share ({policy.budget_share})."
    if not 0.0 <= policy.min_shown <= 1.0:
        return f"min_shown must be from 0 to 1, not {policy.min_shown}."
    return None


def _compression(policy: Policy) -> str | None:
    usual = policy.expected_compression
    if usual is not None and not 0.0 <= usual[0] < usual[1] <= 1.0:
        return f"expected_compression must be two rising values from 0 to 1, not {list(usual)}."
    if policy.refuse_compression_above is not None and not 0.0 < policy.refuse_compression_above <= 1.0:
        return f"refuse_compression_above must be above 0 and at most 1, not {policy.refuse_compression_above}."
    return None


def _zones(policy: Policy) -> str | None:
    starts = [zone.start for zone in policy.zones]
    # A ratio may exceed 1, and so may the start of a zone.
    if not starts or starts[0] != 0.0 or not all(low < high for low, high in zip(starts, starts[1:], strict=False)):
        return f"zones must start at 0 and rise, not {starts}."
    return None


def _fixed(policy: Policy) -> str | None:
    if policy.offload_archive_path != ARCHIVE_PATH:
        return (
            f"offload_archive_path is fixed at {ARCHIVE_PATH!r} under the home folder and cannot be moved; "
            "set PALIMPSEST_HOME to keep the store elsewhere."
        )
    if not policy.name:
        return "name must not be empty."
    if policy.strategy not in STRATEGIES:
        return f"strategy must be one of {', '.join(STRATEGIES)}, not {policy.strategy!r}."
    return None


DEFAULT = "research"

RESEARCH = Policy()

ANCHORED = Policy(
    name="anchored",
    keep_last_k_tool_results=HARD_FLOOR_TOOL_RESULTS,
    offload_trigger_token_ratio=0.7,
    offload_target_token_ratio=0.5,
    keep_last_messages=5,
    min_messages=10,
    expected_compression=(0.6, 0.8),
    refuse_compression_above=0.95,
    zones=(
        Zone("ok", 0.0, "no action"),
        Zone("warning", 0.6, "prepare: the trigger is near"),
        Zone("compress", 0.7, "compact"),
        Zone("critical", 0.9, "compact now"),
    ),
    critical_ratio=0.9,
    gates=True,
)

PHASED = Policy(
    name="phased",
    keep_last_k_tool_results=HARD_FLOOR_TOOL_RESULTS,
    offload_trigger_token_ratio=0.4,
    offload_target_token_ratio=0.3,
    # Five turns, the careful end of "3-5"; an agent's turn is its message and the message that answers it.
    keep_last_messages=10,
    zones=(
        Zone("no_action", 0.0, "no action"),
        Zone("prepare", 0.3, "prepare: identify summarization candidates"),
        Zone("summarise", 0.4, "write summary to memory/, start fresh context window"),
        Zone("reduce", 0.5, "summarize everything except current task"),
        Zone("restart", 0.65, "full summary to memory/, start new conversation"),
    ),
    critical_ratio=0.65,
    gates=True,
)

PRESETS: Mapping[str, Policy] = MappingProxyType({policy.name: policy for policy in (RESEARCH, ANCHORED, PHASED)})
FIELDS = frozenset(field.name for field in msgspec.structs.fields(Policy))


class Checked(msgspec.Struct, frozen=True):
    """A policy that may be used, and what had to be said about it."""

    policy: Policy
    notes: tuple[str, ...] = ()


def unknown_policy(name: str, known: Mapping[str, Policy]) -> InvalidPolicy:
    """The error for a name that is not among the known policies."""
    names = ", ".join(sorted(known))
    return InvalidPolicy(
        f"There is no policy named {name!r}.", next=f"Use one of {names}, or define it in the settings."
    )


def build_policy(base: Policy, changes: Mapping[str, Any], *, name: str = "", from_text: bool = False) -> Checked:
    """A policy with some values changed, checked.

    `kind_by_tool` is added to; every other value replaces the base's.

    Args:
        changes: values by the fields' names, as TOML or JSON has them.
        name: of the new policy; empty keeps the base's.
        from_text: accept numbers and truth values written as text, for environment variables.

    Raises:
        InvalidPolicy: it names the field, and its range where that is what is wrong.
    """
    for key in changes:
        if key not in FIELDS:
            raise _unknown_field(key)
    values: dict[str, Any] = msgspec.to_builtins(base)
    values |= changes
    if isinstance(tools := changes.get("kind_by_tool"), Mapping):
        values["kind_by_tool"] = {**base.kind_by_tool, **tools}
    if name:
        values["name"] = name
    try:
        return check(msgspec.convert(values, Policy, strict=not from_text))
    except msgspec.ValidationError as error:
        raise _wrong_type(str(error)) from error


def check(policy: Policy) -> Checked:
    """The policy as it will be used: K below the floor is raised to it, and that is noted.

    Raises:
        InvalidPolicy: a value is outside its range; the message names field and range.
    """
    if (wrong := problem(policy)) is not None:
        raise InvalidPolicy(
            f"Policy {policy.name!r}: {wrong}", next="Correct the value, or leave it out for the default."
        )
    notes: list[str] = []
    floor = policy.floor_tool_results
    if 0 <= policy.keep_last_k_tool_results < floor:
        notes.append(
            f"keep_last_k_tool_results = {policy.keep_last_k_tool_results} was raised to {floor}: "
            f"the newest {floor} tool results always stay"
        )
        policy = msgspec.structs.replace(policy, keep_last_k_tool_results=floor)
    if missing := [kind for kind in NEVER_COMPACT if kind not in policy.never_compact]:
        notes.append(f"never_compact leaves out {', '.join(missing)}: a session may not finish correctly without them")
    return Checked(policy, tuple(notes))


def _unknown_field(key: str) -> InvalidPolicy:
    near = difflib.get_close_matches(key, sorted(FIELDS), n=1)
    hint = f"Did you mean {near[0]}?" if near else f"The fields are {', '.join(sorted(FIELDS))}."
    return InvalidPolicy(f"A policy has no field {key!r}.", next=hint)


def _wrong_type(message: str) -> InvalidPolicy:
    """msgspec names the place as `$.field`; the sentence should name the field."""
    place = re.search(r" - at `\$\.?([^`]*)`", message)
    what = message[: place.start()] if place else message
    where = place[1] if place else "policy"
    return InvalidPolicy(f"Policy field {where}: {what}.", next="Give a value of that type.")
