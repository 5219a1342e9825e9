"""`statusline`: one line for Claude Code's status bar."""

from __future__ import annotations

import click

from .face import Face, pass_face, shared_options


@click.command()
@shared_options
@pass_face
def statusline(face: Face) -> int:
    """Print one line for Claude Code's status bar, from the JSON that it gives on stdin."""
    from .status_text import main

    return main(face.home)
