"""The sections of `summary.md`, each declared once: heading, fields, form of the entries, other names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple, get_args

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
    folded,
    listed,
    read_bold,
    said,
    taken,
    texts_form,
)
from ...models.summaries import Blocker, ChangedFile, Decision, ErrorMet, Step, Todo, Verb
from ...models.text import block, bullets, code, inline, plain_block, plain_code, plain_inline, split

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


_ANCHORS = (
    Anchor(
        "Session Intent",
        Part("session_intent", TEXT, "No intent was stated."),
        aliases=("intent", "goal", "task", "query"),
    ),
    Anchor(
        "Files Modified",
        Part("files_modified", _FILES, "None detected in calls of tools.", former="No files were modified."),
        aliases=("files", "modified_files", "files_changed", "changes"),
    ),
    Anchor(
        "Decisions Made",
        Part("decisions_made", _DECISIONS, "No decisions were stated."),
        headings=("decisions",),
        aliases=("decision",),
    ),
    Anchor(
        "Technical Context",
        Part("technical_context", TEXTS, "No technical context was stated."),
        aliases=("context", "technical"),
    ),
    Anchor(
        "Current State",
        Part(
            "current_state",
            _STATE,
            "No state was stated.",
            more=("todos_done", "todos_total", "last_asked", "last_said"),
        ),
        aliases=("state", "status", "progress"),
    ),
    Anchor(
        "Blockers / Open Questions",
        Part("blockers", _BLOCKERS, "No blockers and no open questions."),
        headings=("open_questions",),
        aliases=("questions", "blocker", "blockers_and_open_questions"),
    ),
    Anchor(
        "Errors Encountered",
        Part("errors_encountered", _ERRORS, "None detected in results of tools.", former="No errors were met."),
        headings=("errors",),
        aliases=("error",),
    ),
    Anchor(
        "Next Steps",
        Part("next_steps", _NEXT, "No next steps were stated.", more=("todos",)),
        aliases=("next", "todo", "todos", "steps"),
    ),
    Anchor("Key Artifacts", Part("key_artifacts", TEXTS, "No key artifacts were stated."), aliases=("artifacts",)),
)
"""In the order in which they are written: the seed's, with those of its template. A new section is a field of
`AnchoredSummary` and a row here; merging, budget and checks follow its form."""
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
