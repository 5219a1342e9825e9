"""Reads the settings: argument > environment > settings file > preset or default (rule I12)."""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError
from pydantic_settings import EnvSettingsSource

from ..errors import InvalidSettings
from ..models.policies import Policy
from ..policy.presets import unknown_policy
from .model import SettingValues
from .places import CONFIG_VARIABLE, HOME_VARIABLE, home_folder, settings_file
from .policies import FIELD_PREFIX, Policies, PolicyTable, build_policies, read_table, read_variables

PREFIX = "PALIMPSEST_"
TEST_VARIABLES = frozenset(
    {"PALIMPSEST_SHARED", "PALIMPSEST_CRASH_SECONDS", "PALIMPSEST_CRASH_SEED", "PALIMPSEST_INSPECTOR"}
)
"""Read by the tests and benchmarks only; not settings, and not errors."""


class Settings:
    """Checked settings, the policies they define, and where each value came from."""

    def __init__(self, values: SettingValues, policies: Policies, origins: Mapping[str, str], file: Path) -> None:
        self.values = values
        self.policies = policies.by_name
        self.notes = policies.notes
        """What had to be said, such as a K that was raised to the floor."""
        self.file = file
        """The settings file that was looked for; it need not exist."""
        self._policies = policies
        self._origins = origins

    @property
    def home(self) -> Path:
        """The store's folder, absolute."""
        return self.values.home

    def policy_named(self, name: str | None = None) -> Policy:
        """A policy by name; without one, the policy in use.

        Raises:
            InvalidPolicy: no policy has this name.
        """
        wanted = name or self.values.policy
        found = self.policies.get(wanted)
        if found is None:
            raise unknown_policy(wanted, self.policies)
        return found

    def explain(self) -> list[tuple[str, Any, str]]:
        """Every setting as (key, value, where it came from), then every field of the policy in use."""
        rows: list[tuple[str, Any, str]] = [
            (name, getattr(self.values, name), self._origins.get(name, "default"))
            for name in SettingValues.model_fields
        ]
        name = self.values.policy
        origins, preset = self._policies.origins[name], f"preset {self._policies.bases[name]}"
        policy = self.policies[name]
        rows += [
            (f"policy.{field}", getattr(policy, field), origins.get(field, preset))
            for field in policy.__struct_fields__
        ]
        return rows


def load_settings(**arguments: Any) -> Settings:
    """Read and check all sources; an argument that is None counts as not given.

    Raises:
        InvalidSettings: an unknown key or variable, a value out of range, a file that is no TOML; it names key and
            source.
        InvalidPolicy: the same for a policy.
    """
    given = {key: value for key, value in arguments.items() if value is not None}
    _known(given, "argument")
    _known_variables()
    file = settings_file(home_folder(given.get("home")))
    table, values, origins = _from_file(file)
    environment = _from_environment()
    values |= environment
    origins |= {key: f"environment {PREFIX}{key.upper()}" for key in environment}
    values |= given
    origins |= dict.fromkeys(given, "argument")
    settings = _checked(_absolute(values), origins)
    variables = read_variables(os.environ)
    policies = build_policies(table, settings.policy, variables, settings.kind_by_tool, file=str(file))
    return Settings(settings, policies, origins, file)


def _known(keys: Mapping[str, Any], where: str) -> None:
    for key in keys:
        if key not in SettingValues.model_fields:
            near = difflib.get_close_matches(key, list(SettingValues.model_fields), n=1)
            hint = f"Did you mean {near[0]}?" if near else f"The keys are {', '.join(SettingValues.model_fields)}."
            raise InvalidSettings(f"Unknown setting {key!r} ({where}).", next=hint)


def _known_variables() -> None:
    for name in os.environ:
        if not name.startswith(PREFIX) or name in TEST_VARIABLES or name.startswith(FIELD_PREFIX):
            continue
        if name not in (HOME_VARIABLE, CONFIG_VARIABLE):
            _known({name[len(PREFIX) :].lower(): ""}, f"environment variable {name}")


def _from_environment() -> dict[str, Any]:
    try:
        return EnvSettingsSource(SettingValues)()
    except ValueError as error:
        raise InvalidSettings(
            "PALIMPSEST_KIND_BY_TOOL is not valid JSON.", next='Write {"tool name": "kind"}, or unset it.'
        ) from error


def _from_file(file: Path) -> tuple[PolicyTable, dict[str, Any], dict[str, str]]:
    try:
        text = file.read_bytes().decode("utf-8")
        values = tomllib.loads(text)
    except (FileNotFoundError, NotADirectoryError):
        if CONFIG_VARIABLE in os.environ:
            raise InvalidSettings(
                f"{CONFIG_VARIABLE} names {file}, which does not exist.", next="Create it, or unset the variable."
            ) from None
        return PolicyTable(), {}, {}
    except OSError as error:
        raise InvalidSettings(
            f"{file} cannot be read: {error.strerror}.", next="Check the file's owner and mode."
        ) from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InvalidSettings(f"{file} is not valid TOML: {error}.", next="Correct the line that it names.") from error
    _known(values, str(file))
    table = read_table(values.pop("policy")) if "policy" in values else PolicyTable()
    if table.chosen:
        values["policy"] = table.chosen
    for key in ("home", "redaction_rule_files", "skills_roots"):
        if key in values:
            values[key] = _beside(file, values[key])
    return table, values, dict.fromkeys(values, str(file))


def _beside(file: Path, value: Any) -> Any:
    """Relative paths of a file mean: from the file's own folder."""
    if isinstance(value, list):
        return [_beside(file, entry) for entry in cast("list[Any]", value)]
    return str(file.parent / Path(value).expanduser()) if isinstance(value, str) else value


def _absolute(values: dict[str, Any]) -> dict[str, Any]:
    """Paths that start with ~ or are relative become absolute once, here."""
    home = values.get("home")
    return values | ({"home": home_folder(home)} if isinstance(home, (str, Path)) else {})


def _checked(values: dict[str, Any], origins: Mapping[str, str]) -> SettingValues:
    try:
        return SettingValues(**values)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = [str(part) for part in first["loc"]]
        where = origins.get(place[0], "") if place else ""
        message = first["msg"].removeprefix("Value error, ")
        subject = f"Setting {'.'.join(place)} ({where})" if place else "The settings"
        raise InvalidSettings(
            f"{subject}: {message}.", next="Correct the value, or remove it for the default."
        ) from error
    except ValueError as error:
        raise InvalidSettings(f"The settings: {error}.", next="Correct the value.") from error
