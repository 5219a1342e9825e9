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
