"""Enters Palimpsest in a host's own files and takes it out again: what would change, host by host.

A file of our own where the host loads one, else entries in its settings.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path

from ..errors import FileNotJson, InvalidArgument
from ..hosts.claude_code.places import config_folder, global_file
from ..hosts.claude_code.settings import NAME, Object, has_plugin, hooks, with_hooks, without_hooks
from .install_files import Change, Launch, bytes_of, json_change, parsed, refuse_other_hooks, server_entry

PLUGINS = Path(__file__).resolve().parents[1] / "host_plugins"
_WRITTEN = "// Written by `palimpsest-mcp install {host}`; `--remove` takes it out. Changes here are lost.\n"
_BEGIN, _END = "# palimpsest-mcp: begin (written by `install codex`)", "# palimpsest-mcp: end"
_BREAK = " with the line break before it"
_GEMINI_MS = 30_000
_EVENTS = {
    "gemini-cli": ("SessionStart", "AfterTool", "PreCompress", "SessionEnd"),
    "codex": ("SessionStart", "PostToolUse", "PreCompact", "PostCompact", "Stop"),
}


def desktop_file(environ: Mapping[str, str], home: Path, platform: str) -> Path:
    """Claude Desktop's configuration."""
    return _settings_folder(environ, home, platform) / "Claude" / "claude_desktop_config.json"


def _settings_folder(environ: Mapping[str, str], home: Path, platform: str) -> Path:
    """Where the platform's programs keep their settings."""
    if platform == "darwin":
        return home / "Library" / "Application Support"
    if platform == "win32":
        return Path(environ.get("APPDATA", home / "AppData" / "Roaming"))
    return Path(environ.get("XDG_CONFIG_HOME", "") or home / ".config")


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

    def edit(config: Object) -> Object:
        if remove:
            return without_hooks(config)
        refuse_other_hooks(settings, config, wanted)
        return with_hooks(config, wanted, line)

    if not remove and has_plugin(parsed(settings, bytes_of(settings))):
        raise InvalidArgument(
            "The plugin is installed in Claude Code, and does all of this.",
            next="There is nothing to do; `palimpsest-mcp doctor` says what is wired.",
        )
    return [
        json_change(
            state,
            "server",
            lambda config: server_entry(state, config, launch, ("--host", "claude-code"), remove=remove),
            remove,
        ),
        json_change(settings, "hooks and status line", edit, remove),
    ]


def _opencode(launch: Launch, environ: Mapping[str, str], home: Path, _: str, remove: bool) -> list[Change]:
    """A plugin file, which enters the server for the model's tools by itself."""
    folder = Path(environ.get("XDG_CONFIG_HOME", "") or home / ".config") / "opencode" / "plugin"
    return [_plugin_file(folder / "palimpsest.js", "opencode", launch, remove)]


def _pi(launch: Launch, environ: Mapping[str, str], home: Path, _: str, remove: bool) -> list[Change]:
    """An extension file."""
    folder = Path(environ.get("PI_CODING_AGENT_DIR", "") or home / ".pi" / "agent") / "extensions"
    return [_plugin_file(folder / "palimpsest.js", "pi", launch, remove)]


def _plugin_file(path: Path, host: str, launch: Launch, remove: bool) -> Change:
    before, head = bytes_of(path), _WRITTEN.format(host=host)
    if before is not None and not before.startswith(head.encode()):
        raise InvalidArgument(
            f"{path} exists and was not written by us; nothing was changed.", next="Rename it, then run this again."
        )
    home = launch.environment.get("PALIMPSEST_HOME", "")
    command = [launch.command, *launch.arguments, *(["--home", home] if home else [])]
    source = json.dumps((PLUGINS / f"{host}.js").as_uri())
    text = f"{head}import {{ made }} from {source}\n\nexport default made({json.dumps(command)})\n"
    return Change(path=path, before=before, after=None if remove else text.encode(), what="plugin")


def _gemini_cli(launch: Launch, environ: Mapping[str, str], home: Path, _: str, remove: bool) -> list[Change]:
    """Server and hooks."""
    path = Path(environ.get("GEMINI_CLI_HOME", "") or home) / ".gemini" / "settings.json"

    def edit(config: Object) -> Object:
        config = server_entry(path, config, launch, (), remove=remove)
        return _with_hooks(path, config, "gemini-cli", launch, remove)

    return [json_change(path, "server and hooks", edit, remove)]


def _codex(launch: Launch, environ: Mapping[str, str], home: Path, _: str, remove: bool) -> list[Change]:
    """Server in `config.toml`, hooks in a file beside it."""
    folder = Path(environ.get("CODEX_HOME", "") or home / ".codex")
    told = folder / "hooks.json"
    return [
        _toml_change(folder / "config.toml", launch, remove),
        json_change(told, "hooks", lambda config: _with_hooks(told, config, "codex", launch, remove), remove),
    ]


def _vscode(launch: Launch, environ: Mapping[str, str], home: Path, platform: str, remove: bool) -> list[Change]:
    """The server alone: what its hooks are given does not name a file whose form is known."""
    path = _settings_folder(environ, home, platform) / "Code" / "User" / "mcp.json"

    def edit(config: Object) -> Object:
        return server_entry(path, config, launch, (), remove=remove, key="servers")

    return [json_change(path, "server", edit, remove)]


def _with_hooks(path: Path, config: Object, host: str, launch: Launch, remove: bool) -> Object:
    if remove:
        return without_hooks(config)
    wanted: dict[str, list[Object]] = {}
    for event in _EVENTS[host]:
        command = f"{launch.shell} hook {event} --host {host} {launch.options}".rstrip()
        timeout = _GEMINI_MS if host == "gemini-cli" else _GEMINI_MS // 1_000
        wanted[event] = [{"hooks": [{"type": "command", "command": command, "timeout": timeout}]}]
    refuse_other_hooks(path, config, wanted)
    return with_hooks(config, wanted)


def _toml_change(path: Path, launch: Launch, remove: bool) -> Change:
    """Our table at the end of the file, between two comments; every other byte stays."""
    before = bytes_of(path)
    try:
        text = (before or b"").decode("utf-8")
        left = _without_table(text)
        others = tomllib.loads(left)
    except ValueError:
        raise FileNotJson(f"{path} is not TOML; nothing was changed.", next="Correct it, then run it again.") from None
    if not remove and NAME in others.get("mcp_servers", {}):
        raise InvalidArgument(
            f"{path} has a server `{NAME}` of its own.", next=f"Take [mcp_servers.{NAME}] out, then run it again."
        )
    after = left
    if not remove:
        command, *arguments = map(_toml_string, [launch.command, *launch.arguments, "serve"])
        words = [f"command = {command}", f"args = [{', '.join(arguments)}]"]
        if launch.environment:
            pairs = ", ".join(f"{key} = {_toml_string(value)}" for key, value in launch.environment.items())
            words.append(f"env = {{ {pairs} }}")
        begin = _BEGIN if not left or left.endswith("\n") else f"\n{_BEGIN}{_BREAK}"
        after = "\n".join([f"{left}{begin}", f"[mcp_servers.{NAME}]", *words, _END, ""])
        _refuse_unreadable(path, after)
    data = None if remove and not after and before is not None else after.encode()
    return Change(path=path, before=before, after=data, what="server")


def _toml_string(text: str) -> str:
    """As JSON writes it, but for halves of surrogate pairs, which TOML does not take, and DEL, which JSON leaves."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _refuse_unreadable(path: Path, text: str) -> None:
    """A table cannot be added to one that is written in one line: the host could read none of its settings."""
    try:
        tomllib.loads(text)
    except ValueError:
        raise InvalidArgument(
            f"{path} takes no further table of `mcp_servers`, as it is written; nothing was changed.",
            next="Write each server as a table of its own, [mcp_servers.NAME], then run this again.",
        ) from None


def _without_table(text: str) -> str:
    begin, end = text.find(_BEGIN), text.find(_END)
    if begin < 0 or end < begin:
        return text
    if text.startswith(_BREAK, begin + len(_BEGIN)):
        begin -= 1
    return text[:begin] + text[end + len(_END) :].removeprefix("\n")


_PLANS: Mapping[str, Callable[[Launch, Mapping[str, str], Path, str, bool], list[Change]]] = {
    "claude-code": _claude_code,
    "claude-desktop": _desktop,
    "opencode": _opencode,
    "pi": _pi,
    "gemini-cli": _gemini_cli,
    "codex": _codex,
    "vscode": _vscode,
}
