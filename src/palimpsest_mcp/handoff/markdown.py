"""A handoff as the markdown of its template, and back: exactly what was written, and what a person changed in it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ..errors import StoreNewer
from ..models.escaping import code, inline, plain_code, plain_inline
from ..models.forms import SPAN
from ..models.handoffs import HANDOFF_SCHEMA, Handoff, Source
from ..models.sections import Section, cut, facts, folded, format_of
from .templates import POINTERS, TEMPLATES, Template, template_of

FORMAT_START = "<!-- palimpsest handoff, format "
FORMAT_LINE = FORMAT_START + "{schema}; may be edited: headings and bullets are read back -->"
_FACTS = ("date", "written", "project", "session", "root")
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
            yield f"- {name.title()}: {inline(text)}"
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
    """Headings of its template that a file does not have, in order: `to_markdown` writes every one."""
    sections = template_of(handoff).sections
    there = {folded(heading) for heading, _ in cut(text.split("\n"))[1]}
    return tuple(section.heading for section in sections if folded(section.heading) not in there)


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
        elif name.lower() in _FACTS:
            fields.setdefault(name.lower(), plain_inline(text))
    return {**fields, "sources": tuple(sources)}


__all__ = [
    "FORMAT_LINE", "FORMAT_START", "POINTERS", "NotAHandoff", "absent_sections", "from_markdown", "section_lines",
    "to_markdown",
]  # fmt: skip
