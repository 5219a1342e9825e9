"""Enters Palimpsest in a host's own files and takes it out again: what would change, host by host.

A file of our own where the host loads one, else entries in its settings.

A host's own files, changed: a copy first, own entries only, whole files, all of them or none.
"""

from __future__ import annotations

import difflib
import json
import math
import os
import re
import tomllib
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, cast

from ..errors import FileNotJson, FileWrongShape, InvalidArgument, WriteFailed
from ..hosts.claude_code.places import config_folder, global_file
from ..hosts.claude_code.settings import (
    NAME,
    Object,
    has_plugin,
    hooks,
    is_own_server,
    with_hooks,
    with_server,
    without_hooks,
    without_server,
)
from ..store.out_file import replace_beside

BACKUP = ".palimpsest-"
_BIGGEST = 64_000_000
_MARK = b"\xef\xbb\xbf"
_HALF = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, kw_only=True)
class Launch:
    """How a host starts this program."""

    command: str
    arguments: tuple[str, ...] = ()
    """Before the name of a command."""
    environment: Mapping[str, str]
    shell: str
    """The same as words for a shell."""
    options: str = ""
    """Options of each command, as words for a shell."""


@dataclass(frozen=True, kw_only=True)
class Change:
    """One file, as it is and as it would be."""

    path: Path
    before: bytes | None
    """None: it is not there."""
    after: bytes | None
    """None: it is taken away."""
    what: str

    @property
    def is_none(self) -> bool:
        """Whether the file is as it should be."""
        return (self.before or b"") == (self.after or b"") and (self.before is None or self.after is not None)

    def diff(self) -> str:
        """What would change, line by line."""
        old = (self.before or b"").decode("utf-8", "replace").splitlines(keepends=True)
        new = (self.after or b"").decode("utf-8", "replace").splitlines(keepends=True)
        return "".join(difflib.unified_diff(old, new, str(self.path), f"{self.path} (new)", n=1))


def carry_out(changes: Sequence[Change], now: datetime) -> list[Path]:
    """Write what was planned, each file after a copy of it; all of them, or none. Returns the copies.

    Raises:
        WriteFailed: a file changed since it was read, or cannot be written; every file is as it was.
    """
    stamp = now.strftime("%Y%m%dT%H%M%S")
    copies: list[Path] = []
    written: list[Change] = []
    try:
        for change in changes:
            if not change.is_none:
                copies += _write(change, stamp)
                written.append(change)
    except WriteFailed:
        for change in written:
            _put_back(change)
        raise
    return copies


def _write(change: Change, stamp: str) -> list[Path]:
    """Write one file; its copy, where it was there."""
    try:
        path = change.path.resolve()  # a link to where somebody keeps their settings stays a link
        if (path.read_bytes() if path.exists() else None) != change.before:
            raise WriteFailed(f"{change.path} changed meanwhile.", next="Close the host, then run it again.")
        copies = [_copy(path, change.before, stamp)] if change.before is not None else []
        path.parent.mkdir(parents=True, exist_ok=True)
        if change.after is None:
            path.unlink()
        else:
            replace_beside(path, change.after)
    except OSError as error:
        raise WriteFailed(
            f"{change.path} could not be written ({error.strerror}); nothing was changed.",
            next="Check its owner and mode.",
        ) from error
    return copies


def _put_back(change: Change) -> None:
    path = change.path.resolve()
    with suppress(OSError):
        if change.before is None:
            path.unlink()
        else:
            replace_beside(path, change.before)


def server_entry(
    path: Path, config: Object, launch: Launch, more: tuple[str, ...], *, remove: bool, key: str = "mcpServers"
) -> Object:
    """A host's configuration with our server under a key, or without it.

    Raises:
        InvalidArgument: another program has our name there.
    """
    if remove:
        return without_server(config, key)
    if not isinstance(config.get(key, {}), dict):
        raise FileWrongShape(f"`{key}` of {path} is no object.", next="Look at what stands there.", where=f"$.{key}")
    known = cast("Object", config.get(key, {})).get(NAME)
    if known is not None and not is_own_server(known):
        raise InvalidArgument(
            f"{path} has a server `{NAME}` that starts another program.", next="Rename that one, then run it again."
        )
    entry: Object = {"type": "stdio"} if more else {}
    entry |= {"command": launch.command, "args": [*launch.arguments, "serve", *more]}
    if launch.environment:
        entry["env"] = dict(launch.environment)
    return with_server(config, entry, key)


def refuse_other_hooks(path: Path, config: Object, events: Collection[str]) -> None:
    """Refuse settings in which something stands for one of these events that ours cannot be put beside.

    Raises:
        FileWrongShape: nothing was changed.
    """
    found = cast("Object", config.get("hooks", {}))
    if odd := next((event for event in events if not isinstance(found.get(event, []), list)), None):
        raise FileWrongShape(
            f"`hooks.{odd}` of {path} is no list; nothing was changed.",
            next="Look at what stands there.",
            where=f"$.hooks.{odd}",
        )


def json_change(path: Path, what: str, edit: Callable[[Object], Object], remove: bool) -> Change:
    """A file of JSON, edited; what it was before stays in its form.

    Raises:
        FileNotJson, FileWrongShape, WriteFailed: it cannot be understood, or read.
    """
    before = bytes_of(path)
    config = parsed(path, before)
    after = edit(config)
    data = before or b""
    if after != config or (before is None and after):
        kept = _unchanged_since(path, after) if remove else None
        if remove and not after and not _copies(path):
            return Change(path=path, before=before, after=None, what=what)  # before us there was no such file
        data = kept if kept is not None else _dumped(after, before)
    return Change(path=path, before=before, after=data if before is not None or after else b"", what=what)


def bytes_of(path: Path) -> bytes | None:
    """What a file holds; None where it is not there.

    Raises:
        FileWrongShape, WriteFailed: it is no file, or cannot be read.
    """
    try:
        if not path.exists():
            return None
        if not path.is_file() or path.stat().st_size > _BIGGEST:
            raise FileWrongShape(f"{path} is no file of settings.", next="Look at what stands there.")
        return path.read_bytes()
    except OSError as error:
        raise WriteFailed(f"{path} cannot be read ({error.strerror}).", next="Check its owner and mode.") from error


def parsed(path: Path, data: bytes | None) -> Object:
    """A file of settings as an object; an empty one where there is none.

    Raises:
        FileNotJson, FileWrongShape: it is something else.
    """
    if data is None or not data.strip():
        return {}
    try:
        found: Any = json.loads(data.removeprefix(_MARK), parse_float=_finite, parse_constant=_finite)
    except (ValueError, RecursionError):
        raise FileNotJson(
            f"{path} is not JSON; nothing was changed.", next="Correct it, or take comments out, then run it again."
        ) from None
    shaped = cast("Object", found) if isinstance(found, dict) else None
    if shaped is None or any(not isinstance(shaped.get(key, {}), dict) for key in ("mcpServers", "hooks")):
        raise FileWrongShape(
            f"{path} does not have the shape of a host's settings; nothing was changed.",
            next="Look at its `mcpServers` and `hooks`: both are objects.",
            where="$",
        )
    return shaped


def _finite(written: str) -> float:
    """A number that JSON can write again: NaN and what is too large for one cannot be."""
    number = float(written)
    if not math.isfinite(number):
        raise ValueError
    return number


def _dumped(value: Object, like: bytes | None) -> bytes:
    """JSON in the form that the file had: its indent, its line breaks, its mark, and whether it ends in a break.
    Half a surrogate pair, as hosts leave where they cut a text, stays an escape: as bytes it is no UTF-8."""
    like = b"\n" if like is None else like
    found = re.search(rb"\n([ \t]+)\S", like)
    indent = found[1].decode() if found is not None else "  "
    text = json.dumps(value, indent=indent, ensure_ascii=False) + ("\n" if like.endswith(b"\n") else "")
    data = _HALF.sub(lambda half: f"\\u{ord(half[0]):04x}", text).encode()
    return (_MARK if like.startswith(_MARK) else b"") + (data.replace(b"\n", b"\r\n") if b"\r\n" in like else data)


def _copies(path: Path) -> list[Path]:
    """Those of ours, the oldest first."""
    return sorted(path.resolve().parent.glob(f"{path.resolve().name}{BACKUP}*"))


def _unchanged_since(path: Path, value: Object) -> bytes | None:
    """The bytes of the oldest copy of ours that says the same: then the file goes back to exactly those. A list of
    servers or hooks that was empty before us went with what we entered there."""
    for copy in _copies(path):
        try:
            data = copy.read_bytes()
            if _filled(json.loads(data)) == _filled(value):
                return data
        except (OSError, ValueError, RecursionError):
            continue
    return None


def _filled(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {name: one for name, one in cast("Object", value).items() if one != {}}


def _copy(path: Path, data: bytes, stamp: str) -> Path:
    """A copy beside a file that takes no other copy's name."""
    for number in range(1_000):
        copy = path.with_name(f"{path.name}{BACKUP}{stamp}{f'-{number}' if number else ''}")
        try:
            descriptor = os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL, path.stat().st_mode & 0o777)
        except FileExistsError:
            continue
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        return copy
    raise WriteFailed(f"There are too many copies of {path}.", next="Remove some of them.")


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
