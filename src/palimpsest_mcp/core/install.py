"""Enters Palimpsest in a host's own files and takes it out again: what would change, file by file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from ..errors import InvalidArgument
from ..hosts.claude_code.places import config_folder, global_file
from ..hosts.claude_code.settings import NAME, Object, has_plugin, hooks, with_hooks, without_hooks
from . import install_hosts
from .install_files import Change, Launch, bytes_of, json_change, parsed, server_entry


def desktop_file(environ: Mapping[str, str], home: Path, platform: str) -> Path:
    """Claude Desktop's configuration."""
    if platform == "darwin":
        return home / "Library" / "Application Support" / "Claude" / "claude_desktop_config.json"
    if platform == "win32":
        return Path(environ.get("APPDATA", home / "AppData" / "Roaming")) / "Claude" / "claude_desktop_config.json"
    return Path(environ.get("XDG_CONFIG_HOME", home / ".config")) / "Claude" / "claude_desktop_config.json"


def planned(
    host: str, launch: Launch, *, environ: Mapping[str, str], home: Path, platform: str, remove: bool = False
) -> list[Change]:
    """What installing would change, file by file. Writes nothing.

    Args:
        host: name of a host with a row in `models/host_table.py` and a plan here.

    Raises:
        FileNotJson, FileWrongShape: a file of the host cannot be understood; none would be touched.
        InvalidArgument: another program has our name there.
    """
    return _PLANS[host](launch, environ, home, platform, remove)


def _desktop(launch: Launch, environ: Mapping[str, str], home: Path, platform: str, remove: bool) -> list[Change]:
    path = desktop_file(environ, home, platform)
    return [json_change(path, "server", lambda config: server_entry(path, config, launch, (), remove=remove), remove)]


def _claude_code(launch: Launch, environ: Mapping[str, str], home: Path, _: str, remove: bool) -> list[Change]:
    state = Path(global_file(environ, str(home)))
    settings = Path(config_folder(environ, str(home))) / "settings.json"
    line: Object = {"type": "command", "command": f"{launch.shell} statusline {launch.options}".rstrip()}
    wanted = hooks(NAME, launch.shell, launch.options)
    if not remove and has_plugin(parsed(settings, bytes_of(settings))):
        raise InvalidArgument(
            "The plugin is installed in Claude Code, and does all of this.",
            next="Nothing is to do; `palimpsest-mcp doctor` says what is wired.",
        )
    return [
        json_change(
            state,
            "server",
            lambda config: server_entry(state, config, launch, ("--host", "claude-code"), remove=remove),
            remove,
        ),
        json_change(
            settings,
            "hooks and status line",
            lambda config: without_hooks(config) if remove else with_hooks(config, wanted, line),
            remove,
        ),
    ]


_PLANS: Mapping[str, Callable[[Launch, Mapping[str, str], Path, str, bool], list[Change]]] = {
    "claude-code": _claude_code,
    "claude-desktop": _desktop,
    "opencode": install_hosts.opencode,
    "pi": install_hosts.pi,
    "gemini-cli": install_hosts.gemini_cli,
    "codex": install_hosts.codex,
    "vscode": install_hosts.vscode,
}
