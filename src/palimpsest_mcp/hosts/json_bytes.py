"""From a file's bytes to JSON values, with errors that say where and what to do.

Both parsers keep what JSON allows beyond the common: NaN and Infinity come through as numbers and are written back as
they came; of duplicate keys the last one counts; half surrogate pairs stay in their strings.
"""

from __future__ import annotations

import gzip
import io
import json
import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple, NoReturn, cast

import msgspec

from ..errors import FileEmpty, FileNotJson, FileWrongShape

MAX_BYTES = 1 << 30
"""Of an unpacked file. The longest real session known is under 100 MB; a gzip bomb is not a session."""

MAX_DEPTH = 200
"""Lists and objects inside one another. Real sessions stay under 30; what is nested much deeper breaks every program
that follows it, ours among them."""

MAX_VALUES = 12_000_000
"""Values of a file, counted by its commas and brackets, in texts too: a value takes up to 160 bytes of memory, many
times what it takes in the file. The longest real session has under two million."""

MAX_ROWS = 250_000
"""Messages or rows of a session; the longest real one has under 20,000. Lines of a file may be four times as many."""

MAX_TEXT = 8_000_000
"""Characters of one text: more than two million tokens, which no window holds. To digest what is longer would take
minutes and gigabytes: up to 10 s and 170 MB a million characters (one line of JSON, measured 2026-11)."""

_GZIP_MAGIC = b"\x1f\x8b"
_BINARY_KEYS = frozenset({"data", "base64", "file_data", "url"})
_BOM = b"\xef\xbb\xbf"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_SPACE = b" \t\r\n"


def unpacked(data: bytes) -> bytes:
    """The file's text as bytes: gzip unpacked (known by its magic), a byte order mark taken off.

    Raises:
        FileEmpty: nothing but white space.
        FileNotJson: damaged gzip, or a text that is not UTF-8 by its first bytes.
    """
    if data.startswith(_GZIP_MAGIC):
        data = _gunzip(data)
    if data.startswith(_UTF16):
        raise FileNotJson("The file is UTF-16 text.", next="Save it as UTF-8.", line=1)
    text = data.removeprefix(_BOM)
    if not text.strip(_SPACE):
        raise FileEmpty("The file is empty.", next="Name a file that holds a session.")
    return text


def _gunzip(data: bytes) -> bytes:
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as packed:
            text = packed.read(MAX_BYTES + 1)
    except EOFError:
        raise FileNotJson("The gzip file is truncated.", next="Copy or pack the file again.") from None
    except (OSError, zlib.error):
        raise FileNotJson("The gzip file is damaged.", next="Copy or pack the file again.") from None
    if len(text) > MAX_BYTES:
        raise FileNotJson(f"The gzip file unpacks to more than {MAX_BYTES:,} bytes.", next="Name a smaller file.")
    return text


def lines_of(text: bytes) -> list[tuple[int, int, bytes]]:
    """Lines with more than white space: 1-based number, offset of the first byte, bytes. Split on `\\n` only.

    Raises:
        FileWrongShape: there are more than any session has.
    """
    if text.count(b"\n") > 4 * MAX_ROWS:
        raise too_much(f"{4 * MAX_ROWS:,} lines")
    found: list[tuple[int, int, bytes]] = []
    offset = 0
    for number, line in enumerate(text.split(b"\n"), 1):
        if line.strip(_SPACE):
            found.append((number, offset, line))
        offset += len(line) + 1
    return found


def decode(text: bytes, *, line: int = 1, offset: int = 0) -> Any:
    """One JSON value.

    Args:
        line: 1-based number of the text's first line in its file.
        offset: of the text's first byte in its file.

    Raises:
        FileNotJson: with the line and byte of what does not fit, and whether the text is cut short.
        FileWrongShape: nested too deep, or of too many values, to be a session.
    """
    if len(text) > MAX_VALUES and values_in(text) > MAX_VALUES:
        raise too_much(f"{MAX_VALUES:,} values")
    try:
        return msgspec.json.decode(text)
    except RecursionError:
        raise too_deep() from None
    except (msgspec.DecodeError, ValueError):
        return _decode_again(text, line, offset)


def _decode_again(text: bytes, line: int, offset: int) -> Any:
    """The standard library takes what the fast parser refuses (half surrogate pairs, NaN), and says where it fails."""
    try:
        string = text.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        _refuse(f"Byte {offset + error.start:,} is not UTF-8", text[: error.start], line)
    try:
        return json.loads(string)
    except RecursionError:
        raise too_deep() from None
    except json.JSONDecodeError as error:
        before = string[: error.pos].encode("utf-8", "surrogatepass")
        _refuse(_what(error, string, offset + len(before)), before, line)
    except ValueError:
        raise FileNotJson("A number has more digits than can be read.", next="Shorten it.", line=line) from None


def _what(error: json.JSONDecodeError, string: str, byte: int) -> str:
    if error.pos >= len(string.rstrip()) or error.msg.startswith("Unterminated string"):
        return f"The JSON is truncated: it ends at byte {byte:,} in the middle of a value"
    if string[error.pos] < " ":
        return f"Byte {byte:,} is a raw control character (0x{ord(string[error.pos]):02x}) inside the JSON"
    return f"The text stops being JSON at byte {byte:,} ({error.msg.lower()})"


def _refuse(problem: str, before: bytes, line: int) -> NoReturn:
    at = line + before.count(b"\n")
    raise FileNotJson(
        f"{problem}, line {at}.", next="Export the session again, or repair that line.", line=at
    ) from None


def deeper_than(value: Any, limit: int) -> bool:
    """Whether lists and objects are nested deeper than `limit`."""
    level: list[Any] = [value]
    for _ in range(limit + 1):
        inner: list[Any] = []
        for each in level:
            if isinstance(each, dict):
                inner += cast("dict[Any, Any]", each).values()
            elif isinstance(each, list):
                inner += cast("list[Any]", each)
        level = [each for each in inner if isinstance(each, (dict, list))]
        if not level:
            return False
    return True


def values_in(text: bytes) -> int:
    """At least so many values are in it, where it is JSON."""
    return sum(map(text.count, (b",", b"[", b"{")))


def too_much(what: str) -> FileWrongShape:
    """The error for what would take more memory than any session needs. `what`: the limit, with its noun."""
    return FileWrongShape(
        f"The file has more than {what}, which no session has.", next="Hand in the session in parts.", where="$"
    )


def longest_text(value: Any) -> int:
    """Characters of the longest text in a value; bytes of images and documents do not count."""
    longest, left = 0, [value]
    while left:
        each = left.pop()
        if isinstance(each, str):
            longest = max(longest, len(each))
        elif isinstance(each, dict):
            left += [one for key, one in cast("dict[Any, Any]", each).items() if key not in _BINARY_KEYS]
        elif isinstance(each, list):
            left += cast("list[Any]", each)
    return longest


def too_long(characters: int) -> FileWrongShape:
    """The error for a text longer than `MAX_TEXT`."""
    return FileWrongShape(
        f"One text has {characters:,} characters. At most {MAX_TEXT:,} can be read: no model's window holds more.",
        next="Hand in the session with that text in pieces, or without it.",
        where="$",
    )


def too_deep() -> FileWrongShape:
    """The error for a value nested deeper than `MAX_DEPTH`, or than the parser can follow."""
    return FileWrongShape(
        f"The JSON is nested more than {MAX_DEPTH} deep, which no session is.",
        next="Hand in the session without that value.",
        where="$",
    )


# A few values of a JSON text replaced where they stand: every other byte of it stays as it came.


_BLANK = " \t\n\r"
_DECODER = json.JSONDecoder()
Edit = tuple[int, int, str]
"""From, to, and what stands there then."""


class NotSpliceable(ValueError):
    """The text is not the JSON that it was read as: an object has one name twice, or it is cut short."""


class Place(NamedTuple):
    """A value and where it stands in its text."""

    start: int
    end: int
    value: Any


def value_at(text: str, at: int = 0) -> Place:
    """The value that begins at a place, after white space.

    Raises:
        NotSpliceable: there is none.
    """
    start = _past_space(text, at)
    try:
        value, end = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        raise NotSpliceable("no JSON") from None
    return Place(start, end, value)


def members(text: str, at: int = 0) -> dict[str, Place]:
    """The members of the object that begins at a place.

    Raises:
        NotSpliceable: it is no object, or has a name twice.
    """
    at = _past_space(text, at)
    found: dict[str, Place] = {}
    if text[at : at + 1] != "{":
        raise NotSpliceable("no object")
    at = _past_space(text, at + 1)
    while text[at : at + 1] != "}":
        if text[at : at + 1] != '"':
            raise NotSpliceable("no name")
        _, at, name = value_at(text, at)
        at = _past_space(text, at)
        if text[at : at + 1] != ":" or name in found:
            raise NotSpliceable("no value, or a name twice")
        found[name] = value_at(text, at + 1)
        at = _next(text, found[name].end, "}")
    return found


def elements(text: str, at: int = 0) -> list[Place]:
    """The elements of the list that begins at a place.

    Raises:
        NotSpliceable: it is no list.
    """
    at = _past_space(text, at)
    if text[at : at + 1] != "[":
        raise NotSpliceable("no list")
    found: list[Place] = []
    at = _past_space(text, at + 1)
    while text[at : at + 1] != "]":
        found.append(value_at(text, at))
        at = _next(text, found[-1].end, "]")
    return found


def edits(text: str, at: int, before: Any, after: Any) -> Iterator[Edit]:
    """What is to change in a text so that it says `after`: as little as can be told apart.

    Args:
        before: the value that begins at `at`; parts of `after` that are the very same objects are not looked into.

    Raises:
        NotSpliceable: the text is not what `before` was read from.
    """
    if after is before:
        return
    if isinstance(before, dict) and isinstance(after, dict):
        old, new = cast("dict[str, Any]", before), cast("dict[str, Any]", after)
        if old.keys() == new.keys():
            for name, place in members(text, at).items():
                yield from edits(text, place.start, old[name], new[name])
            return
    if isinstance(before, list) and isinstance(after, list):
        olds, news = cast("list[Any]", before), cast("list[Any]", after)
        if len(olds) == len(news):
            for place, old, new in zip(elements(text, at), olds, news, strict=True):
                yield from edits(text, place.start, old, new)
            return
    place = value_at(text, at)
    if before != after:
        yield place.start, place.end, written(after)


def spliced(text: str, changes: Iterator[Edit] | list[Edit]) -> str:
    """The text with its changes; they do not overlap."""
    parts: list[str] = []
    at = 0
    for start, end, new in sorted(changes):
        parts += (text[at:start], new)
        at = end
    return "".join([*parts, text[at:]])


def written(value: Any) -> str:
    """A value as JSON that can be encoded, halves of surrogate pairs too."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text if text.isascii() or not any("\ud800" <= one <= "\udfff" for one in text) else json.dumps(value)


def _past_space(text: str, at: int) -> int:
    while at < len(text) and text[at] in _BLANK:
        at += 1
    return at


def _next(text: str, at: int, close: str) -> int:
    """Behind the comma, or at the closing bracket."""
    at = _past_space(text, at)
    if text[at : at + 1] == close:
        return at
    after = _past_space(text, at + 1)
    if text[at : at + 1] != "," or text[after : after + 1] in ("", close):
        raise NotSpliceable("no comma")
    return after
