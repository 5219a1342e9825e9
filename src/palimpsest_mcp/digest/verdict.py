"""What the checks of a batch add up to: its counts, the rules that it breaks; and what a stored digest still shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ..models import text as nouns
from ..models.items import Specific
from ..models.records import ClassCount, DigestLine, DigestPart, DigestSource, SpecificCounts
from ..ports.seams import Registry
from .notation import (
    NOTE,
    PROSE_NOTE,
    Heads,
    expanded,
)
from .proof import PartCheck, check_part, facts_of
from .source_facts import Facts

CHECKS = (
    "counts",
    "invented",
    "pairs",
    "rows",
    "headings",
    "clauses",
    "elsewhere",
    "prose",
    "budget",
    "length",
    "smaller",
)
SLACK = 1.05
"""A digest may use this much of its budget (D11)."""
PROSE_SHARE = 0.4
"""Of the budget, at most, for a model's wording (D10)."""
BEFORE = "extractive/1"
"""The digester of the notation of before."""


class Shared(NamedTuple):
    """Specifics of a batch by numbers: equal (class, text, key) share one, in whatever item they stand."""

    numbers: list[list[int]]
    """Per item, of each of its specifics."""
    holders: dict[int, str]
    """Of those in view already, what holds them."""
    several: list[list[int]]
    """Per item, which of its specifics others may hold: those in view, and those of more than one item."""


def shared(facts: Sequence[Facts], visible: Mapping[Specific, str]) -> Shared:
    """Number the specifics of a batch, in order."""
    known: dict[Specific, int] = {}
    found = [[known.setdefault(spec, len(known)) for spec in one.specs] for one in facts]
    holders = {number: visible[spec] for spec, number in known.items() if spec in visible}
    items = Counter(number for own in found for number in own)  # an item has each of its specifics once
    several = [[n for n, number in enumerate(own) if number in holders or items[number] > 1] for own in found]
    return Shared(found, holders, several)


def settle(batch: Shared, checks: Sequence[PartCheck], batch_id: str) -> None:
    """Fill `elsewhere`: what an earlier digest or a kept item holds, else another part of this batch (D8)."""
    holders = batch.holders
    here = {found[n] for found, check in zip(batch.numbers, checks, strict=True) for n in check.shown}
    for found, several, check in zip(batch.numbers, batch.several, checks, strict=True):
        held = [n for n in several if n not in check.shown and (found[n] in holders or found[n] in here)]
        check.elsewhere = {n: holders.get(found[n], batch_id) for n in held}


def counted(facts: Iterable[Facts], checks: Iterable[PartCheck], redacted: int) -> SpecificCounts:
    """Counts over items, by class; shown + elsewhere + left out = total in each (D4)."""
    every, shown, elsewhere = Counter[str](), Counter[str](), Counter[str]()
    held: dict[str, dict[str, int]] = {}
    for one, check in zip(facts, checks, strict=True):
        specs = one.specs
        every.update(one.classes)
        shown.update([specs[number].cls for number in check.shown])
        elsewhere.update([specs[number].cls for number in check.elsewhere])
        for number, holder in check.elsewhere.items():
            classes_of, name = held.setdefault(holder, {}), specs[number].cls
            classes_of[name] = classes_of.get(name, 0) + 1
    classes = {
        name: ClassCount(
            total=total, shown=shown[name], elsewhere=elsewhere[name], left_out=total - shown[name] - elsewhere[name]
        )
        for name, total in sorted(every.items())
    }
    return SpecificCounts(
        total=sum(c.total for c in classes.values()),
        shown=sum(c.shown for c in classes.values()),
        elsewhere=sum(c.elsewhere for c in classes.values()),
        left_out=sum(c.left_out for c in classes.values()),
        redacted=redacted,
        by_class=classes,
        holders={holder: sum(of.values()) for holder, of in sorted(held.items())},
        held={holder: dict(sorted(of.items())) for holder, of in sorted(held.items())},
    )


def violations(
    parts: Sequence[DigestPart],
    checks: Sequence[PartCheck],
    counts: SpecificCounts,
    *,
    tokens: int,
    ceiling: int,
    source_tokens: int,
    most: int,
    prose_tokens: int = 0,
    budget: int = 0,
) -> tuple[str, ...]:
    """Rules a finished digest breaks; empty when it may be used. Never source text."""
    found = [f"{rule} (part {n + 1})" for n, check in enumerate(checks) for _, rule in sorted(check.bad_lines.items())]
    if any(c.shown + c.elsewhere + c.left_out != c.total for c in counts.by_class.values()):
        found.append("counts: shown + elsewhere + left out is not the total")
    if sum(c.total for c in counts.by_class.values()) != sum(check.total for check in checks):
        found.append("counts: not every specific of the sources is counted")
    if any(not part.text.strip() for part in parts):
        found.append("part: an item has no part")
    if tokens > ceiling * SLACK:
        found.append(f"budget: {nouns.counted(tokens, 'token')}, {ceiling} allowed")
    if tokens > most:
        found.append(f"length: {nouns.counted(tokens, 'token')}, a digest may have {most}")
    if tokens >= source_tokens:
        found.append(f"smaller: {nouns.counted(tokens, 'token')} for {source_tokens}")
    if prose_tokens > PROSE_SHARE * budget:
        found.append("prose: more than its share of the budget")
    return tuple(found)


def shown_specifics(facts: Facts, check: PartCheck) -> tuple[Specific, ...]:
    """What a part shows, sorted, each under the key it has in S."""
    return tuple(sorted(facts.specs[number] for number in check.shown))


# What a stored digest part shows, read back from its text: for what later digests may leave to it (D8).


def shown_in(part: str, registry: Registry) -> Iterator[Specific]:
    """Specifics of what the part shows (`notation.expanded`), each with the key that its own line gives it.

    Our notes and somebody else's wording show nothing (D3, D10).
    """
    for line in expanded(without_prose(part)).split("\n"):
        if not NOTE.fullmatch(line):
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
        elif found := PROSE_NOTE.fullmatch(line):
            prose = int(found[1])
        else:
            kept.append(line)
    return "\n".join(kept)


def recount(
    parts: Iterable[tuple[DigestSource, str]], counts: SpecificCounts, registry: Registry, *, digester: str = ""
) -> tuple[str, ...]:
    """What a record says of its specifics and a new count does not; empty where both agree.

    Args:
        parts: each original, redacted as it was, with the part that stands for it.
        counts: of the record, made with a registry of the same version.
        digester: what made it; digests in the notation of before were checked by their hash, and are not counted again.
    """
    if digester == BEFORE:
        return ()
    read = [(facts_of(source, registry), without_prose(part).split("\n")) for source, part in parts]
    others = [facts.own for facts, _ in read]
    heads: Heads = {}
    checks = [
        check_part(facts, [_typed(line) for line in lines], others, heads, number)
        for number, (facts, lines) in enumerate(read)
    ]
    total = Counter(spec.cls for facts, _ in read for spec in facts.specs)
    shown = Counter(facts.specs[n].cls for (facts, _), check in zip(read, checks, strict=True) for n in check.shown)
    said: list[str] = []
    if bad := sum(len(check.bad_lines) for check in checks):
        said.append(f"{nouns.counted(bad, 'line')} of it {nouns.verb(bad, 'says', 'say')} what its source does not")
    for name in sorted({*total, *counts.by_class}):
        told = counts.by_class.get(name)
        was = (told.total, told.shown) if told else (0, 0)
        if was != (total[name], shown[name]):
            said.append(f"{name}: its record says {was[1]} of {was[0]} shown, there are {shown[name]} of {total[name]}")
    sums = (counts.shown + counts.elsewhere + counts.left_out, counts.total, sum(total.values()))
    if len(set(sums)) > 1 or sum(counts.holders.values()) != counts.elsewhere:
        said.append("shown, elsewhere and left out do not add up to its total")
    return tuple(said)


def _typed(line: str) -> DigestLine:
    return DigestLine("note" if NOTE.fullmatch(line) else "quote", line)
