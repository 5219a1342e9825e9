"""`serve`: the MCP server."""

from __future__ import annotations

import click

from ..models.host_table import HOSTS
from .face import Face, pass_face, shared_options

_HOSTS = [row.name for row in HOSTS.values() if row.attached]


@click.command()
@click.option("--host", type=click.Choice(_HOSTS), help="Also answer this host's hooks: what its plugin starts.")
@click.option(
    "--only-session", metavar="SESSION", help="Answer only for this session (id or handle), and its parents'."
)
@shared_options
@pass_face
def serve(face: Face, host: str | None, only_session: str | None) -> int:
    """Run the MCP server on stdin and stdout, until stdin ends (0) or Ctrl-C (130).

    Register it in Claude Code by: claude mcp add palimpsest -- palimpsest-mcp
    """
    return face.serve(face.home, host or "", only_session or "")


# `hook`: one event of a host's hooks, for those that a server cannot answer.


@click.command()
@click.argument("event", required=False, default="")
@shared_options
@pass_face
def hook(face: Face, event: str) -> int:
    """Answer one event of Claude Code's hooks: its JSON on stdin, the answer on stdout. The plugin calls it.

    EVENT is the hook's name, such as SessionStart; without it the JSON names it. The exit status is always 0: what goes
    wrong is kept for `doctor` and never breaks the client.
    """
    from .hook import answer_hook

    return answer_hook(event, face.home)


# `statusline`: one line for Claude Code's status bar.


@click.command()
@shared_options
@pass_face
def statusline(face: Face) -> int:
    """Print one line for Claude Code's status bar, from the JSON that it gives on stdin."""
    from .statusline import main

    return main(face.home)
