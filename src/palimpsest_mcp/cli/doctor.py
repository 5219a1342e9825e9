"""`doctor`: what this machine offers, one line a check, each with what to do where it falls short."""

from __future__ import annotations

import os
import platform
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..errors import PalimpsestError, StoreUnusable
from ..models.advice import in_form
from .checks import Check
from .face import Face, pass_face, shared_options

if TYPE_CHECKING:
    from ..app import Palimpsest

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
@shared_options
@pass_face
def doctor(face: Face) -> int:
    """Check this machine: Python, settings, store, vocabulary, masking, search, and what is wired in Claude Code.

    Ends with the exit status of the first failure.
    """
    from .screen import say, say_json

    checks = list(_checks(face))
    if face.as_json:
        say_json({"checks": [vars(check) for check in checks]})
    else:
        width = max(len(check.name) for check in checks)
        for check in checks:
            say(f"{check.state:4}  {check.name.ljust(width)}  {check.words}")
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
    from .doctor_claude_code import Found, checks

    yield from checks(Found.on_this_machine(home_folder(face.home)))


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


def _store(face: Face) -> Iterator[Check]:
    from ..settings.places import home_folder
    from .numbers import size

    root = home_folder(face.home)
    yield _attempt("store", lambda: _opened(face, root))
    there = next(folder for folder in (root, *root.parents) if folder.exists())
    yield _attempt("writable", lambda: _writable(there))
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
    from .numbers import counted

    if not root.exists():
        return Check("store", "ok", f"{root} (not there yet; made with the first write, format {FORMAT_VERSION})")
    found = face.ask(lambda facade: facade.status())
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
    from ..tokens.vocabulary import SHA256, load_vocabulary

    found = load_vocabulary()
    if found.encoding is not None:
        return Check("vocabulary", "ok", f"o200k_base from {found.origin}, SHA-256 {SHA256[:12]}… checked")
    next = "Install again: pip install --force-reinstall splintr-rs tiktoken."
    return Check("vocabulary", "warn", f"none ({found.problem}): tokens are estimated from characters", next)


def _masking(face: Face) -> Check:
    async def rules(facade: Palimpsest) -> tuple[tuple[str, ...], tuple[str, ...]]:
        redactor = facade.given.redactor
        return redactor.rules, redactor.weakened

    loaded, weakened = face.ask(rules)
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
