"""`summary SESSION`: the anchored summary."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from .completion import SessionName
from .face import Face, pass_face, shared_options

if TYPE_CHECKING:
    from ..app import Palimpsest
    from ..models.summaries import AnchoredSummary


@click.command()
@click.argument("session", type=SessionName())
@click.option("--full", is_flag=True, help="Also what 1,500 tokens leave out.")
@shared_options
@pass_face
def summary(face: Face, session: str, full: bool) -> None:
    """The anchored summary of SESSION (id or handle): intent, files, decisions, state, blockers, errors, next steps."""
    from ..summary.markdown import full_command, to_markdown
    from .screen import say, say_json

    session_id, found = face.ask(lambda facade: _summary(facade, session, full=full), make=False)
    if face.as_json:
        say_json({"session_id": session_id, **found.to_json()})
    else:
        text = to_markdown(found).rstrip("\n")
        every = face.command("summary", session_id=found.session or session)
        say(text.replace(full_command(found.session), every))


async def _summary(facade: Palimpsest, session: str, *, full: bool) -> tuple[str, AnchoredSummary]:
    return (await facade.session(session)).session_id, await facade.summary(session, full=full)
