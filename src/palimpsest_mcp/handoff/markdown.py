"""A handoff as the markdown of its template, and back: exactly what was written, and what a person changed in it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ..errors import StoreNewer
from ..models.bullets import without_left_out
from ..models.escaping import block, code, inline, plain_block, plain_code, plain_inline
from ..models.handoffs import HANDOFF_SCHEMA, Handoff, Note, Source
from .forms import CODECS, LEFT_OUT, left_out_line
from .templates import POINTERS, TEMPLATES, Part, Section, Template, template_of

FORMAT_START = "<!-- palimpsest handoff, format "
FORMAT_LINE = FORMAT_START + "{schema}; may be edited: headings and bullets are read back -->"
_FORMAT = re.compile(FORMAT_START + r"(\d{1,9})\b")
_FIELD = re.compile(r"- ([A-Z][a-z]*): (.*)$", re.DOTALL)
_SOURCE = re.compile(r"(`[^`]*`) ([0-9a-f]{1,64})$")


class NotAHandoff(ValueError):
    """No title of a handoff is in the text."""


def to_markdown(handoff: Handoff) -> str:
    """The whole file, ending in a newline. Empty sections say so in a sentence."""
    template = template_of(handoff)
    parts = ["\n".join(_header(handoff, template))]
    parts += ["\n".join(section_lines(handoff, section)) for section in template.sections]
    known = {_folded(section.heading) for section in template.sections}
    for note in handoff.notes:
        heading = inline(note.heading)
        heading = f"\\&{heading}" if _folded(heading) in known and not heading.startswith("\\&") else heading
        parts.append("\n".join([f"## {heading}", *block(note.text, "")]))
    return "\n\n".join(parts) + "\n"


def section_lines(handoff: Handoff, section: Section) -> Iterator[str]:
    """A section with its heading."""
    yield f"## {section.heading}"
    for part in section.parts:
        if part.heading:
            yield f"### {part.heading}"
        lines = CODECS[part.form].write(getattr(handoff, part.field), part.none)
        if number := handoff.left_out.get(part.field, 0):
            lines = [*lines, left_out_line(number)]
        yield from lines or [part.none]


def _header(handoff: Handoff, template: Template) -> Iterator[str]:
    yield FORMAT_LINE.format(schema=handoff.schema)
    yield f"# {template.title}: {inline(handoff.title)}"
    yield ""
    for name, text in (
        ("Date", handoff.date),
        ("Written", handoff.written),
        ("Project", handoff.project),
        ("Session", handoff.session),
        ("Root", handoff.root),
    ):
        if text:
            yield f"- {name}: {inline(text)}"
    yield from (f"- Source: {code(one.name)} {one.sha256}" for one in handoff.sources)


def from_markdown(text: str) -> Handoff:
    """The handoff that `to_markdown` wrote; of an edited file, what its headings and bullets say.

    Unknown headings are kept as notes. Lines split at newlines only.

    Raises:
        NotAHandoff: it has no title of a template.
        StoreNewer: a newer program wrote it.
    """
    found = _FORMAT.match(text)
    schema = int(found[1]) if found else HANDOFF_SCHEMA
    if schema > HANDOFF_SCHEMA:
        raise StoreNewer(
            f"A handoff has format {schema}, this program knows up to {HANDOFF_SCHEMA}.",
            next="Install a newer palimpsest-mcp.",
        )
    lines = text.split("\n")
    template, title = _titled(lines)
    head, sections, notes = _cut(lines, template)
    fields: dict[str, Any] = {"schema": schema, "title": title, **_head_fields(head)}
    left_out: dict[str, int] = {}
    for section in template.sections:
        for part, rows in _by_part(section, sections.get(section.heading, [])):
            kept, number = without_left_out(rows, LEFT_OUT) if part.form != "text" else (rows, 0)
            if number:
                left_out[part.field] = number
            fields[part.field] = CODECS[part.form].read(kept, part.none)
    return template.model(**fields, notes=tuple(notes), left_out=left_out)


def absent_sections(text: str, handoff: Handoff) -> tuple[str, ...]:
    """Headings of its template that a file does not have, in order: `to_markdown` writes every one."""
    sections = template_of(handoff).sections
    there = {_folded(line[3:]) for line in text.split("\n") if line.startswith("## ")}
    return tuple(section.heading for section in sections if _folded(section.heading) not in there)


def _titled(lines: Iterable[str]) -> tuple[Template, str]:
    for line in lines:
        if line.startswith("## "):
            break
        for template in TEMPLATES.values():
            if line == f"# {template.title}" or line.startswith(f"# {template.title}:"):
                return template, plain_inline(line.removeprefix(f"# {template.title}").removeprefix(":")[1:])
    raise NotAHandoff


def _cut(lines: Sequence[str], template: Template) -> tuple[list[str], dict[str, list[str]], list[Note]]:
    """Header lines, lines by section, notes. A section that comes twice is one."""
    known = {_folded(section.heading): section.heading for section in template.sections}
    head: list[str] = []
    sections: dict[str, list[str]] = {}
    notes: list[tuple[str, list[str]]] = []
    current = head
    for line in lines:
        if not line.startswith("## "):
            current.append(line)
        elif not line.startswith("## \\&") and (heading := known.get(_folded(line[3:]))):
            current = sections.setdefault(heading, [])
        else:
            notes.append((plain_inline(line[3:]), []))
            current = notes[-1][1]
    return head, sections, [Note(heading=name, text=plain_block(rows, "")) for name, rows in notes]


def _by_part(section: Section, lines: Sequence[str]) -> Iterator[tuple[Part, list[str]]]:
    """Lines of each part; what stands before the first heading of its own is the first part's."""
    rows: dict[str, list[str]] = {part.field: [] for part in section.parts}
    named = {_folded(part.heading): part.field for part in section.parts if part.heading}
    current = section.parts[0].field
    for line in lines:
        field = named.get(_folded(line[4:])) if line.startswith("### ") else None
        if field:
            current = field
        else:
            rows[current].append(line)
    return ((part, rows[part.field]) for part in section.parts)


def _head_fields(lines: Sequence[str]) -> dict[str, Any]:
    said: dict[str, str] = {}
    sources: list[Source] = []
    for line in lines:
        found = _FIELD.match(line)
        if found is None:
            continue
        source = _SOURCE.match(found[2]) if found[1] == "Source" else None
        if source:
            sources.append(Source(name=plain_code(source[1]), sha256=source[2]))
        elif found[1] != "Source":
            said.setdefault(found[1], plain_inline(found[2]))
    return {
        "date": said.get("Date", ""),
        "written": said.get("Written", ""),
        "project": said.get("Project", ""),
        "session": said.get("Session", ""),
        "root": said.get("Root", ""),
        "sources": tuple(sources),
    }


def _folded(heading: str) -> str:
    """`Changes/Findings` -> `changes_findings`."""
    return "_".join("".join(char if char.isalnum() else " " for char in heading).lower().split())


__all__ = [
    "FORMAT_LINE", "FORMAT_START", "POINTERS", "NotAHandoff", "absent_sections", "from_markdown", "section_lines",
    "to_markdown",
]  # fmt: skip
