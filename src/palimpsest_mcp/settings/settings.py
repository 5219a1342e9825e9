"""The settings as everything else sees them: checked values, the policies they define, and where each came from."""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Self, cast

import msgspec
from pydantic import PrivateAttr, ValidationError
from pydantic_settings import EnvSettingsSource

from ..context.presets import unknown_policy
from ..errors import InvalidSettings
from ..models.plans import Policy
from ..ports.small_file import read_small
from .places import CONFIG_VARIABLE, HOME_VARIABLE, home_folder, settings_file
from .policies import FIELD_PREFIX, Policies, PolicyTable, build_policies, read_table, read_variables
from .values import SettingValues

# Collects values from argument, environment and settings file, and remembers where each came from (rule I12).


PREFIX = "PALIMPSEST_"

_FILE_PATHS = ("home", "redaction_rule_files", "skills_roots")


class Collected(msgspec.Struct, frozen=True, kw_only=True):
    """Values before they are checked, the strongest source of each."""

    values: dict[str, Any]
    origins: dict[str, str]
    """Key -> `argument`, `environment PALIMPSEST_…` or the file's path; a default has none."""
    table: PolicyTable
    file: Path


def collect(arguments: Mapping[str, Any]) -> Collected:
    """Merge the sources: argument > environment > settings file. An argument that is None counts as not given.

    Raises:
        InvalidSettings: an unknown key or variable, or a file that cannot be read or is no TOML.
        InvalidPolicy: the file's `policy` is neither a name nor a table.
    """
    given = {key: value for key, value in arguments.items() if value is not None}
    _known(given, "argument")
    _known_variables(os.environ)
    file = settings_file(home_folder(given.get("home")))
    values = _read(file)
    table = read_table(values.pop("policy")) if "policy" in values else PolicyTable()
    if table.chosen:
        values["policy"] = table.chosen
    values |= {key: _beside(file, values[key]) for key in _FILE_PATHS if key in values and values[key] != ""}
    environment = _variables()
    if environment.get("home") == "":
        del environment["home"]  # a variable that is empty is none, as for the platform's own folders
    if "" in (values.get("home"), given.get("home")):
        raise InvalidSettings("The setting home is empty.", next="Name a folder, or leave it out.")
    return Collected(
        values=_absolute_home(values | environment | given),
        origins=dict.fromkeys(values, str(file))
        | {key: f"environment {PREFIX}{key.upper()}" for key in environment}
        | dict.fromkeys(given, "argument"),
        table=table,
        file=file,
    )


def _known(keys: Iterable[str], where: str) -> None:
    for key in keys:
        if key not in SettingValues.model_fields:
            near = difflib.get_close_matches(key, list(SettingValues.model_fields), n=1)
            hint = f"Did you mean {near[0]}?" if near else f"The keys are {', '.join(SettingValues.model_fields)}."
            raise InvalidSettings(f"Unknown setting {key!r} ({where}).", next=hint)


def _known_variables(names: Iterable[str]) -> None:
    for name in names:
        if not name.startswith(PREFIX) or name.startswith(FIELD_PREFIX):
            continue
        if name not in (HOME_VARIABLE, CONFIG_VARIABLE):
            _known([name[len(PREFIX) :].lower()], f"environment variable {name}")


def _variables() -> dict[str, Any]:
    try:
        return EnvSettingsSource(SettingValues)()
    except ValueError as error:
        raise InvalidSettings(
            "PALIMPSEST_KIND_BY_TOOL is not valid JSON.", next='Write {"tool name": "kind"}, or unset it.'
        ) from error


def _read(file: Path) -> dict[str, Any]:
    try:
        values = tomllib.loads(read_small(file).decode("utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        if os.environ.get(CONFIG_VARIABLE):
            raise InvalidSettings(
                f"{CONFIG_VARIABLE} names {file}, which does not exist.", next="Create it, or unset the variable."
            ) from None
        return {}
    except OSError as error:
        raise InvalidSettings(
            f"{file} cannot be read: {error.strerror}.",
            next="It must be a regular file of at most 1 MB that you may read.",
        ) from error
    except ValueError as error:  # TOML's own errors and those of UTF-8
        raise InvalidSettings(f"{file} is not valid TOML: {error}.", next="Correct the place that it names.") from error
    _known(values, str(file))
    return values


def _beside(file: Path, value: Any) -> Any:
    """Relative paths of a file mean: from the file's own folder."""
    if isinstance(value, list):
        return [_beside(file, entry) for entry in cast("list[Any]", value)]
    return str(file.parent / Path(value).expanduser()) if isinstance(value, str) else value


def _absolute_home(values: dict[str, Any]) -> dict[str, Any]:
    home = values.get("home")
    return values | {"home": home_folder(home)} if isinstance(home, (str, Path)) and str(home) else values


class Settings(SettingValues):
    """All settings of one process; made by `load` only."""

    _policies: Policies = PrivateAttr()
    _origins: dict[str, str] = PrivateAttr()
    _file: Path = PrivateAttr()

    @classmethod
    def load(cls, **arguments: Any) -> Self:
        """Read and check all sources: argument > environment > settings file > preset or default.

        Args:
            arguments: by the settings' names; None counts as not given.

        Raises:
            InvalidSettings: an unknown key or variable, a value out of range, a file that is no TOML; it names key and
                source.
            InvalidPolicy: the same for a policy.
        """
        found = collect(arguments)
        try:
            settings = cls(**found.values)
        except ValidationError as error:
            raise _invalid(error, found.origins) from error
        settings._origins, settings._file = found.origins, found.file
        settings._policies = build_policies(
            found.table, settings.policy, read_variables(os.environ), settings.kind_by_tool, file=str(found.file)
        )
        return settings

    @property
    def file(self) -> Path:
        """The settings file that was looked for; it need not exist."""
        return self._file

    @property
    def notes(self) -> tuple[str, ...]:
        """What had to be said, such as a K that was raised to the floor."""
        return self._policies.notes

    @property
    def policies(self) -> Mapping[str, Policy]:
        """Every policy by name: presets and the user's own."""
        return self._policies.by_name

    def policy_named(self, name: str | None = None) -> Policy:
        """A policy by name; without one, the policy in use.

        Raises:
            InvalidPolicy: no policy has this name.
        """
        wanted = name or self.policy
        if (found := self.policies.get(wanted)) is None:
            raise unknown_policy(wanted, self.policies)
        return found

    def explain(self) -> list[tuple[str, Any, str]]:
        """Every setting as (key, value, source), then every field of the policy in use as `policy.<field>`.

        Source: `argument`, `environment PALIMPSEST_…`, the file's path, `preset research`, `default`.
        """
        rows: list[tuple[str, Any, str]] = [
            (name, getattr(self, name), self._origins.get(name, "default")) for name in SettingValues.model_fields
        ]
        origins, preset = self._policies.origins[self.policy], f"preset {self._policies.bases[self.policy]}"
        policy = self.policy_named()
        return rows + [
            (f"policy.{field}", getattr(policy, field), origins.get(field, preset))
            for field in policy.__struct_fields__
        ]


def _invalid(error: ValidationError, origins: Mapping[str, str]) -> InvalidSettings:
    """The first thing that pydantic found, in one sentence; what was set is never quoted."""
    first = error.errors(include_url=False, include_input=False)[0]
    place = [str(part) for part in first["loc"]]
    subject = f"Setting {'.'.join(place)} ({origins.get(place[0], 'default')})" if place else "The settings"
    message = first["msg"].removeprefix("Value error, ")
    return InvalidSettings(f"{subject}: {message}.", next="Correct the value, or remove it for the default.")
