"""A handoff as the markdown of its template, and back: exactly what was written, and what a person changed in it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, cast

from ...errors import InvalidArgument, StoreNewer
from ...models.handoffs import HANDOFF_SCHEMA, Handoff, Source
from ...models.sections import SPAN, Incoming, Part, Section, cut, facts, folded, format_of
from ...models.text import code, inline, open_end_in, plain_code, plain_inline
from .templates import (
    ALIASES,
    ALSO,
    BY_PART,
    EXAMPLES,
    ORDERS,
    TEMPLATES,
    Template,
    may_lack,
    section_name,
    template_of,
)

FORMAT_START = "<!-- palimpsest handoff, format "
FORMAT_LINE = FORMAT_START + "{schema}; may be edited: headings and bullets are read back -->"
_FACTS = ("date", "written", "project", "session", "root")
_LABELS = {"project": "Written in", "root": "Common folder of the paths"}
"""What a field is for sure: the folder in which a handoff is written need not be the session's, nor the one that paths
have in common the project's."""
_FIELDS = {folded(label): name for name, label in _LABELS.items()}
_SOURCE = re.compile(rf"({SPAN}) ([0-9a-f]{{1,64}})$")


class NotAHandoff(ValueError):
    """No title of a handoff is in the text."""


def to_markdown(handoff: Handoff) -> str:
    """The whole file, ending in a newline. Empty sections say so in a sentence."""
    template = template_of(handoff)
    return "\n\n".join(["\n".join(_header(handoff, template)), *template.layout().write(handoff)]) + "\n"


def section_lines(handoff: Handoff, section: Section) -> Iterator[str]:
    """A section with its heading."""
    return template_of(handoff).layout().lines(handoff, section)


def _header(handoff: Handoff, template: Template) -> Iterator[str]:
    yield FORMAT_LINE.format(schema=handoff.schema)
    yield f"# {template.title}: {inline(handoff.title)}"
    yield ""
    for name in _FACTS:
        if text := getattr(handoff, name):
            yield f"- {_LABELS.get(name, name.title())}: {inline(text)}"
    yield from (f"- Source: {code(one.name)} {one.sha256}" for one in handoff.sources)


def from_markdown(text: str) -> Handoff:
    """The handoff that `to_markdown` wrote; of an edited file, what its headings and bullets say.

    Unknown headings are kept as notes. Lines split at newlines only.

    Raises:
        NotAHandoff: it has no title of a template.
        StoreNewer: a newer program wrote it.
    """
    schema = format_of(text, FORMAT_START, HANDOFF_SCHEMA, StoreNewer, "A handoff")
    lines = text.split("\n")
    template, title = _titled(lines)
    found = template.layout().read(lines)
    return template.model(schema=schema, title=title, **found.fields, **_head_fields(found.head))


def absent_sections(text: str, handoff: Handoff) -> tuple[str, ...]:
    """Headings of its template that a file does not have, in order: `to_markdown` writes every one, but for those that
    an earlier version did not know."""
    sections = template_of(handoff).sections
    there = {folded(heading) for heading, _ in cut(text.split("\n"))[1]}
    is_new = folded(ORDERS) in there
    wanted = [section for section in sections if is_new or not may_lack(section)]
    return tuple(section.heading for section in wanted if folded(section.heading) not in there)


def _titled(lines: Iterable[str]) -> tuple[Template, str]:
    for line in lines:
        if line.startswith("## "):
            break
        for template in TEMPLATES.values():
            if line == f"# {template.title}" or line.startswith(f"# {template.title}:"):
                return template, plain_inline(line.removeprefix(f"# {template.title}").removeprefix(":")[1:])
    raise NotAHandoff


def _head_fields(lines: Sequence[str]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    sources: list[Source] = []
    for name, text in facts(lines):
        source = _SOURCE.match(text) if name == "Source" else None
        if source:
            sources.append(Source(name=plain_code(source[1]), sha256=source[2]))
        elif (field := _FIELDS.get(folded(name), name.lower())) in _FACTS:
            fields.setdefault(field, plain_inline(text))
    return {**fields, "sources": tuple(sources)}


# fmt: skip

# Fields of a handoff as an agent gives them: loose names, strings or lists or objects (I2).


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
