"""`serve`: the MCP server."""

from __future__ import annotations

import click

from .face import Face, pass_face, shared_options

HOSTS = ("claude-code",)


@click.command()
@click.option("--host", type=click.Choice(HOSTS), help="Also answer this host's hooks: what its plugin starts.")
@shared_options
@pass_face
def serve(face: Face, host: str | None) -> None:
    """Run the MCP server on stdin and stdout, until stdin ends.

    Register it in Claude Code by: claude mcp add palimpsest -- palimpsest-mcp
    """
    face.serve(face.home, host or "")
