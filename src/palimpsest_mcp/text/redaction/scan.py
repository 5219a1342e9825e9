"""Looks through a text once, and lets each detector work only where something opened its gate."""

from __future__ import annotations

from array import array
from base64 import b64decode
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Protocol, TypeAlias

from ...models.text import late
from .literals import is_hex, looks_random
from .patterns import Find, Gates, Pattern, PatternMatch, compiled, merged

# Encodings undone, with the way back: what a text says when it is read as JSON, HTML, a terminal's output, a URL.

_SURROGATE = late(rb"\xed[\xa0-\xbf][\x80-\xbf]")
_COLOUR = compiled(r"(?:\x1b|\\(?:u001b|x1b|033|e))\[[0-9;]{0,20}[A-Za-z]")
_WRITTEN_OUT = compiled(r"\\u00(2[267]|3[aAcCdDeE])|\\x(2[267]|3[aAdD])|&(quot|amp|apos|lt|gt|#0?3[49]|#x2[27]|#0?61);")
_DEEP_BREAK = compiled(r"\\{2,32}[nrt]")
_BREAKS = {b"n": b"\n", b"r": b"\r", b"t": b"\t"}
_ENTITY = {b"quot": b'"', b"amp": b"&", b"apos": b"'", b"lt": b"<", b"gt": b">"}
_PERCENT = late(rb"%(?:25){0,3}([0-9A-Fa-f]{2})|\+")
_ENCODED = compiled(r"%(?:25)?(?:[2-7][0-9A-Fa-f]|0[aAdD9])")
_NEAR = 400  # bytes around a percent escape that are read as encoded with it
_WIDE = 1024  # and so many around what splits or spells out a token

# What stands inside a token and is not of it: as it comes, and as JSON and HTML write it out.
_BREAKS_A_TOKEN = (
    r"[\x{ad}\x{34f}\x{61c}\x{180e}\x{200b}-\x{200f}\x{202a}-\x{202e}\x{2060}-\x{206f}\x{feff}]|"
    r"\\{1,16}u(?:200[b-fB-F]|00[aA][dD]|034[fF]|061[cC]|180[eE]|[fF][eE][fF][fF]|206[0-9a-fA-F]|202[a-eA-E])|"
    r"&(?:ZeroWidthSpace|shy|zwj|zwnj|NoBreak);|"
    r"(?:\x1b|\\{1,16}(?:u001[bB]|x1[bB]|033|e))(?:\[[0-9;:?]{0,20}[A-Za-z]|\][^\x07\x1b\n]{0,200}\x07)"
)
# The next line goes on with the token: behind a backslash, behind `=` as mail has it, in the next string of a program.
_ENCODED_GAP = r"(?:[ \t]|\\?\r?\n|\\n){0,40}"
_GOES_ON = (
    r"\\\r?\n[ \t]*|\\{3}n[ \t]*|=\r?\n|"
    rf"\\{{0,7}}[\"'`]{_ENCODED_GAP}(?:\+|\.{{1,2}}|&|\|\|)?{_ENCODED_GAP}[bfruBFRU]{{0,2}}\\{{0,7}}[\"'`]"
)
# A sign of it is spelled out: \u0067, \x67, &#103;, =67.
_SPELLED = r"\\{1,16}(?:u00|x)([2-7][0-9A-Fa-f])|&#0{0,4}(\d{2,3});|&#[xX]0{0,4}([2-7][0-9A-Fa-f]);"
_QUOTED = r"=([2-7][0-9A-F])"
_TOKEN = r"[A-Za-z0-9_+/=.~%-]"
_SPLIT = compiled(
    rf"{_TOKEN}(?:{_BREAKS_A_TOKEN})+{_TOKEN}|{_TOKEN}(?:{_GOES_ON}){_TOKEN}|"
    rf"\\{{1,16}}(?:u00|x)(?:[4-6][0-9A-Fa-f]|3[0-9]|2[bdefBDEF]|7[0-9aAeE])|"
    r"&#0{0,4}(?:4[356]|4[89]|5[0-7]|6[5-9]|[78]\d|9[05789]|1[01]\d|12[0-2]);|"
    rf"&#[xX]0{{0,4}}(?:[4-6][0-9A-Fa-f]|3[0-9]|7[0-9aA]|2[bdefBDEF]);|=3D|(?:=[2-7][0-9A-F]){{2}}"
)
_JOINED = compiled(f"{_BREAKS_A_TOKEN}|{_GOES_ON}|{_SPELLED}|{_QUOTED}")
_WRITTEN = late(rb"[\\&=%\"'`\x1b\x80-\xff]")  # whatever is written out or split has one of these
_SOFT_BREAK = compiled(rf"{_TOKEN}=\r?\n|(?:=[2-7][0-9A-F]){{2}}|=3D")


class View(NamedTuple):
    """A reading of a text, or of a part of it."""

    text: bytes
    places: array[int] | None
    """For each byte of the reading its place in the text, and the place behind the last; None: byte for byte."""

    def place(self, start: int, end: int) -> tuple[int, int]:
        """The part of the text that a part of the reading stands for."""
        return (start, end) if self.places is None else (self.places[start], self.places[end])


def views(raw: bytes) -> list[View]:
    """The readings of a text. The first is as long as the text: what is written out gives way to the sign and spaces.

    Half surrogates become U+FFFD, terminal colours and written-out line breaks white space, quotes and separators of
    JSON and HTML themselves. Backslashes before quotes stay: they tell a string's depth. Wherever there are percent
    escapes, a further reading has them decoded; and wherever a token is split or spelled out (by signs of no width,
    colours, line continuations, joined strings, escapes of letters), or its line was wrapped, another one has it in one
    piece. Base64 that holds a text (a whole `.env`, a Docker configuration) is read as that text, too.
    """
    text = _SURROGATE.sub(b"\xef\xbf\xbd", raw) if b"\xed" in raw else raw
    whole = [_unwrapped(text, joints) for joints in _wraps(text)]
    whole += _texts_in_base64(text)
    if not _WRITTEN.search(text):  # as most short texts
        return [View(text, None), *whole]
    whole += [_in_one_piece(text, *part) for part in _parts(text, _SPLIT, _WIDE)]
    text = _plain(text)
    encoded = _parts(text, _ENCODED, _NEAR) if b"%" in text else []
    return [View(text, None), *(_decoded(text, left, right) for left, right in encoded), *whole]


# Lines that a terminal or a mail program wrapped in the middle of a token.

_WRAP = compiled(rf"{_TOKEN}{{8}}\r?\n[ \t]{{0,40}}{_TOKEN}")
_LEAST_WIDTH = 24
_WIDTHS = frozenset((60, 64, 70, 72, 76, 78, 79, 80, 100, 120, 132, 140, 160, 200))
"""Columns of terminals, mails and PEM, at which one line that is full is believed to be wrapped."""
_NEXT = late(rb"[ \t]*([A-Za-z0-9_+/=.~%:@&?-]*)([^\r\n]?)")
"""What may be the rest of a token: behind it stands nothing that a token could not have."""
_DRAWN = late(r"\d|[a-z][A-Z]|[A-Z].*[A-Z].*[a-z]")
"""Digits, or capitals inside: a word has none."""
_NAMED = late(r"[A-Za-z_][\w.-]{0,60}[=:]")


def _wraps(text: bytes) -> list[list[tuple[int, int]]]:
    """Where lines go on in the next one: the breaks with what indents the next line; those of one line together.

    Two lines of one width of which the second is a single token were wrapped; so was a line of a usual width, or one
    behind such a line, when what comes next is neither a word nor the name of a value.
    """
    found: list[list[tuple[int, int]]] = []
    for match in _WRAP.finditer(text):
        end = match.start() + 8
        begin = text.rfind(b"\n", 0, end) + 1
        next_begin = text.find(b"\n", end) + 1
        chained = bool(found) and found[-1][-1][1] >= begin
        indent = found[-1][-1][1] - begin if chained else 0
        width = end - begin
        in_a_list = text[begin : begin + 4] == text[next_begin : next_begin + 4] != b"    "
        if width < _LEAST_WIDTH or in_a_list or not (piece := _NEXT.match(text, next_begin)):
            continue
        alone, next_width = not piece.group(2), piece.end(1) - next_begin
        token = piece.group(1).decode("utf-8", "replace")
        same = alone and (next_width == width or len(token) == width - indent)
        usual = (width in _WIDTHS or chained) and next_width <= width
        hash_of_its_own = not alone and is_hex(token) and not is_hex(text[end - 8 : end].decode("utf-8", "replace"))
        named = not chained and _NAMED.match(token)
        if not _DRAWN.search(token) or not (same or (usual and not hash_of_its_own and not named)):
            continue
        joint = (end, piece.start(1))
        if chained:
            found[-1].append(joint)
        else:
            found.append([joint])
    return found


def _unwrapped(text: bytes, joints: list[tuple[int, int]]) -> View:
    """Wrapped lines as the one that they were."""
    out, places = bytearray(), array("q")
    done = text.rfind(b"\n", 0, joints[0][0]) + 1
    for left, right in joints:
        out += text[done:left]
        places.extend(range(done, left))
        done = right
    end = text.find(b"\n", done)
    end = len(text) if end < 0 else end
    out += text[done:end]
    places.extend(range(done, end + 1))
    return View(_plain(bytes(out)), places)


# A text inside base64. Nearly all base64 is of other things: four signs tell that of most, sixteen of the rest.

_BASE64 = compiled(r"(?:[A-Za-z0-9+/]{64}\r?\n|[A-Za-z0-9+/]{76}\r?\n)*[A-Za-z0-9+/]{24,}={0,2}")
_LONGEST_TEXT = 64 << 10
_TEXT = late(rb"[\t\n\r -~\x80-\xff]+")
_FIRST = late(rb"[\t\n\r -~]+")


def _texts_in_base64(text: bytes) -> list[View]:
    """A reading of each piece of base64 that is of a text, each byte of which has the place of its first sign."""
    found: list[View] = []
    for match in _BASE64.finditer(text):
        left, right = match.start(), min(match.end(), match.start() + _LONGEST_TEXT)
        if not _FIRST.fullmatch(b64decode(text[left : left + 4])) or not _FIRST.fullmatch(
            b64decode(text[left : left + 16])
        ):
            continue
        signs = [place for place in range(left, right) if text[place] not in b"\r\n="]
        del signs[len(signs) - len(signs) % 4 if len(signs) % 4 == 1 else len(signs) :]
        said = b64decode(bytes(text[place] for place in signs) + b"=" * (-len(signs) % 4))
        if _TEXT.fullmatch(said):
            places = array("q", (signs[n * 4 // 3] for n in range(len(said))))
            places.append(right)
            found.append(View(said, places))
    return found


def _plain(text: bytes) -> bytes:
    slashes = b"\\" in text
    if b"\x1b" in text or slashes:
        text = _rewritten(text, _COLOUR, lambda m: b" " * len(m.group()))
    if slashes:
        text = _with_line_breaks(text)
    if slashes or b"&" in text:
        text = _rewritten(text, _WRITTEN_OUT, _sign)
    return text


def _in_one_piece(text: bytes, left: int, right: int) -> View:
    """A part without what splits its tokens, and with the signs that it spells out."""
    mail = _SOFT_BREAK.search(text, left, right) is not None
    out, places = bytearray(), array("q")
    done = left
    for match in _JOINED.finditer(text, left, right):
        sign = _spelled(match, mail=mail)
        if sign is None:
            continue
        out += text[done : match.start()]
        places.extend(range(done, match.start()))
        if sign:
            out += sign
            places.append(match.start())
        done = match.end()
    out += text[done:right]
    places.extend(range(done, right + 1))
    return View(_plain(bytes(out)), places)


def _spelled(match: PatternMatch, *, mail: bool) -> bytes | None:
    """The sign that is spelled out, nothing for what only splits, None for what means itself here."""
    group = next((n for n in range(1, 5) if match.start(n) >= 0), 0)
    if not group:
        return b"" if mail or match.group()[:1] != b"=" else None
    code = int(match.group(group), 10 if group == 2 else 16)
    return bytes([code]) if 0x20 <= code < 0x7F and (mail or group < 4) else None


def _with_line_breaks(text: bytes) -> bytes:
    if b"\\\\" in text:  # strings in strings
        text = _rewritten(text, _DEEP_BREAK, lambda m: _BREAKS[m.group()[-1:]].rjust(len(m.group())))
    for letter, sign in _BREAKS.items():
        text = text.replace(b"\\" + letter, b" " + sign)
    return text


def _rewritten(text: bytes, pattern: Pattern, sign: Callable[[PatternMatch], bytes]) -> bytes:
    """The text with every match replaced by as many bytes."""
    out: bytearray | None = None
    for match in pattern.finditer(text):
        out = bytearray(text) if out is None else out
        out[match.start() : match.end()] = sign(match)
    return text if out is None else bytes(out)


def _sign(match: PatternMatch) -> bytes:
    code = next((match.group(n) for n in (1, 2) if match.start(n) >= 0), b"")
    if code:
        sign = bytes([int(code, 16)])
    else:
        name = match.group(3)
        sign = _ENTITY.get(name) or bytes([int(name[2:], 16) if name[1:2] == b"x" else int(name[1:])])
    return sign.rjust(len(match.group()))


def _parts(text: bytes, pattern: Pattern, near: int) -> list[tuple[int, int]]:
    """Where the pattern occurs, with what is around it in its line; apart from one another."""
    parts: list[tuple[int, int]] = []
    for match in pattern.finditer(text):
        if parts and match.start() <= parts[-1][1]:
            parts[-1] = (parts[-1][0], max(parts[-1][1], _line_end(text, match.end(), near)))
            continue
        left = max(parts[-1][1] if parts else 0, match.start() - near)
        left = max(left, text.rfind(b"\n", left, match.start()) + 1)
        parts.append((left, _line_end(text, match.end(), near)))
    return parts


def _line_end(text: bytes, place: int, near: int) -> int:
    line_end = text.find(b"\n", place, place + near)
    return min(len(text), place + near) if line_end < 0 else line_end


def _decoded(text: bytes, left: int, right: int) -> View:
    """A part with its percent escapes decoded; a plus sign is a space where no space is written otherwise."""
    plus_is_space = text.find(b"%20", left, right) < 0 and text.find(b" ", left, right) < 0
    out, places = bytearray(), array("q")
    done = left
    for match in _PERCENT.finditer(text, left, right):
        if match.group(1) is None and not plus_is_space:
            continue
        out += text[done : match.start()]
        places.extend(range(done, match.start()))
        out.append(int(match.group(1), 16) if match.group(1) else 0x20)
        places.append(match.start())
        done = match.end()
    out += text[done:right]
    places.extend(range(done, right + 1))
    return View(bytes(out), places)


# Where a secret goes on in the next line: wrapped by a terminal, a mail, a string in code.


_GAP = late(
    rb"(?P<joint>[ \t]*\\{0,15}[\"'`]?[ \t]*[+.\\]?[ \t\\]{0,16})(?:\r?[ ]*\n|\r)"
    rb"(?:[ \t]*\d{1,6}[\t:|])?[ \t]*(?:[>|#*+]{1,2}[ \t]+)?(?:[bfru]{0,2}\\{0,15}[\"'`])?"
)
_RUN = late(rb"[A-Za-z0-9_+/=.~-]{4,4096}")
_SHORTEST = 12  # what is shorter ends by itself
_LAST_RANK = 6000  # personal data does not wrap


def end_of(text: bytes, find: Find) -> int:
    """The end of a find, behind those next lines that go on with it.

    A line goes on with a secret that fills the line before to its end when it begins with what no word begins with, and
    is not the name of a next value; or when it is as wide as that one, and what stands alone below such a line is the
    rest. Hexadecimal goes on with hexadecimal only: behind a key may stand a commit's id.
    """
    end, start, filled = find.end, find.start, False
    first = text[max(find.start, end - 2 * _SHORTEST) : end].decode("utf-8", "replace")
    while find.rank < _LAST_RANK and (gap := _GAP.match(text, end)) and (run := _RUN.match(text, gap.end())):
        more = run.group().decode()
        joined_in_code = bool(gap.group("joint").strip())
        if (
            len(first) < _SHORTEST
            or text[run.end() : run.end() + 1] in (b":", b"(", b"[", b"@")
            or "=" in more.rstrip("=")
        ):
            break
        alone = text[run.end() : run.end() + 1] in _LINE_ENDS
        full = alone and _as_wide(text, (start, end), run.span())
        rest = filled and alone and len(more) < end - start and not _WORD.fullmatch(more)
        if not (looks_random(more) or full or rest) and not (joined_in_code and any(c.isdigit() for c in more)):
            break
        if is_hex(more) and not is_hex(first[-8:]):
            break
        start, end, filled = run.start(), run.end(), full
    return end


_LINE_ENDS = (b"\n", b"\r", b"\\", b'"', b"'", b"`", b"")
_WORD = late(r"[A-Za-z]?[a-z]*")
"""Of a drawn text's end that is longer than five characters, one in two hundred looks like this."""


def _as_wide(text: bytes, before: tuple[int, int], run: tuple[int, int]) -> bool:
    """Whether a run is as long as the piece before it, or ends in the same column: somebody wrapped them."""
    if run[1] - run[0] == before[1] - before[0]:
        return True
    column = before[1] - max(text.rfind(b"\n", 0, before[0]), text.rfind(b"\r", 0, before[0]))
    return run[1] - max(text.rfind(b"\n", 0, run[0]), text.rfind(b"\r", 0, run[0])) == column


Ranges: TypeAlias = Sequence[tuple[int, int]]
"""Parts of a text, in bytes: in order, not overlapping."""

_CHUNK = 16 << 10
_OVERLAP = 512  # no gate's own text is longer
_ROOM = 512  # how far a find may go on behind the chunk in which its gate stands


class Detector(Protocol):
    """Finds secrets of one or more sorts in UTF-8 bytes."""

    @property
    def gates(self) -> Sequence[str]:
        """RE2 patterns, at least one; wherever there is a secret of a sort, its gate occurs beside it."""
        ...

    def find(self, gate: int, text: bytes, ranges: Ranges) -> Iterator[Find]:
        """Secrets of the gate's sort in these ranges: in no order, overlapping where two readings are possible."""
        ...


class Scanner:
    """All detectors over one text."""

    def __init__(self, detectors: Sequence[Detector]) -> None:
        self._sorts = [(detector, gate) for detector in detectors for gate in range(len(detector.gates))]
        self._gates = Gates([pattern for detector in detectors for pattern in detector.gates])

    def finds(self, raw: bytes) -> Iterator[Find]:
        """What the detectors find, with what goes on in the next lines; overlapping between the text's views."""
        for view in views(raw):
            finds = list(self._in(view.text))
            done = 0
            for find in merged(finds) if finds else ():
                if find.end <= done:
                    continue
                done = end_of(view.text, find)
                start, end = view.place(find.start, done)
                yield find._replace(start=start, end=end)

    def _in(self, text: bytes) -> Iterator[Find]:
        end = len(text)
        if end <= _CHUNK:
            for sort in self._gates.opened_by(text) if text else ():
                detector, gate = self._sorts[sort]
                yield from detector.find(gate, text, ((0, end),))
            return
        start = 0
        opened: dict[int, list[tuple[int, int]]] = {}
        while start < end:
            stop = _chunk_end(text, start, end)
            reach = (max(0, start - _ROOM), min(len(text), stop + _ROOM))
            for sort in self._gates.opened_by(text[start : min(len(text), stop + _OVERLAP)]):
                ranges = opened.setdefault(sort, [])
                if ranges and reach[0] <= ranges[-1][1]:
                    ranges[-1] = (ranges[-1][0], reach[1])
                else:
                    ranges.append(reach)
            start = stop
        for sort, ranges in opened.items():
            detector, gate = self._sorts[sort]
            yield from detector.find(gate, text, ranges)


def _chunk_end(text: bytes, start: int, end: int) -> int:
    """At a line's end where there is one near."""
    stop = start + _CHUNK
    if stop >= end:
        return end
    line_end = text.rfind(b"\n", stop - 2048, stop)
    return line_end + 1 if line_end >= 0 else stop
