"""What a user set in Claude Code about its own compaction, read as the client itself reads it (2.1.328)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from ..models.host_overrides import HostOverrides
from .claude_code_places import global_file, settings_files

WINDOW = "CLAUDE_CODE_AUTO_COMPACT_WINDOW"
PERCENT = "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE"
MOST_OUTPUT = "CLAUDE_CODE_MAX_OUTPUT_TOKENS"
SWITCHES = ("DISABLE_AUTO_COMPACT", "DISABLE_COMPACT")
LEAST_WINDOW, MOST_WINDOW = 100_000, 1_000_000

_NUMBER = re.compile(r"(\d+(?:\.\d+)?(?:e\d{1,2})?)\s*([km]?)", re.IGNORECASE)
_PLAIN = re.compile(r"\d+(?:\.\d+)?")
_YES = ("1", "true", "yes", "on")
_BIGGEST_FILE = 4_000_000


def read_overrides(environ: Mapping[str, str], home: Path, project: Path | None = None) -> HostOverrides:
    """What is in force for sessions of a project. What cannot be read counts as not there."""
    settings = [read_object(Path(path)) for path in settings_files(environ, str(home), str(project or ""))]
    state = (
        read_object(Path(global_file(environ, str(home))))
        if not any("autoCompactEnabled" in one for one in settings)
        else {}
    )
    return overrides_of(environ, [{"autoCompactEnabled": state.get("autoCompactEnabled", True)}, *settings])


def overrides_of(environ: Mapping[str, str], settings: Sequence[Mapping[str, Any]]) -> HostOverrides:
    """What is in force.

    Args:
        settings: the weakest first; their `env` is stronger than the process's own environment.
    """
    variables = dict(environ)
    told: dict[str, Any] = {}
    for one in settings:
        told |= one
        env = one.get("env")
        if isinstance(env, dict):
            variables |= {str(name): str(value) for name, value in cast("dict[Any, Any]", env).items()}
    window, source = _window(variables.get(WINDOW, "")), WINDOW
    if window is None:
        window, source = _set_window(told.get("autoCompactWindow")), "autoCompactWindow"
    off = next((name for name in SWITCHES if variables.get(name, "").strip().lower() in _YES), "")
    if not off and told.get("autoCompactEnabled") is False:
        off = "autoCompactEnabled is false"
    return HostOverrides(
        window_tokens=window,
        window_source=source if window is not None else "",
        percent=_percent(variables.get(PERCENT, "")),
        most_output=_count(variables.get(MOST_OUTPUT, "")),
        off=off,
    )


def read_object(path: Path) -> dict[str, Any]:
    """The object in a file; an empty one where there is none."""
    try:
        if path.stat().st_size > _BIGGEST_FILE:
            return {}
        found: Any = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def _window(text: str) -> int | None:
    """`200000`, `200k`, `0.5m`, `2e5`; digits may be grouped. Less than the least counts as that."""
    found = _NUMBER.match(text.strip().replace("_", "").replace(",", ""))
    if found is None:
        return None
    tokens = int(float(found[1]) * {"k": 1_000, "m": 1_000_000}.get(found[2].lower(), 1))
    return min(MOST_WINDOW, max(LEAST_WINDOW, tokens)) if tokens > 0 else None


def _set_window(value: Any) -> int | None:
    """The client drops a setting that is no whole number, or too small."""
    return min(MOST_WINDOW, value) if type(value) is int and value >= LEAST_WINDOW else None


def _percent(text: str) -> float | None:
    found = _PLAIN.match(text.strip())
    percent = float(found[0]) if found is not None else 0.0
    return percent if 0 < percent <= 100 else None


def _count(text: str) -> int | None:
    found = _PLAIN.match(text.strip())
    count = int(float(found[0])) if found is not None else 0
    return count or None
