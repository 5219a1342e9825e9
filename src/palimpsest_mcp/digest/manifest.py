"""Our own lines in a digest: its header, and what names an item. Everything else in it is the source's.

[3 results, 9,412 → 655 tokens · shows 12 of 70 rows, 41 of 130 specifics · all of it: restore_batch s7f3k offload_0007]
[12 of 70 rows shown · all of it: restore_batch s7f3k offload_0007]                     (one small result)
[item 2 Bash git log --stat: 340 lines]
[item 2 Bash ls: 340 lines; 70 rows code|name|pct: HAT001, HAT002 …]
[summary by MODEL, wording not verified: 3 lines]      (the next three lines are its own wording)
"""

from __future__ import annotations

import re

from ..models.records import DigestRequest, DigestSource, RecordCount, SpecificCounts
from ..models.text import counted
from .records import plain

_PROSE_NOTE = re.compile(r"\[summary by .*, wording not verified: (\d{1,4}) lines?\]")
_TARGET = 32
"""Characters of an item's target in its note."""
_BRIEF = 400
"""Tokens of a digest below which its header says only what it shows, and how the rest comes back."""
BRIEF_ITEM = 110
"""Tokens of a digest an item below which the call above its part says what it was."""
_NOUNS = 2
"""Kinds of records that the header counts one by one."""
_INTO = re.compile(r"(?:cd \S+ ?(?:&&|;) ?)+(?=\S)")
"""What a command begins with that says only where it ran."""
_FAR = re.compile(r"(?<=\s)/?[\w.@~-]+(?:/[\w.@~-]+)+(?=\s|$)")
"""A path that a command has as a word of its own."""
_SPACE = re.compile(r"\s+")


def header(request: DigestRequest, counts: SpecificCounts, tokens: int, *, shows: bool = True) -> str:
    """The first line of a batch's first part.

    Args:
        tokens: of the whole digest; 0 where it is not said.
        shows: whether anything of a source stands below, and not notes alone.
    """
    results = len(request.sources)
    said = [f"level {request.level}, stands for {', '.join(request.replaces)}"] if request.level > 1 else []
    brief = request.budget_tokens < _BRIEF
    if not brief and tokens:
        said.append(
            f"{counted(results, 'result')}, {sum(s.tokens for s in request.sources):,} → {counted(tokens, 'token')}"
        )
    elif results > 1:
        said.append(counted(results, "result"))
    some = sorted(counts.records.items(), key=lambda one: (one[0] == "line", -one[1].total, one[0]))[:_NOUNS]
    parts = [(one.shown, counted(one.total, noun)) for noun, one in some]
    if (not brief or not parts) and counts.total:
        parts.append((counts.shown, counted(counts.total, "specific")))
    if parts and shows:
        said.append(f"shows {', '.join(f'{shown:,} of {every}' for shown, every in parts)}")
    elif parts:
        said.append(f"notes only, of {', '.join(every for _, every in parts)}")
    for holder, n in sorted(counts.holders.items(), key=lambda one: (-one[1], one[0]))[:1]:
        if holder != request.batch_id:
            said.append(f"{n:,} more in {holder}")
    if counts.redacted:
        said.append(f"{counts.redacted:,} masked")
    said.append(f"all of it: restore_batch {request.handle} {request.batch_id}")
    return f"[{' · '.join(said)}]"


def lines_of(text: str) -> str:
    """How big a text is in lines; empty where it has only one. Of one that only holds blanks, and signs that print
    nothing, that."""
    shown = plain(text).strip("\n")
    if text and not shown.strip():
        return f"nothing to read in {counted(len(text), 'character')}"
    number = shown.count("\n") + 1
    return counted(number, "line") if number > 1 else ""


def item_note(
    source: DigestSource,
    number: int,
    lines: str,
    *,
    brief: bool = False,
    shape: str = "",
    errors: RecordCount | None = None,
) -> str:
    """The first line of an item's part (after the header, in the first part): what it was, and how big.

    Args:
        lines: how big it is, in its lines, or how much of it is shown; empty: of one line.
        brief: leave out what the call above the part says.
        shape: what is said of it where nothing of it is shown.
        errors: lines that say what went wrong, where not all of them are shown.
    """
    name = f"item {number}"
    if not brief:
        target = source.action.target if source.action else ""
        target = target or source.title or source.url or " ".join(value for _, value in source.arguments)
        target = _INTO.sub("", target, 1) if _INTO.match(target) else target
        if len(target) > _TARGET:
            target = _FAR.sub(lambda path: f"…/{path[0].rpartition('/')[2]}", target)
        target = _clean(target, _TARGET)
        name = " ".join(part for part in (name, _clean(source.tool_name or source.kind, 40), target) if part)
    facts = [lines] if lines else [] if brief else [counted(source.tokens, "token")]
    if errors and errors.total > 1:
        told = counted(errors.total, "error")
        facts.append(f"{errors.shown:,} of {told}" if errors.shown else told)
    elif source.is_error:
        facts.append("error")
    facts += [f"{source.redacted} masked"] if source.redacted and not brief else []
    said = f": {', '.join(facts)}" if facts else ""
    return f"[{name}{said}{f'; {shape}' if shape else ''}]"


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
