"""`backup`, `pack`, `migrate`: what a user does for the store's files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..errors import InvalidArgument
from ..models.advice import step
from ..models.text import counted
from .face import Face, SessionName, pass_face, patience, shared_options
from .screen import said_as_json, say, size

if TYPE_CHECKING:
    from ..models.events import SessionInfo
    from ..models.maintenance import Migration


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@shared_options
@pass_face
def backup(face: Face, folder: Path) -> None:
    """Copy the store into FOLDER, which must not exist, while others write. The copy is a store: --home FOLDER verifies
    it, restores from it, or goes on in it."""
    report = face.ask(lambda facade: facade.backup(folder), make=False)
    if said_as_json(face, report):
        return
    say(f"written: {report.path}, {counted(report.files, 'file')}, {size(report.size_bytes)}")
    say(f"whether it is whole: {step('verify').command(report.path)}")


@click.command()
@click.argument("session", type=SessionName(), required=False)
@shared_options
@pass_face
def pack(face: Face, session: str | None) -> None:
    """Join the small files that each process leaves, of SESSION or of all sessions. Their lines stay as they are."""
    packed = face.ask(lambda facade: facade.pack(session), make=False)
    if said_as_json(face, {"sessions": packed}):
        return
    for one in packed:
        say(f"{one.handle}: {counted(one.before, 'file')} packed into {one.after:,}")
    if not packed:
        say("nothing to pack")


@click.command()
@click.option("--yes", is_flag=True, help="Do it. Without it nothing is changed.")
@click.option("--role", metavar="ROLE", multiple=True, help="A database's tables: give this role a server's rights.")
@click.option("--from", "source", metavar="STORE", default="", help="Copy this store, a folder or a database's URL …")
@click.option(
    "--to", "target", metavar="STORE", default="", help="… into this one. Stopped, it goes on when run again."
)
@shared_options
@pass_face
def migrate(face: Face, yes: bool, role: tuple[str, ...], source: str, target: str) -> None:
    """Bring an older or hand-edited store up to date: its format, file permissions and witnesses; for a database, its
    tables (--store as their owner). With --from and --to: copy one store into another.

    Shows what it would do; --yes does it. A store of a newer program is refused.
    """
    from ..settings.settings import Settings

    if bool(source) != bool(target):
        raise InvalidArgument("A move has two ends.", next="Give both, --from and --to.")
    if source:
        _move(face, source, target, yes)
        return
    url = Settings.load(home=face.home).store.get_secret_value()
    if role and not url:
        raise InvalidArgument("--role is about a database.", next="Name it with --store.")
    if url:
        import asyncio

        from ..core.upkeep import prepare_database

        with patience(wanted=not face.as_json):
            prepared = asyncio.run(prepare_database(url, role, dry_run=not yes))
        _say_migration(face, prepared, "the tables have version")
    else:
        report = face.ask(lambda facade: facade.migrate(dry_run=not yes), make=False)
        _say_migration(face, report, "the store has format")


def _say_migration(face: Face, report: Migration, has: str) -> None:
    if said_as_json(face, report):
        return
    for change in report.changes:
        say(change)
    if not report.changes:
        say(f"nothing to do: {has} {report.version}")
    elif report.dry_run:
        say("nothing was changed; run it again with --yes")


def _move(face: Face, source: str, target: str, yes: bool) -> None:
    import asyncio

    from ..core.upkeep import move

    def told(info: SessionInfo) -> None:
        if not face.as_json:
            say(f"{'copied' if yes else 'would copy'} {info.handle}")

    report = asyncio.run(move(source, target, dry_run=not yes, told=told))
    if said_as_json(face, report):
        return
    there = f", {counted(report.already_there, 'session')} there already" if report.already_there else ""
    held = f"{counted(report.events, 'event')} and {counted(report.records, 'record')}"
    beside = counted(report.handoffs, "handoff")
    compared = "" if report.dry_run else "; each compared with what it was copied from"
    say(f"{counted(report.sessions, 'session')}{there}: {held}, {beside}{compared}")
    for line in report.left:
        say(f"left: {line}")
    if report.dry_run:
        say("nothing was copied; run it again with --yes")
