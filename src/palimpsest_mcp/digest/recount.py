"""A stored digest counted once more from its originals: does it show what its record says, and nothing else (D12)?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from ..models.items import Specific
from ..models.records import DigestLine, DigestSource, SpecificCounts
from ..ports.text import Registry
from .manifest import is_note, prose_lines
from .survey import survey
from .verify import check_part, mispaired

# What a stored digest part shows, read back from its text: for what later digests may leave to it (D8).


def shown_in(part: str, registry: Registry) -> Iterator[Specific]:
    """Specifics of the part's shown lines, each with the key that its own line gives it.

    Our notes and somebody else's wording show nothing (D3, D10).

    A cell of a factored table has its column's name in another line and comes without a key here: a later digest then
    shows the specific once more instead of pointing here, which is the safe side.
    """
    for line in without_prose(part).split("\n"):
        if not is_note(line):
            for span in registry.spans(line):
                yield Specific(span.cls, span.text, span.key)


def without_prose(part: str) -> str:
    """A part as code made it, without summaries and their labels; the same object where it has none."""
    if "[summary by " not in part:
        return part
    kept: list[str] = []
    prose = 0
    for line in part.split("\n"):
        if prose:
            prose -= 1
        elif not (prose := prose_lines(line)):
            kept.append(line)
    return "\n".join(kept)


def recount(parts: Iterable[tuple[DigestSource, str]], counts: SpecificCounts, registry: Registry) -> tuple[str, ...]:
    """What a record says of its specifics and a new count does not; empty where both agree.

    Args:
        parts: each original, redacted as it was, with the part that stands for it.
        counts: of the record, made with a registry of the same version.
    """
    total, shown = Counter[str](), Counter[str]()
    invented = wrong_keys = 0
    for source, part in parts:
        found = survey(source, registry)
        lines = [DigestLine("quote", line) for line in without_prose(part).split("\n") if not is_note(line)]
        check = check_part(found, lines, registry)
        invented += len(check.bad_lines)
        wrong_keys += mispaired(found, [line.text for line in lines], registry)
        total.update(spec.cls for spec in found.specs)
        shown.update(found.specs[number].cls for number in check.shown)
    said: list[str] = []
    if invented:
        said.append(f"{invented} of its lines hold a specific that its source does not have")
    if wrong_keys:
        said.append(f"{wrong_keys} of its lines have a value under a key that it does not have")
    for name in sorted({*total, *counts.by_class}):
        told = counts.by_class.get(name)
        was = (told.total, told.shown) if told else (0, 0)
        if was != (total[name], shown[name]):
            said.append(f"{name}: its record says {was[1]} of {was[0]} shown, there are {shown[name]} of {total[name]}")
    sums = (counts.shown + counts.elsewhere + counts.left_out, counts.total, sum(total.values()))
    if len(set(sums)) > 1 or sum(counts.holders.values()) != counts.elsewhere:
        said.append("shown, elsewhere and left out do not add up to its total")
    return tuple(said)
