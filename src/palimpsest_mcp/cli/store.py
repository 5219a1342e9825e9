"""`status`, `verify`, `config`, `export`, `import`: the store as a whole, and by which settings it works.

`backup`, `pack`, `migrate`: what a user does for the store's files.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from ..errors import InvalidArgument, RecordDamaged
from ..models.advice import Advice, step
from ..models.text import counted
from .face import PAGER, Face, SessionName, pass_face, patience, shared_options
from .screen import (
    age,
    out_file,
    out_options,
    paged,
    percent,
    said_as_json,
    say,
    say_fields,
    say_json,
    say_table,
    size,
    tokens,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..core.palimpsest import Palimpsest
    from ..models.events import SessionInfo
    from ..models.reports import ExchangeReport, Migration, PurgedSession, PurgeReport, RepairReport
    from ..models.views import SessionRow, StoreStatus, VerifyReport
    from ..store.out_file import OutFile


NONE_YET = (
    "no sessions yet: `palimpsest-mcp compact --help` says how to make one; `palimpsest-mcp demo` shows it in a store "
    "of its own"
)
SESSIONS = "handle, session, share:number, saved:number, age, host, title:prose"


@click.command()
@shared_options
@pass_face
def status(face: Face) -> None:
    """What the store holds, what it takes on disk, and what it saved net of restores and of our own tools."""
    found = face.ask(lambda facade: facade.status(), make=False)
    if not said_as_json(face, found):
        _say_status(found, face)


def _say_status(found: StoreStatus, face: Face) -> None:
    parts = (("ledger", found.ledger_bytes), ("archive", found.archive_bytes), ("index", found.index_bytes))
    parts += (("other files", found.beside_bytes),)
    say_fields(
        [
            ("store", found.home),
            ("on disk", f"{size(found.disk_bytes)} ({', '.join(f'{name} {size(value)}' for name, value in parts)})"),
            *(
                [("largest", ", ".join(f"{row['handle']} {size(row['bytes'])}" for row in found.largest))]
                if found.largest
                else []
            ),
            ("holds", f"{counted(found.sessions, 'session')}, {counted(found.batches, 'batch')}"),
            ("offloaded", f"{tokens(found.tokens_offloaded)} tokens, replaced by {tokens(found.tokens_digests)}"),
            ("restored", f"{tokens(found.tokens_restored)} tokens, {_share_restored(found)}"),
            ("read again", _read_again(found)),
            ("own tools", f"{tokens(found.standing_tokens)} tokens of tool definitions in sessions over MCP"),
            ("net saved", f"{tokens(found.net_saved_tokens)} tokens"),
        ]
    )
    if not found.sessions:
        say(NONE_YET)
        return
    rows = [
        (row["handle"], row["session_id"], row["created"][:16].replace("T", " "), row["source"]) for row in found.recent
    ]
    shown, every = len(found.recent), f"; all: {face.command('sessions')}" if len(found.recent) < found.sessions else ""
    say(f"{shown} of {counted(found.sessions, 'session')}{every}")
    say_table("handle, session, created, source", rows)


def _share_restored(found: StoreStatus) -> str:
    of = f"{found.results_restored:,} of {counted(found.results_offloaded, 'result')}"
    return of if found.restores_per_hundred is None else f"{of} ({found.restores_per_hundred:g}%)"


def _read_again(found: StoreStatus) -> str:
    unknown = counted(found.read_again_unknown, "session")
    rest = f"; not known of {unknown} of an older version" if found.read_again_unknown else ""
    return f"{found.tokens_read_again:,} tokens of results that had left{rest}"


@click.command()
@PAGER
@shared_options
@pass_face
def sessions(face: Face, no_pager: bool) -> None:
    """Every session, newest first: how full it is, what it saved, its host, its first request, its age."""
    found = face.ask(lambda facade: facade.session_rows(), make=False)
    if face.as_json:
        say_json({"sessions": [{**msgspec.to_builtins(one, enc_hook=str), "share": _share(one)} for one in found]})
        return
    with paged(wanted=not no_pager):
        _say_sessions(found)


def _share(row: SessionRow) -> float | None:
    return row.usage.ratio if row.usage is not None else None


def _say_sessions(found: Sequence[SessionRow]) -> None:
    from datetime import datetime

    now = datetime.now().astimezone()
    rows = [
        (
            one.handle,
            one.session_id,
            "unreadable" if one.note else percent(_share(one)),
            "" if one.note else tokens(one.saved_tokens),
            age(one.created, now),
            one.host,
            one.note or one.title or one.source,
        )
        for one in found
    ]
    say_table(SESSIONS, rows)
    say(counted(len(found), "session") if found else NONE_YET)


@click.command()
@click.argument("session", type=SessionName(), required=False)
@shared_options
@pass_face
def verify(face: Face, session: str | None) -> int:
    """Check every checksum, hash and count of SESSION, or of the whole store with its handoffs. Exit status 33 where
    one is wrong."""
    report = face.ask(lambda facade: facade.verify(session), make=False)
    if face.as_json:
        said = msgspec.to_builtins(report, enc_hook=str)
        for row, one in zip(said["findings"], report.findings, strict=True):
            row["next"] = face.worded(one.next)
        say_json({"ok": report.ok, **said})
    else:
        _say_verified(report, face)
    return 0 if report.ok else RecordDamaged.exit_status


def _say_verified(report: VerifyReport, face: Face) -> None:
    for finding in report.findings:
        say(f"{finding.severity}: {finding.where}: {finding.what}")
        if finding.next:
            say(f"  next: {face.worded(finding.next)}")
    numbers = {"session": report.sessions, "event": report.events, "record": report.records, "original": report.items}
    numbers |= {"handoff": report.handoffs} if report.handoffs else {}
    checked = ", ".join(counted(number, name) for name, number in numbers.items())
    say(f"{'whole' if report.ok else 'DAMAGED'}: {checked} checked")


@click.group(invoke_without_command=True)
@shared_options
@click.pass_context
def config(context: click.Context) -> None:
    """Settings: `config show`."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@config.command("show")
@shared_options
@pass_face
def config_show(face: Face) -> None:
    """Every setting, its value, and where the value comes from."""
    from ..settings.settings import Settings

    settings = Settings.load(home=face.home)
    rows = [
        (key, msgspec.to_builtins(value, enc_hook=_plain_value), source) for key, value, source in settings.explain()
    ]
    if face.as_json:
        listed = [{"setting": key, "value": value, "source": source} for key, value, source in rows]
        say_json({"file": str(settings.file), "settings": listed, "notes": list(settings.notes)})
        return
    say(f"settings file: {settings.file}{'' if settings.file.exists() else ' (not there)'}")
    say_table(
        "setting, from, value:prose",
        [(key, source, json.dumps(value)) for key, value, source in rows],
    )
    for note in settings.notes:
        say(f"note: {note}")


def _plain_value(value: Any) -> Any:
    return value.model_dump(mode="json") if hasattr(value, "model_dump") else str(value)


# `export` and `import`: sessions in one checked file.


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
    report = face.ask(lambda facade: facade.import_sessions(file, dry_run=dry_run), make=not dry_run)
    _say(face, report, "whole: every line, text and digest has its hash")


def _say(face: Face, report: ExchangeReport, last: str) -> None:
    if said_as_json(face, report):
        return
    for one in report.sessions:
        what = f"{counted(one.events, 'event')}, {counted(one.records, 'record')}"
        say(f"{one.handle} ({one.session_id}): {one.status.replace('_', ' ')}, {what}")
    for note in report.notes:
        say(f"note: {note}")
    say(last)


# `purge` and `repair`: both show first what they would do, and do it with `--yes`.


@click.command()
@click.argument("session", required=False)
@click.argument("batch", required=False)
@click.option(
    "--matching", metavar="TEXT", default="", help="Every item that holds this text; in all sessions or in SESSION."
)
@click.option("--regex", metavar="PATTERN", default="", help="The same for a regular expression, written as in Python.")
@click.option("--older-than", metavar="DAYS", type=float, help="Every whole session that nobody used for so long.")
@click.option(
    "--down-to", metavar="SIZE", help="The longest unused sessions, until the store has this size: 500MB, 2GB."
)
@click.option("--everywhere", is_flag=True, help="Also where unrelated sessions hold the very same texts.")
@click.option("--yes", is_flag=True, help="Do it. Without it nothing is changed.")
@shared_options
@pass_face
def purge(
    face: Face,
    session: str | None,
    batch: str | None,
    matching: str,
    regex: str,
    older_than: float | None,
    down_to: str | None,
    everywhere: bool,
    yes: bool,
) -> None:
    """Remove originals for good: of SESSION, of one BATCH of it, or every item that matches; and whatever quotes them.

    Shows what would go; --yes does it. Nothing brings it back: restore then answers `purged`.
    """
    if older_than is not None or down_to is not None:
        if session or matching or regex or everywhere:
            raise InvalidArgument(
                "--older-than and --down-to choose whole sessions by age and size, and go with nothing else.",
                next="Give --older-than or --down-to alone.",
            )
        _retain(face, older_than, None if down_to is None else _bytes_of(down_to), yes=yes)
        return
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
    if not said_as_json(face, report):
        _say_purge(report)


def _retain(face: Face, days: float | None, down_to: int | None, *, yes: bool) -> None:
    report = face.ask(lambda facade: facade.retain(days=days, down_to_bytes=down_to, dry_run=not yes), make=False)
    if said_as_json(face, report):
        return
    for one in report.sessions:
        say(_purged(one, dry_run=report.dry_run))
    for why in report.kept:
        say(f"stays: {why}")
    words = "would come down" if report.dry_run else "came down"
    say(f"the store {words} from {size(report.size_bytes)} to {size(report.size_after)}")
    if report.dry_run and report.sessions:
        say("nothing was changed; run it again with --yes to remove this for good")


_UNITS = {"b": 1, "kb": 1_000, "mb": 1_000_000, "gb": 1_000_000_000, "tb": 1_000_000_000_000}


def _bytes_of(text: str) -> int:
    parts = re.fullmatch(r"(\d{1,12}(?:\.\d{1,3})?)\s*([a-z]{1,2})", text.strip().lower())
    if parts is None or parts[2] not in _UNITS:
        raise InvalidArgument("--down-to takes a number with its unit.", next="Write it as 500MB or 2GB.")
    return int(float(parts[1]) * _UNITS[parts[2]])


def _say_purge(report: PurgeReport) -> None:
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
    what = f"{counted(len(one.items), 'item')} ({size(one.size_bytes)}), {counted(len(one.batches), 'batch')}"
    whole = "the whole session, " if one.whole else ""
    return f"{one.handle} ({one.session_id}): {'would remove' if dry_run else 'removed'} {whole}{what}"


@click.command()
@click.argument("session", required=False)
@click.option("--accept-losses", is_flag=True, help="Give up what nobody can mend: verify no longer misses it.")
@click.option("--yes", is_flag=True, help="Do it. Without it nothing is changed.")
@shared_options
@pass_face
def repair(face: Face, session: str | None, accept_losses: bool, yes: bool) -> int:
    """Rebuild what is damaged in SESSION, or in the whole store, from other copies; go on with interrupted purges.

    Shows what can be mended; --yes does it. Deletes nothing: damaged files are kept beside the new ones. Exit status 33
    where something is beyond repair and was not given up by --accept-losses.
    """
    report = face.ask(lambda facade: facade.repair(session, dry_run=not yes, accept_losses=accept_losses), make=yes)
    if face.as_json:
        rows = [{**msgspec.to_builtins(one), "possible": one.possible} for one in report.repairs]
        say_json({"ok": report.ok, **msgspec.to_builtins(report), "repairs": rows})
    else:
        _say_repair(report)
    return 0 if report.ok else RecordDamaged.exit_status


def _say_repair(report: RepairReport) -> None:
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
    if report.accepted:
        say(f"{counted(report.accepted, 'file')} taken as it is now: verify notices from here on what goes missing")
    for what in report.given_up:
        say(f"{'would be given up' if report.dry_run else 'given up'}: {what}")
    if report.dry_run and any(one.possible for one in report.repairs):
        say("nothing was changed; run it again with --yes to mend this")


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
