"""The three policies of the seeds, and the making of others out of them."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from ..errors import InvalidPolicy
from ..models.policies import HARD_FLOOR_TOOL_RESULTS, NEVER_COMPACT, Policy, Zone
from .ranges import problem

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


def preset(name: str) -> Policy:
    """A policy of the seeds.

    Raises:
        InvalidPolicy: there is none of this name.
    """
    found = PRESETS.get(name)
    if found is None:
        raise unknown_policy(name, PRESETS)
    return found


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
