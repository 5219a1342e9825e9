"""`compact FILE`: one pass over a session file."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import DigestRefused
from .completion import SessionName
from .face import Face, pass_face, shared_options
from .out_file import free_name, json_bytes, out_file, out_options

if TYPE_CHECKING:
    from ..app import Palimpsest
    from ..services.messages import CompactedMessages

Progress = Callable[[int, int, str], Awaitable[None]]


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--line", type=click.IntRange(min=1), help="Which session of a file with one a line, from 1.")
@click.option("--format", "form", default="auto", show_default=True, help="anthropic, openai, claude-code, or auto.")
@click.option(
    "--session", type=SessionName(), help="Session id; default: the host's own, else made of file name and path."
)
@click.option("--window", type=click.IntRange(min=1), help="Tokens of the context window.")
@click.option("--used", type=click.IntRange(min=0), help="Tokens now in it, as the provider reported them.")
@click.option("--model", default="", help="Model id: decides the tokenizer's factor and the usual window.")
@click.option("--policy", help="research (default), anchored, phased, or one from the settings file.")
@click.option("--strategy", default="", help="How: anchored, sliding_window, opaque … Default: the policy's, anchored.")
@click.option("--target", type=float, help="Ratio to come down to, such as 0.4.")
@click.option("--keep-last", type=int, metavar="K", help="Newest tool results to keep whole; -1 keeps all.")
@click.option("--force", is_flag=True, help="Run below the trigger too; without --window the session itself is it.")
@click.option("--dry-run", is_flag=True, help="Show the plan and change nothing.")
@click.option("--focus", default="", help="Task words: what matters to them is kept first.")
@out_options("Write the compacted messages here.")
@shared_options
@pass_face
def compact(face: Face, file: Path, out: Path | None, overwrite: bool, **given: Any) -> int:
    """Compact the session in FILE: a message list, one session a line (gzip too), or a Claude Code transcript.

    FILE may also be a session that was read from a file. FILE itself is not changed. Originals go to the store, from
    which `restore` gives them back.
    """
    if not file.exists():
        file, given["session"] = face.ask(lambda facade: _file_of(facade, file, given["session"]), make=False)
    target = out_file(face, out, overwrite=overwrite, sources=[file])
    result = face.ask(lambda facade: _compacted(facade, file, given, quiet=face.as_json), make=not given["dry_run"])
    if target is not None and not given["dry_run"]:
        target.write(json_bytes(result.value))
    _say(face, result, out, dry_run=given["dry_run"])
    return DigestRefused.exit_status if result.report.status == "failed" else 0


async def _file_of(facade: Palimpsest, name: Path, session: str | None) -> tuple[Path, str | None]:
    """The file of a session by its id or handle, and the session's id; where there is none, what was given."""
    if (found := await facade.file_of(str(name))) is None:
        return name, session
    return found, session or (await facade.session(str(name))).session_id


async def _compacted(facade: Palimpsest, file: Path, given: dict[str, Any], *, quiet: bool) -> CompactedMessages:
    async with _progress(quiet=quiet) as progress:
        return await facade.compact_file(
            file,
            line=given["line"],
            form=given["form"],
            session_id=given["session"],
            window_tokens=given["window"],
            used_tokens=given["used"],
            model=given["model"],
            policy=given["policy"],
            strategy=given["strategy"],
            target=given["target"],
            keep_last=given["keep_last"],
            force=given["force"],
            dry_run=given["dry_run"],
            focus=given["focus"],
            progress=progress,
        )


def _say(face: Face, result: CompactedMessages, out: Path | None, *, dry_run: bool) -> None:
    from .numbers import counted
    from .report_view import say_report
    from .screen import say, say_json

    if face.as_json:
        say_json(result.report.to_json())
        return
    say_report(result.report, face)
    if dry_run:
        say("nothing was written, neither to the store nor elsewhere; without --dry-run it is done")
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

    from .screen import console

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=console(stderr=True), transient=True) as bar:
        task = bar.add_task("compacting", total=None)

        async def show(done: int, total: int, what: str) -> None:
            bar.update(task, completed=done, total=total or None, description=what)

        yield show
