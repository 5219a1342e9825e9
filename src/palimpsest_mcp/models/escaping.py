"""Text inside markdown and back: whatever it holds, it never forges a heading, a bullet or a mark of ours."""

from __future__ import annotations

import json
import re

_BREAK = "⏎"
_MEANING = f"\\{_BREAK}&"
"""What means something behind a backslash: a backslash, the sign for a line break (`n` is left to the texts, which
often hold `\\n` themselves), and `&`, which stands for nothing at all."""
_UNFIT = re.compile('[`\n\r]|^"')
_COMMA = "\\u002c"
_STRUCTURE = re.compile(r"#|\\|```|~~~|<!--|={2,}\s*$|-{2,}\s*$")


def inline(text: str, special: str = "", *, guard: re.Pattern[str] | None = None) -> str:
    """One line for a text. A backslash is doubled only where it would mean something: `C:\\Users` stays as it is.

    Args:
        special: characters that would end the text where it stands.
        guard: how a text may not begin there; one that does gets `\\&` before it.
    """
    meaning = _MEANING + special + "\n"
    out: list[str] = []
    for place, char in enumerate(text):
        if char == "\n":
            out.append("\\" + _BREAK)
        elif char in special or (char == "\\" and (text[place + 1 : place + 2] or "\\") in meaning):
            out.append("\\" + char)
        else:
            out.append(char)
    line = "".join(out)
    return "\\&" + line if not line or (guard is not None and guard.match(line)) else line


def plain_inline(line: str, special: str = "") -> str:
    """The text that `inline` made the line of."""
    out: list[str] = []
    place = 0
    while place < len(line):
        after = line[place + 1 : place + 2]
        if line[place] == "\\" and after and after in _MEANING + special:
            out.append({_BREAK: "\n", "&": ""}.get(after, after))
            place += 2
        else:
            out.append(line[place])
            place += 1
    return "".join(out)


def find_stop(line: str, stop: str, start: int = 0) -> int:
    """Where `stop` stands unescaped; -1 when it does not."""
    place = start
    while place < len(line):
        if line[place] == "\\" and line[place + 1 : place + 2] in (*_MEANING, stop[0]):
            place += 2
        elif line.startswith(stop, place):
            return place
        else:
            place += 1
    return -1


def split(line: str, stop: str) -> list[str]:
    """The pieces between unescaped stops."""
    pieces: list[str] = []
    start = 0
    while (end := find_stop(line, stop, start)) >= 0:
        pieces.append(line[start:end])
        start = end + len(stop)
    return [*pieces, line[start:]]


def code(text: str, *, commas: bool = True) -> str:
    """A code span: the text as it is (paths keep their backslashes), else as a JSON string without backticks.

    Args:
        commas: whether commas may stand in it.
    """
    if text and not _UNFIT.search(text) and (commas or "," not in text):
        return f"`{text}`"
    quoted = json.dumps(text, ensure_ascii=False).replace("`", "\\u0060")
    return f"`{quoted if commas else quoted.replace(',', _COMMA)}`"


def plain_code(span: str) -> str:
    """The text of a code span, or of what stands there without backticks."""
    text = span[1:-1] if len(span) > 1 and span[0] == span[-1] == "`" else span
    if text[:1] == '"':
        try:
            return str(json.loads(text, strict=False))
        except ValueError:
            return text
    return text


def block(text: str, none: str, also: re.Pattern[str] | None = None) -> list[str]:
    """Lines of a text that stands alone under its heading.

    Args:
        none: the sentence that says there is no text.
        also: how else no line may begin.
    """
    if not text:
        return [none]
    lines = text.split("\n")
    ends = (0, len(lines) - 1)
    return [
        _line(line, none, also) if line.strip() or place not in ends else line + "\\"
        for place, line in enumerate(lines)
    ]


def plain_block(lines: list[str], none: str) -> str:
    """The text that `block` made the lines of; blank lines around it are nobody's."""
    first = next((place for place, line in enumerate(lines) if line.strip()), len(lines))
    last = next((place for place in range(len(lines), first, -1) if lines[place - 1].strip()), first)
    lines = lines[first:last]
    return "" if lines == [none] else "\n".join(map(_plain_line, lines))


def _line(line: str, none: str, also: re.Pattern[str] | None) -> str:
    start = len(line) - len(line.lstrip())
    rest = line[start:]
    if _STRUCTURE.match(rest) or line == none or (also is not None and also.match(line)):
        return f"{line[:start]}\\{rest}"
    return line


def _plain_line(line: str) -> str:
    start = len(line) - len(line.lstrip())
    return line[:start] + line[start + 1 :] if line[start : start + 1] == "\\" else line
