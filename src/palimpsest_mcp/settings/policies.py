"""The policies that the settings define: presets with changes from the settings file and the environment."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

import msgspec

from ..context.presets import DEFAULT, FIELDS, PRESETS, Checked, build_policy, unknown_policy
from ..errors import InvalidPolicy, PalimpsestError
from ..models.plans import Policy

FIELD_PREFIX = "PALIMPSEST_POLICY__"
_CHOICE = "default"


class PolicyTable(msgspec.Struct, frozen=True, kw_only=True):
    """The `policy` key of a settings file, taken apart."""

    chosen: str = ""
    """Name of the policy in use; empty where the file does not choose."""
    changes: dict[str, Any] = {}
    """Values that stand in `[policy]` itself, as the seed's own block does: for the policy that the file chooses."""
    named: dict[str, dict[str, Any]] = {}
    """Tables `[policy.<name>]`."""


class Policies(msgspec.Struct, frozen=True, kw_only=True):
    """All policies by name, checked."""

    by_name: dict[str, Policy]
    notes: tuple[str, ...]
    origins: dict[str, dict[str, str]]
    """Policy name -> field -> where its value came from, for the fields that are not the preset's."""
    bases: dict[str, str]
    """Policy name -> preset it is built on."""


def read_table(value: Any) -> PolicyTable:
    """Take the file's `policy` apart: a name, the seed's block, named tables, or the last two together.

    Raises:
        InvalidPolicy: it is something else.
    """
    if isinstance(value, str):
        return PolicyTable(chosen=value)
    if not isinstance(value, dict):
        raise _shape("policy must be a name or a table")
    table = dict(cast("dict[str, Any]", value))
    chosen = table.pop(_CHOICE, "") or table.pop("name", "")
    if not isinstance(chosen, str):
        raise _shape(f"policy.{_CHOICE} must be the name of a policy")
    changes = {key: table[key] for key in table if key in FIELDS}
    named = {key: inner for key, inner in table.items() if key not in FIELDS}
    for key, inner in named.items():
        if not isinstance(inner, dict):
            # Not a table, so it was meant as a field; building says which one it may have been.
            build_policy(PRESETS[DEFAULT], {key: inner})
    return PolicyTable(chosen=chosen, changes=changes, named=cast("dict[str, dict[str, Any]]", named))


def read_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """Values of `PALIMPSEST_POLICY__<FIELD>`, by field; an empty one is not given."""
    return {
        name[len(FIELD_PREFIX) :].lower(): value
        for name, value in environ.items()
        if name.startswith(FIELD_PREFIX) and value
    }


def build_policies(
    table: PolicyTable, chosen: str, variables: Mapping[str, str], kind_by_tool: Mapping[str, str], *, file: str
) -> Policies:
    """Build every policy: preset, then the file's changes, and for the policy in use the variables.

    Variables change no other policy: a trigger that suits one may contradict another's target.

    Args:
        chosen: name of the policy in use.
        file: where the table came from, for origins and errors.

    Raises:
        InvalidPolicy: a field or value is wrong, or the policy in use is not defined.
    """
    names = list(dict.fromkeys([*PRESETS, *table.named]))
    if chosen not in names:
        raise unknown_policy(chosen, dict.fromkeys(names, PRESETS[DEFAULT]))
    built: dict[str, Policy] = {}
    bases: dict[str, str] = {}
    origins: dict[str, dict[str, str]] = {}
    notes: list[str] = []
    for name in names:
        changes = dict(table.named.get(name, {}))
        bases[name] = _base(name, changes)
        if name == (table.chosen or DEFAULT):
            changes |= table.changes
        own: Mapping[str, str] = variables if name == chosen else {}
        from_file = _build(PRESETS[bases[name]], changes, name, file)
        result = _build(from_file.policy, _decoded(own), name, "environment", from_text=True)
        tools = result.policy.kind_by_tool | dict(kind_by_tool)
        built[name] = msgspec.structs.replace(result.policy, kind_by_tool=tools)
        notes += [f"policy {name}: {note}" for note in (*from_file.notes, *result.notes)]
        origins[name] = dict.fromkeys(changes, file) | {
            field: f"environment {FIELD_PREFIX}{field.upper()}" for field in own
        }
    return Policies(by_name=built, notes=tuple(dict.fromkeys(notes)), origins=origins, bases=bases)


def _base(name: str, changes: dict[str, Any]) -> str:
    base = changes.pop("base", name if name in PRESETS else DEFAULT)
    if base not in PRESETS:
        raise unknown_policy(str(base), PRESETS)
    return base


def _build(base: Policy, changes: Mapping[str, Any], name: str, where: str, *, from_text: bool = False) -> Checked:
    try:
        return build_policy(base, changes, name=name, from_text=from_text)
    except PalimpsestError as error:
        raise InvalidPolicy(f"{where}: {error.message}", next=error.next) from error


def _decoded(variables: Mapping[str, str]) -> dict[str, Any]:
    """Lists and tables are JSON in a variable, everything else is its text."""
    values: dict[str, Any] = dict(variables)
    for field, text in variables.items():
        if text.lstrip().startswith(("[", "{")):
            try:
                values[field] = json.loads(text)
            except ValueError as error:
                raise _shape(f"{FIELD_PREFIX}{field.upper()} is not valid JSON") from error
    return values


def _shape(message: str) -> InvalidPolicy:
    return InvalidPolicy(
        f"{message}.", next='Write policy = "research", or a [policy] table with the policy\'s fields.'
    )
