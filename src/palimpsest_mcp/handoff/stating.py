"""Fields of a handoff as an agent gives them: loose names, strings or lists or objects (I2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import msgspec

from ..errors import InvalidArgument
from ..models.handoffs import Check, CheckState, Choice, FileNote, Finding, PlannedChange
from ..models.open_ends import open_end
from ..models.plain_text import plain
from .field_names import ALIASES, ALSO, BY_PART, EXAMPLES, STATES
from .forms import Form
from .templates import Part, Template

MAX_TEXT = 4_000
"""Characters of one entry."""
MAX_ENTRIES = 100
MAX_NAME = 24
"""A longer name of a field may be anything; no error quotes it."""


def stated_fields(template: Template, fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields as the template's model has them; texts without control characters.

    Raises:
        InvalidArgument: an unknown field, a value of the wrong form, a placeholder, or too much; with an example.
    """
    found: dict[str, Any] = {}
    for name, value in _flat(template, fields):
        part = _part(template, name)
        if value is None or value in ("", []):
            continue
        made = _READERS[part.form](_Where(template, part), value)
        old = found.get(part.field)
        found[part.field] = old + made if isinstance(made, tuple) and isinstance(old, tuple) else made
    for name, value in found.items():
        _refuse_placeholders(template, name, value)
    return found


def _flat(template: Template, fields: Mapping[str, Any]) -> list[tuple[str, Any]]:
    rows: list[tuple[str, Any]] = []
    for key, value in fields.items():
        name = _folded(str(key))
        if name in _headings(template):
            name = _headings(template)[name]
        if name in BY_PART.get(template.phase, {"key_context"}) and isinstance(value, dict):
            rows += [(_folded(str(inner)), said) for inner, said in cast("dict[Any, Any]", value).items()]
        else:
            rows.append((name, value))
    return rows


def _headings(template: Template) -> dict[str, str]:
    """Folded headings -> the name they are asked by; of a section of several parts, its short name."""
    names: dict[str, str] = {}
    for section in template.sections:
        folded = _folded(section.heading)
        short = {"key_context_for_continuation": "key_context"}.get(folded, folded)
        names[folded] = section.parts[0].field if len(section.parts) == 1 else short
        names |= {_folded(part.heading): part.field for part in section.parts if part.heading}
    return names


def _part(template: Template, name: str) -> Part:
    parts = template.parts()
    for known in (name, ALIASES[template.phase].get(name), ALSO.get(name)):
        if known is not None and known in parts:
            return parts[known]
    shown = f" {name!r}" if name.replace("_", "").isalpha() and len(name) <= MAX_NAME else " of a name that was given"
    raise _refused(template, f"This handoff has no field{shown}; fields are {', '.join(parts)}.")


class _Where:
    """Which field is read, for errors."""

    def __init__(self, template: Template, part: Part) -> None:
        self.template = template
        self.part = part

    def refused(self, what: str) -> InvalidArgument:
        return _refused(self.template, f"{self.part.field} {what}.")


def _refused(template: Template, message: str) -> InvalidArgument:
    return InvalidArgument(message, next=f"Give fields such as {EXAMPLES[template.phase]}")


def _refuse_placeholders(template: Template, name: str, value: Any) -> None:
    for text in _strings(msgspec.to_builtins(value)):
        if found := open_end(text):
            raise InvalidArgument(
                f"{name} holds a placeholder or an open end ({found[:20]!r}).",
                next=f"Write what is known, all of it, or leave the field out. Fields: {EXAMPLES[template.phase]}",
            )


def _strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        return [text for key, part in fields.items() if key != "snippet" for text in _strings(part)]
    return [text for part in cast("Sequence[Any]", value or ()) for text in _strings(part)]


def _text(where: _Where, value: Any) -> str:
    if isinstance(value, list):
        return "\n".join(_text(where, part) for part in cast("list[Any]", value))
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise where.refused("holds something that is no text")
    text = plain(str(value)).strip()
    if len(text) > MAX_TEXT:
        raise where.refused(f"holds a text of {len(text)} characters; at most {MAX_TEXT} fit")
    return text


def _many(where: _Where, value: Any) -> list[Any]:
    entries: list[Any] = list(cast("Sequence[Any]", value)) if isinstance(value, (list, tuple)) else [value]
    if len(entries) > MAX_ENTRIES:
        raise where.refused(f"has {len(entries)} entries; at most {MAX_ENTRIES} fit")
    return [entry for entry in entries if entry not in (None, "")]


def _texts(where: _Where, value: Any) -> tuple[str, ...]:
    if isinstance(value, dict):
        pairs = cast("dict[Any, Any]", value).items()
        return tuple(f"{_text(where, name)}: {_text(where, said)}" for name, said in pairs)
    return tuple(text for entry in _many(where, value) for text in _entry_texts(where, entry) if text)


def _entry_texts(where: _Where, entry: Any) -> list[str]:
    return list(_texts(where, entry)) if isinstance(entry, dict) else [_text(where, entry)]


def _objects(where: _Where, value: Any, main: Sequence[str]) -> list[tuple[str, Mapping[str, Any]]]:
    """Each entry's main text with its other fields; of `{"a": "b"}` without a main key, `a` with `{"": "b"}`."""
    if isinstance(value, dict) and not cast("dict[str, Any]", value).keys() & set(main):
        pairs = list(cast("dict[Any, Any]", value).items())
        return [(_text(where, name), {"": said}) for name, said in _many(where, pairs)]
    rows: list[tuple[str, Mapping[str, Any]]] = []
    for entry in _many(where, value):
        if isinstance(entry, dict):
            fields = cast("dict[str, Any]", entry)
            said = next((fields[key] for key in main if fields.get(key)), None)
            if said is None:
                raise where.refused(f"has an entry without {main[0]!r}")
            rows.append((_text(where, said), fields))
        elif text := _text(where, entry):
            rows.append((text, {}))
    return rows


def _field(where: _Where, fields: Mapping[str, Any], *names: str) -> str:
    value = next((fields[name] for name in names if fields.get(name)), "")
    return _text(where, value)


def _choices(where: _Where, value: Any) -> tuple[Choice, ...]:
    return tuple(
        Choice(
            decision=text,
            rationale=_field(where, fields, "rationale", "", "reason", "why", "because"),
            alternatives=_texts(where, fields.get("alternatives") or fields.get("instead_of") or []),
        )
        for text, fields in _objects(where, value, ("decision", "what"))
    )


def _files(where: _Where, value: Any) -> tuple[FileNote, ...]:
    files: list[FileNote] = []
    for text, fields in _objects(where, value, ("path", "file", "file_path")):
        path, _, words = (text, "", "") if fields else text.partition(": ")
        note = _field(where, fields, "note", "", "what", "why") if fields else words
        files.append(FileNote(path=path.strip("`"), lines=_field(where, fields, "lines", "line"), note=note))
    return tuple(files)


def _findings(where: _Where, value: Any) -> tuple[Finding, ...]:
    return tuple(
        Finding(
            finding=text,
            evidence=_field(where, fields, "evidence", "", "why"),
            where=_field(where, fields, "where", "location", "file", "path"),
        )
        for text, fields in _objects(where, value, ("finding", "change", "what"))
    )


def _changes(where: _Where, value: Any) -> tuple[PlannedChange, ...]:
    return tuple(
        PlannedChange(
            what=text,
            file=_field(where, fields, "file", "path"),
            snippet=_field(where, fields, "snippet", "code"),
            test=_field(where, fields, "test", ""),
        )
        for text, fields in _objects(where, value, ("what", "change"))
    )


def _checks(where: _Where, value: Any) -> tuple[Check, ...]:
    usual: CheckState = {"completed": "done", "in_progress": "doing"}.get(where.part.field, "open")  # pyright: ignore[reportAssignmentType]  # its values are states
    return tuple(
        Check(text=text, state=STATES.get(said.lower(), "open" if said else usual))
        for text, fields in _objects(where, value, ("text", "what", "item"))
        for said in [_field(where, fields, "state", "status", "")]
    )


def _folded(name: str) -> str:
    return "_".join("".join(char if char.isalnum() else " " for char in name).lower().split())


_READERS: dict[Form, Callable[[_Where, Any], Any]] = {
    "text": _text,
    "texts": _texts,
    "numbered": _texts,
    "choices": _choices,
    "files": _files,
    "findings": _findings,
    "changes": _changes,
    "checks": _checks,
}

__all__ = ["MAX_ENTRIES", "MAX_TEXT", "stated_fields"]
