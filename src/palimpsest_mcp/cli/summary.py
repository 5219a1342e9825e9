"""`summary SESSION`: the anchored summary."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import msgspec

from ..models.text import plain_line
from .face import Face, SessionName, pass_face, shared_options
from .screen import say, say_fields, say_json, say_table

if TYPE_CHECKING:
    from ..core.palimpsest import Palimpsest
    from ..models.events import SessionInfo
    from ..models.probes import ProbeReport
    from ..models.summaries import AnchoredSummary


@click.command()
@click.argument("session", type=SessionName())
@click.option("--full", is_flag=True, help="All of it, beyond the usual limit of 1,500 tokens.")
@shared_options
@pass_face
def summary(face: Face, session: str, full: bool) -> None:
    """The anchored summary of SESSION (id or handle): intent, files, decisions, state, blockers, errors, next steps."""
    from ..memory.summary.sections import full_command, to_markdown

    session_id, found = face.ask(lambda facade: _summary(facade, session, full=full), make=False)
    if face.as_json:
        say_json({"session_id": session_id, **found.to_json()})
    else:
        text = to_markdown(found).rstrip("\n")
        every = face.command("summary", session_id=found.session or session)
        say(text.replace(full_command(found.session), every))


async def _summary(facade: Palimpsest, session: str, *, full: bool) -> tuple[str, AnchoredSummary]:
    return (await facade.session(session)).session_id, await facade.summary(session, full=full)


# `probe SESSION`: what the session's originals hold, and whether what stays of it still answers.


@click.command()
@click.argument("session", type=SessionName())
@shared_options
@pass_face
def probe(face: Face, session: str) -> None:
    """Ask what the originals of SESSION (id or handle) say of files, decisions, errors and steps: do its digests,
    summary and kept items still answer?"""
    info, found = face.ask(lambda facade: _probed(facade, session), make=False)
    if face.as_json:
        data = {"session_id": info.session_id, "handle": info.handle, "score": found.score}
        say_json({**data, **msgspec.to_builtins(found)})
    else:
        _say(face, info, found)


async def _probed(facade: Palimpsest, session: str) -> tuple[SessionInfo, ProbeReport]:
    return await facade.session(session), await facade.probe(session)


def _say(face: Face, info: SessionInfo, found: ProbeReport) -> None:
    share = "" if found.score is None else f" ({found.score:.1%})"
    distractors = f"{found.distractors - found.distractors_taken} of {found.distractors} rejected"
    say_fields(
        [
            ("session", f"{info.session_id} (handle {info.handle})"),
            ("probes", f"{found.line}{share}"),
            ("false answers", distractors if found.distractors else ""),
            ("took", "" if found.elapsed_s is None else f"{found.elapsed_s:.2f} s"),
        ]
    )
    rows = [(name, str(c.passed), str(c.total), str(c.critical_failed)) for name, c in found.by_type.items()]
    say_table("type, passed:number, of:number, critical failed:number", rows)
    for one in found.failed:
        where = f", {one.batch_id}" if one.batch_id else ""
        grave = "critical: " if one.critical else ""
        say(plain_line(f"{grave}{one.type}: {one.question} ({one.item_id}{where})"))
        say(f"    expected {plain_line(' and '.join(one.expected))}")
    left = sum(one.total - one.passed for one in found.by_type.values()) - len(found.failed)
    if left > 0:
        say(f"… and {left} more")
    for note in found.notes:
        say(f"note: {note}")
    if lost := next((one for one in found.failed if one.batch_id), None):
        given = {"session_id": info.handle, "batch_id": lost.batch_id, "item_id": lost.item_id}
        say(f"get it back: {face.command('restore_batch', **given)}")
