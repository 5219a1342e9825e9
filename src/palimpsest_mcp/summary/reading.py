"""`summary.md` read back: exactly what was written, and as much as possible of what a person changed in it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ..errors import StoreNewer
from ..models.bullets import bullets, without_left_out
from ..models.escaping import find_stop, plain_block, plain_code, plain_inline, split
from ..models.summaries import (
    SUMMARY_SCHEMA,
    AnchoredSummary,
    Blocker,
    ChangedFile,
    Decision,
    ErrorMet,
    Note,
    Section,
    Step,
    Todo,
    Verb,
)
from .headings import FORMER, METADATA, NONE, TITLE, section_of_heading
from .patterns import KNOWN_PROGRESS, LEFT_OUT, SPAN, STEP

_FORMAT = re.compile(r"<!-- palimpsest anchored summary, format (\d{1,9})\b")
_FIELD = re.compile(r"- ([A-Z][A-Za-z ]*): (.*)$", re.DOTALL)
_NUMBERED = re.compile(r"\d+[.)] ?")
_GROUP = re.compile(rf"- in ({SPAN}):$")
_FILE = re.compile(rf"({SPAN}(?: {SPAN})*)(?:: (.*))?$", re.DOTALL)
_FACTS = re.compile(rf" \((?:({SPAN}))?(?:, )?(?:(\d+) times)?\)")
_SUPERSEDED = " (superseded"


class NotASummary(ValueError):
    """No heading of a summary is in the text."""


def from_markdown(text: str) -> AnchoredSummary:
    """The summary that `to_markdown` wrote; of an edited file, what its headings and bullets say.

    Unknown headings are kept as notes. Lines split at newlines only.

    Raises:
        NotASummary: it has none of the headings.
        StoreNewer: a newer program wrote it.
    """
    found = _FORMAT.match(text)
    schema = int(found[1]) if found else SUMMARY_SCHEMA
    if schema > SUMMARY_SCHEMA:
        raise StoreNewer(
            f"The session's summary.md has format {schema}, this program knows up to {SUMMARY_SCHEMA}.",
            next="Install a newer palimpsest-mcp.",
        )
    head, sections, notes, metadata = _cut(text.split("\n"))
    if not sections:
        raise NotASummary
    fields: dict[str, Any] = {"schema": schema, **_header(head), **_metadata(metadata)}
    left_out: dict[Section, int] = {}
    for section, lines in sections.items():
        kept, number = without_left_out(lines, LEFT_OUT)
        if number:
            left_out[section] = number
        kept = [NONE[section] if line == FORMER.get(section) else line for line in kept]
        fields |= _READERS[section](kept, NONE[section])
    return AnchoredSummary(**fields, notes=tuple(notes), left_out=left_out)


def _cut(lines: Sequence[str]) -> tuple[list[str], dict[Section, list[str]], list[Note], list[str]]:
    """Header lines, lines by section, notes, metadata lines. A section that comes twice is one."""
    head: list[str] = []
    sections: dict[Section, list[str]] = {}
    notes: list[tuple[str, list[str]]] = []
    metadata: list[str] = []
    current = head
    for line in lines:
        if not line.startswith("## "):
            current.append(line)
            continue
        heading = line[3:]
        if section := section_of_heading(heading):
            current = sections.setdefault(section, [])
        elif heading.strip() == METADATA:
            current = metadata
        else:
            notes.append((plain_inline(heading), []))
            current = notes[-1][1]
    return head, sections, [Note(heading=name, text=plain_block(text, "")) for name, text in notes], metadata


def _fields(lines: Sequence[str]) -> dict[str, str]:
    return {found[1]: found[2] for line in lines if (found := _FIELD.match(line))}


def _header(lines: Sequence[str]) -> dict[str, Any]:
    said = _fields([line for line in lines if line != TITLE])
    first, _, last = said.get("Messages Compressed", "").partition("-")
    return {
        "session": plain_inline(said.get("Session", "")),
        "compression_count": _number(said.get("Compression")) or 0,
        "timestamp": plain_inline(said.get("Timestamp", "")),
        "first_message": _number(first) or 0,
        "last_message": _number(last) or 0,
    }


def _metadata(lines: Sequence[str]) -> dict[str, Any]:
    said = _fields(lines)
    passed, _, total = said.get("Probe Score", "").partition(" of ")
    return {
        "probes_passed": _number(passed),
        "probes_total": _number(total.partition(" ")[0]),
        "tokens_before": _number(said.get("Tokens Before")),
        "tokens_after": _number(said.get("Tokens After")),
        "files_read": _number(said.get("Files Read")) or 0,
        "commands_run": _number(said.get("Commands Run")) or 0,
        "searches": _number(said.get("Searches")) or 0,
    }


def _number(text: str | None) -> int | None:
    digits = (text or "").strip().replace(",", "")
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 16 else None


def _intent(lines: list[str], none: str) -> dict[str, Any]:
    return {"session_intent": plain_block(lines, none)}


def _state(lines: list[str], none: str) -> dict[str, Any]:
    text: list[str] = []
    fields: dict[str, Any] = {}
    for line in lines:
        found = KNOWN_PROGRESS.match(line)
        if found is None:
            text.append(line)
        elif found[1] == "Todos":
            done, _, total = found[2].removesuffix(" done").partition(" of ")
            fields |= {"todos_done": _number(done) or 0, "todos_total": _number(total) or 0}
        else:
            fields[{"Last asked": "last_asked", "Last said": "last_said"}[found[1]]] = plain_inline(found[2])
    return {"current_state": plain_block(text, none), **fields}


def _files(lines: list[str], none: str) -> dict[str, Any]:
    files: list[ChangedFile] = []
    folder = ""
    for line in lines:
        if group := _GROUP.match(line):
            folder = plain_code(group[1])
            continue
        inner = line.startswith("  - ")
        entries = bullets([line[2:] if inner else line], none)
        files += [one for entry in entries for one in _named(entry, folder if inner else "")]
    return {"files_modified": tuple(files)}


def _named(entry: str, folder: str) -> list[ChangedFile]:
    found = _FILE.match(entry)
    if found:
        paths, rest = [plain_code(span) for span in re.findall(SPAN, found[1])], found[2]
    else:  # written by hand, without backticks
        name, colon, words = entry.partition(": ")
        paths, rest = [name.strip().rstrip(":")], words if colon else None
    steps, changes = _trail(rest)
    return [ChangedFile(path=path, folder=folder, steps=steps, changes=changes) for path in paths]


def _trail(rest: str | None) -> tuple[tuple[Step, ...], tuple[str, ...]]:
    steps: list[Step] = []
    changes: list[str] = []
    for piece in split(rest, ", ") if rest else ():
        step = STEP.match(piece)
        if step is not None and not changes:
            steps.append(_step(step))
        else:
            changes.append(plain_inline(piece, ","))
    return tuple(steps), tuple(changes)


def _step(found: re.Match[str]) -> Step:
    verb: Any = found[1]
    names = tuple(plain_code(span) for span in re.findall(SPAN, found[4] or ""))
    return Step(
        verb=verb,
        times=int(found[2] or 1),
        other=plain_code(found[3]) if found[3] else "",
        names=names,
        more_names=int(found[5] or 0),
    )


def _decisions(lines: list[str], none: str) -> dict[str, Any]:
    return {"decisions_made": tuple(map(_decision, bullets(lines, none)))}


def _decision(entry: str) -> Decision:
    struck = entry.startswith("~~**")
    name, rest = _bold(entry[2:] if struck else entry)
    if name is None:
        decision, _, rationale = entry.partition(": ")
        return Decision(decision=plain_inline(decision), rationale=plain_inline(rationale))
    rest = rest.removeprefix("~~") if struck else rest
    superseded_by = ""
    if rest.startswith(_SUPERSEDED):
        by, after = _bold(rest.removeprefix(f"{_SUPERSEDED} by "))
        superseded_by = by or ""
        rest = after.removeprefix(")") if by is not None else rest.removeprefix(f"{_SUPERSEDED})")
    rationale = plain_inline(_after_colon(rest))
    return Decision(decision=name, rationale=rationale, superseded=struck, superseded_by=superseded_by)


def _bold(text: str) -> tuple[str | None, str]:
    """The bold words at the start and what follows them; None when it does not start bold."""
    if not text.startswith("**"):
        return None, text
    end = find_stop(text, "**", 2)
    return (None, text) if end < 0 else (plain_inline(text[2:end], "*"), text[end + 2 :])


def _after_colon(rest: str) -> str:
    return rest[2:] if rest.startswith(": ") else rest.removeprefix(":")


def _blockers(lines: list[str], none: str) -> dict[str, Any]:
    found: list[Blocker] = []
    for entry in bullets(lines, none):
        closed = entry[:4] in ("[x] ", "[X] ")
        text = entry[4:] if closed else entry.removeprefix("[ ] ")
        found.append(Blocker(text=plain_inline(text), closed=closed))
    return {"blockers": tuple(found)}


def _errors(lines: list[str], none: str) -> dict[str, Any]:
    return {"errors_encountered": tuple(map(_error, bullets(lines, none)))}


def _error(entry: str) -> ErrorMet:
    name, rest = _bold(entry)
    if name is None:
        return ErrorMet(error=plain_inline(entry))
    facts = _FACTS.match(rest)
    resolution = _after_colon(rest[facts.end() if facts else 0 :])
    return ErrorMet(
        error=name,
        where=plain_code(facts[1]) if facts and facts[1] else "",
        times=int(facts[2]) if facts and facts[2] else 1,
        resolution="" if resolution == "not resolved" else plain_inline(resolution),
    )


def _steps(lines: list[str], none: str) -> dict[str, Any]:
    steps: list[str] = []
    todos: list[Todo] = []
    for entry in bullets(lines, none):
        if entry.startswith(("[ ] ", "[/] ")):
            todos.append(Todo(text=plain_inline(entry[4:]), in_progress=entry[1] == "/"))
        else:
            numbered = _NUMBERED.match(entry)
            steps.append(plain_inline(entry[numbered.end() :] if numbered else entry))
    return {"next_steps": tuple(steps), "todos": tuple(todos)}


def _context(lines: list[str], none: str) -> dict[str, Any]:
    return {"technical_context": tuple(map(plain_inline, bullets(lines, none)))}


def _artifacts(lines: list[str], none: str) -> dict[str, Any]:
    return {"key_artifacts": tuple(map(plain_inline, bullets(lines, none)))}


_READERS = {
    "session_intent": _intent,
    "files_modified": _files,
    "decisions_made": _decisions,
    "technical_context": _context,
    "current_state": _state,
    "blockers": _blockers,
    "errors_encountered": _errors,
    "next_steps": _steps,
    "key_artifacts": _artifacts,
}

__all__ = ["NotASummary", "Verb", "from_markdown"]
