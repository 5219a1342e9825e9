"""`hook`: one event of a host's hooks, for those that a server cannot answer."""

from __future__ import annotations

import click

from .face import Face, pass_face, shared_options


@click.command()
@click.argument("event", required=False, default="")
@shared_options
@pass_face
def hook(face: Face, event: str) -> int:
    """Answer one event of Claude Code's hooks: its JSON on stdin, the answer on stdout. The plugin calls it.

    EVENT is the hook's name, such as SessionStart; without it the JSON names it. The exit status is always 0: what goes
    wrong is kept for `doctor` and never breaks the client.
    """
    from .hooking import answer_hook

    return answer_hook(event, face.home)
