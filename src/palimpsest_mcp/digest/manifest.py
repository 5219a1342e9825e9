"""Our own lines in a digest: header, item notes, counts. A closed grammar: written here, recognised here.

    [palimpsest offload_0007: 3 results, 4,200 → 610 tokens; left out 17 of 92 specifics: 12 numbers, 3 paths, 2 ids
     · 9 more in offload_0003 · restore_batch s7f3k offload_0007]                                  (one line)
    [item 2 Bash git log --stat: 340 lines]
    [item 2 Bash git log --stat: 340 lines; pointer, left out 52 of 52 specifics: 50 numbers, 2 paths]
    [left out 17 of 92 specifics: 12 numbers, 5 others · restore_batch s7f3k offload_0007]
    [left out 90 of 92 specifics · 8 masked · restore_batch s7f3k offload_0007]
    […]                                                  (the last three where the budget is very small)
    [×120 rows]  [×14 the next line]  [×180 lines like]
    [summary by MODEL, wording not verified: 3 lines]        (the next three lines are its own wording)

A line of a source that fits this grammar, or carries its restore phrase, is data: it is shown behind `» `.
"""

from __future__ import annotations

import re

import msgspec

from ..models.records import DigestRequest, DigestSource, SpecificCounts
from ..models.text import counted
from ..ports.text import TokenCounter
from .lines import plain

ESCAPE = "» "
SHORTENED = "[…]"
"""The note of an item of which nothing has to be said but that this is not all of it."""
_NOTE = re.compile(
    r"\[(?:palimpsest \S+: .*|left out \d+ of \d+ specifics?\b.* · restore_batch \S+ \S+|item \d+\b.*"
    r"|…|×\d+ (?:rows|the next line|lines like)"
    r"|summary by .*, wording not verified: \d+ lines?)\]"
)
_PROSE_NOTE = re.compile(r"\[summary by .*, wording not verified: (\d{1,4}) lines?\]")
_POSES = re.compile(r"\s*+(?:» |also [a-z_-]+:|\[(?:palimpsest\b|item \d|×\d|summary by\b|…\]))", re.IGNORECASE)
_POSES_INSIDE = re.compile(
    r"\brestore_batch\b|left out \d[\d,]* of \d[\d,]* specifics?|wording not verified", re.IGNORECASE
)
_INSIDE = ("restore_batch", "left out", "wording not")
"""One of them stands in each of those, in lower case: looked for in a hundredth of the time."""
_PLURALS = {"status": "status", "hash": "hashes", "quantity": "quantities"}
_TARGET = 32
"""Characters of an item's target in its note."""
_HOLDERS = 1
"""Holders named one by one; more are counted."""
_CLASSES = 4
"""Classes named one by one; what is left out of more is counted together."""
_CLASSES_BRIEF = 1
_BRIEF = 110
"""Tokens an item below which our own lines are short."""
_BRIEF_HEADER, _BARE_HEADER = 800, 400
"""Tokens of a digest below which the header is short, and below which it names no class: it would take a tenth of it
else."""
_LONE = 2_000
"""The former for a batch of one item; the header is all that is said of it."""
_SAMPLE = "[left out 17 of 92 specifics: 12 numbers, 3 paths, 2 ids · restore_batch s7f3k offload_0007]"
_SAMPLE_TOKENS = 34
"""Of that, by o200k."""
_SPACE = re.compile(r"\s+")


def is_note(line: str) -> bool:
    """Whether a line of a digest is one of ours."""
    return _NOTE.fullmatch(line) is not None


def escaped(line: str) -> str:
    """A line of a source, marked as data where it could be taken for one of ours."""
    return ESCAPE + line if _poses(line) else line


def _poses(line: str) -> bool:
    if _POSES.match(line):
        return True
    if line.isascii():  # other letters may be lower case of the same
        low = line.lower()
        if not any(words in low for words in _INSIDE):
            return False
    return _POSES_INSIDE.search(line.partition("\n")[0]) is not None


def left_out(counts: SpecificCounts, *, classes: int = _CLASSES) -> str:
    """`left out 17 of 92 specifics: 12 numbers, 3 paths · 9 more in offload_0003`; printed also when it is zero.

    Args:
        classes: so many are named one by one, and the others counted together; 0: neither.
    """
    text = f"left out {counts.left_out} of {counts.total} specific{'' if counts.total == 1 else 's'}"
    left = sorted((-c.left_out, name) for name, c in counts.by_class.items() if c.left_out)
    said = [f"{-n} {name if n == -1 else _PLURALS.get(name, name + 's')}" for n, name in left[:classes]]
    others = -sum(n for n, _ in left[classes:]) if classes else 0
    said += [f"{others} other{'s' if others > 1 else ''}"] if others else []
    if said:
        text += ": " + ", ".join(said)
    holders = sorted(counts.holders.items(), key=lambda x: (-x[1], x[0]))
    text += "".join(f" · {n} more in {holder}" for holder, n in holders[:_HOLDERS])
    if len(holders) > _HOLDERS:
        rest = len(holders) - _HOLDERS
        text += f" · {sum(n for _, n in holders[_HOLDERS:])} more in {rest} other{'s' if rest > 1 else ''}"
    return text


def unit_of(counter: TokenCounter) -> float:
    """Tokens of this counter for one of o200k, in which the limits of this room are; some models count half more."""
    return counter.count(_SAMPLE) / _SAMPLE_TOKENS


def is_brief(request: DigestRequest, unit: float = 1.0) -> bool:
    """Whether the budget is so small that our own lines must be short: the calls above the parts say what they were.

    Args:
        unit: of the budget, by `unit_of`.
    """
    return request.budget_tokens < _BRIEF * unit * len(request.sources)


def has_short_notes(request: DigestRequest, unit: float = 1.0) -> bool:
    """Whether items are named by the calls above their parts alone: in brief batches, and in small ones of one item."""
    return is_brief(request, unit) or (len(request.sources) == 1 and request.budget_tokens < _LONE * unit)


def header(request: DigestRequest, counts: SpecificCounts, tokens: int, unit: float = 1.0) -> str:
    """The first line of a batch's first part. `tokens`: of the whole digest, 0 where it is not said."""
    n = len(request.sources)
    said = [f"level {request.level}, stands for {', '.join(request.replaces)}"] if request.level > 1 else []
    restore = f"restore_batch {request.handle} {request.batch_id}"
    if request.budget_tokens < _BRIEF_HEADER * unit or has_short_notes(request, unit):
        holders = {holder: n for holder, n in counts.holders.items() if holder != request.batch_id}
        counts = msgspec.structs.replace(counts, holders=holders)
        classes = _CLASSES_BRIEF if request.budget_tokens >= _BARE_HEADER * unit else 0
        masked = f" · {counts.redacted} masked" if counts.redacted else ""
        manifest = f"{left_out(counts, classes=classes)}{masked} · {restore}"
        return f"[palimpsest {request.batch_id}: {said[0]}; {manifest}]" if said else f"[{manifest}]"
    size = f", {sum(s.tokens for s in request.sources):,} → {counted(tokens, 'token')}" if tokens else ""
    said += [f"{counted(n, 'result')}{size}", f"{left_out(counts)} · {restore}"]
    return f"[palimpsest {request.batch_id}: {'; '.join(said)}]"


def item_note(
    source: DigestSource, number: int, lines: int, pointer: SpecificCounts | None = None, *, brief: bool = False
) -> str:
    """The first line of an item's part (after the header, in the first part): what it was and how big.

    Args:
        pointer: its counts, where it is one and others of the batch are not.
        brief: leave out what the call above the part says, and the counts that the header says for all, of masked
            spans too.
    """
    name = f"item {number}"
    if brief and pointer is None and not source.is_error:
        return SHORTENED
    if not brief:
        target = source.action.target if source.action else ""
        target = _clean(target or source.title or source.url, _TARGET)
        name = " ".join(part for part in (name, _clean(source.tool_name or source.kind, 40), target) if part)
    facts = [] if brief else [counted(lines, "line")] if lines > 1 else [counted(source.tokens, "token")]
    facts += ["error"] if source.is_error else []
    facts += [f"{source.redacted} masked"] if source.redacted and not brief else []
    said = [", ".join(facts)] if facts else []
    if pointer is not None:
        said.append("pointer" if brief else f"pointer, {left_out(pointer)}")
    return f"[{name}: {'; '.join(said)}]" if said else f"[{name}]"


def count_note(text: str) -> str:
    """`[×120 rows]` and its like."""
    return f"[{text}]"


def prose_note(author: str, lines: int, *, about: str = "") -> str:
    """Stands above prose lines: whose wording they are, and how many lines of it follow.

    Args:
        about: the items they are about, `items 1 to 3`, where it is not just the one of the part.
    """
    about = f", {about}" if about else ""
    return f"[summary by {_clean(author, 40)}{about}, wording not verified: {counted(lines, 'line')}]"


def prose_lines(line: str) -> int:
    """How many lines after this one are prose; 0 where it is no `prose_note`."""
    found = _PROSE_NOTE.fullmatch(line)
    return int(found[1]) if found else 0


def _clean(text: str, width: int) -> str:
    """One line, no square brackets, at most about `width` characters: words from the front, or the end of a path."""
    text = _SPACE.sub(" ", plain(text)).strip().replace("[", "(").replace("]", ")")
    if len(text) <= width:
        return text
    head, space, _ = text[:width].rpartition(" ")
    if space:
        return f"{head} …"
    _, slash, tail = text[-width:].partition("/")
    return f"…/{tail}" if slash and tail else "…"
