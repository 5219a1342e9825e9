"""A summary as `summary.md`, and back: exactly what was written, and what a person changed in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ...errors import StoreNewer
from ...models.advice import step
from ...models.sections import facts, format_of
from ...models.summaries import SUMMARY_SCHEMA, AnchoredSummary
from ...models.text import code, inline, plain_inline
from .sections import LAYOUT, METADATA, number_of

FORMAT_START = "<!-- palimpsest anchored summary, format "
FORMAT_LINE = FORMAT_START + "{schema}; may be edited: headings and bullets are read back -->"
TITLE = "# Anchored Summary"
_COUNTS = {"Files Read": "files_read", "Commands Run": "commands_run", "Searches": "searches"}
_TOKENS = {"Tokens Before": "tokens_before", "Tokens After": "tokens_after"}


class NotASummary(ValueError):
    """No heading of a summary is in the text."""


def to_markdown(summary: AnchoredSummary) -> str:
    """The whole file, ending in a newline. Empty sections say so in a sentence."""

    def where(field: str) -> str:
        return f": {code(full_command(summary.session))}" if field == "files_modified" else ""

    metadata = "\n".join([f"## {METADATA}", *_metadata(summary)])
    return "\n\n".join(["\n".join(_header(summary)), *LAYOUT.write(summary, where), metadata]) + "\n"


def full_command(session: str) -> str:
    """Where what was left out can be seen."""
    return step("summary", session_id=session).command()


def _header(summary: AnchoredSummary) -> Iterator[str]:
    yield FORMAT_LINE.format(schema=summary.schema)
    yield TITLE
    yield ""
    if summary.session:
        yield f"- Session: {inline(summary.session)}"
    yield f"- Compression: {summary.compression_count}"
    if summary.timestamp:
        yield f"- Timestamp: {inline(summary.timestamp)}"
    if summary.first_message or summary.last_message:
        yield f"- Messages Compressed: {summary.first_message}-{summary.last_message}"


def _metadata(summary: AnchoredSummary) -> Iterator[str]:
    yield f"- Probe Score: {_probes(summary.probes_passed, summary.probes_total)}"
    for name, field in _TOKENS.items():
        if (tokens := getattr(summary, field)) is not None:
            yield f"- {name}: {tokens}"
    if summary.ratio is not None:
        yield f"- Compression Ratio: {summary.ratio:.1%}"
    for name, field in _COUNTS.items():
        if number := getattr(summary, field):
            yield f"- {name}: {number}"


def _probes(passed: int | None, total: int | None) -> str:
    if passed is None and total is None:
        return "not validated"
    words = f"{'?' if passed is None else passed} of {'?' if total is None else total}"
    return f"{words} ({passed / total:.1%})" if total and passed is not None else words


def from_markdown(text: str) -> AnchoredSummary:
    """The summary that `to_markdown` wrote; of an edited file, what its headings and bullets say.

    Unknown headings are kept as notes. Lines split at newlines only.

    Raises:
        NotASummary: it has none of the headings.
        StoreNewer: a newer program wrote it.
    """
    schema = format_of(text, FORMAT_START, SUMMARY_SCHEMA, StoreNewer, "The session's summary.md")
    found = LAYOUT.read(text.split("\n"))
    if not found.sections.keys() - {METADATA}:
        raise NotASummary
    metadata = _metadata_fields(found.sections.get(METADATA, ()))
    return AnchoredSummary(schema=schema, **found.fields, **_header_fields(found.head), **metadata)


def _header_fields(lines: Iterable[str]) -> dict[str, Any]:
    said = dict(facts(lines))
    first, _, last = said.get("Messages Compressed", "").partition("-")
    return {
        "session": plain_inline(said.get("Session", "")),
        "compression_count": number_of(said.get("Compression")) or 0,
        "timestamp": plain_inline(said.get("Timestamp", "")),
        "first_message": number_of(first) or 0,
        "last_message": number_of(last) or 0,
    }


def _metadata_fields(lines: Iterable[str]) -> dict[str, Any]:
    said = dict(facts(lines))
    passed, _, total = said.get("Probe Score", "").partition(" of ")
    return {
        "probes_passed": number_of(passed),
        "probes_total": number_of(total.partition(" ")[0]),
        **{field: number_of(said.get(name)) for name, field in _TOKENS.items()},
        **{field: number_of(said.get(name)) or 0 for name, field in _COUNTS.items()},
    }
