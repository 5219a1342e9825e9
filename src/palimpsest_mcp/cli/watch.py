"""`watch`: the sessions of hosts in which nothing of ours acts, followed by their files."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from ..models.text import counted
from .face import Face, pass_face, shared_options
from .screen import said_as_json, say

if TYPE_CHECKING:
    from ..core.palimpsest import Palimpsest
    from ..core.watch import Watched


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
                _say(face, one)
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


def _say(face: Face, one: Watched) -> None:
    if said_as_json(face, one):
        return
    say(f"{one.host} {one.handle}: {counted(one.new_items, 'new item')} of {one.session_id}")
    for each in one.compactions:
        lost = f"{each.lost:,} of {counted(each.total, 'specific')} are not in its summary"
        say(f"  compacted by its host: {lost}; originals: {face.command('list_offloaded', session_id=one.handle)}")
