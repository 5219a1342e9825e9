"""A session file's bytes: which form it is, which session of it is meant, and what it holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import msgspec

from ..errors import FileNotJson, FileWrongShape, InvalidArgument, LineNeeded
from ..models.advice import Advice, Either
from ..ports.seams import Form, HostContext, HostTranscript
from .anthropic import AnthropicMessages
from .claude_code.transcript import ClaudeCodeTranscript
from .json_bytes import (
    MAX_DEPTH,
    MAX_ROWS,
    MAX_TEXT,
    MAX_VALUES,
    decode,
    deeper_than,
    lines_of,
    longest_text,
    too_deep,
    too_long,
    too_much,
    unpacked,
    values_in,
)
from .openai import OpenAIMessages
from .pieces import as_fields, messages_key, messages_of, type_word, wrong_shape

LINE = Either(command="--line", tool="line")
"""The argument that chooses a session of a file with one a line."""


class SessionValue(msgspec.Struct, frozen=True, kw_only=True):
    """One session of a file, parsed but not yet read."""

    form: Form
    value: Any
    line: int | None = None
    """1-based line it stands on, where the file has one session a line."""
    warnings: tuple[str, ...] = ()


def transcripts(kind_by_tool: Mapping[str, str] | None = None) -> dict[Form, HostTranscript]:
    """Every form we read, in the order in which they are tried."""
    return {
        "claude-code": ClaudeCodeTranscript(kind_by_tool),
        "openai": OpenAIMessages(kind_by_tool),
        "anthropic": AnthropicMessages(kind_by_tool),
    }


def parse_value(value: Any, *, form: str = "auto", kind_by_tool: Mapping[str, str] | None = None) -> HostContext:
    """The context of a parsed value: a message list from a library caller, or what `read_session` found.

    Raises:
        FileWrongShape: it names the first value that does not fit.
    """
    if len(messages_of(value) or ()) > MAX_ROWS:
        raise too_much(f"{MAX_ROWS:,} messages")
    if deeper_than(value, MAX_DEPTH):
        raise too_deep()
    if (characters := longest_text(value)) > MAX_TEXT:
        raise too_long(characters)
    name = detect_form(value) if form == "auto" else _known(form)
    try:
        return transcripts(kind_by_tool)[name].parse(value)
    except RecursionError:
        raise too_deep() from None


def detect_form(value: Any) -> Form:
    """The form of a parsed value.

    Raises:
        FileWrongShape: no form fits.
    """
    for name, reader in transcripts().items():
        if reader.fits(value):
            return name
    raise _no_session(value)


def rewrap(value: Any, messages: list[Any]) -> Any:
    """Rendered messages in the wrapping that came in: the object around them with the list in its place."""
    key = messages_key(value)
    return {**cast("dict[str, Any]", value), key: messages} if key else messages


def read_session(data: bytes, *, line: int | None = None, form: str = "auto") -> SessionValue:
    """Find one session in a file's bytes.

    The file is one JSON value (a message list, or an object with `messages`), or JSON lines: a transcript's rows, the
    messages of one session, or one session a line. Gzip is recognised.

    Args:
        line: 1-based line of the session; needed where the file has one a line and more than one.
        form: `auto`, `anthropic`, `openai` or `claude-code`.

    Raises:
        FileEmpty, FileNotJson, FileWrongShape: the bytes are no session.
        LineNeeded: several sessions, and none named.
        InvalidArgument: an unknown form, or a line that the file does not have.
    """
    if form != "auto":
        _known(form)
    text = unpacked(data)
    lines = lines_of(text)
    first = _first_value(text, lines)
    if isinstance(first, list) or messages_key(first):
        return _one_a_line(lines, first, line, form)
    if not _is_entry(first):
        raise _no_session(first)
    rows, warnings = _rows(lines, first)
    found = SessionValue(form=detect_form(rows) if form == "auto" else _known(form), value=rows, warnings=warnings)
    if line is not None:
        raise InvalidArgument("The file holds one session, not one a line.", next=Advice("Leave out {}.", LINE))
    return found


def _first_value(text: bytes, lines: list[tuple[int, int, bytes]]) -> Any:
    """The value on the first line; where that is only a part of one, the whole text is one value."""
    number, offset, first = lines[0]
    if len(lines) == 1:
        return decode(first, line=number, offset=offset)
    try:
        value = decode(first, line=number, offset=offset)
    except FileNotJson:
        value = decode(text)
        lines[:] = [(1, 0, text)]
    return value


def _one_a_line(lines: list[tuple[int, int, bytes]], first: Any, line: int | None, form: str) -> SessionValue:
    if line is None:
        if len(lines) > 1:
            raise LineNeeded(
                f"The file has {len(lines)} lines, each a session.",
                next=Advice(
                    "Choose one by {}.",
                    Either(command=f"--line 1 to --line {lines[-1][0]}", tool=f"line, 1 to {lines[-1][0]}"),
                ),
            )
        value, number = first, lines[0][0]
    else:
        value, number = _value_on(lines, first, line), line
    return SessionValue(form=detect_form(value) if form == "auto" else _known(form), value=value, line=number)


def _value_on(lines: list[tuple[int, int, bytes]], first: Any, line: int) -> Any:
    found = next((each for each in lines if each[0] == line), None)
    if found is None:
        raise InvalidArgument(f"The file has no session on line {line}.", next=f"Name a line from 1 to {lines[-1][0]}.")
    number, offset, text = found
    return first if found is lines[0] else decode(text, line=number, offset=offset)


def _is_entry(value: Any) -> bool:
    """Whether it is a message or a row, as the lines of one session are."""
    fields = as_fields(value)
    return fields is not None and ("role" in fields or "type" in fields)


def _rows(lines: list[tuple[int, int, bytes]], first: Any) -> tuple[list[Any], tuple[str, ...]]:
    """Every line's value. Of a transcript, which its host may be writing right now, a torn line costs only itself."""
    if len(lines) > MAX_ROWS:
        raise too_much(f"{MAX_ROWS:,} rows")
    if sum(values_in(text) for _, _, text in lines) > MAX_VALUES:
        raise too_much(f"{MAX_VALUES:,} values")
    rows = [first]
    warnings: list[str] = []
    transcript = ClaudeCodeTranscript()
    for number, offset, text in lines[1:]:
        try:
            rows.append(decode(text, line=number, offset=offset))
        except FileNotJson:
            if not transcript.fits(rows):
                raise
            warnings.append(f"line {number} is no whole row and was left out")
    return rows, tuple(warnings)


def _known(form: str) -> Form:
    if form not in ("anthropic", "openai", "claude-code"):
        raise InvalidArgument(f"There is no form `{form}`.", next="Choose auto, anthropic, openai or claude-code.")
    return form


def _no_session(value: Any) -> FileWrongShape:
    messages = messages_of(value)
    if messages:
        return wrong_shape("messages[0]", "neither a message (an object with `role`) nor a transcript's row")
    if isinstance(value, dict):
        return wrong_shape("$", "the object has no list `messages`")
    return wrong_shape("$", f"{type_word(value)} is no session")
