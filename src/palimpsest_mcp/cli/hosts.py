"""`install`, `watch`, `proxy`: how a host gets to us, by its settings, its session files, or its base URL."""

from __future__ import annotations

import os
import shutil
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..models.host_table import HOSTS
from ..models.text import counted
from .face import Face, pass_face, shared_options
from .screen import said_as_json, say, say_json
from .serve import say_address, until_interrupted

if TYPE_CHECKING:
    from ..core.install import Change, Launch
    from ..core.palimpsest import Palimpsest
    from ..core.watch import Watched

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
    from ..core.install import carry_out, planned

    changes = planned(
        host,
        _launch(face),
        environ=os.environ,
        home=Path.home(),
        platform=sys.platform,
        remove=remove,
    )
    copies = [] if dry_run else carry_out(changes, datetime.now(UTC))
    _say_changes(face, host, changes, copies, remove=remove, dry_run=dry_run)
    return 0


def _launch(face: Face) -> Launch:
    """This very program, by its full path: hosts start programs with a short PATH."""
    import platform
    import shlex
    import subprocess

    from ..core.install import Launch

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


def _say_changes(
    face: Face, host: str, changes: list[Change], copies: list[Path], *, remove: bool, dry_run: bool
) -> None:
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


@click.command()
@click.option("--once", is_flag=True, help="Look once, and end.")
@click.option("--host", "hosts", multiple=True, metavar="HOST", help="codex, gemini-cli or vscode; default: all.")
@click.option(
    "--days",
    type=click.FloatRange(min=0, min_open=True),
    default=1.0,
    help="Only files changed in the last so many days; default: 1.",
)
@click.option("--every", type=click.FloatRange(min=0.2), default=2.0, metavar="SECONDS", help="Between two looks.")
@shared_options
@pass_face
def watch(face: Face, once: bool, hosts: tuple[str, ...], days: float, every: float) -> int:
    """Follow the session files of Codex CLI, Gemini CLI and VS Code's chat until it is stopped.

    What is in them is archived before the host's own compaction takes it away. Afterwards code compares the summary
    with the originals, and the session's next start says what was lost (not in VS Code, where nothing of ours acts).
    The files are only read.
    """
    import asyncio

    if not once and sys.stderr.isatty():
        sys.stderr.write("following the session files; Ctrl-C ends it\n")

    async def look(facade: Palimpsest) -> None:
        while True:
            found = await facade.watch(days=days, hosts=hosts)
            for one in found:
                _say_watched(face, one)
            if once:
                if not found and not face.as_json:
                    say(f"nothing new in session files of the last {days:g} d")
                return
            await asyncio.sleep(every)

    try:
        face.ask(look, waits=once)
    except KeyboardInterrupt:
        say("stopped")
    return 0


def _say_watched(face: Face, one: Watched) -> None:
    if said_as_json(face, one):
        return
    say(f"{one.host} {one.handle}: {counted(one.new_items, 'new item')} of {one.session_id}")
    for each in one.compactions:
        lost = f"{each.lost:,} of {counted(each.total, 'specific')} are not in its summary"
        say(f"  compacted by its host: {lost}; originals: {face.command('list_offloaded', session_id=one.handle)}")


GATEWAY_PORT = 8322


@click.command()
@click.option("--to", "upstream", metavar="URL", required=True, help="The provider, such as https://api.openai.com.")
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=GATEWAY_PORT,
    show_default=True,
    help="Port on 127.0.0.1; 0: a free one.",
)
@click.option("--window", metavar="TOKENS", type=click.IntRange(min=1), help="Window of a model that we do not know.")
@click.option(
    "--thinking",
    type=click.Choice(["refuse", "drop"]),
    default="refuse",
    show_default=True,
    help="For models that bind thinking to all before it: leave their lists alone, or leave that thinking out.",
)
@shared_options
@pass_face
def proxy(face: Face, upstream: str, port: int, window: int | None, thinking: str) -> int:
    """Forward requests to a provider, with digests in the place of older results once a window is nearly full.

    Set a program's base URL to the address that is printed. Requests pass through byte for byte until a pass changes
    one, and answers always do. Only this machine can reach it; keys are passed on, and neither kept nor logged.

    Not for Claude Code: its plugin compacts in the client itself, which then counts its window, its cache and its own
    compaction by what it really sends. Behind a gateway it would keep counting what has left.
    """
    from ..web.gateway import checked_upstream

    url = checked_upstream(upstream)
    return until_interrupted(face, lambda facade: _forward(face, facade, url, port, window, thinking), make=True)


def _log_line(text: str) -> None:
    sys.stderr.write(text + "\n")


async def _forward(face: Face, facade: Palimpsest, upstream: str, port: int, window: int | None, thinking: str) -> None:
    from ..web.app import address_of, bound, local_server
    from ..web.gateway import gateway_app

    gateway = facade.gateway(window_tokens=window, thinking=thinking)
    with bound(port) as listening:
        note = f"goes on to {upstream}; set it as your program's base URL; Ctrl-C ends it"
        say_address(face, {"url": address_of(listening), "to": upstream}, note)
        await local_server(gateway_app(gateway, upstream, _log_line)).serve(sockets=[listening])
