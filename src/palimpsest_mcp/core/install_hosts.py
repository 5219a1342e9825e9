"""What `install` enters for hosts other than Claude's: a file of our own where the host loads one, else entries."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path

from ..errors import FileNotJson, InvalidArgument
from ..hosts.claude_code.settings import NAME, Object, with_hooks, without_hooks
from .install_files import Change, Launch, bytes_of, json_change, server_entry

PLUGINS = Path(__file__).resolve().parents[1] / "host_plugins"
_WRITTEN = "// Written by `palimpsest-mcp install {host}`; `--remove` takes it out. Changes here are lost.\n"
_BEGIN, _END = "# palimpsest-mcp: begin (written by `install codex`)", "# palimpsest-mcp: end"
_BREAK = " with the line break before it"
_GEMINI_MS = 30_000
_EVENTS = {
    "gemini-cli": ("SessionStart", "AfterTool", "PreCompress", "SessionEnd"),
    "codex": ("SessionStart", "PreCompact", "PostCompact", "Stop"),
}


def opencode(launch: Launch, environ: Mapping[str, str], home: Path, _: str, remove: bool) -> list[Change]:
    """A plugin file, which enters the server for the model's tools by itself."""
    folder = Path(environ.get("XDG_CONFIG_HOME", "") or home / ".config") / "opencode" / "plugin"
    return [_plugin_file(folder / "palimpsest.js", "opencode", launch, remove)]


def pi(launch: Launch, environ: Mapping[str, str], home: Path, _: str, remove: bool) -> list[Change]:
    """An extension file."""
    folder = Path(environ.get("PI_CODING_AGENT_DIR", "") or home / ".pi" / "agent") / "extensions"
    return [_plugin_file(folder / "palimpsest.js", "pi", launch, remove)]


def _plugin_file(path: Path, host: str, launch: Launch, remove: bool) -> Change:
    before, head = bytes_of(path), _WRITTEN.format(host=host)
    if before is not None and not before.startswith(head.encode()):
        raise InvalidArgument(
            f"{path} is there, and is none of ours; nothing was changed.", next="Rename it, then run this again."
        )
    home = launch.environment.get("PALIMPSEST_HOME", "")
    command = [launch.command, *launch.arguments, *(["--home", home] if home else [])]
    source = json.dumps((PLUGINS / f"{host}.js").as_uri())
    text = f"{head}import {{ made }} from {source}\n\nexport default made({json.dumps(command)})\n"
    return Change(path=path, before=before, after=None if remove else text.encode(), what="plugin")


def gemini_cli(launch: Launch, environ: Mapping[str, str], home: Path, _: str, remove: bool) -> list[Change]:
    """Server and hooks."""
    path = Path(environ.get("GEMINI_CLI_HOME", "") or home) / ".gemini" / "settings.json"

    def edit(config: Object) -> Object:
        config = server_entry(path, config, launch, (), remove=remove)
        return _with_hooks(config, "gemini-cli", launch, remove)

    return [json_change(path, "server and hooks", edit, remove)]


def codex(launch: Launch, environ: Mapping[str, str], home: Path, _: str, remove: bool) -> list[Change]:
    """Server in `config.toml`, hooks in a file beside it."""
    folder = Path(environ.get("CODEX_HOME", "") or home / ".codex")
    hooks = folder / "hooks.json"
    return [
        _toml_change(folder / "config.toml", launch, remove),
        json_change(hooks, "hooks", lambda config: _with_hooks(config, "codex", launch, remove), remove),
    ]


def vscode(launch: Launch, environ: Mapping[str, str], home: Path, platform: str, remove: bool) -> list[Change]:
    """The server alone: what its hooks are given does not name a file whose form is known."""
    if platform == "darwin":
        base = home / "Library" / "Application Support"
    elif platform == "win32":
        base = Path(environ.get("APPDATA", home / "AppData" / "Roaming"))
    else:
        base = Path(environ.get("XDG_CONFIG_HOME", "") or home / ".config")
    path = base / "Code" / "User" / "mcp.json"

    def edit(config: Object) -> Object:
        return server_entry(path, config, launch, (), remove=remove, key="servers")

    return [json_change(path, "server", edit, remove)]


def _with_hooks(config: Object, host: str, launch: Launch, remove: bool) -> Object:
    if remove:
        return without_hooks(config)
    wanted: dict[str, list[Object]] = {}
    for event in _EVENTS[host]:
        command = f"{launch.shell} hook {event} --host {host} {launch.options}".rstrip()
        timeout = _GEMINI_MS if host == "gemini-cli" else _GEMINI_MS // 1_000
        wanted[event] = [{"hooks": [{"type": "command", "command": command, "timeout": timeout}]}]
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
        words = [f"command = {json.dumps(launch.command)}", f"args = {json.dumps([*launch.arguments, 'serve'])}"]
        if launch.environment:
            pairs = ", ".join(f"{key} = {json.dumps(value)}" for key, value in launch.environment.items())
            words.append(f"env = {{ {pairs} }}")
        begin = _BEGIN if not left or left.endswith("\n") else f"\n{_BEGIN}{_BREAK}"
        after = "\n".join([f"{left}{begin}", f"[mcp_servers.{NAME}]", *words, _END, ""])
    data = None if remove and not after and before is not None else after.encode()
    return Change(path=path, before=before, after=data, what="server")


def _without_table(text: str) -> str:
    begin, end = text.find(_BEGIN), text.find(_END)
    if begin < 0 or end < begin:
        return text
    if text.startswith(_BREAK, begin + len(_BEGIN)):
        begin -= 1
    return text[:begin] + text[end + len(_END) :].removeprefix("\n")
