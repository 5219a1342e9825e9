"""`purge` and `repair`: both show first what they would do, and do it with `--yes`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ..errors import InvalidArgument, RecordDamaged
from ..models.advice import Advice, step
from .face import Face, pass_face, shared_options

if TYPE_CHECKING:
    from ..models.maintenance import PurgedSession, PurgeReport, RepairReport


@click.command()
@click.argument("session", required=False)
@click.argument("batch", required=False)
@click.option(
    "--matching", metavar="TEXT", default="", help="Every item that holds this text; in all sessions or in SESSION."
)
@click.option("--regex", metavar="PATTERN", default="", help="The same for a regular expression, written as in Python.")
@click.option("--everywhere", is_flag=True, help="Also where unrelated sessions hold the very same texts.")
@click.option("--yes", is_flag=True, help="Do it. Without it nothing is changed.")
@shared_options
@pass_face
def purge(
    face: Face, session: str | None, batch: str | None, matching: str, regex: str, everywhere: bool, yes: bool
) -> None:
    """Remove originals for good: of SESSION, of one BATCH of it, or every item that matches; and whatever quotes them.

    Shows what would go; --yes does it. Nothing brings it back: restore then answers `purged`.
    """
    import msgspec

    from .screen import say_json

    if not session and not matching and not regex:
        raise InvalidArgument(
            "purge needs a session, or a text to look for.",
            next=Advice("{} lists them; --matching with a text looks in all of them.", step("sessions")),
        )
    report = face.ask(
        lambda facade: facade.purge(
            session, batch, matching=matching, regex=regex, everywhere=everywhere, dry_run=not yes
        ),
        make=yes,
    )
    if face.as_json:
        say_json(msgspec.to_builtins(report))
    else:
        _say_purge(report)


def _say_purge(report: PurgeReport) -> None:
    from ..models.text import counted
    from .screen import say

    for one in report.sessions:
        say(_purged(one, dry_run=report.dry_run))
        if one.items and not one.whole:
            say(f"  {', '.join(one.items)}")
    for other in report.elsewhere:
        say(f"{other.handle}: keeps {counted(other.items, 'item')} with the same text; --everywhere takes them too")
    for what in report.changed:
        say(f"changed: {what}")
    for what in report.left:
        say(f"{'holds it' if report.dry_run else 'STILL HOLDS IT'}: {what}")
    for note in report.notes:
        say(f"note: {note}")
    if not report.sessions and not report.left:
        say("nothing to purge" + (": what else holds it was changed" if report.changed else ""))
    elif report.dry_run:
        say("nothing was changed; run it again with --yes to remove this for good")


def _purged(one: PurgedSession, *, dry_run: bool) -> str:
    from ..models.text import counted
    from .tables import size

    what = f"{counted(len(one.items), 'item')} ({size(one.size_bytes)}), {counted(len(one.batches), 'batch')}"
    whole = "the whole session, " if one.whole else ""
    return f"{one.handle} ({one.session_id}): {'would remove' if dry_run else 'removed'} {whole}{what}"


@click.command()
@click.argument("session", required=False)
@click.option("--yes", is_flag=True, help="Do it. Without it nothing is changed.")
@shared_options
@pass_face
def repair(face: Face, session: str | None, yes: bool) -> int:
    """Rebuild what is damaged in SESSION, or in the whole store, from other copies; go on with interrupted purges.

    Shows what can be mended; --yes does it. Deletes nothing: damaged files are kept beside the new ones. Exit status 33
    where something is beyond repair.
    """
    import msgspec

    from .screen import say_json

    report = face.ask(lambda facade: facade.repair(session, dry_run=not yes), make=yes)
    if face.as_json:
        rows = [{**msgspec.to_builtins(one), "possible": one.possible} for one in report.repairs]
        say_json({"ok": report.ok, **msgspec.to_builtins(report), "repairs": rows})
    else:
        _say_repair(report)
    return 0 if report.ok else RecordDamaged.exit_status


def _say_repair(report: RepairReport) -> None:
    from ..models.text import counted
    from .screen import say

    for one in report.repairs:
        if one.possible:
            say(f"{'can be mended' if report.dry_run else 'mended'}: {one.where}: {one.what}, from {one.source}")
        elif one.restorable:
            say(
                f"gone: {one.where}: {one.what}: its digest; restore gives every original back, from {one.source}: "
                "there is nothing else to repair"
            )
        else:
            say(f"LOST: {one.where}: {one.what}: no whole copy of {', '.join(one.lost)}")
    if not report.repairs:
        say("nothing is damaged")
    elif report.mended:
        say(f"{counted(report.mended, 'line')} mended; what was damaged is kept beside, in files that end in .damaged")
    elif report.dry_run and any(one.possible for one in report.repairs):
        say("nothing was changed; run it again with --yes to mend this")
