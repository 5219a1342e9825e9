"""Documents of sections in markdown: every section is declared once, and written and read by that declaration."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

from .summaries import Note
from .text import (
    block,
    bullets,
    code,
    find_stop,
    inline,
    plain,
    plain_block,
    plain_code,
    plain_inline,
    without_left_out,
)

# Kinds of entries in a document: how they stand in markdown, how they are read back, how an agent may give them.


SPAN = r"`[^`]*`"
NUMBERED = re.compile(r"^\d+[.)] ?")
NAMES: Mapping[str, tuple[str, ...]] = {
    "decision": ("what",),
    "rationale": ("reason", "why", "because"),
    "alternatives": ("instead_of",),
    "path": ("file", "file_path"),
    "lines": ("line",),
    "note": ("what", "why"),
    "changes": ("change", "what"),
    "finding": ("change", "what"),
    "evidence": ("why",),
    "where": ("location", "command", "path", "file"),
    "what": ("change",),
    "file": ("path",),
    "snippet": ("code",),
    "error": ("message", "what"),
    "resolution": ("fix", "solution", "resolved_by"),
    "test": (),
    "text": ("what", "item"),
    "state": ("status",),
}
"""Field of an entry -> under which keys an agent may give it beside its name."""


class Incoming(NamedTuple):
    """A field that an agent fills: how much it takes, and how a value is refused."""

    name: str
    refused: Callable[[str], Exception]
    """The error to raise, from a sentence that says what is wrong."""
    most_chars: int
    """Of one entry."""
    most_entries: int
    nested: bool = False
    """Whether lists and objects may stand where a text is wanted."""
    too_many: str = "fit"
    nameless: str = "{name} has an entry without {key!r}."

    def text(self, value: Any) -> str:
        """A text without control characters; refused where it is none, or too long."""
        if self.nested and isinstance(value, list):
            return "\n".join(map(self.text, cast("list[Any]", value)))
        if isinstance(value, bool) or not isinstance(value, (str, int, float)):
            raise self.refused(f"{self.name} holds something that is no text.")
        text = plain(str(value)).strip()
        if len(text) > self.most_chars:
            raise self.refused(f"{self.name} holds a text of {len(text)} characters; at most {self.most_chars} fit.")
        return text

    def paragraph(self, value: Any) -> str:
        """A text, or several as its lines."""
        if isinstance(value, list):
            return "\n".join(map(self.text, cast("list[Any]", value))).strip()
        return self.text(value)

    def entries(self, value: Any) -> list[Any]:
        """One or many, without empty ones."""
        entries: list[Any] = list(cast("Sequence[Any]", value)) if isinstance(value, (list, tuple)) else [value]
        if len(entries) > self.most_entries:
            raise self.refused(f"{self.name} has {len(entries)} entries; at most {self.most_entries} {self.too_many}.")
        return [entry for entry in entries if entry not in (None, "")]

    def texts(self, value: Any) -> tuple[str, ...]:
        """Texts; of an object, `name: value`."""
        if isinstance(value, dict):
            pairs = cast("dict[Any, Any]", value).items()
            return tuple(f"{self.text(name)}: {self.text(said)}" for name, said in pairs)
        found: list[str] = []
        for entry in self.entries(value):
            found += self.texts(entry) if self.nested and isinstance(entry, dict) else [self.text(entry)]
        return tuple(text for text in found if text)

    def objects(self, value: Any, keys: Sequence[str]) -> list[tuple[str, Mapping[str, Any]]]:
        """Each entry's main text, by the first of the keys, with its fields; of `{"a": "b"}`, `a` with `{"": "b"}`."""
        if isinstance(value, dict) and not cast("dict[str, Any]", value).keys() & set(keys):
            pairs = list(cast("dict[Any, Any]", value).items())
            return [(self.text(name), {"": said}) for name, said in self.entries(pairs)]
        rows: list[tuple[str, Mapping[str, Any]]] = []
        for entry in self.entries(value):
            if isinstance(entry, dict):
                fields = cast("dict[str, Any]", entry)
                main = next((fields[key] for key in keys if fields.get(key)), None)
                if main is None:
                    raise self.refused(self.nameless.format(name=self.name, key=keys[0]))
                rows.append((self.text(main), fields))
            elif text := self.text(entry):
                rows.append((text, {}))
        return rows

    def field(self, given: Mapping[str, Any], name: str, *also: str) -> Any:
        """The value of an entry's field, under whichever name it is given; empty where it is not."""
        return next((given[key] for key in (name, *also, *NAMES[name]) if given.get(key)), "")


@dataclass(frozen=True)
class Form:
    """One kind of value: as lines of markdown, read back from them, and taken from an agent's JSON."""

    write: Callable[[Any, str], Iterable[str]]
    """Of a value, and of the sentence that stands where there is nothing."""
    read: Callable[[list[str], str], Any]
    take: Callable[[Incoming, Any], Any]
    has_entries: bool = True
    """Entries can be left out and counted."""


TEXT = Form(block, plain_block, Incoming.paragraph, has_entries=False)
"""Paragraphs that stand alone under their heading."""
NUMBERS = Form(
    lambda texts, _: [f"{number}. {inline(text)}" for number, text in enumerate(texts, 1)],
    lambda lines, none: tuple(plain_inline(NUMBERED.sub("", entry, count=1)) for entry in bullets(lines, none)),
    Incoming.texts,
)


def listed(write: Callable[[Any], str], read: Callable[[str], Any], take: Callable[[Incoming, Any], Any]) -> Form:
    """Entries that are one bullet each."""
    return Form(
        lambda entries, _: [f"- {write(one)}" for one in entries],
        lambda lines, none: tuple(map(read, bullets(lines, none))),
        take,
    )


def texts_form(guard: re.Pattern[str]) -> Form:
    """Texts as bullets; none begins as `guard` says."""
    return listed(lambda text: inline(text, guard=guard), plain_inline, Incoming.texts)


class Middle(NamedTuple):
    """What stands between the main words of an entry and the rest: written, and read with what follows it."""

    write: Callable[[Any], str]
    read: Callable[[str], tuple[dict[str, Any], str]]


def titled(model: type[Any], fields: Sequence[str], middle: Middle) -> Form:
    """Entries such as `**head** middle: tail`.

    Args:
        fields: head, in bold, or as code where it is a path; tail; what the middle holds.
    """
    head, tail, *_ = fields
    is_path = head == "path"

    def write(one: Any) -> str:
        main = getattr(one, head)
        return (code(main) if is_path else bold(main)) + middle.write(one) + said(getattr(one, tail))

    def read(entry: str) -> Any:
        main, rest = (read_code if is_path else read_bold)(entry)
        if main is None:  # written by hand
            main, _, words = entry.partition(": ")
            return model(**{head: main.strip() if is_path else plain_inline(main), tail: plain_inline(words)})
        found, rest = middle.read(rest)
        return model(**{head: main, **found, tail: plain_inline(behind_colon(rest))})

    return listed(write, read, taken(model, fields))


def taken(model: type[Any], fields: Sequence[str]) -> Callable[[Incoming, Any], tuple[Any, ...]]:
    """Takes entries of a model.

    Args:
        fields: the main one first, then the one that a pair's value, or what follows a path and a colon, stands for.
    """
    main, tail, *_ = fields
    many = {field for field in fields[1:] if isinstance(getattr(model(**{main: ""}), field), tuple)}

    def take(incoming: Incoming, value: Any) -> tuple[Any, ...]:
        found: list[Any] = []
        for text, given in incoming.objects(value, (main, *NAMES[main])):
            if main == "path":
                path, colon, words = text.partition(": ")
                text, given = (text, given) if given or not colon else (path, {"": words})
                text = text.strip("`")
            values: dict[str, Any] = {}
            for field in fields[1:]:
                said = incoming.field(given, field, *([""] if field == tail else ()))
                values[field] = incoming.texts(said) if field in many else incoming.text(said)
            found.append(model(**{main: text, **values}))
        return tuple(found)

    return take


def bold(text: str) -> str:
    """Words in bold."""
    return f"**{inline(text, '*')}**"


def read_bold(entry: str) -> tuple[str | None, str]:
    """The bold words at the start and what follows them; None when it does not start bold."""
    end = find_stop(entry, "**", 2) if entry.startswith("**") else -1
    return (None, entry) if end < 0 else (plain_inline(entry[2:end], "*"), entry[end + 2 :])


def read_code(entry: str) -> tuple[str | None, str]:
    """The same of a code span."""
    found = re.match(SPAN, entry)
    return (plain_code(found[0]), entry[found.end() :]) if found else (None, entry)


def said(text: str) -> str:
    """A text behind a colon; nothing where it is empty."""
    return f": {inline(text)}" if text else ""


def behind_colon(rest: str) -> str:
    """What stands behind a colon, also where a person wrote no space."""
    return rest[2:] if rest.startswith(": ") else rest.removeprefix(":")


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
    """What earlier versions wrote where there was nothing, a line each."""
    former_heading: str = ""
    """The heading of its own in files of an earlier version."""


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
                kept = [part.none if line and line in part.former.split("\n") else line for line in kept]
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
    named = {
        folded(heading): part.field
        for part in section.parts
        for heading in (part.heading, part.former_heading)
        if heading
    }
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
