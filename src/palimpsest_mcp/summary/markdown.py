"""A summary as `summary.md`: the seed's headings and bullets, read back without loss by `reading`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from ..models.advice import step
from ..models.escaping import block, code, inline
from ..models.summaries import (
    AnchoredSummary,
    Blocker,
    ChangedFile,
    Decision,
    ErrorMet,
    Section,
    Step,
    Todo,
)
from .headings import HEADINGS, METADATA, NONE, TITLE, section_of_heading
from .patterns import CLOSED, KNOWN_PROGRESS, LEFT_OUT, STEP, UNRESOLVED

FORMAT_LINE = "<!-- palimpsest anchored summary, format {schema}; may be edited: headings and bullets are read back -->"


def to_markdown(summary: AnchoredSummary) -> str:
    """The whole file, ending in a newline. Empty sections say so in a sentence."""
    parts = ["\n".join(_header(summary))]
    writers = {
        "session_intent": lambda: block(summary.session_intent, NONE["session_intent"]),
        "files_modified": lambda: _files(summary.files_modified),
        "decisions_made": lambda: map(_decision, summary.decisions_made),
        "technical_context": lambda: map(_bullet, summary.technical_context),
        "current_state": lambda: _state(summary),
        "blockers": lambda: map(_blocker, summary.blockers),
        "errors_encountered": lambda: map(_error, summary.errors_encountered),
        "next_steps": lambda: _steps(summary.next_steps, summary.todos),
        "key_artifacts": lambda: map(_bullet, summary.key_artifacts),
    }
    for section, heading in HEADINGS.items():
        lines = [*writers[section](), *_left_out(summary, section)]
        parts.append("\n".join([f"## {heading}", *(lines or [NONE[section]])]))
    for note in summary.notes:
        heading = inline(note.heading, guard=None)
        heading = f"\\&{heading}" if section_of_heading(heading) or heading == METADATA else heading
        parts.append("\n".join([f"## {heading}", *block(note.text, "")]))
    parts.append("\n".join([f"## {METADATA}", *_metadata(summary)]))
    return "\n\n".join(parts) + "\n"


def full_command(session: str) -> str:
    """Where what was left out can be seen."""
    return step("summary", session_id=session).command()


def _header(summary: AnchoredSummary) -> Iterator[str]:
    yield FORMAT_LINE.format(schema=summary.schema)
    yield TITLE
    yield ""
    if summary.session:
        yield f"- Session: {inline(summary.session)}"
    yield f"- Compression: {summary.compression_count}"
    if summary.timestamp:
        yield f"- Timestamp: {inline(summary.timestamp)}"
    if summary.first_message or summary.last_message:
        yield f"- Messages Compressed: {summary.first_message}-{summary.last_message}"


def _metadata(summary: AnchoredSummary) -> Iterator[str]:
    yield f"- Probe Score: {_probes(summary.probes_passed, summary.probes_total)}"
    if summary.tokens_before is not None:
        yield f"- Tokens Before: {summary.tokens_before}"
    if summary.tokens_after is not None:
        yield f"- Tokens After: {summary.tokens_after}"
    if summary.ratio is not None:
        yield f"- Compression Ratio: {summary.ratio:.1%}"
    for name, number in (
        ("Files Read", summary.files_read),
        ("Commands Run", summary.commands_run),
        ("Searches", summary.searches),
    ):
        if number:
            yield f"- {name}: {number}"


def _probes(passed: int | None, total: int | None) -> str:
    if passed is None and total is None:
        return "not validated"
    words = f"{'?' if passed is None else passed} of {'?' if total is None else total}"
    return f"{words} ({passed / total:.1%})" if total and passed is not None else words


def _left_out(summary: AnchoredSummary, section: Section) -> Iterator[str]:
    if number := summary.left_out.get(section, 0):
        where = f": {code(full_command(summary.session))}" if section == "files_modified" else ""
        yield f"- … and {number} more{where}"


def _files(files: Sequence[ChangedFile]) -> Iterator[str]:
    """One line a file; files of one folder that went through the same steps share one."""
    folder = ""
    for _, alike in groupby(enumerate(files), key=lambda pair: _shared_line(*pair)):
        named = [one for _, one in alike]
        if named[0].folder and named[0].folder != folder:
            yield f"- in {code(named[0].folder)}:"
        folder = named[0].folder
        yield ("  - " if folder else "- ") + _file(named)


def _shared_line(place: int, one: ChangedFile) -> object:
    """What files must have in common to stand in one line; whole paths, and what has something said of it, never do."""
    alone = not one.folder or one.changes or any(step.names for step in one.steps)
    return place if alone else (one.folder, one.steps)


def _file(named: Sequence[ChangedFile]) -> str:
    one = named[0]
    pieces = [*map(_step, one.steps), *(inline(change, ",", guard=STEP) for change in one.changes)]
    paths = " ".join(code(each.path, commas=False) for each in named)
    return paths + (f": {', '.join(pieces)}" if pieces else "")


def _step(step: Step) -> str:
    words = step.verb + (f" {step.times} times" if step.times > 1 else "")
    if step.other:
        words += f" {'from' if step.verb == 'copied' else 'to'} {code(step.other, commas=False)}"
    names = [code(name, commas=False) for name in step.names]
    names += [f"and {step.more_names} more"] if step.more_names else []
    return words + (f" ({' '.join(names)})" if names else "")


def _decision(one: Decision) -> str:
    name = f"**{inline(one.decision, '*')}**"
    if one.superseded:
        by = f"superseded by **{inline(one.superseded_by, '*')}**" if one.superseded_by else "superseded"
        name = f"~~{name}~~ ({by})"
    return f"- {name}" + (f": {inline(one.rationale)}" if one.rationale else "")


def _bullet(text: str) -> str:
    return f"- {inline(text, guard=LEFT_OUT)}"


def _state(summary: AnchoredSummary) -> Iterator[str]:
    if summary.current_state:
        yield from block(summary.current_state, NONE["current_state"], KNOWN_PROGRESS)
    if summary.todos_total or summary.todos_done:
        yield f"- Todos: {summary.todos_done} of {summary.todos_total} done"
    for name, text in (("Last asked", summary.last_asked), ("Last said", summary.last_said)):
        if text:
            yield f"- {name}: {inline(text)}"


def _blocker(one: Blocker) -> str:
    text = inline(one.text, guard=CLOSED)
    return f"- [x] {text}" if one.closed else f"- {text}"


def _error(one: ErrorMet) -> str:
    facts = [code(one.where)] if one.where else []
    if one.times > 1:
        facts.append(f"{one.times} times")
    where = f" ({', '.join(facts)})" if facts else ""
    resolution = inline(one.resolution, guard=UNRESOLVED) if one.resolution else "not resolved"
    return f"- **{inline(one.error, '*')}**{where}: {resolution}"


def _steps(steps: Iterable[str], todos: Iterable[Todo]) -> Iterator[str]:
    for number, text in enumerate(steps, 1):
        yield f"{number}. {inline(text)}"
    for todo in todos:
        yield f"- [{'/' if todo.in_progress else ' '}] {inline(todo.text)}"


__all__ = ["FORMAT_LINE", "full_command", "to_markdown"]
