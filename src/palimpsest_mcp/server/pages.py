"""Pages of long originals that hosts take whole, and the parts of them that a caller picks: lines, or what matches."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

import msgspec

from ..core import cursors
from ..errors import InvalidArgument
from ..models.text import counted, shown
from ..text.redaction.patterns import BadPattern, compiled_now, literal

PAGE_UNITS = 40_000
"""Characters of a page as JavaScript hosts count them (UTF-16 units); Claude Code spills above 50,000."""
PAGE_TOKENS = 15_000
"""o200k tokens of a page: with the largest family factor (1.55) still under the 25,000 at which hosts cut."""
VIEW_UNITS, VIEW_TOKENS = 190_000, 100_000
"""The same of a whole context to start afresh from, which is to come in one answer; the tool says that it may."""
_HEADROOM_TOKENS = 400
"""For our own lines around the text."""


class Piece(msgspec.Struct, frozen=True):
    """A stretch of one text: characters `start` to `end`."""

    index: int
    start: int
    end: int


class TextPage(msgspec.Struct, frozen=True):
    """One page over several texts read as one."""

    pieces: tuple[Piece, ...]
    total: int
    """Characters of all texts."""
    next_offset: int | None


def page_of(
    texts: Sequence[str],
    offset: int,
    count: Callable[[str], int],
    *,
    picked: Sequence[Piece] | None = None,
    most_units: int = PAGE_UNITS,
    most_tokens: int = PAGE_TOKENS,
    beside: int = 0,
) -> TextPage:
    """The page that starts at character `offset` of all texts together. It always goes on by at least one character.

    Args:
        picked: only these parts of them, in order; None takes all.
        beside: tokens that the caller writes beside each piece.

    Raises:
        InvalidArgument: the offset lies beyond the end.
    """
    begins = [0]
    for text in texts:
        begins.append(begins[-1] + len(text))
    total = begins[-1]
    if offset and offset >= total:
        raise InvalidArgument(
            f"The offset {offset} lies beyond the end: there are {total} characters.",
            next="Take next_offset of the answer before, or leave offset out to read from the start.",
        )
    units, tokens = most_units, most_tokens - min(_HEADROOM_TOKENS, most_tokens // 2)
    pieces: list[Piece] = []
    for part in picked if picked is not None else [Piece(index, 0, len(text)) for index, text in enumerate(texts)]:
        text, begin = texts[part.index], begins[part.index]
        start = max(part.start, offset - begin)
        if start > part.end or (text and start == part.end):
            continue
        tokens -= beside if pieces else 0
        end = _fitting_end(text, start, part.end, units, tokens, count)
        if text and (end == start or (end < part.end and pieces and picked is not None)):  # a line comes whole
            return TextPage(tuple(pieces), total, begin + start)
        pieces.append(Piece(part.index, start, end))
        if end < part.end:
            return TextPage(tuple(pieces), total, begin + end)
        units, tokens = units - utf16_units(text[start:end]), tokens - _tokens(text[start:end], count)
    return TextPage(tuple(pieces), total, None)


def _fitting_end(text: str, start: int, most: int, units: int, tokens: int, count: Callable[[str], int]) -> int:
    end = min(most, start + max(0, units))
    while end > start:
        part = text[start:end]
        over = max(utf16_units(part) / max(1, units), _tokens(part, count) / max(1, tokens))
        if over <= 1:
            break
        end = start + min(len(part) - 1, int(len(part) / over * 0.98))
    return _not_inside_a_pair(text, start, end)


def _not_inside_a_pair(text: str, start: int, end: int) -> int:
    """Halves that stand side by side are one character for the host: a page never ends between them."""
    if start < end < len(text) and "\ud800" <= text[end - 1] <= "\udbff" and "\udc00" <= text[end] <= "\udfff":
        return end - 1 if end - 1 > start else end + 1
    return end


def _tokens(text: str, count: Callable[[str], int]) -> int:
    """At most this many tokens: bytes where they already say enough, since no token is shorter than one byte."""
    size = len(text.encode("utf-8", "surrogatepass"))
    return size if size <= 2_000 else count(text)


def utf16_units(text: str) -> int:
    """Length as JavaScript sees it."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def fenced(text: str, mark: str) -> str:
    """Text between two lines that it cannot forge; half a surrogate pair, which no UTF-8 has, as `\\udXXX`."""
    return f"<<{mark}\n{text.encode('utf-8', 'backslashreplace').decode()}\n{mark}>>"


def fence_mark(texts: Sequence[str], random_hex: Callable[[int], str]) -> str:
    """A fresh marker that none of the texts contains."""
    while any((mark := random_hex(8)) in text for text in texts):
        pass
    return mark if texts else random_hex(8)


def cursor_at(offset: int) -> str:
    """An opaque cursor for a place in a list."""
    return cursors.cursor_at("at", offset)


def offset_of(cursor: str) -> int:
    """The place that `cursor_at` meant; 0 for no cursor.

    Raises:
        InvalidArgument: it is none of ours.
    """
    return cursors.place_of("at", cursor, "Call again without cursor to start at the first page.")


# The parts of an original that a caller picks.

_LONG_LINE = 400
"""Characters of a line above which only what stands around a match is given."""
_BEFORE, _AFTER = 120, 240
_MOST_PATTERN = 1_000
MOST_MATCHES = 2_000
"""After which nothing more is looked for: a pattern may read all that follows at each of them."""
_CONTINUED = bytes(range(0x80, 0xC0))
_RANGE = re.compile(r"(\d{1,9})(?:\s*(-)\s*(\d{1,9})?)?")


def lines_of(text: str, wanted: str, index: int = 0) -> list[Piece]:
    """The lines that `120`, `100-140`, `100-` or several of these, with commas, name; 1-based, ends included.

    Raises:
        InvalidArgument: it is none of these, or the text has no such line.
    """
    starts = [0, *(found.end() for found in re.finditer("\n", text))]
    if len(starts) > 1 and starts[-1] == len(text):
        starts.pop()
    pieces: list[Piece] = []
    for part in wanted.split(","):
        found = _RANGE.fullmatch(part.strip())
        first = int(found[1]) if found else 0
        last = len(starts) if found and found[2] and not found[3] else int(found[3] or found[1]) if found else 0
        if not 1 <= first <= last:
            raise InvalidArgument(f"lines {shown(wanted)} names no lines.", next='Such as "120" or "100-140".')
        if first > len(starts):
            raise InvalidArgument(
                f"There is no line {first}: the text has {counted(len(starts), 'line')}.",
                next=f'Give lines from 1 to {len(starts)}, such as "{max(1, len(starts) - 40)}-".',
            )
        end = starts[last] if last < len(starts) else len(text)
        pieces.append(Piece(index, starts[first - 1], end))
    return _joined(sorted(pieces, key=lambda one: one.start))


def matches_of(text: str, pattern: str, index: int = 0) -> list[Piece]:
    """The lines that a pattern of RE2 fits, without their ends; of long lines what stands around each match. What is no
    pattern is looked for as it stands. Without capitals in it case does not count.

    Returns:
        At most `MOST_MATCHES`; a line that it fits twice is one.

    Raises:
        InvalidArgument: the pattern is empty or too long.
    """
    if not pattern or len(pattern) > _MOST_PATTERN:
        raise InvalidArgument(
            f"grep has 1 to {_MOST_PATTERN:,} characters, not {len(pattern):,}.", next="Give a word of the lost text."
        )
    any_case = pattern == pattern.lower()
    try:
        compiled = compiled_now(f"(?m){pattern}", any_case=any_case, groups=False)
    except BadPattern:
        compiled = compiled_now(literal(pattern), any_case=any_case, groups=False)
    spans = _in_characters(text, compiled.spans(text.encode("utf-8", "replace")))  # halves of pairs stay one each
    found = islice(((start, end) for start, end in spans if end > start), MOST_MATCHES)
    return _joined([_around(text, start, end, index) for start, end in found])


def _in_characters(text: str, spans: Iterator[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    if text.isascii():
        yield from spans
        return
    data, done, characters = text.encode("utf-8", "replace"), 0, 0
    for start, end in spans:
        first = characters + _begun(data[done:start])
        done, characters = end, first + _begun(data[start:end])
        yield first, characters


def _begun(data: bytes) -> int:
    """Characters that begin in it: a match of nothing may stand inside of one."""
    return len(data.translate(None, _CONTINUED))


def _around(text: str, start: int, end: int, index: int) -> Piece:
    far = max(0, start - _LONG_LINE), min(len(text), end + _LONG_LINE)  # no further: a line may be the whole text
    first = text.rfind("\n", far[0], start) + 1 or far[0]
    last = text.find("\n", max(start, end - 1), far[1])
    last = far[1] if last < 0 else last
    if last - first > _LONG_LINE:
        first, last = max(first, start - _BEFORE), min(last, end + _AFTER)
    return Piece(index, first, last)


def _joined(pieces: Sequence[Piece]) -> list[Piece]:
    """The same in order, where those that overlap are one."""
    joined: list[Piece] = []
    for one in pieces:
        if joined and one.start <= joined[-1].end:
            joined[-1] = Piece(one.index, joined[-1].start, max(one.end, joined[-1].end))
        else:
            joined.append(one)
    return joined
