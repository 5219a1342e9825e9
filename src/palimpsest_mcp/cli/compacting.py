"""`compact FILE`: one pass over a session file."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import click

from ..errors import DigestRefused
from .completion import SessionName
from .face import Face, pass_face, shared_options
from .out_file import free_name, json_bytes, out_file, out_options
from .pass_options import pass_options

if TYPE_CHECKING:
    from ..app import Palimpsest
    from ..models.pass_options import PassKeywords, Progress
    from ..services.messages import CompactedMessages


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--line", type=click.IntRange(min=1), help="Which session of a file with one a line, from 1.")
@click.option("--format", "form", default="auto", show_default=True, help="anthropic, openai, claude-code, or auto.")
@click.option(
    "--session", type=SessionName(), help="Session id; default: the host's own, else made of file name and path."
)
@pass_options()
@out_options("Write the compacted messages here.")
@shared_options
@pass_face
def compact(
    face: Face,
    file: Path,
    out: Path | None,
    overwrite: bool,
    line: int | None,
    form: str,
    session: str | None,
    **options: Unpack[PassKeywords],
) -> int:
    """Compact the session in FILE: a message list, one session a line (gzip too), or a Claude Code transcript.

    FILE may also be a session that was read from a file. FILE itself is not changed. Originals go to the store, from
    which `restore` gives them back.
    """
    if not file.exists():
        file, session = face.ask(lambda facade: _file_of(facade, file, session), make=False)
    target = out_file(face, out, overwrite=overwrite, sources=[file])
    dry_run = options.get("dry_run", False)

    async def compacted(facade: Palimpsest) -> CompactedMessages:
        async with _progress(quiet=face.as_json) as progress:
            options["progress"] = progress
            return await facade.compact_file(file, line=line, form=form, session_id=session, **options)

    result = face.ask(compacted, make=not dry_run)
    if target is not None and not dry_run:
        target.write(json_bytes(result.value))
    _say(face, result, out, dry_run=dry_run)
    return DigestRefused.exit_status if result.report.status == "failed" else 0


async def _file_of(facade: Palimpsest, name: Path, session: str | None) -> tuple[Path, str | None]:
    """The file of a session by its id or handle, and the session's id; where there is none, what was given."""
    if (found := await facade.file_of(str(name))) is None:
        return name, session
    return found, session or (await facade.session(str(name))).session_id


def _say(face: Face, result: CompactedMessages, out: Path | None, *, dry_run: bool) -> None:
    from .numbers import counted
    from .report_view import say_report
    from .screen import say, say_json

    if face.as_json:
        say_json(result.report.to_json())
        return
    say_report(result.report, face)
    if dry_run:
        say("nothing was written, neither to the store nor elsewhere; without --dry-run it is done")
    elif out is not None:
        say(f"written: {out} ({counted(len(result.messages), 'message')})")
    elif result.report.status != "nothing_to_do":
        say(f"the file is unchanged; the shorter messages: {face.again('--out', free_name(result.report.handle))}")


@asynccontextmanager
async def _progress(*, quiet: bool) -> AsyncGenerator[Progress | None]:
    """A bar on stderr, where a person looks at it."""
    import sys

    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    from .screen import console

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=console(stderr=True), transient=True) as bar:
        task = bar.add_task("compacting", total=None)

        async def show(done: int, total: int, what: str) -> None:
            bar.update(task, completed=done, total=total or None, description=what)

        yield show
