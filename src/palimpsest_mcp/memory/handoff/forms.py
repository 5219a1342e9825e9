"""Kinds of entries of a handoff beside those that every document has."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...models.handoffs import Check, CheckState, Choice, FileNote, Finding, PlannedChange
from ...models.sections import (
    NAMES,
    NUMBERED,
    SPAN,
    Form,
    Incoming,
    Middle,
    bold,
    listed,
    read_bold,
    taken,
    texts_form,
    titled,
)
from ...models.text import code, find_stop, inline, plain_code, plain_inline

LEFT_OUT = re.compile(r"… and (\d+) more$")
_BOXES: dict[CheckState, str] = {"done": "x", "doing": "/", "open": " "}
_BOX = re.compile(r"\[([xX/~ -])\] ?")
_STATES: Mapping[str, CheckState] = {
    **dict.fromkeys(("done", "complete", "completed", "x", "true"), "done"),
    **dict.fromkeys(("doing", "in_progress", "in progress", "/", "started"), "doing"),
}
_INSTEAD = " instead of "
_WHERE = re.compile(rf" \(({SPAN})\)")
_FENCE = re.compile(r"`{3,}$")
_INDENT = "   "
_DEEPER = "     "


def _write_others(one: Choice) -> str:
    return (_INSTEAD if one.alternatives else "") + ", ".join(map(bold, one.alternatives))


def _read_others(rest: str) -> tuple[dict[str, Any], str]:
    others: list[str] = []
    if rest.startswith(_INSTEAD):
        other, rest = read_bold(rest.removeprefix(_INSTEAD))
        while other is not None:
            others.append(other)
            other, rest = read_bold(rest[2:]) if rest.startswith(", **") else (None, rest)
    return {"alternatives": tuple(others)}, rest


def _write_lines(one: FileNote) -> str:
    return f" ({inline(one.lines, ')')})" if one.lines else ""


def _read_lines(rest: str) -> tuple[dict[str, Any], str]:
    end = find_stop(rest, ")", 2) if rest.startswith(" (") else -1
    return ({"lines": plain_inline(rest[2:end], ")")}, rest[end + 1 :]) if end > 0 else ({}, rest)


def _write_where(one: Finding) -> str:
    return f" ({code(one.where)})" if one.where else ""


def _read_where(rest: str) -> tuple[dict[str, Any], str]:
    where = _WHERE.match(rest)
    return ({"where": plain_code(where[1])}, rest[where.end() :]) if where else ({}, rest)


def _read_check(entry: str) -> Check:
    found = _BOX.match(entry)
    mark = found[1] if found else " "
    state: CheckState = "done" if mark in "xX" else "open" if mark == " " else "doing"
    return Check(text=plain_inline(entry[found.end() :] if found else entry), state=state)


def _take_checks(incoming: Incoming, value: Any) -> tuple[Check, ...]:
    usual: dict[str, CheckState] = {"completed": "done", "in_progress": "doing"}
    checks: list[Check] = []
    for text, fields in incoming.objects(value, ("text", *NAMES["text"])):
        said = incoming.text(incoming.field(fields, "state", ""))
        state = _STATES.get(said.lower(), "open" if said else usual.get(incoming.name, "open"))
        checks.append(Check(text=text, state=state))
    return tuple(checks)


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
            found.append({"what": plain_inline(NUMBERED.sub("", line.removeprefix("- "), count=1))})
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


TEXTS = texts_form(LEFT_OUT)
CHOICES = titled(Choice, ("decision", "rationale", "alternatives"), Middle(_write_others, _read_others))
FILES = titled(FileNote, ("path", "note", "lines"), Middle(_write_lines, _read_lines))
FINDINGS = titled(Finding, ("finding", "evidence", "where"), Middle(_write_where, _read_where))
CHECKS = listed(lambda one: f"[{_BOXES[one.state]}] {inline(one.text)}", _read_check, _take_checks)
CHANGES = Form(_write_changes, _read_changes, taken(PlannedChange, ("what", "test", "file", "snippet")))
