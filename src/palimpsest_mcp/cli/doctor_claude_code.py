"""What `doctor` says of Claude Code: its version, what is wired in it and why not, what its hooks could not do."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from ..hosts.claude_code_places import config_folder, global_file, settings_files
from ..hosts.claude_code_settings import overrides_of, read_object
from ..hosts.claude_code_wiring import (
    NAME,
    TESTED_CLIENT,
    has_plugin,
    hooks,
    is_own_server,
    is_own_statusline,
    own_events,
)
from ..tokens.host_trigger import host_trigger
from .checks import Check

DEFAULT_MODEL = "claude-opus-5-5"
"""What the client uses unless told otherwise."""
RECENT_S = 7 * 86_400
_INSTALL = "Install the plugin (docs/claude-code.md), or: palimpsest-mcp install claude-code"
_REMOVE = "Take the entries of your own settings out: palimpsest-mcp install claude-code --remove"


@dataclass(frozen=True, kw_only=True)
class Found:
    """What there is of Claude Code on a machine."""

    version: str = ""
    """Of the client on the PATH; empty without one."""
    is_there: bool = False
    """Whether somebody uses it here: a program, or its folder."""
    environ: Mapping[str, str] = field(default_factory=dict[str, str])
    state: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The client's own file, with a user's servers."""
    settings: tuple[Mapping[str, Any], ...] = ()
    """User, project, local, managed; the weakest first."""
    project: str = ""
    troubles: tuple[Mapping[str, Any], ...] = ()
    """What hooks could not do, oldest first."""
    now_s: float = 0.0

    @classmethod
    def on_this_machine(cls, store: Path) -> Found:
        """Look here."""
        from ..store.host_files import HostFiles

        environ, home, project = os.environ, str(Path.home()), str(Path.cwd())
        program = shutil.which("claude")
        return cls(
            version=_version(program) if program else "",
            is_there=bool(program) or Path(config_folder(environ, home)).is_dir(),
            environ=environ,
            state=read_object(Path(global_file(environ, home))),
            settings=tuple(read_object(Path(file)) for file in settings_files(environ, home, project)),
            project=project,
            troubles=tuple(HostFiles(store).troubles()),
            now_s=time.time(),
        )

    @property
    def user(self) -> Mapping[str, Any]:
        """The user's own settings."""
        return self.settings[0] if self.settings else {}

    def says(self, key: str) -> bool:
        """Whether any settings switch something on."""
        return any(one.get(key) is True for one in self.settings)


def checks(found: Found) -> Iterator[Check]:
    """Nothing but one line where nobody uses it."""
    if not found.is_there:
        yield Check("claude", "ok", "Claude Code is not on this machine")
        return
    yield _client(found)
    yield _wired(found)
    yield _compacts(found)
    yield _hooks(found)


def _client(found: Found) -> Check:
    if not found.version:
        return Check("claude", "ok", "no `claude` on the PATH; its settings are here")
    if found.version == TESTED_CLIENT:
        return Check("claude", "ok", f"Claude Code {found.version}, the version that this was tested with")
    next = "If something fails, tell us both versions; `claude --version` says yours."
    return Check("claude", "warn", f"Claude Code {found.version}; tested with {TESTED_CLIENT}", next)


def _wired(found: Found) -> Check:
    plugin = any(has_plugin(one) for one in found.settings)
    servers = _own_servers(found)
    events = own_events(found.user)
    if found.says("disableAllHooks"):
        why = "settings have disableAllHooks: no hook runs, nothing is followed"
        return Check("wired", "warn", why, "Take disableAllHooks out of the settings.")
    if plugin:
        if events or servers:
            what = "the plugin, and entries of your own settings beside it: everything happens twice"
            return Check("wired", "warn", what, _REMOVE)
        if found.settings and found.settings[-1].get("allowManagedModsOnly") is True:
            return Check("wired", "ok", "the plugin; its module is forbidden by policy: no compaction in place")
        return Check("wired", "ok", "the plugin: server, hooks, compaction in place")
    missing = [event for event in hooks(NAME, "") if event not in events]
    if not servers and not events:
        return Check("wired", "warn", "nothing: neither the plugin nor entries in your settings", _INSTALL)
    gone = next((path for path in map(_command, servers) if os.path.isabs(path) and not os.path.exists(path)), "")
    if gone:
        return Check("wired", "warn", f"a server whose program is not there: {gone}", _INSTALL)
    if not any("claude-code" in _arguments(server) for server in servers):
        what = "a server for tools only" if servers else "hooks without the server that answers them"
        return Check("wired", "warn", f"{what}: sessions are not followed", _INSTALL)
    if missing:
        return Check("wired", "warn", f"the server, but no hooks for {', '.join(missing)}", _INSTALL)
    line = "status line" if is_own_statusline(found.user.get("statusLine")) else "no status line of ours"
    return Check("wired", "ok", f"server, {len(events)} hooks, {line}; compaction in place needs the plugin")


def _compacts(found: Found) -> Check:
    model = found.user.get("model")
    name = model if isinstance(model, str) and model.startswith("claude-") else DEFAULT_MODEL
    enabled = {"autoCompactEnabled": found.state.get("autoCompactEnabled", True)}
    trigger = host_trigger(name, host="claude-code", overrides=overrides_of(found.environ, [enabled, *found.settings]))
    words = f"with {name}, {trigger.words}" if trigger is not None else "not known"
    return Check("compacts", "ok", words)


def _hooks(found: Found) -> Check:
    recent = [one for one in found.troubles if _seconds(one.get("ts")) > found.now_s - RECENT_S]
    if not recent:
        return Check("hooks", "ok", "no failure in the last 7 days")
    last = recent[-1]
    what = f"{len(recent)} failures in the last 7 days; the newest at {last.get('event')}: {last.get('code')}"
    text = str(last.get("text", ""))
    return Check("hooks", "warn", f"{what}: {text}" if text else what, "Sessions went on without Palimpsest there.")


def _own_servers(found: Found) -> list[Mapping[str, Any]]:
    """Entries of ours for every project, and for this one."""
    projects = cast("Mapping[str, Any]", found.state.get("projects") or {})
    here = projects.get(found.project)
    places: list[Any] = [found.state, here, read_object(Path(found.project) / ".mcp.json") if found.project else {}]
    found_here: list[Mapping[str, Any]] = []
    for place in places:
        servers = cast("Mapping[str, Any]", place).get("mcpServers") if isinstance(place, dict) else None
        if isinstance(servers, dict):
            found_here += [one for one in cast("dict[str, Any]", servers).values() if is_own_server(one)]
    return found_here


def _command(server: Mapping[str, Any]) -> str:
    return str(server.get("command", ""))


def _arguments(server: Mapping[str, Any]) -> list[str]:
    words = server.get("args")
    return [str(word) for word in cast("list[Any]", words)] if isinstance(words, list) else []


def _seconds(value: Any) -> float:
    return float(value) if isinstance(value, (int, float)) else 0.0


def _version(program: str) -> str:
    """What a client says of itself; empty where it does not answer."""
    try:
        done = subprocess.run([program, "--version"], capture_output=True, timeout=10, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.SubprocessError):
        return ""
    said = re.search(rb"\d+\.\d+\.\d+", done.stdout)
    return said[0].decode() if said is not None else ""
