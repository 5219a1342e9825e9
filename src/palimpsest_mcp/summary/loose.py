"""Sections as an agent gives them: loose names, strings or lists or objects (I2)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast

from ..errors import InvalidArgument
from ..models.summaries import AnchoredSummary, Blocker, ChangedFile, Decision, ErrorMet
from .headings import HEADINGS, section_of_name
from .naming import tidy

MAX_TEXT = 2_000
"""Characters of one entry."""
MAX_ENTRIES = 200
"""Entries of one section in one call."""
EXAMPLE = (
    '{"session_intent": "Make the nightly import in etl/load.py survive duplicate rows", '
    '"files_modified": {"etl/load.py": ["skip rows with a known id"]}, '
    '"decisions_made": [{"decision": "Keep the first of two equal rows", "rationale": "the source repeats them"}], '
    '"current_state": "load.py is done, its tests are not", "blockers": ["May old rows be deleted?"], '
    '"errors_encountered": [{"error": "duplicate key value", "resolution": "skipped by id"}], '
    '"next_steps": ["Test with two files"]}'
)
Object = Mapping[str, Any]


def summary_of(sections: Mapping[str, Any]) -> AnchoredSummary:
    """The sections as a summary; texts without control characters.

    Raises:
        InvalidArgument: an unknown section, a value of the wrong form, or too much; with a correct example.
    """
    fields: dict[str, Any] = {}
    for name, value in sections.items():
        section = section_of_name(name)
        if section is None:
            raise _refused(f"There is no section {tidy(name)[:40]!r}; sections are {', '.join(HEADINGS)}.")
        if value is None:
            continue
        made = _READERS[section](section, value)
        fields[section] = (fields[section] + made) if isinstance(made, tuple) and section in fields else made
    return AnchoredSummary(**fields)


def _refused(message: str) -> InvalidArgument:
    return InvalidArgument(message, next=f"Give sections such as {EXAMPLE}")


def _text(where: str, value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise _refused(f"{where} holds something that is no text.")
    text = tidy(str(value))
    if len(text) > MAX_TEXT:
        raise _refused(f"{where} holds a text of {len(text)} characters; at most {MAX_TEXT} fit.")
    return text


def _paragraph(section: str, value: Any) -> str:
    if isinstance(value, list):
        return tidy("\n".join(_text(section, part) for part in cast("list[Any]", value)))
    return _text(section, value)


def _entries(section: str, value: Any) -> list[Any]:
    entries: list[Any] = list(cast("Sequence[Any]", value)) if isinstance(value, (list, tuple)) else [value]
    if len(entries) > MAX_ENTRIES:
        raise _refused(f"{section} has {len(entries)} entries; at most {MAX_ENTRIES} fit into one call.")
    return [entry for entry in entries if entry not in (None, "")]


def _texts(section: str, value: Any) -> tuple[str, ...]:
    if isinstance(value, dict):
        pairs = cast("dict[str, Any]", value).items()
        return tuple(f"{_text(section, name)}: {_text(section, said)}" for name, said in pairs)
    found = (_text(section, entry) for entry in _entries(section, value))
    return tuple(text for text in found if text)


def _objects(section: str, value: Any, keys: Sequence[str]) -> Iterator[tuple[str, Object]]:
    """Each entry's main text with its other fields; of `{"a": "b"}` without one of the keys, `a` with `{"": "b"}`."""
    if isinstance(value, dict) and not cast("dict[str, Any]", value).keys() & set(keys):
        yield from (
            (_text(section, name), {"": said})
            for name, said in list(cast("dict[str, Any]", value).items())[:MAX_ENTRIES]
        )
        return
    for entry in _entries(section, value):
        if isinstance(entry, dict):
            fields = cast("dict[str, Any]", entry)
            main = next((fields[key] for key in keys if fields.get(key)), None)
            if main is None:
                raise _refused(f"An entry of {section} needs the field {keys[0]!r}.")
            yield _text(section, main), fields
        elif text := _text(section, entry):
            yield text, {}


def _field(section: str, fields: Object, *names: str) -> str:
    value = next((fields[name] for name in names if fields.get(name)), "")
    return _text(section, value)


def _files(section: str, value: Any) -> tuple[ChangedFile, ...]:
    files: list[ChangedFile] = []
    for name, fields in _objects(section, value, ("path", "file", "file_path")):
        said: Any = next((fields[key] for key in ("", "changes", "change", "what") if fields.get(key)), None)
        path, colon, words = name.partition(": ")
        if not fields and colon:
            name, said = path, words
        changes = () if said is None else _texts(section, said)
        files.append(ChangedFile(path=name.strip("`"), changes=changes))
    return tuple(files)


def _decisions(section: str, value: Any) -> tuple[Decision, ...]:
    return tuple(
        Decision(decision=text, rationale=_field(section, fields, "rationale", "", "reason", "why", "because"))
        for text, fields in _objects(section, value, ("decision", "what"))
    )


def _blockers(section: str, value: Any) -> tuple[Blocker, ...]:
    return tuple(Blocker(text=text) for text in _texts(section, value))


def _errors(section: str, value: Any) -> tuple[ErrorMet, ...]:
    return tuple(
        ErrorMet(
            error=text,
            where=_field(section, fields, "where", "command", "path", "file"),
            resolution=_field(section, fields, "resolution", "", "fix", "solution", "resolved_by"),
        )
        for text, fields in _objects(section, value, ("error", "message", "what"))
    )


_READERS: dict[str, Callable[[str, Any], Any]] = {
    "session_intent": _paragraph,
    "files_modified": _files,
    "decisions_made": _decisions,
    "technical_context": _texts,
    "current_state": _paragraph,
    "blockers": _blockers,
    "errors_encountered": _errors,
    "next_steps": _texts,
    "key_artifacts": _texts,
}
