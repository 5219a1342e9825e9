"""`status`, `verify`, `config`, `export`, `import`: the store as a whole, and by which settings it works."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import InvalidArgument, RecordDamaged
from .completion import SessionName
from .face import PAGER, Face, pass_face, shared_options
from .screen import out_file, out_options
from .tables import Column

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..core.palimpsest import Palimpsest
    from ..models.maintenance import ExchangeReport
    from ..models.reports import SessionRow, StoreStatus, VerifyReport
    from ..store.out_file import OutFile

NONE_YET = (
    "no sessions yet: `palimpsest-mcp compact --help` says how to make one; `palimpsest-mcp demo` shows it in a store "
    "of its own"
)
SESSIONS = (
    Column("handle"),
    Column("session"),
    Column("share", "number"),
    Column("saved", "number"),
    Column("age"),
    Column("host"),
    Column("title", "prose"),
)


@click.command()
@shared_options
@pass_face
def status(face: Face) -> None:
    """What the store holds, what it takes on disk, and what it saved net of restores and of our own tools."""
    import msgspec

    from .screen import say_json

    found = face.ask(lambda facade: facade.status(), make=False)
    if face.as_json:
        say_json(msgspec.to_builtins(found))
    else:
        _say_status(found, face)


def _say_status(found: StoreStatus, face: Face) -> None:
    from ..models.text import counted
    from .screen import say, say_fields, say_table
    from .tables import size, tokens

    parts = (("ledger", found.ledger_bytes), ("archive", found.archive_bytes), ("index", found.index_bytes))
    say_fields(
        [
            ("store", found.home),
            ("on disk", f"{size(found.disk_bytes)} ({', '.join(f'{name} {size(value)}' for name, value in parts)})"),
            ("holds", f"{counted(found.sessions, 'session')}, {counted(found.batches, 'batch')}"),
            ("offloaded", f"{tokens(found.tokens_offloaded)} tokens, replaced by {tokens(found.tokens_digests)}"),
            ("given back", f"{tokens(found.tokens_restored)} tokens by restores"),
            ("own tools", f"{tokens(found.standing_tokens)} tokens standing in sessions over MCP"),
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
    say_table((Column("handle"), Column("session"), Column("created"), Column("source")), rows)


@click.command()
@PAGER
@shared_options
@pass_face
def sessions(face: Face, no_pager: bool) -> None:
    """Every session, newest first: how full it is, what it saved, its host, its first request, its age."""
    import msgspec

    from .screen import paged, say_json

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

    from ..models.text import counted
    from .screen import say, say_table
    from .tables import age, percent, tokens

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
    import msgspec

    from .screen import say_json

    report = face.ask(lambda facade: facade.verify(session), make=False)
    if face.as_json:
        say_json({"ok": report.ok, **msgspec.to_builtins(report, enc_hook=str)})
    else:
        _say_verified(report, face)
    return 0 if report.ok else RecordDamaged.exit_status


def _say_verified(report: VerifyReport, face: Face) -> None:
    from ..models.text import counted
    from .screen import say

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
    import msgspec

    from ..settings.settings import Settings
    from .screen import say, say_json, say_table

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
        (Column("setting"), Column("from"), Column("value", "prose")),
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
    import msgspec

    from ..models.text import counted
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
