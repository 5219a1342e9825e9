"""One line of a segment: a JSON object whose last member is a checksum of the bytes before it (`docs/format.md`)."""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Sequence
from typing import Any, Generic, NamedTuple, TypeVar, cast

import msgspec

from ..errors import WriteFailed
from ..models.events import SessionInfo
from ..models.records import OffloadRecord

T = TypeVar("T")

_SCHEMA = b'{"schema":'
_MORE = b',"_m":1'
_TAIL_SIZE = len(b',"_c":"00000000"}')


def encode(value: msgspec.Struct, *, more: bool = False) -> bytes:
    """One line, newline included.

    Args:
        more: the next line belongs to the same step; readers take both or neither.

    Raises:
        WriteFailed: the value cannot be put into JSON: nested deeper than the parser can follow.
    """
    try:
        body = _json(value)
    except (RecursionError, ValueError, TypeError) as error:
        raise WriteFailed(
            f"A value has no form in JSON ({type(error).__name__}): it is nested too deeply, or not of JSON's types.",
            next="Record it as a string.",
        ) from None
    if isinstance(value, OffloadRecord | SessionInfo) and not body.startswith(_SCHEMA):
        body = b"%s1,%s" % (_SCHEMA, body[1:])  # left out as a default, but a file says its version
    head = body[:-1] + _MORE if more else body[:-1]
    return b'%s,"_c":"%08x"}\n' % (head, zlib.crc32(head))


def encode_all(values: Sequence[msgspec.Struct], *, as_one: bool = False) -> bytes:
    """Lines of one append.

    Args:
        as_one: readers take all of them, or none: also after a crash in the middle of the write.
    """
    last = len(values) - 1
    return b"".join(encode(value, more=as_one and number < last) for number, value in enumerate(values))


def is_whole(line: bytes) -> bool:
    """Whether a line, without its newline, has the checksum of its own bytes."""
    head, tail = line[:-_TAIL_SIZE], line[-_TAIL_SIZE:]
    return bool(head) and tail == b',"_c":"%08x"}' % zlib.crc32(head)


def is_more(line: bytes) -> bool:
    """Whether the next line belongs to the same step."""
    return line[-_TAIL_SIZE - len(_MORE) : -_TAIL_SIZE] == _MORE


class Line(NamedTuple):
    """A line in its segment."""

    offset: int
    """Of its first byte."""
    raw: bytes
    """Without the newline."""
    whole: bool


def settled(data: bytes, start: int) -> tuple[list[Line], int]:
    """Lines that are complete, and the offset behind them.

    A last line without its newline, and a last step whose closing line is not there yet, are left for later: a writer
    is in the middle of it, or died there.

    Args:
        data: bytes of a segment from `start` on.
    """
    lines: list[Line] = []
    kept = at = end = 0
    while (newline := data.find(b"\n", at)) >= 0:
        raw = data[at:newline]
        line = Line(start + at, raw, is_whole(raw))
        lines.append(line)
        at = newline + 1
        if not line.whole or not is_more(raw):
            kept, end = len(lines), at
    return lines[:kept], start + end


class Reader(Generic[T]):
    """Turns whole lines back into values."""

    def __init__(self, type: Any) -> None:
        self._type = type
        self._decoder: msgspec.json.Decoder[T] = msgspec.json.Decoder(type)

    def decode(self, line: bytes) -> T:
        """The value of a line.

        Raises:
            ValueError: the line's JSON has another shape: a newer program wrote it, or a hand.
        """
        try:
            return self._decoder.decode(line)
        except (msgspec.MsgspecError, UnicodeError):
            return self._decode_slowly(line)
        except RecursionError as error:
            raise ValueError("nested too deeply") from error

    def _decode_slowly(self, line: bytes) -> T:
        """The standard library reads lone surrogates and NaN; for everything else it agrees that the line is bad."""
        try:
            return msgspec.convert(json.loads(line), self._type)
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise ValueError("another shape") from error


def _json(value: msgspec.Struct) -> bytes:
    try:
        body = msgspec.json.encode(value)
    except UnicodeEncodeError:  # a lone surrogate: only as an escape does it keep the file valid UTF-8
        return _stdlib_json(value, ascii_only=True)
    # msgspec writes NaN and infinities as null; where there is one, the standard library is exact.
    if b"null" in body and _has_odd_number(msgspec.to_builtins(value)):
        return _stdlib_json(value, ascii_only=False)
    return body


def _has_odd_number(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_has_odd_number, cast("dict[str, Any]", value).values()))
    if isinstance(value, list | tuple):
        return any(map(_has_odd_number, cast("Sequence[Any]", value)))
    return isinstance(value, float) and not math.isfinite(value)


def _stdlib_json(value: msgspec.Struct, *, ascii_only: bool) -> bytes:
    text = json.dumps(msgspec.to_builtins(value), ensure_ascii=ascii_only, separators=(",", ":"))
    return text.encode()
