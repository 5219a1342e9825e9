"""Documents of sections in markdown: every section is declared once, and written and read by that declaration."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from .bullets import without_left_out
from .escaping import block, inline, plain_block, plain_inline
from .forms import Form
from .summaries import Note

_FIELD = re.compile(r"- ([A-Z][A-Za-z ]*): (.*)$", re.DOTALL)


class Part(NamedTuple):
    """One field of a document and how it stands in its section."""

    field: str
    form: Form
    none: str
    """Stands where there is nothing."""
    heading: str = ""
    """Of its own below the section's, where a section has several parts."""
    more: tuple[str, ...] = ()
    """Further fields that stand in the same lines: the form has a tuple of all of them."""
    former: str = ""
    """What an earlier version wrote where there was nothing."""


class Section(NamedTuple):
    """A heading of the file with what stands under it."""

    heading: str
    parts: tuple[Part, ...]


class Read(NamedTuple):
    """What `Layout.read` found."""

    head: list[str]
    """Lines above the first heading."""
    sections: dict[str, list[str]]
    """Lines of each section that is there, by heading."""
    fields: dict[str, Any]
    """Of the parts, with `notes`, a person's own sections, and `left_out`."""


@dataclass(frozen=True)
class Layout:
    """The sections of one kind of document, in the order in which they are written."""

    sections: tuple[Section, ...]
    heading_of: Callable[[str], str | None]
    """The section that a heading in a file means; None for a person's own."""
    left_out: re.Pattern[str]
    """Says, behind a dash, how many entries did not fit; its first group is the count."""

    def lines(self, document: Any, section: Section, where: Callable[[str], str] = lambda _: "") -> Iterator[str]:
        """A section with its heading. Empty parts say so in a sentence.

        Args:
            where: what follows the count of entries that were left out of a field.
        """
        yield f"## {section.heading}"
        for part in section.parts:
            if part.heading:
                yield f"### {part.heading}"
            values = tuple(getattr(document, name) for name in (part.field, *part.more))
            lines = [*part.form.write(values if part.more else values[0], part.none)]
            if number := document.left_out.get(part.field, 0):
                lines.append(f"- … and {number} more{where(part.field)}")
            yield from lines or [part.none]

    def write(self, document: Any, where: Callable[[str], str] = lambda _: "") -> list[str]:
        """Every section and every note, each a text."""
        written = ["\n".join(self.lines(document, section, where)) for section in self.sections]
        for note in document.notes:
            heading = inline(note.heading)
            heading = f"\\&{heading}" if self.heading_of(heading) else heading
            written.append("\n".join([f"## {heading}", *block(note.text, "")]))
        return written

    def read(self, lines: Iterable[str]) -> Read:
        """What stands in a file, edited or not. A section that comes twice is one."""
        head, blocks = cut(lines)
        sections: dict[str, list[str]] = {}
        notes: list[Note] = []
        for heading, rows in blocks:
            known = None if heading.startswith("\\&") else self.heading_of(heading)
            if known:
                sections.setdefault(known, []).extend(rows)
            else:
                notes.append(Note(heading=plain_inline(heading), text=plain_block(rows, "")))
        fields: dict[str, Any] = {}
        left_out: dict[str, int] = {}
        for section in self.sections:
            for part, rows in _by_part(section, sections.get(section.heading, [])):
                kept, number = without_left_out(rows, self.left_out) if part.form.has_entries else (rows, 0)
                if number:
                    left_out[part.field] = number
                kept = [part.none if line and line == part.former else line for line in kept]
                value = part.form.read(kept, part.none)
                fields |= dict(zip((part.field, *part.more), value if part.more else (value,), strict=True))
        return Read(head, sections, {**fields, "notes": tuple(notes), "left_out": left_out})


def cut(lines: Iterable[str], *, fenced: bool = False) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """Lines above the first heading, then each heading with the lines under it.

    Args:
        fenced: what stands in a code fence is no heading.
    """
    head: list[str] = []
    blocks: list[tuple[str, list[str]]] = []
    current, inside = head, False
    for line in lines:
        inside ^= fenced and line.lstrip().startswith(("```", "~~~"))
        if line.startswith("## ") and not inside:
            blocks.append((line[3:], []))
            current = blocks[-1][1]
        else:
            current.append(line)
    return head, blocks


def _by_part(section: Section, lines: Sequence[str]) -> Iterator[tuple[Part, list[str]]]:
    """Lines of each part; what stands before the first heading of its own is the first part's."""
    rows: dict[str, list[str]] = {part.field: [] for part in section.parts}
    named = {folded(part.heading): part.field for part in section.parts if part.heading}
    current = section.parts[0].field
    for line in lines:
        field = named.get(folded(line[4:])) if line.startswith("### ") else None
        if field:
            current = field
        else:
            rows[current].append(line)
    return ((part, rows[part.field]) for part in section.parts)


def facts(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Lines such as `- Name: value`, as they stand."""
    return ((found[1], found[2]) for line in lines if (found := _FIELD.match(line)))


def format_of(text: str, start: str, known: int, newer: Callable[..., Exception], what: str) -> int:
    """The format that a file names in its first line; the known one where it names none.

    Args:
        start: how such a line begins, up to the number.
        newer: the error where a newer program wrote the file.
        what: the file, as the error names it.
    """
    found = re.match(re.escape(start) + r"(\d{1,9})\b", text)
    schema = int(found[1]) if found else known
    if schema > known:
        message = f"{what} has format {schema}, this program knows up to {known}."
        raise newer(message, next="Install a newer palimpsest-mcp.")
    return schema


def folded(name: str) -> str:
    """`Blockers / Open Questions` -> `blockers_open_questions`."""
    return "_".join("".join(char if char.isalnum() else " " for char in name).lower().split())
