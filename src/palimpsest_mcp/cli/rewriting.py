"""`rewrite SESSION`: a shorter session beside one of Claude Code, to resume in its place."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import click

from ..errors import DigestRefused, FileMissing, PalimpsestError
from ..models.nouns import counted
from ..models.plain_text import shown
from .completion import SessionName
from .face import Face, pass_face, shared_options
from .pass_options import pass_options

if TYPE_CHECKING:
    from ..app import Palimpsest
    from ..models.pass_options import PassKeywords
    from ..services.rewriting import RewrittenSession


@click.command()
@click.argument("session", type=SessionName(files=True))
@pass_options(
    "window_tokens",
    "policy",
    "target",
    "keep_last",
    "focus",
    "dry_run",
    window_tokens="Tokens of the window; default: the session's size.",
    dry_run="Show the plan and write nothing.",
)
@shared_options
@pass_face
def rewrite(face: Face, session: str, **options: Unpack[PassKeywords]) -> int:
    """Write a new Claude Code session with digests in the place of older results, and say how to resume it.

    SESSION is a transcript (a path) or a session's id. The file itself is not changed, and none is overwritten.
    """
    path = Path(session).expanduser()
    file = path.resolve() if path.is_file() else None

    async def rewritten(facade: Palimpsest) -> RewrittenSession:
        return await facade.rewrite_session(file or await _transcript(facade, session), **options)

    result = face.ask(rewritten, make=not options.get("dry_run"))
    _say(face, result)
    return DigestRefused.exit_status if result.report.status == "failed" else 0


async def _transcript(facade: Palimpsest, session: str) -> Path:
    """The file of a session's id or handle.

    Raises:
        FileMissing: there is none.
    """
    import os

    from ..hosts.claude_code_files import transcripts_of

    name = session.removesuffix(".jsonl")
    if (read := await facade.file_of(session)) is not None and read.suffix == ".jsonl":
        return read
    with suppress(PalimpsestError):
        name = (await facade.session(session)).session_id  # a handle, where it is one
    found = transcripts_of(name, os.environ, Path.home())
    if not found:
        raise FileMissing(
            f"There is no transcript of a session {shown(session)}.", next="Give the path of the session's .jsonl file."
        )
    return found[0]


def _say(face: Face, result: RewrittenSession) -> None:
    from .report_view import say_report
    from .screen import say, say_json

    if face.as_json:
        told = {
            "new_session_id": result.session_id or None,
            "file": str(result.file) if result.file is not None else None,
            "digests": result.digests,
            "resume": result.resume or None,
        }
        say_json({**result.report.to_json(), **told})
        return
    say_report(result.report, face)
    if result.file is None:
        if result.report.status != "planned":
            say("nothing was written: there is nothing in it that a digest could stand for")
        return
    say(f"new session: {result.session_id} ({counted(result.digests, 'digest')})")
    say(f"written: {result.file}")
    say(f"resume it with: {result.resume}")
