"""Tracebacks of ten languages, alone or inside other text: the exception, and where in the user's code it arose.

Python prints the exception last: its frames stand under the `Traceback` line, the exception for itself. Everywhere
else the exception comes first and its frames stand under it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..records import Reading, Record

HEAD_CHARS = 300
"""An exception is named at the beginning of its line: what follows is message."""
MESSAGE_LINES = 8
"""Between an exception and its first frame stand so many lines of message at most; more is another text."""

PYTHON_HEAD = re.compile(r"Traceback \(most recent call last\):$")
PYTHON_FRAME = re.compile(r'^[\s|+]*File "[^"]*", line \d+')
PYTHON_CHAIN = re.compile(
    r"^\s*(?:During handling of the above exception|The above exception was the direct cause|\[Previous line repeated)"
)
EXCEPTION = re.compile(r"(?:Error|Exception|Throwable|Interrupt|Exit|Warning|Failure|Fault)\b|^[\w.]+(?:: |$)")
_NAMED = re.compile(r"(?:Error|Exception|Throwable|Failure|Fault)\b")
_PANIC = re.compile(
    r"^(?:panic: |fatal error: |goroutine \d+ \[|thread '[^']*'(?: \(\d+\))? panicked at|\s*\*\* \([A-Z][\w.]*\) "
    r"|Caused by: \w"
    r"|(?:PHP )?(?:Fatal|Parse) error: |=+\d+=+ ?(?:ERROR: |Invalid |Process terminat)|(?:Program"
    r"|Thread \d.*) received signal "
    r"|terminate called |Unhandled exception|Exception in thread |SUMMARY: \w+Sanitizer|.{1,200}\(core dumped\)$)"
    r"|^\S{1,300}\.rb:\d+:in .{0,1000}\([A-Z][\w:]*\)$"
)
"""Begins a traceback by itself; a name that ends in `Error` does so only where a frame follows."""
_FRAME = re.compile(
    r"^\s*at (?:async |new )?\S.*(?:\)|:\d+|:line \d+)$|^\s*\.\.\. \d+ (?:more|common frames)|^\s+from \S+:\d+"
    r"|^\s*#\d+\s+(?:0x|\S+\(\d+\): |\{main\}|\[internal function\]|\w.* at \S+:\d+)"
    r"|^\s+\S+\.go:\d+(?: \+0x[\da-f]+)?$"
    r"|^\s*\d+: +(?:0x[\da-f]+ - )?[\w<].*$|^\s+(?:\([\w.]+ [\w.+-]+\) )?\S+\.(?:exs?|[eh]?eex|erl):\d+: "
    r"|^\s*--- End of .*---$|^=+\d+=+ +(?:at|by) 0x"
)
_CALL = re.compile(r"^(?:created by )?[\w./*()\[\]-]+(?:\(.*\)|(?: in goroutine \d+))$")
"""Of Go: the call, above the line that says where."""
_RUST_FRAME = re.compile(r"^\s*\d+: ")
_MORE = re.compile(
    r"^(?:Caused by: |\s*Suppressed: |\s*--->|Stack trace:$|stack backtrace:$|note: (?:run with|Some details)"
    r"|\s+thrown in |\s*what\(\): "
    r"|goroutine \d+ \[|exit status \d|\[signal |\[Inferior |SUMMARY: |Node\.js v\d|=+\d+=+)"
)
"""Belongs to the traceback without being a frame."""
_CARETS = re.compile(r"^[\s|+]*[~^]+[\s~^]*$")
_LIBRARY = re.compile(
    r"(?:site|dist)-packages|node_modules|lib/python\d|<frozen |<string>|\bnode:|\(native\)|<anonymous>\)?$|/rustc/"
    r"|/pkg/mod/|/gems/|/vendor/"
    r"|/usr/(?:local/)?(?:lib|go|include)\b|/lib/x86_64|sysdeps|\.cargo/|^\s*at (?:java|javax|jdk|sun|kotlin|scala"
    r"|System|Microsoft"
    r"|org\.(?:junit|apache|spring\w*|gradle|hibernate|eclipse|testng))\b|^(?:runtime|testing|net/http"
    r"|created by)[./ ]|\b(?:core|std|alloc)::"
    r"|\brust_begin_unwind|\binternal/|\((?:elixir|stdlib|kernel|ex_unit|mix|iex|eex|logger|phoenix\w*|plug\w*"
    r"|ecto\w*|ash\w*|spark|bandit)\b"
    r"|\b_?_libc_|\{main\}|^\s*\.\.\. \d+ |^\s*---"
)
OWN, PASSING, LIBRARY = 2.0, 1.0, 0.3
"""Worth of a frame: what a user can mend, the way there through the user's own code, and what merely lies between."""
RAISED = 6.0
"""The same of the nearest of them: where it was raised."""
RAISING = 2.0
"""And of its line of code."""
NEAREST = 4
"""So many of the user's own frames, the nearest to the exception, are where it can be mended."""


def frame_worth(line: str) -> float:
    """What a frame is worth to a reader; 0 where the line is none."""
    if not (PYTHON_FRAME.match(line) or _FRAME.match(line)):
        return 0.0
    return place_worth(line)


def place_worth(line: str) -> float:
    """What a place in code is worth: the user's own is what can be mended."""
    return LIBRARY if _LIBRARY.search(line) else OWN


def _framed(line: str) -> bool:
    """A frame that is nothing else: Rust's `0: name` opens many a list."""
    return bool(_FRAME.match(line)) and not _RUST_FRAME.match(line)


def begins(lines: Sequence[str], i: int) -> bool:
    """Whether a traceback begins here: by its own words, or since frames follow."""
    line, head = lines[i], lines[i][:HEAD_CHARS]
    if PYTHON_HEAD.search(line[-HEAD_CHARS:].rstrip()) or PYTHON_FRAME.match(head) or _PANIC.match(line):
        return True
    if _framed(line):
        return i + 1 < len(lines) and _framed(lines[i + 1])
    if not _NAMED.search(head):
        return False
    for follower in lines[i + 1 : i + 1 + MESSAGE_LINES]:
        if _framed(follower):
            return True
        if follower[:1].strip() and _NAMED.search(follower[:HEAD_CHARS]):
            return False  # that one is the exception; this is the code that raised it
    return False


def _fade(records: list[Record]) -> None:
    """Let only the own frames nearest to the exception stand out; `records` begins with the nearest."""
    own = [number for number, record in enumerate(records) if record.kind == "frame" and record.worth == OWN]
    for number in own[NEAREST:]:
        records[number].worth = PASSING
    for number in own[:1]:
        records[number].worth = RAISED
        if number and records[number - 1].kind == "line" and records[number - 1].at == records[number].at + 1:
            records[number - 1].worth = RAISING


def _python(lines: Sequence[str], i: int, out: list[Record]) -> int:
    """Read from a `Traceback` line or a frame to the exception, and what it came after. Returns the end."""
    head = frame = -1
    begin, end, seen = len(out), i, set[str]()
    while i < len(lines):
        line, text = lines[i], lines[i].strip(" \t|+")
        if PYTHON_HEAD.search(line[-HEAD_CHARS:].rstrip()):
            head, frame = len(out), -1
            out.append(Record(line.strip(), "heading", 0.5, at=i))
        elif PYTHON_FRAME.match(line):
            frame = len(out)
            out.append(Record(line.strip(), "frame", LIBRARY if text in seen else frame_worth(line), head, at=i))
            seen.add(text)
        elif PYTHON_CHAIN.match(line):
            out.append(Record(line.strip(), worth=1.0, under=head if text.startswith("[") else -1, at=i))
        elif frame >= 0 and line[:1] in " |+" and text:  # the code of a frame, and carets below it
            worth = min(out[frame].worth, PASSING)
            noise = bool(_CARETS.match(line))
            out.append(Record(line.strip(), "noise" if noise else "line", 0.0 if noise else worth, frame, at=i))
        elif text and frame >= 0 and EXCEPTION.search(line[:HEAD_CHARS]):
            out.append(Record(line.strip(), "error", 4.0, at=i))
            frame = -1
        elif text or i - end > 1:
            break
        i += 1
        end = i if text else end
    _fade(out[begin:][::-1])
    return end


def _other(lines: Sequence[str], i: int, out: list[Record]) -> int:
    """Read an exception and the frames under it. Returns the end."""
    head, begin = -1, len(out)
    if not _FRAME.match(lines[i]):
        head = len(out)
        out.append(Record(lines[i].strip(), "error", 4.0, at=i))
        i += 1
    framed = head < 0
    end, patience = i, MESSAGE_LINES
    seen: set[str] = set()
    while i < len(lines):
        line, text = lines[i], lines[i].strip()
        after = lines[i + 1] if i + 1 < len(lines) else ""
        call = bool(_CALL.match(line[:HEAD_CHARS])) and bool(_FRAME.match(after)) and ".go:" in after
        if call or _FRAME.match(line):
            pair = line + after if call or (_RUST_FRAME.match(line) and after.lstrip().startswith("at ")) else line
            worth = LIBRARY if text in seen or _LIBRARY.search(pair) else OWN
            out.append(Record(text, "frame", worth, head, at=i))
            seen.add(text)
            framed, end = True, i + 1
        elif text and _MORE.match(line):
            cause = text.startswith(("Caused by", "SUMMARY", "--->"))
            out.append(Record(text, "error" if cause else "line", 3.0 if cause else 1.0, head, at=i))
            framed, end = framed or cause, i + 1
        elif text and not framed and patience and any(_FRAME.match(x) for x in lines[i + 1 : i + 1 + patience]):
            out.append(Record(text, worth=OWN, under=head, at=i))  # the message goes on, up to the first frame
            patience, end = patience - 1, i + 1
        elif text or i > end:
            break
        i += 1
    _fade(out[begin:])
    return end


def _traceback(lines: Sequence[str], i: int, out: list[Record]) -> int:
    python = PYTHON_HEAD.search(lines[i][-HEAD_CHARS:].rstrip()) or PYTHON_FRAME.match(lines[i])
    return (_python if python else _other)(lines, i, out)


def claims(lines: Sequence[str], start: int) -> int:
    """The end of the traceback that begins here."""
    return _traceback(lines, start, []) if begins(lines, start) else start


def read(lines: Sequence[str]) -> Reading:
    """Tracebacks, one after the other."""
    out: list[Record] = []
    i = 0
    while i < len(lines):
        if begins(lines, i):
            i = _traceback(lines, i, out)
            continue
        if text := lines[i].strip():
            out.append(Record(text, at=i))
        i += 1
    return Reading(out)
