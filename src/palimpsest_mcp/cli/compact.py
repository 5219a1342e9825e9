"""`compact FILE`: one pass over a session file."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, Unpack, get_args

import click

from ..context.meter import in_words
from ..errors import DigestRefused, FileMissing, PalimpsestError
from ..models.plans import Offer, offers
from ..models.reports import BatchReport, Report, Saved, Usage, in_counts, in_lines, in_request
from ..models.text import counted, shown
from ..models.views import BatchView
from .face import VERBOSE, Face, SessionName, pass_face, shared_options
from .screen import (
    console,
    fill,
    free_name,
    json_bytes,
    out_file,
    out_options,
    said_as_json,
    say,
    say_bar,
    say_fields,
    say_json,
    say_table,
    sources,
    tokens,
)

if TYPE_CHECKING:
    from ..core.claude_code.in_place import RewrittenSession
    from ..core.messages import CompactedMessages
    from ..core.palimpsest import Palimpsest
    from ..models.plans import PassKeywords, Progress

# A pass's report for people.


BATCHES_SHOWN = 30
FEW_BATCHES = 5
"""Of a report that fits a screen, as of its defects and notes the first two."""


def say_report(report: Report, face: Face, *, kept: bool = True, verbose: bool = False) -> None:
    """Status, the window before and after, batches, cost, and how to get things back.

    Args:
        kept: whether the store will still be there for the commands that it names.
        verbose: all of it, on as many lines as it takes; else what fits a screen.
    """
    say_fields([("session", f"{report.session_id} (handle {report.handle})"), ("status", report.status)])
    if verbose or report.status != "compacted":
        say(f"         {report.reason}")
    _say_window(report, verbose=verbose)
    if verbose:
        _say_batches(report, face)
    else:
        _say_few_batches(report)
    _say_plan(report, BATCHES_SHOWN if verbose else FEW_BATCHES)
    say_fields(_facts(report, verbose=verbose))
    _say_few("note: ", report.notes, verbose=verbose)
    _say_defects(report, verbose=verbose)
    if report.how_to_apply and report.status not in ("planned", "nothing_to_do", "failed"):
        say(f"apply: {face.worded(report.how_to_apply)}")
    if len(report.batches) < report.saved.batches and kept:
        say_saved(report.saved)
    if report.undo and kept:
        say(f"undo: {face.command('undo', session_id=report.handle)}")
    if report.batches and kept:
        first = report.batches[0]
        item = "" if first.items == 1 else first.item_ids[0]
        given = {"session_id": report.handle, "batch_id": first.batch_id, "item_id": item}
        if report.status != "planned":
            say(f"restore: {face.command('restore_batch', **given)}")
            out = free_name(report.handle, "original")
            say(f"         {face.command('restore_all', session_id=report.handle, out=out)}")


def _say_few(lead: str, lines: Sequence[str], *, verbose: bool) -> None:
    few = lines if verbose or len(lines) <= FEW_LINES + 1 else lines[:FEW_LINES]
    say(*(f"{lead}{line}" for line in few))
    if len(few) < len(lines):
        say(f"{' ' * len(lead)}… {len(lines) - len(few)} more: --verbose has them")


FEW_LINES = 2


def _say_defects(report: Report, *, verbose: bool) -> None:
    if not (count := len(report.defects)):
        return
    many = "1 defect" if count == 1 else f"{count} defects"
    say(f"defects: the list came with {many} that a provider may refuse; what is wrong goes out as it came")
    _say_few("  ", [str(one) for one in report.defects[:BATCHES_SHOWN]], verbose=verbose)
    if verbose and count > BATCHES_SHOWN:
        say(f"  … {count - BATCHES_SHOWN} more: --json has them all")


def _say_window(report: Report, *, verbose: bool) -> None:
    after = fill(report.after) + _saved(report.before, report.after)
    say_bar("before ", report.before.ratio, fill(report.before), longest=len(after))
    if report.batches or report.after.used.value != report.before.used.value:
        word = "planned" if report.status == "planned" else "after  "
        say_bar(word, report.after.ratio, after)
    say(f"         {sources(report.before)}")
    if verbose:
        say(f"         {report.meaning}")


def say_meaning(usage: Usage, face: Face, *, verbose: bool) -> None:
    """Which list a usage is of, how the shorter one becomes real, and what fills it."""
    say(f"         {usage.meaning}")
    if usage.how_to_apply:
        say(f"apply: {face.worded(usage.how_to_apply)}")
    if verbose and usage.parts:
        say_fields([("filled by", in_words(usage.parts, most=len(usage.parts)))])


def say_saved(saved: Saved) -> None:
    """What a session's offloading saved over its life, and what came back of it."""
    say(f"so far: {tokens(saved.net)} tokens saved; {saved.came_back}")


def _saved(before: Usage, after: Usage) -> str:
    if before.used.value is None or after.used.value is None:
        return ""
    return f", {tokens(before.used.value - after.used.value)} fewer"


def _say_few_batches(report: Report) -> None:
    """The first of them, by size alone, and how many more."""
    rows = [
        (
            batch.batch_id,
            str(batch.items),
            tokens(batch.original_tokens),
            tokens(batch.tokens_after),
            f"{batch.specifics.left_out} of {batch.specifics.total}",
        )
        for batch in report.batches
    ]
    few = rows if len(rows) <= FEW_BATCHES + 1 else rows[:FEW_BATCHES]
    say_table("batch, items:number, tokens:number, digest:number, specifics left out:number", few)
    if rest := report.batches[len(few) :]:
        before, after = (sum(getattr(one, name) for one in rest) for name in ("original_tokens", "tokens_after"))
        say(f"… {counted(len(rest), 'more batch')}: {before:,} tokens became {after:,}; all: --verbose")


def _say_batches(report: Report, face: Face) -> None:
    batches = report.batches
    rows = [
        (
            batch.batch_id,
            str(batch.items),
            tokens(batch.original_tokens),
            tokens(batch.tokens_after),
            f"{batch.specifics.shown}/{batch.specifics.total}",
            str(batch.specifics.elsewhere),
            str(batch.specifics.left_out),
            batch.mode,
        )
        for batch in batches[:BATCHES_SHOWN]
    ]
    sizes = "items:number, tokens:number, digest:number"
    say_table(f"batch, {sizes}, specifics shown:number, elsewhere:number, left out:number, form", rows)
    say_overhead(batches)
    if len(batches) > BATCHES_SHOWN:
        say(
            f"… {len(batches) - BATCHES_SHOWN} more batches: {face.command('list_offloaded', session_id=report.handle)}"
        )


def say_overhead(batches: Sequence[BatchReport] | Sequence[BatchView]) -> None:
    """Why a table's sizes are not those that a digest's own header gives."""
    if overhead := sum(batch.overhead_tokens for batch in batches):
        say(
            f"both sizes include {overhead:,} tokens that results take beside their texts; the header of a digest "
            "counts the texts alone"
        )


def _say_plan(report: Report, most: int) -> None:
    rows = [
        (
            str(number),
            str(len(slot["item_ids"])),
            tokens(slot["tokens"]),
            tokens(slot["budget_tokens"] + slot["overhead_tokens"]),
            ", ".join(slot["item_ids"]),
        )
        for number, slot in enumerate(report.slots, 1)
    ]
    say_table(
        "batch:number, items:number, tokens:number, about:number, would leave:list",
        rows[:most],
    )
    if len(rows) > most:
        say(f"… {len(rows) - most} more: {'--verbose' if most < BATCHES_SHOWN else '--json'} has them")


def _facts(report: Report, *, verbose: bool) -> list[tuple[str, str]]:
    counts, cache = report.specifics, report.cache
    turns = cache.break_even_turns if cache else None
    back = "never pays back" if turns is None else f"pays back after {turns:.1f} model requests"
    prices = f" ({cache.prices})" if verbose and cache else ""
    cost = f"rewrites {tokens(cache.invalidated_tokens)} cached tokens, {back}{prices}" if cache else ""
    masked = ", ".join(f"{number} {kind}" for kind, number in sorted(report.redaction.items()))
    if not verbose:
        return [("cache  ", cost), ("masked", masked), ("probes", _probed(report))]
    target = ""
    if report.target_ratio is not None:
        target = f"{tokens(report.target_tokens)} tokens, {report.target_ratio:.0%} of {tokens(report.target_of)}"
    values = ""
    if counts.total:
        values = (
            f"{counts.total:,} in all: {counts.shown:,} shown, {counts.elsewhere:,} elsewhere in view, "
            f"{counts.left_out:,} left out (restorable)"
        )
    return [
        ("target", target),
        ("policy", f"{report.policy}, strategy {report.strategy}"),
        ("specifics", values),
        ("records shown", in_counts(counts)),
        ("asked for", in_request(report.asked_for)),
        ("lines kept", in_lines(counts)),
        ("masked", masked),
        ("stayed", ", ".join(f"{one.items} {one.reason}" for one in report.stayed if one.items)),
        ("filled by", in_words(report.stayed, most=len(report.stayed))),
        ("compression", "" if report.compression is None else f"{report.compression:.1%} of the replaced items"),
        ("cache", cost),
        ("probes", report.probes.line),
    ]


def _probed(report: Report) -> str:
    found = report.probes
    if not found.total:
        return found.line
    return f"{found.state}: {found.passed} of {counted(found.total, 'question')} still answered"


# The options of a pass, as flags of a command.


Command = TypeVar("Command", bound=Callable[..., Any])


def pass_options(*names: str, **help: str) -> Callable[[Command], Command]:
    """Give a command the flags of a pass; it takes them as `**options`.

    Args:
        names: of the options; none takes all that people are offered.
        help: words for this command, where the option's own do not fit.
    """

    flags = {name: _flag(name, kind, default, offer, help) for name, kind, default, offer in offers() if offer.help}

    def decorated(command: Command) -> Command:
        for name in reversed(names or tuple(flags)):
            command = flags[name](command)
        return command

    return decorated


def _flag(name: str, kind: Any, default: Any, offer: Offer, help: Mapping[str, str]) -> Callable[[Command], Command]:
    flag = f"--{offer.flag or name.replace('_', '-')}"
    plain = next(iter(get_args(kind)), kind)  # `float` of `float | None`
    return click.option(
        flag,
        name,
        type=plain if offer.least is None else click.IntRange(min=offer.least),
        is_flag=plain is bool,
        default=default,
        metavar=offer.metavar,
        help=help.get(name, offer.help),
    )


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--line", type=click.IntRange(min=1), help="Which session of a file that has one per line, from 1.")
@click.option("--format", "form", default="auto", show_default=True, help="anthropic, openai, claude-code, or auto.")
@click.option(
    "--session", type=SessionName(), help="Session id; default: the host's own, else made of file name and path."
)
@pass_options()
@out_options("Write the compacted messages here.")
@VERBOSE
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
    verbose: bool,
    **options: Unpack[PassKeywords],
) -> int:
    """Compact the session in FILE: a message list, one session a line (gzip too), or a Claude Code transcript.

    FILE may also be the id or handle of a session: the file that it came from is read again. FILE itself is not
    changed. Originals go to the store, from which `restore` gives them back.
    """
    if not file.exists():
        file, session = face.ask(lambda facade: _file_of(facade, file, session), make=False)
    target = out_file(face, out, overwrite=overwrite, sources=[file])
    dry_run = options.get("dry_run", False)

    async def compacted(facade: Palimpsest) -> CompactedMessages:
        async with _progress(quiet=face.as_json) as progress:
            options["progress"] = progress
            return await facade.compact_file(file, line=line, form=form, session_id=session, **options)

    result = face.ask(compacted, make=not dry_run, waits=False)
    if target is not None and not dry_run:
        target.write(json_bytes(result.value))
    _say(face, result, out, dry_run=dry_run, verbose=verbose)
    return DigestRefused.exit_status if result.report.status == "failed" else 0


async def _file_of(facade: Palimpsest, name: Path, session: str | None) -> tuple[Path, str | None]:
    """The file of a session by its id or handle, and the session's id; where there is none, what was given."""
    if (found := await facade.file_of(str(name))) is None:
        return name, session
    return found, session or (await facade.session(str(name))).session_id


def _say(face: Face, result: CompactedMessages, out: Path | None, *, dry_run: bool, verbose: bool) -> None:
    if said_as_json(face, result.report.to_json()):
        return
    say_report(result.report, face, verbose=verbose)
    if dry_run:
        say("nothing was written; run it without --dry-run to do this")
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

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=console(stderr=True), transient=True) as bar:
        task = bar.add_task("compacting", total=None)

        async def show(done: int, total: int, what: str) -> None:
            bar.update(task, completed=done, total=total or None, description=what)

        yield show


# `rewrite SESSION`: a shorter session beside one of Claude Code, to resume in its place.


@click.command()
@click.argument("session", type=SessionName(files=True))
@pass_options(
    "window_tokens",
    "policy",
    "target",
    "keep_last",
    "focus",
    "dry_run",
    window_tokens="Tokens of the window; default: the session's size.",
    dry_run="Show the plan and write nothing.",
)
@VERBOSE
@shared_options
@pass_face
def rewrite(face: Face, session: str, verbose: bool, **options: Unpack[PassKeywords]) -> int:
    """Write a new Claude Code session with digests in the place of older results, and say how to resume it.

    SESSION is a transcript (a path) or a session's id. The file itself is not changed, and none is overwritten.
    """
    path = Path(session).expanduser()
    file = path.resolve() if path.is_file() else None

    async def rewritten(facade: Palimpsest) -> RewrittenSession:
        return await facade.rewrite_session(file or await _transcript(facade, session), **options)

    result = face.ask(rewritten, make=not options.get("dry_run"))
    _say_rewrite(face, result, verbose=verbose)
    return DigestRefused.exit_status if result.report.status == "failed" else 0


async def _transcript(facade: Palimpsest, session: str) -> Path:
    """The file of a session's id or handle.

    Raises:
        FileMissing: there is none.
    """
    import os

    from ..hosts.claude_code.settings import transcripts_of

    name = session.removesuffix(".jsonl")
    if (read := await facade.file_of(session)) is not None and read.suffix == ".jsonl":
        return read
    with suppress(PalimpsestError):
        name = (await facade.session(session)).session_id  # a handle, where it is one
    found = transcripts_of(name, os.environ, Path.home())
    if not found:
        raise FileMissing(
            f"There is no transcript of a session {shown(session)}.", next="Give the path of the session's .jsonl file."
        )
    return found[0]


def _say_rewrite(face: Face, result: RewrittenSession, *, verbose: bool) -> None:
    if face.as_json:
        told = {
            "new_session_id": result.session_id or None,
            "file": str(result.file) if result.file is not None else None,
            "digests": result.digests,
            "resume": result.resume or None,
        }
        say_json({**result.report.to_json(), **told})
        return
    say_report(result.report, face, verbose=verbose)
    if result.file is None:
        if result.report.status != "planned":
            say("nothing was written: there is nothing in it that a digest could stand for")
        return
    say(f"new session: {result.session_id} ({counted(result.digests, 'digest')})")
    say(f"written: {result.file}")
    say(f"resume it with: {result.resume}")
