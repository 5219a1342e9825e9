"""`serve`: the MCP server."""

from __future__ import annotations

import click

from .face import Face, pass_face, shared_options


@click.command()
@shared_options
@pass_face
def serve(face: Face) -> None:
    """Run the MCP server on stdin and stdout, until stdin ends.

    Register it in Claude Code by: claude mcp add palimpsest -- palimpsest-mcp
    """
    face.serve(face.home)
