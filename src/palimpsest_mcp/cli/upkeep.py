"""`status`, `verify`, `config`: what the store holds, whether it is whole, and by which settings."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from ..errors import RecordDamaged
from .face import Face, pass_face, shared_options

if TYPE_CHECKING:
    from ..models.reports import StoreStatus, VerifyReport


@click.command()
@shared_options
@pass_face
def status(face: Face) -> None:
    """What the store holds, what it takes on disk, and what it saved net of restores and of our own tools."""
    import msgspec

    from .screen import say_json

    found = face.ask(lambda facade: facade.status())
    if face.as_json:
        say_json(msgspec.to_builtins(found))
    else:
        _say_status(found)


def _say_status(found: StoreStatus) -> None:
    from .numbers import counted, size, tokens
    from .screen import say, say_fields, say_table

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
        say(
            "no sessions yet: palimpsest-mcp compact FILE makes one; palimpsest-mcp demo shows it in a store of its own"
        )
        return
    rows = [
        tuple(str(row.get(name, "")) for name in ("handle", "session_id", "created", "source")) for row in found.recent
    ]
    say_table(("handle", "session", "created", "source"), rows)


@click.command()
@click.argument("session", required=False)
@shared_options
@pass_face
def verify(face: Face, session: str | None) -> int:
    """Check every checksum, hash and count of SESSION, or of the whole store with its handoffs. Exit status 33 where
    one is wrong."""
    import msgspec

    from .screen import say_json

    report = face.ask(lambda facade: facade.verify(session))
    if face.as_json:
        say_json({"ok": report.ok, **msgspec.to_builtins(report)})
    else:
        _say_verified(report)
    return 0 if report.ok else RecordDamaged.exit_status


def _say_verified(report: VerifyReport) -> None:
    from .numbers import counted
    from .screen import say

    for finding in report.findings:
        say(f"{finding.severity}: {finding.where}: {finding.what}")
        if finding.next:
            say(f"  next: {finding.next}")
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
    say_table(("setting", "from", "value"), [(key, source, json.dumps(value)) for key, value, source in rows])
    for note in settings.notes:
        say(f"note: {note}")


def _plain_value(value: Any) -> Any:
    return value.model_dump(mode="json") if hasattr(value, "model_dump") else str(value)
