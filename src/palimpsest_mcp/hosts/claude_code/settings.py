"""What a user set in Claude Code about its own compaction, read as the client itself reads it (2.1.328)."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from ...models.host_table import HostOverrides
from ...models.tools import HOST_EVENT
from .places import config_folder, global_file, settings_files

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


# What Palimpsest enters in a host's own files: a server, hooks, a status line. Objects in, objects out.
#
# The hooks are those of the plugin; only the names of server and program differ (`tests/hosts/test_wiring.py`
# compares).


Object = dict[str, Any]

NAME = "palimpsest"
"""Of the server, where a user has it without the plugin."""
PROGRAM = "palimpsest-mcp"
TESTED_CLIENT = "2.1.328"
"""Version of Claude Code that everything here was tried with (docs/claude-code.md has the date)."""
_EVERYWHERE = ("session_id", "transcript_path", "cwd", "agent_id", "agent_type")
_CALL = ("tool_name", "tool_input", "tool_use_id")
EDITORS = {"Write": "file_path", "Edit": "file_path", "MultiEdit": "file_path", "NotebookEdit": "notebook_path"}
"""Tools that change one file, and the argument that names it. Their records hold whole files that never enter the
context: what does is read from the transcript, so they have no hook after the call."""
_MCP_WRITERS = "mcp__.*(?:write|edit|create|patch).*"
_SUSPECT = ("Palimpsest's note", "restore_batch")
"""What stands in every command that would write a note or a digest of ours into a file."""
_EVENTS: dict[str, tuple[tuple[str, ...], int]] = {
    "SessionStart": ((), 10),
    "UserPromptSubmit": (("prompt",), 15),  # the first waits for the server to start, or the client says it failed
    "UserPromptExpansion": (("command_name",), 15),
    "PreToolUse": (_CALL, 5),
    "PostToolUse": ((*_CALL, "tool_response"), 30),
    "PostToolUseFailure": ((*_CALL, "error"), 5),
    "PreCompact": (("trigger", "custom_instructions"), 30),
    "PostCompact": (("trigger", "compact_summary"), 30),
    "SubagentStop": (("agent_transcript_path",), 5),
    "Stop": ((), 5),
    "SessionEnd": ((), 10),
}
"""Event -> fields of its own, and seconds it may take."""
_BY_COMMAND = ("SessionStart", "SessionEnd")
"""The client refuses its servers' tools at the first, and asks too late at the second."""


def hooks(server: str, program: str, options: str = "", *, module: bool = False) -> dict[str, list[Object]]:
    """Every hook, by event. Each costs a call about 10 ms in the client, whatever it does (2.1.328): a call that goes
    well has one hook, before it where it changes a file, else after it.

    Args:
        server: as hooks name it: `palimpsest`, or `plugin:palimpsest:server`.
        program, options: as a shell takes them.
        module: the plugin's module looks at commands before they run. Where it may not be loaded, the client asks us
            about those in which it finds our words itself; it does not look into quoted here-documents.
    """
    tools = f"mcp__{server.replace(':', '_')}__"
    before = (f"{tools}(?!{HOST_EVENT}$).*", *EDITORS, _MCP_WRITERS, *(() if module else ("Bash",)))
    matchers = {
        "PreToolUse": f"^(?:{'|'.join(before)})$",
        "PostToolUse": f"^(?!(?:{'|'.join(EDITORS)}|{tools}{HOST_EVENT})$).*",
        "PostToolUseFailure": f"^(?!{tools}{HOST_EVENT}$).*",
    }
    found: dict[str, list[Object]] = {}
    for event, (fields, timeout_s) in _EVENTS.items():
        hook: Object = {"type": "command", "command": f"{program} hook {event} {options}".rstrip()}
        if event not in _BY_COMMAND:
            payload = {field: f"${{{field}}}" for field in (*_EVERYWHERE, *fields)}
            call = {"event": event, "payload": payload}
            hook = {"type": "mcp_tool", "server": server, "tool": HOST_EVENT, "input": call}
        entry: Object = {"hooks": [{**hook, "timeout": timeout_s}]}
        found[event] = [{"matcher": matchers[event], **entry} if event in matchers else entry]
    if module:
        (ours,) = found["PreToolUse"][0]["hooks"]
        named = [{**ours, "if": f"Bash(*{words}*)"} for words in _SUSPECT]
        found["PreToolUse"].append({"matcher": "^Bash$", "hooks": named})
    return found


def is_own_server(entry: Any) -> bool:
    """Whether an entry of `mcpServers` starts this program."""
    fields = cast("Object", entry) if isinstance(entry, dict) else {}
    words = [fields.get("command"), *_list(fields.get("args"))]
    return any(isinstance(word, str) and (_base(word) == PROGRAM or word == "palimpsest_mcp") for word in words)


def is_own_hook(hook: Any) -> bool:
    """Whether a hook calls this program or its server."""
    fields = cast("Object", hook) if isinstance(hook, dict) else {}
    if fields.get("type") == "mcp_tool":
        return fields.get("server") == NAME and fields.get("tool") == HOST_EVENT
    return _is_own_command(fields.get("command"), "hook")


def is_own_statusline(value: Any) -> bool:
    """Whether a status line is this program's."""
    return isinstance(value, dict) and _is_own_command(cast("Object", value).get("command"), "statusline")


def has_plugin(settings: Mapping[str, Any]) -> bool:
    """Whether the plugin is switched on in a user's settings, from whatever marketplace."""
    plugins = _object(settings.get("enabledPlugins"))
    return any(name.split("@", 1)[0] == NAME and value is True for name, value in plugins.items())


def with_server(config: Mapping[str, Any], entry: Object, key: str = "mcpServers") -> Object:
    """A host's configuration with our server in it, in the place of an older entry of ours."""
    return {**config, key: {**_object(config.get(key)), NAME: entry}}


def without_server(config: Mapping[str, Any], key: str = "mcpServers") -> Object:
    """The same without it."""
    servers = _object(config.get(key))
    kept = {name: entry for name, entry in servers.items() if not (name == NAME and is_own_server(entry))}
    return _put(config, key, kept, changed=len(kept) != len(servers))


def with_hooks(
    settings: Mapping[str, Any], wanted: Mapping[str, list[Object]], statusline: Object | None = None
) -> Object:
    """Settings with our hooks after the user's, and our status line where there is none."""
    found = without_hooks(settings)
    events = _object(found.get("hooks"))
    merged = {event: [*_list(events.get(event)), *copy.deepcopy(entries)] for event, entries in wanted.items()}
    found = {**found, "hooks": {**events, **merged}}
    return found if statusline is None or "statusLine" in found else {**found, "statusLine": statusline}


def without_hooks(settings: Mapping[str, Any]) -> Object:
    """Settings without anything of ours; what the user has stays, in its order."""
    events = _object(settings.get("hooks"))
    kept: Object = {}
    for event, entries in events.items():
        left = _without_own(entries)
        if left or not _holds(entries, is_own_hook):
            kept[event] = left if isinstance(entries, list) else entries
    found = _put(settings, "hooks", kept, changed=kept != events)
    if is_own_statusline(found.get("statusLine")):
        del found["statusLine"]
    return found


def own_events(settings: Mapping[str, Any]) -> list[str]:
    """Events that our hooks are entered for."""
    return [event for event, entries in _object(settings.get("hooks")).items() if _holds(entries, is_own_hook)]


def _without_own(entries: Any) -> list[Any]:
    """Entries of one event, without our hooks and without entries that held only ours."""
    left: list[Any] = []
    for entry in _list(entries):
        fields = _object(entry)
        inner = _list(fields.get("hooks"))
        kept = [hook for hook in inner if not is_own_hook(hook)]
        if len(kept) == len(inner):
            left.append(entry)
        elif kept:
            left.append({**fields, "hooks": kept})
    return left


def _holds(entries: Any, fits: Callable[[Any], bool]) -> bool:
    return any(fits(hook) for entry in _list(entries) for hook in _list(_object(entry).get("hooks")))


def _put(config: Mapping[str, Any], key: str, value: Object, *, changed: bool) -> Object:
    """The object with a new value under a key; without the key where that left nothing in it."""
    if not changed:
        return dict(config)
    if value:
        return {**config, key: value}
    return {name: each for name, each in config.items() if name != key}


_SHELL_WORD = re.compile(r""""[^"]*"|'[^']*'|[^\s"']+""")
_JOINS_COMMANDS = re.compile(r"[|&;<>`\n]|\$\(")


def _is_own_command(command: Any, verb: str) -> bool:
    """Whether a shell's line calls this program and nothing else: one that does more is its user's."""
    words = _SHELL_WORD.findall(command) if isinstance(command, str) else []
    if any(_JOINS_COMMANDS.search(word) for word in words if word[0] not in "\"'"):
        return False
    bare = [word.strip("\"'") for word in words]
    return verb in bare and any(_base(word) == PROGRAM or word == "palimpsest_mcp" for word in bare)


def _base(path: str) -> str:
    return path.replace("\\", "/").rsplit("/", 1)[-1].removesuffix(".exe")


def _object(value: Any) -> Object:
    return cast("Object", value) if isinstance(value, dict) else {}


def _list(value: Any) -> Sequence[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


_ID = re.compile(r"[0-9A-Za-z][0-9A-Za-z_-]{0,127}")


def transcripts_of(session_id: str, environ: Mapping[str, str], home: Path) -> list[Path]:
    """Every transcript of a session's id, in whatever project; the newest first."""
    if not _ID.fullmatch(session_id):
        return []
    found = list((Path(config_folder(environ, str(home))) / "projects").glob(f"*/{session_id}.jsonl"))
    return sorted(found, key=lambda path: path.stat().st_mtime, reverse=True)
