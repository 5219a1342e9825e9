"""`backup`, `pack`, `migrate`: what a user does for the store's files."""

from __future__ import annotations

from pathlib import Path

import click

from .face import Face, SessionName, pass_face, shared_options


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@shared_options
@pass_face
def backup(face: Face, folder: Path) -> None:
    """Copy the store into FOLDER, which must not exist, while others write. The copy is a store: --home FOLDER verifies
    it, restores from it, or goes on in it."""
    import msgspec

    from ..models.advice import step
    from ..models.text import counted
    from .screen import say, say_json, size

    report = face.ask(lambda facade: facade.backup(folder), make=False)
    if face.as_json:
        say_json(msgspec.to_builtins(report))
        return
    say(f"written: {report.path}, {counted(report.files, 'file')}, {size(report.size_bytes)}")
    say(f"whether it is whole: {step('verify').command(report.path)}")


@click.command()
@click.argument("session", type=SessionName(), required=False)
@shared_options
@pass_face
def pack(face: Face, session: str | None) -> None:
    """Put the small files of SESSION, or of all, together: each process leaves some. Lines stay as they are."""
    import msgspec

    from ..models.text import counted
    from .screen import say, say_json

    packed = face.ask(lambda facade: facade.pack(session), make=False)
    if face.as_json:
        say_json({"sessions": msgspec.to_builtins(packed)})
        return
    for one in packed:
        say(f"{one.handle}: {one.after:,} of {counted(one.before, 'file')} left")
    if not packed:
        say("nothing to pack")


@click.command()
@click.option("--yes", is_flag=True, help="Do it. Without it nothing is changed.")
@shared_options
@pass_face
def migrate(face: Face, yes: bool) -> None:
    """Bring a store that an older program, or a hand, left to what this one makes: format, who may read it, witnesses.

    Shows what it would do; --yes does it. A store of a newer program is refused.
    """
    import msgspec

    from .screen import say, say_json

    report = face.ask(lambda facade: facade.migrate(dry_run=not yes), make=False)
    if face.as_json:
        say_json(msgspec.to_builtins(report))
        return
    for change in report.changes:
        say(change)
    if not report.changes:
        say(f"nothing to do: the store has format {report.version}")
    elif report.dry_run:
        say("nothing was changed; run it again with --yes")
