"""Enters Palimpsest in a host's own files and takes it out again: a copy first, own entries only, whole files."""

from __future__ import annotations

import difflib
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
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
    after: bytes
    what: str

    @property
    def is_none(self) -> bool:
        """Whether the file is as it should be."""
        return (self.before or b"") == self.after

    def diff(self) -> str:
        """What would change, line by line."""
        old = (self.before or b"").decode("utf-8", "replace").splitlines(keepends=True)
        new = self.after.decode("utf-8", "replace").splitlines(keepends=True)
        return "".join(difflib.unified_diff(old, new, str(self.path), f"{self.path} (new)", n=1))


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
    return [_change(path, "server", lambda config: _server(path, config, launch, (), remove=remove), remove)]


def _claude_code(launch: Launch, environ: Mapping[str, str], home: Path, _: str, remove: bool) -> list[Change]:
    state = Path(global_file(environ, str(home)))
    settings = Path(config_folder(environ, str(home))) / "settings.json"
    line: Object = {"type": "command", "command": f"{launch.shell} statusline {launch.options}".rstrip()}
    wanted = hooks(NAME, launch.shell, launch.options)
    if not remove and has_plugin(_parsed(settings, _bytes(settings))):
        raise InvalidArgument(
            "The plugin is installed in Claude Code, and does all of this.",
            next="Nothing is to do; `palimpsest-mcp doctor` says what is wired.",
        )
    return [
        _change(
            state,
            "server",
            lambda config: _server(state, config, launch, ("--host", "claude-code"), remove=remove),
            remove,
        ),
        _change(
            settings,
            "hooks and status line",
            lambda config: without_hooks(config) if remove else with_hooks(config, wanted, line),
            remove,
        ),
    ]


_PLANS: Mapping[str, Callable[[Launch, Mapping[str, str], Path, str, bool], list[Change]]] = {
    "claude-code": _claude_code,
    "claude-desktop": _desktop,
}


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


def _server(path: Path, config: Object, launch: Launch, more: tuple[str, ...], *, remove: bool) -> Object:
    if remove:
        return without_server(config)
    known = cast("Object", config.get("mcpServers") or {}).get(NAME)
    if known is not None and not is_own_server(known):
        raise InvalidArgument(
            f"{path} has a server `{NAME}` that starts another program.", next="Rename that one, then run it again."
        )
    entry: Object = {"type": "stdio"} if more else {}
    entry |= {"command": launch.command, "args": [*launch.arguments, "serve", *more]}
    if launch.environment:
        entry["env"] = dict(launch.environment)
    return with_server(config, entry)


def _change(path: Path, what: str, edit: Callable[[Object], Object], remove: bool) -> Change:
    before = _bytes(path)
    config = _parsed(path, before)
    after = edit(config)
    data = before or b""
    if after != config or (before is None and after):
        kept = _unchanged_since(path, after) if remove else None
        data = kept if kept is not None else _dumped(after, before)
    return Change(path=path, before=before, after=data if before is not None or after else b"", what=what)


def _bytes(path: Path) -> bytes | None:
    try:
        if not path.exists():
            return None
        if not path.is_file() or path.stat().st_size > _BIGGEST:
            raise FileWrongShape(f"{path} is no file of settings.", next="Look at what stands there.")
        return path.read_bytes()
    except OSError as error:
        raise WriteFailed(f"{path} cannot be read ({error.strerror}).", next="Check its owner and mode.") from error


def _parsed(path: Path, data: bytes | None) -> Object:
    if data is None or not data.strip():
        return {}
    try:
        found: Any = json.loads(data.removeprefix(b"\xef\xbb\xbf"))
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


def _dumped(value: Object, like: bytes | None) -> bytes:
    """JSON in the form that the file had: its indent, and whether it ends in a line break."""
    found = re.search(rb"\n([ \t]+)\S", like or b"")
    indent = found[1].decode() if found is not None else "  "
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    end = "\n" if like is None or like.endswith(b"\n") else ""
    return (text + end).encode("utf-8", "surrogatepass")


def _unchanged_since(path: Path, value: Object) -> bytes | None:
    """The bytes of the oldest copy of ours that says the same: then the file goes back to exactly those."""
    for copy in sorted(path.resolve().parent.glob(f"{path.resolve().name}{BACKUP}*")):
        try:
            data = copy.read_bytes()
            if json.loads(data) == value:
                return data
        except (OSError, ValueError, RecursionError):
            continue
    return None


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
