"""What a setting from outside must be: ranges and forms beside the types in `settings.Values`. Imported where a value
needs a look: building this model takes longer than most commands run."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, TypeAlias, get_type_hints

from msgspec import Struct
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    create_model,
    field_validator,
)

from ..errors import InvalidSettings
from ..text.specifics.registry import CLASSES
from .places import Secret


def _json_or_split(separator: str) -> BeforeValidator:
    """A variable is text: a JSON value, or plain entries with a separator."""

    def split(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        if value.lstrip().startswith(("[", "{")):
            return json.loads(value)
        return [entry.strip() for entry in value.split(separator) if entry.strip()]

    return BeforeValidator(split)


def _words(error: Exception) -> str:
    """re2 gives its messages as bytes."""
    first = error.args[0] if error.args else b""
    return first.decode("utf-8", "replace") if isinstance(first, bytes) else str(first)


Paths: TypeAlias = Annotated[tuple[Path, ...], _json_or_split(os.pathsep)]


class SpecificClass(BaseModel):
    """A user's own class of specifics."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(pattern=r"^[a-z][a-z0-9_-]{0,30}$")
    pattern: str = Field(min_length=1, max_length=1_000)
    """RE2 syntax: no look-around, no back-references."""
    weight: float = Field(default=3.0, ge=0.5, le=6)
    """Against the built-in classes: an integer weighs 0.5, an id 4, an error code 6."""

    @field_validator("name")
    @classmethod
    def _is_new(cls, name: str) -> str:
        if any(one.name == name for one in CLASSES):
            raise ValueError("a built-in class has this name")
        return name

    @field_validator("pattern")
    @classmethod
    def _compiles(cls, pattern: str) -> str:
        # Imported here: few users have classes of their own, and every command reads the settings.
        import re2

        library: Any = re2  # it ships no types
        options = library.Options()
        options.log_errors = False
        try:
            library.compile(pattern, options)
        except library.error as error:
            raise ValueError(f"not a pattern in RE2 syntax: {_words(error)}") from error
        return pattern


def _each_once(classes: tuple[SpecificClass, ...]) -> tuple[SpecificClass, ...]:
    names = [one.name for one in classes]
    if twice := next((name for name in names if names.count(name) > 1), ""):
        raise ValueError(f"the class {twice} is there twice")
    return classes


def _a_database(store: SecretStr) -> SecretStr:
    if store.get_secret_value() and not store.get_secret_value().startswith(("postgresql://", "postgres://")):
        raise ValueError("it is no URL of a database (postgresql://…); a folder is named by home")
    return store


NARROWER: dict[str, Any] = {
    "store": Annotated[SecretStr, AfterValidator(_a_database)],
    "tenant": Annotated[str, Field(pattern=r"^[a-z0-9]([a-z0-9_-]{0,62}[a-z0-9])?$")],
    "store_bodies": Annotated[str, Field(pattern=r"^(s3://[^\s]+)?$")],
    "store_connections": Annotated[int, Field(ge=1, le=200)],
    "window_tokens": Annotated[int | None, Field(gt=0)],
    "effective_window_tokens": Annotated[int | None, Field(gt=0)],
    "at_birth_tokens": Annotated[int | None, Field(gt=0)],
    "redaction_rule_files": Paths,
    "redaction_allow": Annotated[tuple[str, ...], _json_or_split(",")],
    "specifics": Annotated[tuple[SpecificClass, ...], _json_or_split(","), AfterValidator(_each_once)],
    "anthropic_api_key": SecretStr,
    "anthropic_time_limit_s": Annotated[float, Field(gt=0, le=600)],
    "anthropic_pass_limit_s": Annotated[float, Field(gt=0, le=3_600)],
    "anthropic_parallel": Annotated[int, Field(ge=1, le=64)],
    "skills_roots": Paths,
    "min_wilson": Annotated[float, Field(ge=0, le=1)],
    "min_relevance": Annotated[float, Field(ge=0, le=1)],
    "max_store_mb": Annotated[int, Field(ge=0)],
}
"""What a setting must be where its type in `settings.Values` does not say it all."""


@cache
def _model(settings: type[Struct]) -> type[BaseModel]:
    """The settings with what each must be; a default is never asked for, since only what is given is looked at."""
    types = get_type_hints(settings, localns={"SpecificClass": SpecificClass})
    fields: dict[str, Any] = {name: (NARROWER.get(name, types[name]), None) for name in settings.__struct_fields__}
    return create_model("SettingValues", __config__=ConfigDict(extra="forbid", frozen=True), **fields)


def checked(settings: type[Struct], values: Mapping[str, Any], origins: Mapping[str, str]) -> dict[str, Any]:
    """These values as they are used.

    Args:
        settings: every setting with its type.
        origins: key -> where its value came from, for the error.

    Raises:
        InvalidSettings: one is wrong; it names key and source.
    """
    try:
        found = _model(settings)(**values)
    except ValidationError as error:
        raise _invalid(error, origins) from error
    good = {name: _bare(getattr(found, name)) for name in values}
    whole, effective = good.get("window_tokens"), good.get("effective_window_tokens")
    if whole is not None and effective is not None and effective > whole:
        raise _refused(
            "The settings", f"effective_window_tokens ({effective}) must not be above window_tokens ({whole})"
        )
    return good


def _bare(value: Any) -> Any:
    return Secret(value.get_secret_value()) if isinstance(value, SecretStr) else value


def _invalid(error: ValidationError, origins: Mapping[str, str]) -> InvalidSettings:
    """The first thing that pydantic found, in one sentence; what was set is never quoted."""
    first = error.errors(include_url=False, include_input=False)[0]
    place = [str(part) for part in first["loc"]]
    subject = f"Setting {'.'.join(place)} ({origins.get(place[0], 'default')})" if place else "The settings"
    message = first["msg"].removeprefix("Value error, ")
    return _refused(subject, message)


def _refused(subject: str, why: str) -> InvalidSettings:
    return InvalidSettings(f"{subject}: {why}.", next="Correct the value, or remove it for the default.")
