"""`doctor`: what this machine offers, one line a check, each with what to do where it falls short.

`doctor --bundle`: what a bug report needs, and nothing that is anybody's: no text, no name, no id, no path.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from ..errors import PalimpsestError, StoreUnusable
from ..hosts.claude_code.places import config_folder, global_file, settings_files
from ..hosts.claude_code.settings import (
    NAME,
    TESTED_CLIENT,
    has_plugin,
    hooks,
    is_own_server,
    is_own_statusline,
    overrides_of,
    own_events,
    read_object,
)
from ..models.advice import in_form
from ..models.text import counted
from ..text.tokens.windows import host_trigger
from .face import Face, pass_face, shared_options
from .screen import Check, out_file, say, say_coloured, say_json, size

if TYPE_CHECKING:
    from ..core.palimpsest import Palimpsest


LITTLE_SPACE = 100_000_000
NETWORK_FILE_SYSTEMS = (
    "nfs",
    "cifs",
    "smb",
    "9p",
    "fuse.sshfs",
    "afs",
    "ceph",
    "glusterfs",
    "lustre",
    "webdav",
    "davfs",
)
"""Locks and flushes do not hold there what they promise on a local disk (by the start of the kernel's name)."""


@click.command()
@click.option(
    "--bundle",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write versions, states and counts for a bug report into a new FILE: no text, name, id or path of yours.",
)
@shared_options
@pass_face
def doctor(face: Face, bundle: Path | None) -> int:
    """Check this machine: Python, settings, store, vocabulary, masking, search, and what is wired in Claude Code.

    Ends with the exit status of the first failure.
    """
    target = out_file(face, bundle, overwrite=False)
    checks = list(_checks(face))
    if target is not None:
        import json

        with target.open() as file:
            file.write(json.dumps(bundle_of(face, checks), indent=1).encode())
    if face.as_json:
        say_json({"checks": [vars(check) for check in checks]})
    else:
        width = max(len(check.name) for check in checks)
        for check in checks:
            say_coloured((f"{check.state:4}", check.state), f"  {check.name.ljust(width)}  {check.words}")
            if check.next:
                say(f"      {' ' * width}  next: {check.next}")
    return next((check.status for check in checks if check.state == "fail"), 0)


def _checks(face: Face) -> Iterator[Check]:
    from importlib.metadata import version

    yield Check("version", "ok", f"palimpsest-mcp {version('palimpsest-mcp')}, mcp {version('mcp')}")
    yield Check(
        "python", "ok", f"{platform.python_version()} on {platform.system()} {platform.machine()}, {sys.executable}"
    )
    yield _attempt("settings", lambda: _settings(face))
    yield from _store(face)
    yield _vocabulary()
    yield _attempt("masking", lambda: _masking(face))
    yield _search()
    yield from _claude_code(face)


def _claude_code(face: Face) -> Iterator[Check]:
    from ..settings.places import home_folder

    yield from checks(ClaudeCodeInstallation.on_this_machine(home_folder(face.home)))


def _attempt(name: str, check: Callable[[], Check]) -> Check:
    try:
        return check()
    except PalimpsestError as error:
        return Check(name, "fail", f"{error.code}: {error.message}", in_form(error.next, "command"), error.exit_status)


def _settings(face: Face) -> Check:
    from ..settings.settings import Settings

    settings = Settings.load(home=face.home)
    rows = settings.explain()
    own = [f"{key} ({source})" for key, _, source in rows if source != "default" and not source.startswith("preset")]
    there = str(settings.file) if settings.file.exists() else f"no file ({settings.file})"
    return Check("settings", "ok", f"{there}; set: {', '.join(own) or 'nothing'}")


def _closed(face: Face, root: Path) -> Check:
    """Whether other users of the machine can look into the store."""
    found = face.ask(lambda facade: facade.migrate(), make=False).changes if root.exists() else ()
    open_to_others = next((change for change in found if "open to other users" in change), "")
    if not open_to_others:
        return Check("owner only", "ok", "no file or folder of the store is open to other users")
    return Check("owner only", "warn", open_to_others.partition(":")[0], f"Run {face.command('migrate')} with --yes.")


def _store(face: Face) -> Iterator[Check]:
    from ..settings.places import home_folder

    root = home_folder(face.home)
    yield _attempt("store", lambda: _opened(face, root))
    there = next(folder for folder in (root, *root.parents) if folder.exists())
    yield _attempt("writable", lambda: _writable(there))
    yield _attempt("owner only", lambda: _closed(face, root))
    free = shutil.disk_usage(there).free
    few = "Free some space: a compaction that cannot write does nothing." if free < LITTLE_SPACE else ""
    yield Check("space", "warn" if few else "ok", f"{size(free)} free", few)
    kind = file_system_of(there)
    if kind.startswith(NETWORK_FILE_SYSTEMS):
        yield Check("disk", "warn", f"a network file system ({kind})", "Put the store on a local disk: --home FOLDER.")
    else:
        yield Check("disk", "ok", f"file system {kind}" if kind else "file system not known on this platform")


def _opened(face: Face, root: Path) -> Check:
    from ..store.home import FORMAT_VERSION

    if not root.exists():
        return Check("store", "ok", f"{root} (not there yet; made with the first write, format {FORMAT_VERSION})")
    found = face.ask(lambda facade: facade.status(), make=False)
    version = root / "VERSION"
    written = version.read_text(encoding="utf-8", errors="replace").strip()[:20] if version.exists() else "empty"
    held = f"{counted(found.sessions, 'session')}, {counted(found.batches, 'batch')}"
    return Check("store", "ok", f"{found.home}, format {written}, {held}")


def _writable(folder: Path) -> Check:
    """Write a line, flush it, take it away: a mode that looks right is no proof."""
    try:
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".palimpsest-doctor-") as file:
            file.write(b"doctor\n")
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise StoreUnusable(
            f"{folder} cannot be written ({error.strerror}).",
            next="Change its owner or mode, or name another by --home.",
        ) from None
    return Check("writable", "ok", f"{folder} takes and flushes a file")


def _vocabulary() -> Check:
    from ..text.tokens.count import SHA256, by_tiktoken, load_vocabulary

    found = load_vocabulary()
    again = "Install again: pip install --force-reinstall splintr-rs tiktoken."
    if found.encode is None:
        return Check("vocabulary", "warn", f"none ({found.problem}): tokens are estimated from characters", again)
    try:
        by_tiktoken()
    except Exception as error:  # whatever a broken package does
        return Check("vocabulary", "warn", f"o200k_base from {found.origin}; tiktoken cannot check it: {error}", again)
    if found.problem:
        said = f"o200k_base from {found.origin}, slower: {found.problem}"
        return Check("vocabulary", "warn", said, again)
    return Check("vocabulary", "ok", f"o200k_base from {found.origin}, SHA-256 {SHA256[:12]}… checked")


def _masking(face: Face) -> Check:
    async def rules(facade: Palimpsest) -> tuple[tuple[str, ...], tuple[str, ...]]:
        redactor = facade.deps.redactor
        return redactor.rules, redactor.weakened

    loaded, weakened = face.ask(rules, make=False)
    if weakened:
        next = "Keep only what you need of redaction_rule_files, redaction_allow and redaction_pii."
        return Check("masking", "warn", f"{', '.join(loaded)}; weakened: {'; '.join(weakened)}", next)
    return Check("masking", "ok", ", ".join(loaded))


def _search() -> Check:
    words = f"SQLite {sqlite3.sqlite_version}"
    connection = sqlite3.connect(":memory:")
    try:
        connection.execute("CREATE VIRTUAL TABLE probe USING fts5(text)")
    except sqlite3.OperationalError:
        next = "Use a Python whose SQLite has FTS5; everything but search works without it."
        return Check("search", "warn", f"{words} without FTS5", next)
    finally:
        connection.close()
    return Check("search", "ok", f"{words} with FTS5")


def file_system_of(folder: Path, mounts: Path = Path("/proc/mounts")) -> str:
    """The kernel's name of the file system that holds a folder; empty where the platform does not say."""
    try:
        lines = mounts.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    best, kind = "", ""
    for line in lines:
        point, name = line.split(" ")[1:3]
        point = point.replace("\\040", " ")
        if len(point) >= len(best) and folder.resolve().is_relative_to(point):
            best, kind = point, name
    return kind


# What `doctor` says of Claude Code: its version, what is wired in it and why not, what its hooks could not do.


DEFAULT_MODEL = "claude-opus-5-5"
"""What the client uses unless told otherwise."""
RECENT_S = 7 * 86_400
_INSTALL = "Install the plugin (docs/claude-code.md), or: palimpsest-mcp install claude-code"
_REMOVE = "Take the entries of your own settings out: palimpsest-mcp install claude-code --remove"


@dataclass(frozen=True, kw_only=True)
class ClaudeCodeInstallation:
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
    def on_this_machine(cls, store: Path) -> ClaudeCodeInstallation:
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


def checks(found: ClaudeCodeInstallation) -> Iterator[Check]:
    """Nothing but one line where nobody uses it."""
    if not found.is_there:
        yield Check("claude", "ok", "Claude Code is not on this machine")
        return
    yield _client(found)
    yield _wired(found)
    yield _compacts(found)
    yield _hooks(found)


def _client(found: ClaudeCodeInstallation) -> Check:
    if not found.version:
        return Check("claude", "ok", "no `claude` on the PATH; its settings are here")
    if found.version == TESTED_CLIENT:
        return Check("claude", "ok", f"Claude Code {found.version}, the version that this was tested with")
    next = "If something fails, tell us both versions; `claude --version` says yours."
    return Check("claude", "warn", f"Claude Code {found.version}; tested with {TESTED_CLIENT}", next)


def _wired(found: ClaudeCodeInstallation) -> Check:
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


def _compacts(found: ClaudeCodeInstallation) -> Check:
    model = found.user.get("model")
    name = model if isinstance(model, str) and model.startswith("claude-") else DEFAULT_MODEL
    enabled = {"autoCompactEnabled": found.state.get("autoCompactEnabled", True)}
    trigger = host_trigger(name, host="claude-code", overrides=overrides_of(found.environ, [enabled, *found.settings]))
    words = f"with {name}, {trigger.words}" if trigger is not None else "not known"
    return Check("compacts", "ok", words)


def _hooks(found: ClaudeCodeInstallation) -> Check:
    recent = [one for one in found.troubles if _seconds(one.get("ts")) > found.now_s - RECENT_S]
    if not recent:
        return Check("hooks", "ok", "no failure in the last 7 days")
    last = recent[-1]
    what = f"{len(recent)} failures in the last 7 days; the newest at {last.get('event')}: {last.get('code')}"
    text = str(last.get("text", ""))
    return Check("hooks", "warn", f"{what}: {text}" if text else what, "Sessions went on without Palimpsest there.")


def _own_servers(found: ClaudeCodeInstallation) -> list[Mapping[str, Any]]:
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


_KINDS = ("ledger", "offloaded", "summary", "purged", "offload_", "rev", "memory", "secret", "VERSION", "index")
_PLAIN = re.compile(r"[A-Za-z_]{1,40}")


def bundle_of(face: Face, checks: Sequence[Check]) -> dict[str, Any]:
    """Versions, states, counts. What could not be found out says why by its code alone."""
    from importlib.metadata import version

    from ..settings.settings import Settings

    made: dict[str, Any] = {
        "bundle": 1,
        "versions": {name: version(name) for name in ("palimpsest-mcp", "mcp", "msgspec", "pydantic", "click")},
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "checks": {check.name: check.state for check in checks},
    }
    try:
        rows = Settings.load(home=face.home).explain()
        made["settings"] = {key: _source(source) for key, _, source in rows if not source.startswith("preset")}
        made["store"] = face.ask(_store_in_numbers, make=False)
    except PalimpsestError as error:
        made["error"] = error.code
    return made


def _source(source: str) -> str:
    return source if source in ("default", "argument") else "environment" if source.startswith("env") else "file"


async def _store_in_numbers(facade: Palimpsest) -> dict[str, Any]:
    status, report = await facade.status(), await facade.verify()
    troubles = Counter(
        f"{_word(one.get('event'))} {_word(one.get('code'))}" for one in facade.store.host_notes.troubles()
    )
    return {
        "sessions": status.sessions,
        "batches": status.batches,
        "bytes": {
            "all": status.disk_bytes,
            "ledger": status.ledger_bytes,
            "archive": status.archive_bytes,
            "index": status.index_bytes,
        },
        "largest_session_bytes": [row["bytes"] for row in status.largest],
        "checked": {"events": report.events, "records": report.records, "originals": report.items},
        "findings": dict(Counter(f"{one.severity} {_kind(one.where)}" for one in report.findings)),
        "troubles": dict(troubles),
    }


def _kind(where: str) -> str:
    return next((kind for kind in _KINDS if kind in where), "other")


def _word(value: object) -> str:
    """A name of ours; anything else only says that it was something else."""
    return value if isinstance(value, str) and _PLAIN.fullmatch(value) else "other"
