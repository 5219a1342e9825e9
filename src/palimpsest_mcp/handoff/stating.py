"""Fields of a handoff as an agent gives them: loose names, strings or lists or objects (I2)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, cast

from ..errors import InvalidArgument
from ..models.forms import Incoming
from ..models.open_ends import open_end_in
from ..models.sections import Part, folded
from .field_names import ALIASES, ALSO, BY_PART, EXAMPLES
from .templates import Template, section_name

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
    incoming = Incoming("", partial(_refused, template), MAX_TEXT, MAX_ENTRIES, nested=True)
    found: dict[str, Any] = {}
    for name, value in _flat(template, fields):
        part = _part(template, name)
        if value is None or value in ("", []):
            continue
        made = part.form.take(incoming._replace(name=part.field), value)
        old = found.get(part.field)
        found[part.field] = old + made if isinstance(made, tuple) and isinstance(old, tuple) else made
    for name, value in found.items():
        if end := open_end_in(value, except_in="snippet"):
            raise InvalidArgument(
                f"{name} holds a placeholder or an open end ({end[:20]!r}).",
                next=f"Write what is known, all of it, or leave the field out. Fields: {EXAMPLES[template.phase]}",
            )
    return found


def _flat(template: Template, fields: Mapping[str, Any]) -> list[tuple[str, Any]]:
    rows: list[tuple[str, Any]] = []
    for key, value in fields.items():
        name = folded(str(key))
        if name in _headings(template):
            name = _headings(template)[name]
        if name in BY_PART.get(template.phase, {"key_context"}) and isinstance(value, dict):
            rows += [(folded(str(inner)), said) for inner, said in cast("dict[Any, Any]", value).items()]
        else:
            rows.append((name, value))
    return rows


def _headings(template: Template) -> dict[str, str]:
    """Folded headings -> the name they are asked by; of a section of several parts, its short name."""
    names: dict[str, str] = {}
    for section in template.sections:
        is_one = len(section.parts) == 1
        names[folded(section.heading)] = section.parts[0].field if is_one else section_name(section)
        names |= {folded(part.heading): part.field for part in section.parts if part.heading}
    return names


def _part(template: Template, name: str) -> Part:
    parts = template.parts()
    for known in (name, ALIASES[template.phase].get(name), ALSO.get(name)):
        if known is not None and known in parts:
            return parts[known]
    shown = f" {name!r}" if name.replace("_", "").isalpha() and len(name) <= MAX_NAME else " of a name that was given"
    raise _refused(template, f"This handoff has no field{shown}; fields are {', '.join(parts)}.")


def _refused(template: Template, message: str) -> InvalidArgument:
    return InvalidArgument(message, next=f"Give fields such as {EXAMPLES[template.phase]}")


__all__ = ["MAX_ENTRIES", "MAX_TEXT", "stated_fields"]
