"""Arguments of old calls: which strings of them leave, and the note that takes the place of each.

The call stays where it is, with its id, its keys and every short argument; only long strings give way.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias, cast

from ..models.items import Item
from ..models.text import counted, plain
from .gates import is_list

Place: TypeAlias = tuple[str | int, ...]
"""Keys and indexes from the arguments down to a string."""

LEAST_CHARACTERS = 400
"""A shorter string stays: the note that would take its place has half as many tokens."""
LEAST_LINE = 800
"""A string of one line stays up to here: it is a command or a question, and nothing in it names the rest."""
LEAST_ENTRY = 12
"""A shorter string in a list of what is to be done stays: it is a state or a number."""
LEFT_OUT = "…"
"""In the place of an entry's further strings, behind the note in the first one's."""
NOTE_TOKENS, NEXT_NOTE_TOKENS = 80, 60
"""Of a note, about, and of a further one in the same call, which leaves the way back to the first. Measured on real
sessions: 76 and 59, of 116 calls with 169 strings. A pass counts again what was really made."""
_FIRST_LINE = 160
"""Of a first line, what a note quotes: the whole of most commands."""
_HASH = 12
"""Hex digits of a string's SHA-256 that its note gives."""
_KINDS = ("tool_use", "function", "custom", "function_call", "custom_tool_call", "")
"""Types of calls that the agent's own program carries out; the older form of OpenAI's has none. A provider checks the
arguments of those that it carries out itself."""
BEGIN = "[Palimpsest's note, not what was written: "
"""How every note begins: no file's content does, and a model that repeats it is told so (`claude_code/tool_calls`)."""
_NOTE = re.compile(rf"{re.escape(BEGIN)}[^\n]*?sha256 ([0-9a-f]{{{_HASH}}})[^\n]*\]")


def long_strings(item: Item) -> dict[Place, str]:
    """The strings of a call's arguments that may leave, by their place and in its order; empty for any other item.

    None of a call that its provider carries out, checks or signs, and none that is a note already.
    """
    if item.kind != "tool_call" or not item.args or not isinstance(item.content, dict):
        return {}
    if item.content.get("type", "") not in _KINDS or _is_signed(item.content):
        return {}
    strings = list(strings_of(item.args))
    if is_list(item):
        if any(note_hashes(text) for _, text in strings):
            return {}
        return {place: text for place, text in strings if len(text) >= LEAST_ENTRY}
    return {place: text for place, text in strings if _is_long(text) and not note_hashes(text)}


def _is_long(text: str) -> bool:
    return len(text) >= (LEAST_CHARACTERS if "\n" in text.strip() else LEAST_LINE)


def strings_of(value: Any, place: Place = ()) -> Iterator[tuple[Place, str]]:
    """Every string in a JSON value, with its place."""
    if isinstance(value, str):
        yield place, value
    elif isinstance(value, Mapping):
        for key, inner in cast("Mapping[str, Any]", value).items():
            yield from strings_of(inner, (*place, key))
    elif isinstance(value, list):
        for index, inner in enumerate(cast("list[Any]", value)):
            yield from strings_of(inner, (*place, index))


def with_strings(value: Any, texts: Mapping[Place, str], place: Place = ()) -> Any:
    """A JSON value with other strings in these places; what has none of them is the same object."""
    if place in texts:
        return texts[place]
    if not any(one[: len(place)] == place for one in texts):
        return value
    if isinstance(value, Mapping):
        fields = cast("Mapping[str, Any]", value)
        return {key: with_strings(inner, texts, (*place, key)) for key, inner in fields.items()}
    if isinstance(value, list):
        entries = cast("list[Any]", value)
        return [with_strings(inner, texts, (*place, index)) for index, inner in enumerate(entries)]
    return value


def _is_signed(block: Mapping[str, Any]) -> bool:
    """Whether a field beside the arguments signs the call: `thought_signature` and its like."""
    return any("signature" in key.lower() for key in _keys(block))


def _keys(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, inner in cast("Mapping[str, Any]", value).items():
            yield str(key)
            if key not in ("input", "arguments"):
                yield from _keys(inner)
    elif isinstance(value, list):
        for inner in cast("list[Any]", value):
            yield from _keys(inner)


def left_tokens(item: Item, tokens: int) -> int:
    """About how many tokens a call has left with notes in the place of its long strings.

    Args:
        tokens: of the whole call.
    """
    strings = long_strings(item)
    notes = NOTE_TOKENS + (2 if is_list(item) else NEXT_NOTE_TOKENS) * (len(strings) - 1)
    rest = _size(with_strings(item.args, dict.fromkeys(strings, "")))
    leaves = sum(map(_size, strings.values()))
    return min(tokens, math.ceil(tokens * rest / max(1, rest + leaves)) + notes)


def _size(value: Any) -> int:
    """Characters of a value as JSON: a newline, a tab or a quote in a string counts as what it takes in a call."""
    return len(json.dumps(value, ensure_ascii=False))


# The note: one line that nobody takes for a file's content, and that is known again where somebody does.


def note(text: str, first_line: str, *, restore: str = "") -> str:
    """What stands in the place of a string: its size, its hash, how it begins, and the way back.

    Args:
        text: as it was.
        first_line: of the text with secrets masked.
        restore: the call that brings it back; empty where an earlier note of the same call says it.
    """
    lines = text.count("\n") + (not text.endswith("\n"))
    size = f"{counted(lines, 'line')}, {counted(len(text), 'character')}"
    begins = _quoted(first_line)
    said = [f"{size}, sha256 {_hash(text)}", f"begins {begins}" if begins else "", restore and f"all of it: {restore}"]
    return f"{BEGIN}{' · '.join(filter(None, said))}]"


def notes(item: Item, begins: Mapping[Place, str], restore: str) -> dict[Place, str]:
    """What stands in the place of each string of a call that may leave.

    Args:
        begins: their first lines, with secrets masked.
        restore: the call that brings all of it back.
    """
    strings = long_strings(item)
    if is_list(item) and strings:
        first = next(iter(strings))
        whole = note("\n".join(strings.values()), begins[first], restore=restore)
        return {**dict.fromkeys(strings, LEFT_OUT), first: whole}
    return {
        place: note(text, begins[place], restore="" if n else restore)
        for n, (place, text) in enumerate(strings.items())
    }


def note_hashes(text: str) -> list[str]:
    """The hashes that notes in a text give; empty where there is none."""
    return _NOTE.findall(text) if BEGIN in text else []


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH]


def first_line(text: str) -> str:
    """The first line that says anything."""
    return next((line for line in plain(text[:4_000]).split("\n") if line.strip()), "")


def _quoted(line: str) -> str:
    """One line as a note quotes it: verbatim, cut only between words."""
    line = line.strip()
    if len(line) > _FIRST_LINE:
        head, space, _ = line[:_FIRST_LINE].rpartition(" ")
        line = f"{head.rstrip()} …" if space else ""
    return f"“{line}”" if line else ""
