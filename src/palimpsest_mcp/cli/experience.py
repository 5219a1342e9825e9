"""`experience …`: log how uses of skills went, turn the logs into rules, look at both, go back."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click
import msgspec

from ..errors import FileMissing, FileNotJson, InvalidArgument
from ..models.text import counted, verb
from .face import Face, pass_face, shared_options
from .screen import said_as_json, say, say_fields, say_json, say_table

if TYPE_CHECKING:
    from ..core.palimpsest import Palimpsest
    from ..experience.models import (
        Compaction,
        EventRecorded,
        ExperienceView,
        Explanation,
        RolledBack,
        Rule,
        SkillStatus,
    )

_RULE_ID = re.compile(r"r[0-9a-f]{3,64}")


@click.group(invoke_without_command=True)
@shared_options
@click.pass_context
def experience(context: click.Context) -> None:
    """What skills learned: from a log of events to a short list of rules that can be trusted."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@experience.command("record", short_help="Append events to the log of a skill.")
@click.argument("skill")
@click.argument("event", required=False)
@click.option("--file", type=click.Path(path_type=Path), metavar="FILE", help="Events, one JSON object a line.")
@shared_options
@pass_face
def record(face: Face, skill: str, event: str | None, file: Path | None) -> None:
    """Append EVENT, a JSON object, to the log of SKILL; without EVENT or with - it is read from standard input.

    Several events may come as one object a line. Secrets and raw queries are taken out first.
    """
    events = _events(_event_text(event, file))
    recorded = face.ask(lambda facade: _recorded(facade, skill, events))
    if not said_as_json(face, recorded[-1]):
        _say_recorded(recorded, face)


async def _recorded(facade: Palimpsest, skill: str, events: Sequence[dict[str, Any]]) -> list[EventRecorded]:
    return [await facade.record_experience(skill, one) for one in events]


def _event_text(event: str | None, file: Path | None) -> str:
    if file is not None:
        if event is not None:
            raise InvalidArgument("EVENT and --file exclude each other.", next="Give one of them.")
        try:
            return file.read_text("utf-8")
        except (OSError, UnicodeError) as error:
            raise FileMissing(f"{file} cannot be read as text.", next="Name a readable file of JSON lines.") from error
    if event not in (None, "-"):
        return event
    if sys.stdin.isatty():
        sys.stderr.write("waiting: type events, one JSON object a line; Ctrl-D ends them\n")
    return sys.stdin.read()


def _events(text: str) -> list[dict[str, Any]]:
    """One JSON object, or one a line."""
    try:
        values = [json.loads(text)]
    except ValueError:
        values = [_json_line(line, number) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    except RecursionError:
        values = [None]
    if not values or not all(isinstance(value, dict) for value in values):
        raise FileNotJson("An event is not a JSON object.", next='Give {"outcome": "success", …}, one a line.')
    return cast("list[dict[str, Any]]", values)


def _json_line(line: str, number: int) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        raise FileNotJson(f"Line {number} is not JSON.", next="Give one JSON object a line.", line=number) from None


def _say_recorded(recorded: Sequence[EventRecorded], face: Face) -> None:
    last = recorded[-1]
    for one in recorded:
        masked = ", ".join(f"{number} {kind}" for kind, number in one.redacted.items())
        say(f"recorded {one.event_id}" + (f" (masked: {masked})" if masked else ""))
        for warning in one.warnings:
            say(f"note: {warning}")
    say(f"{last.skill}: {counted(last.new_events, 'new event')}, {last.new_bytes} new bytes in {last.folder}")
    if last.triggers:
        say(f"due ({', '.join(last.triggers)}): {face.command('compact_experience', skill=last.skill)}")


@experience.command("compact", short_help="Bring the rules of a skill up to date.")
@click.argument("skill", required=False)
@click.option("--due", is_flag=True, help="Every skill with a trigger met; for cron and the end of a session.")
@click.option(
    "--session", metavar="ID", default="", help="With --due: this session ends; what it used is due. * for any."
)
@click.option("--dry-run", is_flag=True, help="Show what would change; write nothing.")
@shared_options
@pass_face
def compact(face: Face, skill: str | None, due: bool, session: str, dry_run: bool) -> int:
    """Bring experience.md of SKILL up to date with its log, or with --due that of every skill that needs it."""
    if due == (skill is not None) or (session and not due):
        raise InvalidArgument("Name a skill, or give --due.", next="See `palimpsest-mcp experience compact --help`")
    if skill is not None:
        one = face.ask(lambda facade: facade.compact_experience(skill, dry_run=dry_run), make=not dry_run)
        return _say_compactions([one], [], face)
    done, failed = face.ask(
        lambda facade: facade.compact_due_experience(ended_session=session, dry_run=dry_run), make=not dry_run
    )
    return _say_compactions(done, failed, face, many=True)


def _say_compactions(done: Sequence[Compaction], failed: Sequence[Any], face: Face, *, many: bool = False) -> int:
    status = failed[0][1].exit_status if failed else 0
    if face.as_json:
        errors = [{"skill": name, **error.to_json()} for name, error in failed]
        say_json({"skills": done, "failed": errors} if many else done[0])
        return status
    for one in done:
        _say_compaction(one)
    for name, error in failed:
        say(f"{name}: {error.code}: {error.message}", f"next: {face.worded(error.next)}")
    if many and not done and not failed:
        say("nothing is due")
    return status


def _say_compaction(done: Compaction) -> None:
    say_fields(
        [
            (done.skill, f"{done.status}: {done.reason}"),
            ("events", f"{done.events} in the last 30 days, {done.new_events} new, {done.duplicates} known before"),
            ("damaged", counted(done.damaged, "line") if done.damaged else ""),
            ("rotated", done.rotated),
            ("snapshot", done.snapshot),
            ("not shown", str(done.not_shown) if done.not_shown else ""),
            *((name, text) for name in ("promoted", "expired", "removed", "review") for text in getattr(done, name)),
            *(("note", note) for note in done.notes),
            *(("waiting", row) for row in _waiting_rows(done)),
        ]
    )
    if done.diff:
        say(*done.diff.split("\n"))


def _waiting_rows(found: Compaction | ExperienceView) -> list[str]:
    """What is no rule yet, and why."""
    rows = [f"{one.text} ({one.why})" for one in found.waiting]
    more = found.waiting_total - len(rows)
    return [*rows, f"{counted(more, 'further pattern')}"] if more else rows


@experience.command("status", short_help="Every skill with experience.")
@shared_options
@pass_face
def status(face: Face) -> None:
    """Every skill with experience: events, triggers met, rules, what is pending, what was rotated."""
    found = face.ask(lambda facade: facade.experience_status(), make=False)
    if not said_as_json(face, {"skills": found}):
        _say_status(found)


def _say_status(found: Sequence[SkillStatus]) -> None:
    head = (
        "skill, new:number, damaged:number, due:list, rules:number, queries:number, failures:number, pending:number, "
        "archives:number, compacted"
    )
    rows = [
        (
            one.skill,
            str(one.new_events),
            str(one.damaged),
            ", ".join(one.triggers) or "no",
            str(one.rules),
            str(one.queries),
            str(one.failures),
            str(one.pending),
            str(one.archives),
            one.last_compacted[:16].replace("T", " ") or "never",
        )
        for one in found
    ]
    say_table(head, rows)
    if not found:
        say("no skill has experience yet: `palimpsest-mcp experience record --help` says how to log one")


@experience.command("show", short_help="What a skill learned, what waits, what is due.")
@click.argument("skill")
@shared_options
@pass_face
def show(face: Face, skill: str) -> None:
    """What earlier uses of SKILL taught, what waits to become a rule and why, and what is due."""
    view = face.ask(lambda facade: facade.experience_show(skill), make=False)
    if face.as_json:
        text = view.text.encode("utf-8", "replace").decode()
        say_json(msgspec.structs.replace(view, text=text))
        return
    say(*(view.advice.split("\n") if view.advice else [f"{view.status.skill}: no rules yet"]))
    pending = [rule for rule in view.rules if rule.section == "pending"]
    rows = [*(f"{rule.text} ({_why_pending(rule)})" for rule in pending), *_waiting_rows(view)]
    say(*(["", "Not relied on yet:", *(f"- {row}" for row in rows)] if rows else []))
    number = counted(view.status.new_events, "new event")
    due = f"; due ({', '.join(view.status.triggers)}): " if view.status.triggers else ""
    command = face.command("compact_experience", skill=view.status.skill) if due else ""
    if view.rules:
        example = face.command("experience_explain", rule=view.rules[0].id)
        say("", f"Where one comes from, by its id in experience.md: {example}")
    say("", f"{view.status.folder}: {number} since the last compaction{due}{command}")


def _why_pending(rule: Rule) -> str:
    if rule.conflict:
        return f"{rule.conflict} says the opposite: decide by hand"
    return f"worked last on {rule.last_verified}: a success brings it back"


@experience.command("explain", short_help="The events behind a rule.")
@click.argument("rule")
@click.argument("skill", required=False)
@shared_options
@pass_face
def explain(face: Face, rule: str, skill: str | None) -> None:
    """The events behind RULE, whose id stands last on its line; SKILL where several skills have that id."""
    if skill is not None and not _RULE_ID.fullmatch(rule) and _RULE_ID.fullmatch(skill):
        rule, skill = skill, rule
    found = face.ask(lambda facade: facade.experience_explain(rule, skill or ""), make=False)
    if not said_as_json(face, found):
        _say_explanation(found)


def _say_explanation(found: Explanation) -> None:
    rule = found.rule
    votes = f"{rule.seen} votes, {rule.success} for it, {rule.failed} against; lower bound {rule.lower_bound:.3f}"
    say_fields(
        [
            (rule.id, rule.text),
            ("skill", found.skill),
            ("section", rule.section + (f", the opposite of {rule.conflict}" if rule.conflict else "")),
            ("votes", votes if rule.seen else ""),
            ("seen", f"{rule.first_seen} to {rule.last_seen}, last verified {rule.last_verified}"),
            *(("wording", text) for text in rule.members),
            *(("note", note) for note in found.notes),
        ]
    )
    rows = [
        [str(event.get(name, "")) for name in ("ts", "session_id", "counts_as", "text", "event_id")]
        for event in found.events
    ]
    say_table(
        "when, session, counts as, text:prose, event:prose",
        rows,
    )
    say(f"{counted(found.total, 'event')} {verb(found.total, 'speaks', 'speak')} of it")


@experience.command("rollback", short_help="Take the last compaction of a skill back.")
@click.argument("skill")
@shared_options
@pass_face
def rollback(face: Face, skill: str) -> None:
    """Put experience.md of SKILL back as it was before its last compaction; run again, it goes one further back."""
    done = face.ask(lambda facade: facade.experience_rollback(skill))
    if not said_as_json(face, done):
        _say_rolled_back(done)


def _say_rolled_back(done: RolledBack) -> None:
    if done.status == "nothing_to_do":
        say(f"{done.skill}: there is no compaction to take back")
        return
    say(f"{done.skill}: as it was before {done.snapshot}; what was replaced is kept as {done.kept_as}")
    say(*done.diff.split("\n"))
