"""`install HOST`: enter Palimpsest in a host's own settings, or take it out."""

from __future__ import annotations

import os
import shutil
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..models.host_table import HOSTS
from .face import Face, pass_face, shared_options
from .screen import say, say_json

if TYPE_CHECKING:
    from ..core.install_files import Change, Launch

_ENTERED = {row.name: row.entered for row in HOSTS.values() if row.entered}
_SETTINGS = ", ".join(f"{name} ({what})" for name, what in _ENTERED.items())
_HELP = f"""Add Palimpsest to the settings of HOST: {_SETTINGS}.

Each file is copied first; only entries of our own are added, replaced or removed. Running it again changes nothing.
"""
PLUGIN = "https://github.com/palimpsest-mcp/palimpsest-mcp/blob/main/docs/claude-code.md"


@click.command(help=_HELP)
@click.argument("host", type=click.Choice(list(_ENTERED)), metavar="HOST")
@click.option("--remove", is_flag=True, help="Take out what was added.")
@click.option("--dry-run", is_flag=True, help="Show what would change and write nothing.")
@shared_options
@pass_face
def install(face: Face, host: str, remove: bool, dry_run: bool) -> int:
    from ..core.install import planned
    from ..core.install_files import carry_out

    changes = planned(
        host,
        _launch(face),
        environ=os.environ,
        home=Path.home(),
        platform=sys.platform,
        remove=remove,
    )
    copies = [] if dry_run else carry_out(changes, datetime.now(UTC))
    _say(face, host, changes, copies, remove=remove, dry_run=dry_run)
    return 0


def _launch(face: Face) -> Launch:
    """This very program, by its full path: hosts start programs with a short PATH."""
    import platform
    import shlex
    import subprocess

    from ..core.install_files import Launch

    named = Path(sys.argv[0])
    beside = Path(sys.executable).parent
    places = [named] if named.name.startswith("palimpsest-mcp") else []
    found = shutil.which("palimpsest-mcp", path=str(beside)) or shutil.which("palimpsest-mcp")
    program = next((str(place.absolute()) for place in places if place.is_file()), found)
    command = [program] if program else [sys.executable, "-m", "palimpsest_mcp"]
    home = face.home or os.environ.get("PALIMPSEST_HOME", "")
    home = str(Path(home).expanduser().absolute()) if home else ""
    quoted = subprocess.list2cmdline if platform.system() == "Windows" else shlex.join
    return Launch(
        command=command[0],
        arguments=tuple(command[1:]),
        environment={"PALIMPSEST_HOME": home} if home else {},
        shell=quoted(command),
        options=quoted(["--home", home]) if home else "",
    )


def _say(face: Face, host: str, changes: list[Change], copies: list[Path], *, remove: bool, dry_run: bool) -> None:
    open_ones = [change for change in changes if not change.is_none]
    if face.as_json:
        rows = [
            {"file": str(one.path), "what": one.what, "changed": not one.is_none, "diff": one.diff()} for one in changes
        ]
        say_json({"host": host, "written": not dry_run, "files": rows, "copies": [str(copy) for copy in copies]})
        return
    if not open_ones:
        say("nothing to remove: there is nothing of ours" if remove else "nothing to do: everything is entered already")
        return
    for change in open_ones:
        if dry_run:
            say(change.diff().rstrip("\n"))
    done = "removed from" if remove else "entered in"
    for change in open_ones:
        say(f"{'to be ' if dry_run else ''}{done} {change.path}: {change.what}")
    for copy in copies:
        say(f"as it was: {copy}")
    if dry_run:
        say("nothing was written; run it without --dry-run to do this")
    elif host == "claude-code" and not remove:
        say("next: start a new session in Claude Code; `palimpsest-mcp doctor` says what is wired")
        say(f"note: only the plugin, installed instead of this, compacts a running session in place: {PLUGIN}")
    elif host == "codex" and not remove:
        say("next: start Codex again, and trust the hooks: /hooks lists them")
    elif not remove:
        say(f"next: start {HOSTS[host].title} again")
