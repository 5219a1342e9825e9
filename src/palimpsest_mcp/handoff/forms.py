"""How entries of a handoff stand in markdown, and how they are read back: one writer and one reader a form."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from ..models.bullets import bullets
from ..models.escaping import block, code, find_stop, inline, plain_block, plain_code, plain_inline
from ..models.handoffs import Check, CheckState, Choice, FileNote, Finding, PlannedChange

Form: TypeAlias = Literal["text", "texts", "numbered", "choices", "files", "findings", "changes", "checks"]
LEFT_OUT = re.compile(r"… and (\d+) more$")
_SPAN = r"`[^`]*`"
_NUMBERED = re.compile(r"\d+[.)] ?")
_BOXES: dict[CheckState, str] = {"done": "x", "doing": "/", "open": " "}
_BOX = re.compile(r"\[([xX/~ -])\] ?")
_INSTEAD = " instead of "
_FENCE = re.compile(r"`{3,}$")
_INDENT = "   "
_DEEPER = "     "


class Codec(NamedTuple):
    """Writes a value as lines, and reads lines as a value. `none`: the sentence that says there is nothing."""

    write: Callable[[Any, str], list[str]]
    read: Callable[[list[str], str], Any]


def left_out_line(number: int) -> str:
    """Says that so many entries did not fit."""
    return f"- … and {number} more"


def _bold(entry: str) -> tuple[str | None, str]:
    """The bold words at the start and what follows them; None when it does not start bold."""
    end = find_stop(entry, "**", 2) if entry.startswith("**") else -1
    return (None, entry) if end < 0 else (plain_inline(entry[2:end], "*"), entry[end + 2 :])


def _colon(rest: str) -> str:
    return rest[2:] if rest.startswith(": ") else rest.removeprefix(":")


def _said(text: str) -> str:
    return f": {inline(text)}" if text else ""


def _write_texts(texts: Sequence[str], _none: str) -> list[str]:
    return [f"- {inline(text, guard=LEFT_OUT)}" for text in texts]


def _read_texts(lines: list[str], none: str) -> tuple[str, ...]:
    return tuple(map(plain_inline, bullets(lines, none)))


def _write_numbered(texts: Sequence[str], _none: str) -> list[str]:
    return [f"{number}. {inline(text)}" for number, text in enumerate(texts, 1)]


def _read_numbered(lines: list[str], none: str) -> tuple[str, ...]:
    return tuple(plain_inline(_NUMBERED.sub("", entry, count=1)) for entry in bullets(lines, none))


def _write_choices(choices: Sequence[Choice], _none: str) -> list[str]:
    return [f"- {_choice(one)}" for one in choices]


def _choice(one: Choice) -> str:
    others = ", ".join(f"**{inline(other, '*')}**" for other in one.alternatives)
    return f"**{inline(one.decision, '*')}**" + (f"{_INSTEAD}{others}" if others else "") + _said(one.rationale)


def _read_choices(lines: list[str], none: str) -> tuple[Choice, ...]:
    return tuple(map(_read_choice, bullets(lines, none)))


def _read_choice(entry: str) -> Choice:
    decision, rest = _bold(entry)
    if decision is None:
        decision, _, rationale = entry.partition(": ")
        return Choice(decision=plain_inline(decision), rationale=plain_inline(rationale))
    others: list[str] = []
    if rest.startswith(_INSTEAD):
        other, rest = _bold(rest.removeprefix(_INSTEAD))
        while other is not None:
            others.append(other)
            other, rest = _bold(rest[2:]) if rest.startswith(", **") else (None, rest)
    return Choice(decision=decision, alternatives=tuple(others), rationale=plain_inline(_colon(rest)))


def _write_files(files: Sequence[FileNote], _none: str) -> list[str]:
    return [
        f"- {code(one.path)}" + (f" ({inline(one.lines, ')')})" if one.lines else "") + _said(one.note) for one in files
    ]


def _read_files(lines: list[str], none: str) -> tuple[FileNote, ...]:
    return tuple(map(_read_file, bullets(lines, none)))


def _read_file(entry: str) -> FileNote:
    found = re.match(_SPAN, entry)
    if found is None:  # written by hand, without backticks
        path, _, note = entry.partition(": ")
        return FileNote(path=path.strip(), note=plain_inline(note))
    rest, where = entry[found.end() :], ""
    end = find_stop(rest, ")", 2) if rest.startswith(" (") else -1
    if end > 0:
        where, rest = plain_inline(rest[2:end], ")"), rest[end + 1 :]
    return FileNote(path=plain_code(found[0]), lines=where, note=plain_inline(_colon(rest)))


def _write_findings(findings: Sequence[Finding], _none: str) -> list[str]:
    return [
        f"- **{inline(one.finding, '*')}**" + (f" ({code(one.where)})" if one.where else "") + _said(one.evidence)
        for one in findings
    ]


def _read_findings(lines: list[str], none: str) -> tuple[Finding, ...]:
    return tuple(map(_read_finding, bullets(lines, none)))


def _read_finding(entry: str) -> Finding:
    finding, rest = _bold(entry)
    if finding is None:
        finding, _, evidence = entry.partition(": ")
        return Finding(finding=plain_inline(finding), evidence=plain_inline(evidence))
    where = re.match(rf" \(({_SPAN})\)", rest)
    rest = rest[where.end() :] if where else rest
    return Finding(finding=finding, where=plain_code(where[1]) if where else "", evidence=plain_inline(_colon(rest)))


def _write_checks(checks: Sequence[Check], _none: str) -> list[str]:
    return [f"- [{_BOXES[one.state]}] {inline(one.text)}" for one in checks]


def _read_checks(lines: list[str], none: str) -> tuple[Check, ...]:
    return tuple(map(_read_check, bullets(lines, none)))


def _read_check(entry: str) -> Check:
    found = _BOX.match(entry)
    mark = found[1] if found else " "
    state: CheckState = "done" if mark in "xX" else "open" if mark == " " else "doing"
    return Check(text=plain_inline(entry[found.end() :] if found else entry), state=state)


def _write_changes(changes: Sequence[PlannedChange], _none: str) -> list[str]:
    lines: list[str] = []
    for number, one in enumerate(changes, 1):
        lines.append(f"{number}. {inline(one.what)}")
        if one.file:
            lines.append(f"{_INDENT}- File: {code(one.file)}")
        if one.snippet:
            fence = "`" * max(3, 1 + max(map(len, re.findall("`+", one.snippet)), default=0))
            lines += [f"{_INDENT}- Snippet:", f"{_DEEPER}{fence}"]
            lines += [f"{_DEEPER}{line}" for line in one.snippet.split("\n")]
            lines.append(f"{_DEEPER}{fence}")
        if one.test:
            lines.append(f"{_INDENT}- Test: {inline(one.test)}")
    return lines


def _read_changes(lines: list[str], none: str) -> tuple[PlannedChange, ...]:
    found: list[dict[str, str]] = []
    rows = iter(lines)
    for line in rows:
        if line == none or not line.strip():
            continue
        if line[0] not in " \t":
            found.append({"what": plain_inline(_NUMBERED.sub("", line.removeprefix("- "), count=1))})
        elif found:
            _read_part(found[-1], line.lstrip(), rows)
    return tuple(PlannedChange(**fields) for fields in found)


def _read_part(fields: dict[str, str], part: str, rows: Iterable[str]) -> None:
    """One indented line of a change; of a snippet, also the fenced lines after it."""
    name, _, value = part.removeprefix("- ").partition(":")
    value = value.removeprefix(" ")
    if name == "File":
        fields["file"] = plain_code(value)
    elif name == "Test":
        fields["test"] = plain_inline(value)
    elif name == "Snippet":
        fields["snippet"] = value if value else _fenced(rows)
    else:
        fields["what"] += "\n" + plain_inline(part)


def _fenced(rows: Iterable[str]) -> str:
    body: list[str] = []
    fence = ""
    for row in rows:
        line = row.removeprefix(_DEEPER) if row.startswith(_DEEPER) else row.strip()
        if not fence:
            fence = line if _FENCE.match(line) else "```"
        elif line == fence:
            break
        else:
            body.append(line)
    return "\n".join(body)


CODECS: dict[Form, Codec] = {
    "text": Codec(block, plain_block),
    "texts": Codec(_write_texts, _read_texts),
    "numbered": Codec(_write_numbered, _read_numbered),
    "choices": Codec(_write_choices, _read_choices),
    "files": Codec(_write_files, _read_files),
    "findings": Codec(_write_findings, _read_findings),
    "changes": Codec(_write_changes, _read_changes),
    "checks": Codec(_write_checks, _read_checks),
}

__all__ = ["CODECS", "LEFT_OUT", "Codec", "Form", "left_out_line"]
