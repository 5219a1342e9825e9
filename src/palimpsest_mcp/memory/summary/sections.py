"""The sections of `summary.md`, each declared once: heading, fields, form of the entries, other names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple, get_args

from ...errors import StoreNewer
from ...models.advice import step
from ...models.sections import (
    NUMBERED,
    SPAN,
    TEXT,
    Form,
    Incoming,
    Layout,
    Part,
    Section,
    behind_colon,
    bold,
    facts,
    folded,
    format_of,
    listed,
    read_bold,
    said,
    taken,
    texts_form,
)
from ...models.summaries import (
    SUMMARY_SCHEMA,
    AnchoredSummary,
    Blocker,
    ChangedFile,
    Decision,
    ErrorMet,
    Point,
    PointKind,
    StandingOrder,
    Step,
    Todo,
    Verb,
)
from ...models.text import block, bullets, code, inline, plain_block, plain_code, plain_inline, split
from .. import absent

METADATA = "Metadata"
STEP = re.compile(
    rf"({'|'.join(get_args(Verb))})(?: (\d+) times)?(?: (?:to|from) ({SPAN}))?"
    rf"(?: \((?=\S)((?:{SPAN} ?)*)(?:and (\d+) more)?\))?$"
)
"""Verb, times, other, names, further names: one step of a file's trail."""
LEFT_OUT = re.compile(rf"… and (\d+) more(?:: {SPAN})?$")
_CLOSED = re.compile(r"\[[xX]\] |… and ")
_UNRESOLVED = re.compile("not resolved$")
_PROGRESS = re.compile("- (Todos|Last asked|Last said): (.*)$", re.DOTALL)
"""Lines of Current State that code wrote."""
_GROUP = re.compile(rf"- in ({SPAN}):$")
_FILE = re.compile(rf"({SPAN}(?: {SPAN})*)(?:: (.*))?$", re.DOTALL)
_FACTS = re.compile(rf" \((?:({SPAN}))?(?:, )?(?:(\d+) times)?\)")
_SUPERSEDED = " (superseded"
_ORDER = re.compile(r"[Mm]essage (\d+): ")
_ORDER_GUARD = re.compile(rf"{_ORDER.pattern}|… and ")
_POINTS: dict[PointKind, str] = {
    "asked": "Asked last",
    "finished": "Committed, or ticked off by the agent itself, not to be done again",
    "done": "Done for it",
    "failed": "Failed, and not seen to work since",
    "open": "Open",
    "next": "Next",
}
_KINDS: dict[str, PointKind] = {
    **{words: kind for kind, words in _POINTS.items()},
    "Ticked off or committed, not to be done again": "finished",  # as files of earlier versions say it
    "Done before, ticked off or committed, not to be done again": "finished",
    "Finished, not to be done again": "finished",
    "Finished before, not to be done again": "finished",
    "Failed, not tried again since": "failed",
}
_POINT = re.compile(rf"({'|'.join(_KINDS)}): (.*)$", re.DOTALL)


def number_of(text: str | None) -> int | None:
    """A count as a person may have written it; None where it is none."""
    digits = (text or "").strip().replace(",", "")
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 16 else None


def _write_files(files: Sequence[ChangedFile], _none: str) -> Iterator[str]:
    """One line a file; files of one folder that went through the same steps share one."""
    folder = ""
    for _, alike in groupby(enumerate(files), key=lambda pair: _shared_line(*pair)):
        named = [one for _, one in alike]
        if named[0].folder and named[0].folder != folder:
            yield f"- in {code(named[0].folder)}:"
        folder = named[0].folder
        pieces = [*map(_step, named[0].steps), *(inline(change, ",", guard=STEP) for change in named[0].changes)]
        paths = " ".join(code(one.path, commas=False) for one in named)
        yield ("  - " if folder else "- ") + paths + (f": {', '.join(pieces)}" if pieces else "")


def _shared_line(place: int, one: ChangedFile) -> object:
    """What files must have in common to stand in one line; whole paths, and what has something said of it, never do."""
    alone = not one.folder or one.changes or any(step.names for step in one.steps)
    return place if alone else (one.folder, one.steps)


def _step(step: Step) -> str:
    words = step.verb + (f" {step.times} times" if step.times > 1 else "")
    if step.other:
        words += f" {'from' if step.verb == 'copied' else 'to'} {code(step.other, commas=False)}"
    names = [code(name, commas=False) for name in step.names]
    names += [f"and {step.more_names} more"] if step.more_names else []
    return words + (f" ({' '.join(names)})" if names else "")


def _read_files(lines: list[str], none: str) -> tuple[ChangedFile, ...]:
    files: list[ChangedFile] = []
    folder = ""
    for line in lines:
        if group := _GROUP.match(line):
            folder = plain_code(group[1])
            continue
        inner = line.startswith("  - ")
        entries = bullets([line[2:] if inner else line], none)
        files += [one for entry in entries for one in _read_file(entry, folder if inner else "")]
    return tuple(files)


def _read_file(entry: str, folder: str) -> list[ChangedFile]:
    found = _FILE.match(entry)
    if found:
        paths, rest = [plain_code(span) for span in re.findall(SPAN, found[1])], found[2]
    else:  # written by hand, without backticks
        name, _, rest = entry.partition(": ")
        paths = [name.strip().rstrip(":")]
    steps: list[Step] = []
    changes: list[str] = []
    for piece in split(rest, ", ") if rest else ():
        step = STEP.match(piece)
        if step is not None and not changes:
            steps.append(_read_step(step))
        else:
            changes.append(plain_inline(piece, ","))
    return [ChangedFile(path=path, folder=folder, steps=tuple(steps), changes=tuple(changes)) for path in paths]


def _read_step(found: re.Match[str]) -> Step:
    verb: Any = found[1]
    return Step(
        verb=verb,
        times=int(found[2] or 1),
        other=plain_code(found[3]) if found[3] else "",
        names=tuple(plain_code(span) for span in re.findall(SPAN, found[4] or "")),
        more_names=int(found[5] or 0),
    )


def _write_decision(one: Decision) -> str:
    name = bold(one.decision)
    if one.superseded:
        name = f"~~{name}~~{_SUPERSEDED}{f' by {bold(one.superseded_by)}' if one.superseded_by else ''})"
    return name + said(one.rationale)


def _read_decision(entry: str) -> Decision:
    struck = entry.startswith("~~**")
    name, rest = read_bold(entry[2:] if struck else entry)
    if name is None:
        decision, _, rationale = entry.partition(": ")
        return Decision(decision=plain_inline(decision), rationale=plain_inline(rationale))
    rest = rest.removeprefix("~~") if struck else rest
    superseded_by = ""
    if rest.startswith(_SUPERSEDED):
        by, after = read_bold(rest.removeprefix(f"{_SUPERSEDED} by "))
        superseded_by = by or ""
        rest = after.removeprefix(")") if by is not None else rest.removeprefix(f"{_SUPERSEDED})")
    rationale = plain_inline(behind_colon(rest))
    return Decision(decision=name, rationale=rationale, superseded=struck, superseded_by=superseded_by)


def _write_order(one: StandingOrder) -> str:
    return (f"Message {one.message}: " if one.message else "") + inline(one.text, guard=_ORDER_GUARD)


def _read_order(entry: str) -> StandingOrder:
    found = _ORDER.match(entry)
    text = plain_inline(entry[found.end() :] if found else entry)
    return StandingOrder(text=text, message=(number_of(found[1]) or 0) if found else 0)


def _take_orders(incoming: Incoming, value: Any) -> tuple[StandingOrder, ...]:
    return tuple(StandingOrder(text=text) for text in incoming.texts(value))


def _write_point(one: Point) -> str:
    return f"{_POINTS[one.kind]}: {inline(one.text)}"


def _read_point(entry: str) -> Point:
    found = _POINT.match(entry)
    return (
        Point(kind=_KINDS[found[1]], text=plain_inline(found[2]))
        if found
        else Point(kind="open", text=plain_inline(entry))
    )


def _take_points(incoming: Incoming, value: Any) -> tuple[Point, ...]:
    raise incoming.refused("The checkpoint is written by code: state current_state, next_steps or blockers.")


def _write_blocker(one: Blocker) -> str:
    return ("[x] " if one.closed else "") + inline(one.text, guard=_CLOSED)


def _read_blocker(entry: str) -> Blocker:
    closed = entry[:4] in ("[x] ", "[X] ")
    return Blocker(text=plain_inline(entry[4:] if closed else entry.removeprefix("[ ] ")), closed=closed)


def _write_error(one: ErrorMet) -> str:
    facts = [code(one.where)] if one.where else []
    facts += [f"{one.times} times"] if one.times > 1 else []
    resolution = inline(one.resolution, guard=_UNRESOLVED) if one.resolution else "not resolved"
    return bold(one.error) + (f" ({', '.join(facts)})" if facts else "") + f": {resolution}"


def _read_error(entry: str) -> ErrorMet:
    name, rest = read_bold(entry)
    if name is None:
        return ErrorMet(error=plain_inline(entry))
    facts = _FACTS.match(rest)
    resolution = behind_colon(rest[facts.end() if facts else 0 :])
    return ErrorMet(
        error=name,
        where=plain_code(facts[1]) if facts and facts[1] else "",
        times=int(facts[2]) if facts and facts[2] else 1,
        resolution="" if resolution == "not resolved" else plain_inline(resolution),
    )


def _write_state(values: tuple[str, int, int, str, str], none: str) -> Iterator[str]:
    state, done, total, asked, answered = values
    if state:
        yield from block(state, none, _PROGRESS)
    if total or done:
        yield f"- Todos: {done} of {total} done"
    for name, text in (("Last asked", asked), ("Last said", answered)):
        if text:
            yield f"- {name}: {inline(text)}"


def _read_state(lines: list[str], none: str) -> tuple[str, int, int, str, str]:
    text: list[str] = []
    known = {"Todos": "", "Last asked": "", "Last said": ""}
    for line in lines:
        if found := _PROGRESS.match(line):
            known[found[1]] = found[2]
        else:
            text.append(line)
    done, _, total = known["Todos"].removesuffix(" done").partition(" of ")
    last = plain_inline(known["Last asked"]), plain_inline(known["Last said"])
    return plain_block(text, none), number_of(done) or 0, number_of(total) or 0, *last


def _write_next(values: tuple[Sequence[str], Sequence[Todo]], _none: str) -> Iterator[str]:
    steps, todos = values
    yield from (f"{number}. {inline(text)}" for number, text in enumerate(steps, 1))
    yield from (f"- [{'/' if todo.in_progress else ' '}] {inline(todo.text)}" for todo in todos)


def _read_next(lines: list[str], none: str) -> tuple[tuple[str, ...], tuple[Todo, ...]]:
    steps: list[str] = []
    todos: list[Todo] = []
    for entry in bullets(lines, none):
        if entry.startswith(("[ ] ", "[/] ")):
            todos.append(Todo(text=plain_inline(entry[4:]), in_progress=entry[1] == "/"))
        else:
            steps.append(plain_inline(NUMBERED.sub("", entry, count=1)))
    return tuple(steps), tuple(todos)


def _take_blockers(incoming: Incoming, value: Any) -> tuple[Blocker, ...]:
    return tuple(Blocker(text=text) for text in incoming.texts(value))


TEXTS = texts_form(LEFT_OUT)
_FILES = Form(_write_files, _read_files, taken(ChangedFile, ("path", "changes")))
_DECISIONS = listed(_write_decision, _read_decision, taken(Decision, ("decision", "rationale")))
_ORDERS = listed(_write_order, _read_order, _take_orders)
_CHECKPOINT = listed(_write_point, _read_point, _take_points)
_BLOCKERS = listed(_write_blocker, _read_blocker, _take_blockers)
_ERRORS = listed(_write_error, _read_error, taken(ErrorMet, ("error", "resolution", "where")))
_STATE = Form(_write_state, _read_state, Incoming.paragraph, has_entries=False)
_NEXT = Form(_write_next, _read_next, Incoming.texts)


class Anchor(NamedTuple):
    """One section: how it stands in the file, and by which other names it goes."""

    heading: str
    part: Part
    headings: tuple[str, ...] = ()
    """Further headings in a file that mean it."""
    aliases: tuple[str, ...] = ()
    """Further names under which an agent may give it."""


def _part(field: str, form: Form, nothing: absent.Absent, more: tuple[str, ...] = ()) -> Part:
    return Part(field, form, nothing.now, more=more, former=nothing.former)


_ANCHORS = (
    Anchor(
        "Standing Orders",
        _part("standing_orders", _ORDERS, absent.ORDERS),
        aliases=("orders", "rules", "constraints", "preferences"),
    ),
    Anchor("Checkpoint", _part("checkpoint", _CHECKPOINT, absent.REQUESTS)),
    Anchor(
        "Session Intent",
        _part("session_intent", TEXT, absent.INTENT),
        aliases=("intent", "goal", "task", "query"),
    ),
    Anchor(
        "Files Modified",
        _part("files_modified", _FILES, absent.CHANGED),
        aliases=("files", "modified_files", "files_changed", "changes"),
    ),
    Anchor(
        "Decisions Made",
        _part("decisions_made", _DECISIONS, absent.DECISIONS),
        headings=("decisions",),
        aliases=("decision",),
    ),
    Anchor(
        "Technical Context",
        _part("technical_context", TEXTS, absent.CONTEXT),
        aliases=("context", "technical"),
    ),
    Anchor(
        "Current State",
        _part("current_state", _STATE, absent.STATE, ("todos_done", "todos_total", "last_asked", "last_said")),
        aliases=("state", "status", "progress"),
    ),
    Anchor(
        "Blockers / Open Questions",
        _part("blockers", _BLOCKERS, absent.BLOCKERS),
        headings=("open_questions",),
        aliases=("questions", "blocker", "blockers_and_open_questions"),
    ),
    Anchor(
        "Errors Encountered",
        _part("errors_encountered", _ERRORS, absent.ERRORS),
        headings=("errors",),
        aliases=("error",),
    ),
    Anchor(
        "Next Steps",
        _part("next_steps", _NEXT, absent.NEXT, ("todos",)),
        aliases=("next", "todo", "todos", "steps"),
    ),
    Anchor(
        "Key Artifacts",
        _part("key_artifacts", TEXTS, absent.ARTIFACTS),
        aliases=("artifacts",),
    ),
)
"""In the order in which they are written: what the user laid down, where the newest request stands, then the seed's,
with those of its template. A new
section is a field of `AnchoredSummary` and a row here; merging, budget and checks follow its form."""
PARTS = {one.part.field: one.part for one in _ANCHORS}
_HEADINGS = {folded(name): one.heading for one in _ANCHORS for name in (one.heading, one.part.field, *one.headings)}
_BY_HEADING = {one.heading: one.part for one in _ANCHORS}
_ALIASES = {alias: one.heading for one in _ANCHORS for alias in one.aliases}


def heading_of(heading: str) -> str | None:
    """The heading that one in the file means; None for a person's own."""
    return METADATA if heading.strip() == METADATA else _HEADINGS.get(folded(heading))


def part_of_name(name: str) -> Part | None:
    """The section that a caller means; more lenient."""
    heading = _HEADINGS.get(folded(name)) or _ALIASES.get(folded(name))
    return _BY_HEADING[heading] if heading else None


LAYOUT = Layout(tuple(Section(one.heading, (one.part,)) for one in _ANCHORS), heading_of, LEFT_OUT)


# A summary as `summary.md`, and back: exactly what was written, and what a person changed in it.

FORMAT_START = "<!-- palimpsest anchored summary, format "
FORMAT_LINE = FORMAT_START + "{schema}; may be edited: headings and bullets are read back -->"
TITLE = "# Anchored Summary"
LISTED = ("standing_orders", "files_modified")
"""Sections of which the command that shows all is named where something is left out."""
_COUNTS = {"Files Read": "files_read", "Commands Run": "commands_run", "Searches": "searches"}
_TOKENS = {"Tokens Before": "tokens_before", "Tokens After": "tokens_after"}


class NotASummary(ValueError):
    """No heading of a summary is in the text."""


def to_markdown(summary: AnchoredSummary) -> str:
    """The whole file, ending in a newline. Empty sections say so in a sentence."""

    def where(field: str) -> str:
        return f": {code(full_command(summary.session))}" if field in LISTED else ""

    metadata = "\n".join([f"## {METADATA}", *_metadata(summary)])
    return "\n\n".join(["\n".join(_header(summary)), *LAYOUT.write(summary, where), metadata]) + "\n"


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
    for name, field in _TOKENS.items():
        if (tokens := getattr(summary, field)) is not None:
            yield f"- {name}: {tokens}"
    if summary.ratio is not None:
        yield f"- Compression Ratio: {summary.ratio:.1%}"
    for name, field in _COUNTS.items():
        if number := getattr(summary, field):
            yield f"- {name}: {number}"


def _probes(passed: int | None, total: int | None) -> str:
    if passed is None and total is None:
        return "not validated"
    words = f"{'?' if passed is None else passed} of {'?' if total is None else total}"
    return f"{words} ({passed / total:.1%})" if total and passed is not None else words


def from_markdown(text: str) -> AnchoredSummary:
    """The summary that `to_markdown` wrote; of an edited file, what its headings and bullets say.

    Unknown headings are kept as notes. Lines split at newlines only.

    Raises:
        NotASummary: it has none of the headings.
        StoreNewer: a newer program wrote it.
    """
    schema = format_of(text, FORMAT_START, SUMMARY_SCHEMA, StoreNewer, "The session's summary.md")
    found = LAYOUT.read(text.split("\n"))
    if not found.sections.keys() - {METADATA}:
        raise NotASummary
    metadata = _metadata_fields(found.sections.get(METADATA, ()))
    return AnchoredSummary(schema=schema, **found.fields, **_header_fields(found.head), **metadata)


def _header_fields(lines: Iterable[str]) -> dict[str, Any]:
    said = dict(facts(lines))
    first, _, last = said.get("Messages Compressed", "").partition("-")
    return {
        "session": plain_inline(said.get("Session", "")),
        "compression_count": number_of(said.get("Compression")) or 0,
        "timestamp": plain_inline(said.get("Timestamp", "")),
        "first_message": number_of(first) or 0,
        "last_message": number_of(last) or 0,
    }


def _metadata_fields(lines: Iterable[str]) -> dict[str, Any]:
    said = dict(facts(lines))
    passed, _, total = said.get("Probe Score", "").partition(" of ")
    return {
        "probes_passed": number_of(passed),
        "probes_total": number_of(total.partition(" ")[0]),
        **{field: number_of(said.get(name)) for name, field in _TOKENS.items()},
        **{field: number_of(said.get(name)) or 0 for name, field in _COUNTS.items()},
    }
