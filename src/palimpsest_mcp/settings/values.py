"""Every setting with its type, range and default; pydantic checks what comes from outside."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PositiveInt,
    SecretStr,
    field_validator,
    model_validator,
)
from pydantic_settings import BaseSettings, NoDecode, PydanticBaseSettingsSource, SettingsConfigDict

from ..text.specifics.classes import CLASSES
from .places import default_home


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


Paths: TypeAlias = Annotated[tuple[Path, ...], NoDecode, _json_or_split(os.pathsep)]
Names: TypeAlias = Annotated[tuple[str, ...], NoDecode, _json_or_split(",")]


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


class SettingValues(BaseSettings):
    """What can be set, checked. `load_settings` reads the sources; this only holds what they gave."""

    model_config = SettingsConfigDict(
        env_prefix="PALIMPSEST_", env_ignore_empty=True, extra="forbid", frozen=True, validate_default=False
    )

    home: Path = Field(default_factory=default_home)
    """The store's folder."""
    policy: str = "research"
    """Name of the policy in use unless a call names another."""
    auto: bool = True
    """Off stops everything automatic: hooks, `record_items(auto=true)`, in-place compaction."""
    model: str = ""
    """Model id where a session does not say; decides the token factor, window and prices."""
    window_tokens: PositiveInt | None = None
    """The model's whole window; the host's reserve is taken off."""
    effective_window_tokens: PositiveInt | None = None
    """What is left of it; the ratio divides by this."""
    host: str = ""
    """Name of the host where it does not say, such as `claude-code`."""
    at_birth: bool = False
    """In Claude Code, replace results that the client itself would cut before they enter the context."""
    at_birth_tokens: PositiveInt | None = None
    """With `at_birth`: replace results of more tokens than this, too."""
    redaction_rule_files: Paths = ()
    """TOML files with more redaction rules."""
    redaction_allow: Names = ()
    """Texts that are never masked."""
    redaction_pii: bool = True
    """Also mask personal data: e-mail addresses, phone and card numbers, bank accounts, national ids."""
    redact_archive: bool = False
    """Store originals masked too; then restore gives the masked text."""
    specifics: Annotated[tuple[SpecificClass, ...], NoDecode, _json_or_split(","), AfterValidator(_each_once)] = ()
    """More classes of what must survive."""
    digester: Literal["extractive", "anthropic"] = "extractive"
    """`anthropic`: a model puts results into words above what code shows; without its answer, `extractive`."""
    probe_judge: Literal["none", "anthropic"] = "none"
    """`anthropic`: a model gives a second opinion on probes; the verdict stays code's."""
    anthropic_model: str = ""
    """Model that writes; empty: the fast tier of the model table."""
    anthropic_base_url: str = ""
    """Of the Messages API; empty: `ANTHROPIC_BASE_URL`, else the provider's own."""
    anthropic_api_key: SecretStr = SecretStr("")
    """Empty: `ANTHROPIC_API_KEY`, else `ANTHROPIC_AUTH_TOKEN`."""
    anthropic_time_limit_s: float = Field(default=20.0, gt=0, le=600)
    """For the summaries of one batch, retries included."""
    anthropic_pass_limit_s: float = Field(default=45.0, gt=0, le=3_600)
    """For all summaries of one pass."""
    anthropic_parallel: int = Field(default=4, ge=1, le=64)
    """Batches asked about at a time."""
    kind_by_tool: dict[str, str] = {}
    """Tool name -> kind of its results, added to every policy's own."""
    skills_roots: Paths = ()
    """Folders with skills, for experience; none: `.claude/skills` and `.autosearch/skills`, here and in the home."""
    min_wilson: float = Field(default=0.40, ge=0, le=1)
    """Least lower bound of success (Wilson, 95 %) of a rule that is promoted; 0 leaves the seed's counts alone."""
    min_relevance: float = Field(default=0.3, ge=0, le=1)
    """An event whose relevant/yield is below this does not count as a success."""
    rule_wording: Literal["auto", "off"] = "auto"
    """`auto`: with a key in `ANTHROPIC_API_KEY` and a large log, a model groups and words new rules."""
    log_level: Literal["debug", "info", "warning", "error"] = "warning"

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Only what `load_settings` hands in: it merges the sources itself, to know where each value came from."""
        return (init_settings,)

    @model_validator(mode="after")
    def _effective_within_window(self) -> SettingValues:
        whole, effective = self.window_tokens, self.effective_window_tokens
        if whole is not None and effective is not None and effective > whole:
            raise ValueError(f"effective_window_tokens ({effective}) must not be above window_tokens ({whole})")
        return self
