"""`export` and `import`: sessions in one checked file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..errors import InvalidArgument
from .face import Face, pass_face, shared_options
from .out_file import out_file, out_options

if TYPE_CHECKING:
    from ..app import Palimpsest
    from ..models.exchange import ExchangeReport
    from ..store.out_file import OutFile


@click.command()
@click.argument("sessions", nargs=-1, required=True, metavar="SESSION...")
@out_options("The file to write, gzipped JSON lines.")
@shared_options
@pass_face
def export(face: Face, sessions: tuple[str, ...], out: Path | None, overwrite: bool) -> None:
    """Write each SESSION, with its originals, digests and summary, into one file that `import` takes elsewhere."""
    target = out_file(face, out, overwrite=overwrite)
    if target is None:
        raise InvalidArgument("export needs --out FILE.", next="Name a file that does not exist yet.")
    report = face.ask(lambda facade: _export(facade, sessions, target))
    _say(face, report, f"written: {out}")


async def _export(facade: Palimpsest, sessions: tuple[str, ...], target: OutFile) -> ExchangeReport:
    with target.open() as file:
        return await facade.export_sessions(sessions, file)


@click.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--dry-run", is_flag=True, help="Check the file and say what it holds; write nothing.")
@shared_options
@pass_face
def import_file(face: Face, file: Path, dry_run: bool) -> None:
    """Take in the sessions of FILE, which export wrote: all of it is checked before anything is written."""
    report = face.ask(lambda facade: facade.import_sessions(file, dry_run=dry_run))
    _say(face, report, "whole: every line, text and digest has its hash")


def _say(face: Face, report: ExchangeReport, last: str) -> None:
    import msgspec

    from .numbers import counted
    from .screen import say, say_json

    if face.as_json:
        say_json(msgspec.to_builtins(report))
        return
    for one in report.sessions:
        what = f"{counted(one.events, 'event')}, {counted(one.records, 'record')}"
        say(f"{one.handle} ({one.session_id}): {one.status.replace('_', ' ')}, {what}")
    for note in report.notes:
        say(f"note: {note}")
    say(last)


__all__ = ["export", "import_file"]
