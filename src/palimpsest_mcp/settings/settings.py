"""The settings as everything else sees them: checked values, the policies they define, and where each came from."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from pydantic import PrivateAttr, ValidationError

from ..errors import InvalidSettings
from ..models.policies import Policy
from ..policy.presets import unknown_policy
from .model import SettingValues
from .policies import Policies, build_policies, read_variables
from .sources import collect


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
