"""The settings as everything else sees them: checked values, the policies they define, and where each came from."""

from __future__ import annotations

import difflib
import json
import os
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, cast

import msgspec

from ..context.policies import DEFAULT, FIELDS, PRESETS, Checked, build_policy, unknown_policy
from ..errors import InvalidPolicy, InvalidSettings, PalimpsestError
from ..models.plans import Policy
from ..ports.small_file import read_small
from .places import CONFIG_VARIABLE, HOME_VARIABLE, Secret, default_home, home_folder, settings_file

if TYPE_CHECKING:
    from .checked import SpecificClass

# Every setting with its type and default.


class Values(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """What can be set, with its defaults; `checked.py` has the ranges."""

    home: Path = msgspec.field(default_factory=default_home)
    """The store's folder."""
    store: Secret = Secret("")
    """`postgresql://…`: the store is that database, which machines share; empty: the folder."""
    tenant: str = "default"
    """Which tenant of that database this server serves."""
    store_bodies: str = ""
    """`s3://BUCKET/PREFIX`: large bodies of that database's archive go there; empty: they stay in its rows."""
    store_connections: int = 4
    """Most connections to it, for the whole process."""
    policy: str = "research"
    """Name of the policy in use unless a call names another."""
    auto: bool = True
    """Off stops everything automatic: hooks, `record_items(auto=true)`, in-place compaction."""
    recall: bool = False
    """At a new request, name what left the context and may be needed for it, in at most 300 tokens."""
    model: str = ""
    """Model id where a session does not say; decides the token factor, window and prices."""
    window_tokens: int | None = None
    """The model's whole window; the host's reserve is taken off."""
    effective_window_tokens: int | None = None
    """The window less the host's reserve; the ratio divides by this."""
    host: str = ""
    """Name of the host where it does not say, such as `claude-code`."""
    at_birth: bool = True
    """In Claude Code, replace results that the client itself would cut before they enter the context."""
    at_birth_tokens: int | None = None
    """Replace results of more tokens than this at birth, too."""
    redaction_rule_files: tuple[Path, ...] = ()
    """TOML files with more redaction rules."""
    redaction_allow: tuple[str, ...] = ()
    """Texts that are never masked."""
    redaction_pii: bool = True
    """Also mask personal data: e-mail addresses, phone and card numbers, bank accounts, national ids."""
    redact_archive: bool = False
    """Store originals masked too; then restore gives the masked text."""
    specifics: tuple[SpecificClass, ...] = ()
    """More classes of values that must survive word for word."""
    digester: Literal["extractive", "anthropic"] = "extractive"
    """`anthropic`: a model puts results into words above what code shows; without its answer, `extractive`."""
    probe_judge: Literal["none", "anthropic"] = "none"
    """`anthropic`: a model gives a second opinion on probes; the verdict stays code's."""
    anthropic_model: str = ""
    """Model that writes; empty: the fast tier of the model table."""
    anthropic_base_url: str = ""
    """Address of the Messages API; empty: `ANTHROPIC_BASE_URL`, else the provider's own."""
    anthropic_api_key: Secret = Secret("")
    """Empty: `ANTHROPIC_API_KEY`, else `ANTHROPIC_AUTH_TOKEN`."""
    anthropic_time_limit_s: float = 20.0
    """For the summaries of one batch, retries included."""
    anthropic_pass_limit_s: float = 45.0
    """For all summaries of one pass."""
    anthropic_parallel: int = 4
    """Batches asked about at a time."""
    kind_by_tool: dict[str, str] = {}
    """Tool name -> kind of its results, added to every policy's own."""
    skills_roots: tuple[Path, ...] = ()
    """Folders with skills, for experience; none: `.claude/skills` and `.autosearch/skills`, here and in the home."""
    min_wilson: float = 0.40
    """Least lower bound of success (Wilson, 95 %) of a rule that is promoted; 0: the counts alone decide."""
    min_relevance: float = 0.5
    """An event whose relevant/yield is below this part of its query's median does not count as a success."""
    rule_wording: Literal["auto", "off"] = "auto"
    """`auto`: with a key in `ANTHROPIC_API_KEY` and a large log, a model groups and words new rules."""
    max_store_mb: int = 0
    """Most that the store may take on disk, in MB; a write that would go above it is refused. 0: no limit."""
    log_level: Literal["debug", "info", "warning", "error"] = "warning"
    """What is logged to standard error; from `info` on a line of JSON for each pass, tool call, hook and verify,
    without stored text."""


NAMES = Values.__struct_fields__
"""Of every setting."""
_SWITCHES = frozenset({"auto", "recall", "at_birth", "redaction_pii", "redact_archive"})
_ANY_TEXT = frozenset({"policy", "model", "host", "anthropic_model", "anthropic_base_url"})


def _needs_a_look(name: str, value: Any) -> bool:
    """Whether a value could be wrong, or stand for one of another type."""
    if name == "home":
        return not isinstance(value, Path)
    if name in _SWITCHES:
        return not isinstance(value, bool)
    return name not in _ANY_TEXT or not isinstance(value, str) or not value.isascii()


# The policies that the settings define: presets with changes from the settings file and the environment.

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


# Collects values from argument, environment and settings file, and remembers where each came from (rule I12).


PREFIX = "PALIMPSEST_"

_FILE_PATHS = ("home", "redaction_rule_files", "skills_roots")


class RawValues(msgspec.Struct, frozen=True, kw_only=True):
    """Values before they are checked, the strongest source of each."""

    values: dict[str, Any]
    origins: dict[str, str]
    """Key -> `argument`, `environment PALIMPSEST_…` or the file's path; a default has none."""
    table: PolicyTable
    file: Path


def collect(arguments: Mapping[str, Any]) -> RawValues:
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
    if "" in (values.get("home"), given.get("home")):
        raise InvalidSettings("The setting home is empty.", next="Name a folder, or leave it out.")
    return RawValues(
        values=_absolute_home(values | environment | given),
        origins=dict.fromkeys(values, str(file))
        | {key: f"environment {PREFIX}{key.upper()}" for key in environment}
        | dict.fromkeys(given, "argument"),
        table=table,
        file=file,
    )


def _known(keys: Iterable[str], where: str) -> None:
    for key in keys:
        if key not in NAMES:
            near = difflib.get_close_matches(key, NAMES, n=1)
            hint = f"Did you mean {near[0]}?" if near else f"The keys are {', '.join(NAMES)}."
            raise InvalidSettings(f"Unknown setting {key!r} ({where}).", next=hint)


def _known_variables(names: Iterable[str]) -> None:
    for name in names:
        if not name.startswith(PREFIX) or name.startswith(FIELD_PREFIX):
            continue
        if name not in (HOME_VARIABLE, CONFIG_VARIABLE):
            _known([name[len(PREFIX) :].lower()], f"environment variable {name}")


def _variables() -> dict[str, Any]:
    """Values of `PALIMPSEST_<SETTING>`, in whatever case; an empty one is not given."""
    given = {name.lower(): value for name, value in os.environ.items() if value}
    found: dict[str, Any] = {name: given[key] for name in NAMES if (key := f"{PREFIX.lower()}{name}") in given}
    if "kind_by_tool" in found:
        try:
            found["kind_by_tool"] = json.loads(found["kind_by_tool"])
        except ValueError as error:
            raise InvalidSettings(
                "PALIMPSEST_KIND_BY_TOOL is not valid JSON.", next='Write {"tool name": "kind"}, or unset it.'
            ) from error
    return found


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
    except RecursionError:
        raise InvalidSettings(f"{file} is nested too deeply.", next="Write its tables and lists flat.") from None
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


class Settings(Values, frozen=True, kw_only=True, eq=False):
    """All settings of one process; made by `load` only."""

    built: Policies
    origins: Mapping[str, str]
    """Key -> where its value came from; a default has none."""
    file: Path
    """The settings file that was looked for; it need not exist."""

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
        values = found.values
        if any(_needs_a_look(name, value) for name, value in values.items()):
            from .checked import checked  # its model takes longer to build than most commands run

            values = checked(Values, values, found.origins)
        given = Values(**values)
        built = build_policies(
            found.table, given.policy, read_variables(os.environ), given.kind_by_tool, file=str(found.file)
        )
        return cls(**values, built=built, origins=found.origins, file=found.file)

    @property
    def notes(self) -> tuple[str, ...]:
        """What had to be said, such as a K that was raised to the floor."""
        return self.built.notes

    @property
    def policies(self) -> Mapping[str, Policy]:
        """Every policy by name: presets and the user's own."""
        return self.built.by_name

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
            (name, getattr(self, name), self.origins.get(name, "default")) for name in NAMES
        ]
        origins, preset = self.built.origins[self.policy], f"preset {self.built.bases[self.policy]}"
        policy = self.policy_named()
        return rows + [
            (f"policy.{field}", getattr(policy, field), origins.get(field, preset))
            for field in policy.__struct_fields__
        ]
