"""What `statusline` prints, from what Claude Code gives it. It runs after every message, so it imports next to nothing.

How much of the effective window is used (the share that every other answer gives), where the client compacts by
itself, what was offloaded, what that saved net, when the last pass was, and how its probes went. The trigger is worked
out by the same code as everywhere else; what comes out is kept beside the store for as long as model and settings are
the same.
"""

from __future__ import annotations

import json
import os
import sys
import time

from ..hosts.claude_code.places import global_file, settings_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, cast
else:

    def cast(_type: str, value: Any) -> Any:
        """`typing.cast`, without importing it."""
        return value


CACHE_NAME = "statusline.json"
VARIABLES = (
    "CLAUDE_CODE_AUTO_COMPACT_WINDOW",
    "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE",
    "CLAUDE_CODE_MAX_OUTPUT_TOKENS",
    "DISABLE_AUTO_COMPACT",
    "DISABLE_COMPACT",
)
_COUNTERS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
_SWITCH = b'"autoCompactEnabled"'
_SAFE = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-_")
_BIGGEST = 4_000_000
_MOST = 10**15
"""Tokens; a larger number is none."""


def main(home: str | None = None) -> int:
    """Read the client's JSON on stdin, print one line. Whatever comes in, a line goes out and the status is 0."""
    if sys.stdin.isatty():
        sys.stderr.write("waiting: Claude Code gives its JSON on stdin; Ctrl-D ends it\n")
    try:
        given: Any = json.loads(sys.stdin.buffer.read())
    except (ValueError, RecursionError):
        given = None
    words = status_line(_fields(given), os.environ, home)
    sys.stdout.buffer.write(words.encode("utf-8", "replace") + b"\n")
    sys.stdout.buffer.flush()
    return 0


def status_line(given: dict[str, Any], environ: Mapping[str, str], home: str | None = None, *, now: float = 0) -> str:
    """One line for the person.

    Args:
        now: seconds since 1970; 0 for the clock's.
    """
    root = os.path.abspath(os.path.expanduser(home)) if home else store_folder(environ)
    window = _fields(given.get("context_window"))
    trigger = _trigger(given, environ, root) or (None, _count(window.get("context_window_size")))
    parts = [_share(_used(_fields(window.get("current_usage"))), *trigger)]
    note = _note(root, given.get("session_id"))
    if batches := _count(note.get("batches")):
        parts.append(f"{batches} batch{'es' if batches != 1 else ''} offloaded, {_saved(note.get('saved_tokens'))}")
    if batches and (ago := _ago(note.get("last_pass_at"), now or time.time())):
        parts.append(f"last pass {ago} ago: {short(note.get('last_pass_tokens'))} fewer")
    if batches and isinstance(rate := note.get("restores_per_hundred"), (int, float)) and rate > 0:
        parts.append(f"{rate:.0f} of 100 restored" if rate >= 1 else "under 1 of 100 restored")
    if asked := _count(note.get("probes_asked")):
        parts.append(f"probes {_count(note.get('probes_passed'))}/{asked}")
    return " · ".join(parts)


def _ago(stamp: Any, now: float) -> str:
    """`5 min`, `3 h`, `12 d`; empty where the stamp is none."""
    from datetime import datetime

    try:
        minutes = int((now - datetime.fromisoformat(stamp).timestamp()) / 60)
    except (TypeError, ValueError, OverflowError, OSError):
        return ""
    if minutes < 60:
        return f"{max(0, minutes)} min"
    return f"{minutes // 60} h" if minutes < 48 * 60 else f"{minutes // 1440} d"


def _saved(tokens: Any) -> str:
    lost = -tokens if type(tokens) is int and tokens < 0 else 0
    return f"{short(lost)} lost, more came back" if lost else f"{short(tokens)} saved net"


def store_folder(environ: Mapping[str, str]) -> str:
    """The store's folder, as `settings.places.home_folder` has it."""
    if named := environ.get("PALIMPSEST_HOME", ""):
        return os.path.abspath(os.path.expanduser(named))
    if sys.platform.startswith("linux"):
        data = environ.get("XDG_DATA_HOME", "").strip() or os.path.expanduser("~/.local/share")
        return os.path.join(data, "palimpsest-mcp")
    from ..settings.places import default_home

    return str(default_home())


def short(tokens: Any) -> str:
    """`940`, `23.1k`, `1.2M`."""
    count = _count(tokens)
    if count < 1_000:
        return str(count)
    if count < 999_500:
        return f"{count / 1_000:.1f}k" if count < 99_950 else f"{count / 1_000:.0f}k"
    return f"{count / 1_000_000:.1f}M".replace(".0M", "M")


def _share(used: int | None, tokens: int | None, window: int) -> str:
    if not window:
        return "context: nothing known yet"
    point = "no auto-compact" if tokens is None else f"auto-compact at {short(tokens)}"
    return f"context {'–' if used is None else f'{100 * used / window:.0f}%'} of {short(window)}, {point}"


def _used(usage: dict[str, Any]) -> int | None:
    """Tokens in the window; None before the first answer and right after a compaction."""
    return sum(_count(usage.get(name)) for name in _COUNTERS) or None


def _note(root: str, session_id: Any) -> dict[str, Any]:
    """What the server keeps of this session."""
    if not isinstance(session_id, str) or not 0 < len(session_id) <= 64 or not _SAFE.issuperset(session_id):
        return {}
    return _read(os.path.join(root, "session", session_id, "status.json"))


def _trigger(given: dict[str, Any], environ: Mapping[str, str], root: str) -> tuple[int | None, int] | None:
    """(tokens, effective window) of the client's own compaction; tokens None: never by itself."""
    model = _fields(given.get("model")).get("id")
    if not isinstance(model, str) or not model:
        return None
    project = _fields(given.get("workspace")).get("project_dir") or given.get("cwd")
    project = project if isinstance(project, str) else ""
    key = _key(model, project, environ)
    cache = os.path.join(root, CACHE_NAME)
    known = _read(cache)
    if known.get("key") != key:
        known = {"key": key, **_worked_out(model, project, environ)}
        _keep(cache, known)
    window = _count(known.get("effective"))
    tokens = known.get("tokens")
    return (_count(tokens) if tokens is not None else None, window) if window else None


def _key(model: str, project: str, environ: Mapping[str, str]) -> list[Any]:
    """Changes with everything that the trigger depends on."""
    user = os.path.expanduser("~")
    stamps: list[Any] = []
    for path in settings_files(environ, user, project):
        try:
            found = os.stat(path)
            stamps.append([found.st_mtime_ns, found.st_size])
        except OSError:
            stamps.append(None)
    return [2, model, project, [environ.get(name) for name in VARIABLES], stamps, _switch(global_file(environ, user))]


def _switch(path: str) -> str:
    """What the client's own file says of `autoCompactEnabled`. The file is large and changes all the time."""
    try:
        with open(path, "rb") as file:
            data = file.read(_BIGGEST)
    except OSError:
        return ""
    at = data.find(_SWITCH)
    return data[at + len(_SWITCH) :][:12].decode("ascii", "replace") if at >= 0 else ""


def _worked_out(model: str, project: str, environ: Mapping[str, str]) -> dict[str, Any]:
    from pathlib import Path

    from ..hosts.claude_code.settings import read_overrides
    from ..text.tokens.windows import host_trigger

    overrides = read_overrides(environ, Path.home(), Path(project) if project else None)
    found = host_trigger(model, host="claude-code", overrides=overrides)
    return {} if found is None else {"tokens": found.tokens, "window": found.window, "effective": found.effective}


def _keep(path: str, value: dict[str, Any]) -> None:
    """Beside the store, if there is one; it can be done without."""
    spare = f"{path}.{os.getpid()}.tmp"
    try:
        with open(spare, "x", encoding="utf-8", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
            json.dump(value, file)
        os.replace(spare, path)
    except (OSError, ValueError):
        return


def _read(path: str) -> dict[str, Any]:
    try:
        with open(path, "rb") as file:
            return _fields(json.loads(file.read(_BIGGEST)))
    except (OSError, ValueError, RecursionError):
        return {}


def _fields(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _count(value: Any) -> int:
    return value if type(value) is int and 0 < value <= _MOST else 0
