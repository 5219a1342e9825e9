"""`summary`, `probe`, `handoff …`: what outlives a compaction, whether it still answers, and what the next phase starts
from."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click
import msgspec

from ..errors import FileMissing, FileNotJson, InvalidArgument
from ..models.advice import Advice, step
from ..models.text import counted, plain_line
from .face import Face, SessionName, pass_face, shared_options
from .screen import said_as_json, say, say_fields, say_json, say_table

if TYPE_CHECKING:
    from ..core.palimpsest import Palimpsest
    from ..models.events import SessionInfo
    from ..models.handoffs import Cleanup, KeptHandoff, LoadedHandoff, WrittenHandoff
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
        _say_probes(face, info, found)


async def _probed(facade: Palimpsest, session: str) -> tuple[SessionInfo, ProbeReport]:
    return await facade.session(session), await facade.probe(session)


def _say_probes(face: Face, info: SessionInfo, found: ProbeReport) -> None:
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


PHASE = click.option(
    "--phase",
    metavar="P",
    default="",
    help="research, plan, implementation, fork or fork_back. Default: a task summary.",
)
PROJECT = click.option(
    "--project", metavar="NAME", default="", help="Another project, by path or last folder; * for all."
)


@click.group(invoke_without_command=True)
@shared_options
@click.pass_context
def handoff(context: click.Context) -> None:
    """Handoffs: memory that starts the next phase or conversation."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@handoff.command("write", short_help="Write a handoff from a session.")
@click.option(
    "--session", type=SessionName(), metavar="S", required=True, help="Session id or handle to write it from."
)
@click.option("--task", metavar="T", required=True, help="What this is about; the same words find it again.")
@PHASE
@click.option("--fields", metavar="JSON", default=None, help="What you state yourself, as a JSON object; - reads it.")
@click.option("--file", type=click.Path(path_type=Path), metavar="FILE", help="The same from a file.")
@shared_options
@pass_face
def write(face: Face, session: str, task: str, phase: str, fields: str | None, file: Path | None) -> None:
    """Write a handoff from SESSION: code fills it from summary, ledger and probes, your fields complete it."""
    stated = _fields(fields, file)
    written = face.ask(lambda facade: facade.write_handoff(session, task, phase=phase, fields=stated))
    _say_written(written, face)


def _fields(text: str | None, file: Path | None) -> dict[str, Any]:
    if text is not None and file is not None:
        raise InvalidArgument("--fields and --file exclude each other.", next="Give one of them.")
    if file is not None:
        try:
            text = file.read_text("utf-8")
        except (OSError, UnicodeError) as error:
            raise FileMissing(f"{file} cannot be read as text.", next="Name a readable JSON file.") from error
    if text is None:
        return {}
    try:
        value = json.loads(sys.stdin.read() if text == "-" else text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise FileNotJson("The fields are no JSON object.", next='Give {"key_context": ["…"], "decisions": {…}}.')
    return cast("dict[str, Any]", value)


def _say_written(written: WrittenHandoff, face: Face) -> None:
    if said_as_json(face, written):
        return
    masked = ", ".join(f"{number} {kind}" for kind, number in written.redacted.items())
    say(written.text.rstrip("\n"), "")
    say_fields(
        [
            ("written", f"{written.path} ({written.tokens:,} tokens)"),
            ("project", written.project),
            ("masked", masked),
            *(("note", note) for note in written.notes),
            ("next", face.command("load_handoff", task=written.name)),
        ]
    )


@handoff.command("load", short_help="Print what the next conversation starts from.")
@click.option("--task", metavar="T", default="", help="Its task, or the handoff's name. Default: the newest.")
@PROJECT
@click.option("--section", metavar="NAME", default="", help="Another section by its heading; all for the whole file.")
@shared_options
@pass_face
def load(face: Face, task: str, project: str, section: str) -> None:
    """The key context of this project's newest handoff, and where the rest is; a fork's is given whole and deleted."""
    loaded = face.ask(lambda facade: facade.load_handoff(task, project=project, section=section), make=False)
    _say_loaded(loaded, face)


def _say_loaded(loaded: LoadedHandoff, face: Face) -> None:
    if said_as_json(face, loaded):
        return
    say(loaded.text)
    if loaded.others:
        say("", f"also: {', '.join(loaded.others)}")
    if loaded.consumed:
        say("", f"{loaded.path} was consumed, and is deleted")


@handoff.command("list", short_help="Handoffs of this project, newest first.")
@PROJECT
@shared_options
@pass_face
def list_handoffs(face: Face, project: str) -> None:
    """Handoffs of this project, newest first."""
    found = face.ask(lambda facade: facade.handoffs(project=project), make=False)
    if face.as_json:
        say_json({"handoffs": [_row(one) for one in found]})
        return
    rows = [(one.name, one.handoff.date, one.phase, one.place, f"{one.tokens:,}", one.handoff.title) for one in found]
    say_table(
        "name, written, phase, place, tokens:number, task:prose",
        rows,
    )
    if not found:
        every = face.worded(Advice("{} lists all", step("handoffs", project="*")))
        say(f"no handoffs of this project; {every}, `palimpsest-mcp handoff write --help` says how to write one")


def _row(one: KeptHandoff) -> dict[str, Any]:
    of = one.handoff
    return {
        "name": one.name,
        "path": one.path,
        "place": one.place,
        "phase": one.phase,
        "task": of.title,
        "date": of.date,
        "project": of.project,
        "session": of.session,
        "tokens": one.tokens,
    }


@handoff.command("clean", short_help="Archive, merge and delete old handoffs.")
@click.option("--dry-run", is_flag=True, help="Only show what is due; the default.")
@click.option("--yes", is_flag=True, help="Do it.")
@shared_options
@pass_face
def clean(face: Face, dry_run: bool, yes: bool) -> None:
    """Archive handoffs over 30 days old, delete those over 90, merge several of one task. Shows what is due; --yes does
    it. Archives of originals are never touched."""
    if dry_run and yes:
        raise InvalidArgument("--dry-run and --yes exclude each other.", next="Give one of them.")
    _say_cleanup(face.ask(lambda facade: facade.clean_handoffs(dry_run=not yes), make=yes), face)


def _say_cleanup(done: Cleanup, face: Face) -> None:
    if said_as_json(face, done):
        return
    words = {"archive": "archive", "delete": "delete ", "merge": "merge  "}
    for one in done.steps:
        from_what = f" <- {', '.join(one.sources)}" if one.sources else ""
        say(f"{words[one.action]}  {one.name}{from_what}: {one.task} ({counted(one.age_days, 'day')}; {one.why})")
    for note in done.notes:
        say(f"note: {note}")
    say(_total(done, face))


def _total(done: Cleanup, face: Face) -> str:
    count = len(done.steps)
    if not count:
        return f"nothing is due; {counted(done.kept, 'handoff')} {'stays' if done.kept == 1 else 'stay'}"
    steps = counted(count, "step")
    return (
        f"{steps} due, {done.kept} stay; do it: {face.command('clean_handoffs')}" if done.dry_run else f"{steps} done"
    )
