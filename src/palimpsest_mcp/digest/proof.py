"""Stand-in until the independent verification is there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ..models import text as nouns
from ..models.items import Specific
from ..models.records import ClassCount, DigestPart, SpecificCounts
from .records import plain

CHECKS = ("counts",)
PROSE_SHARE = 0.4
SLACK = 1.05


class Facts:
    def __init__(self, source, registry):
        self.source = source
        self.registry = registry
        text = plain(source.text)
        spans = registry.spans(text)
        known = {}
        for s in spans:
            known.setdefault((s.cls, s.text), Specific(s.cls, s.text, s.key))
        self.specs = list(known.values())


def facts_of(source, registry):
    return Facts(source, registry)


@dataclass
class PartCheck:
    shown: set = field(default_factory=set)
    elsewhere: dict = field(default_factory=dict)
    bad_lines: dict = field(default_factory=dict)
    total: int = 0
    rows: dict = field(default_factory=dict)


def check_part(facts, lines, others=()):
    c = PartCheck(total=len(facts.specs))
    text = "\n".join(l.text for l in lines if l.kind != "note").replace("|", "\n")
    found = {(s.cls, s.text) for s in facts.registry.spans(text)}
    texts = {t for _, t in found}
    c.shown = {n for n, s in enumerate(facts.specs) if (s.cls, s.text) in found or s.text in texts}
    return c


class Shared(NamedTuple):
    numbers: list[list[int]]
    holders: dict[int, str]


def shared(facts, visible):
    known = {}
    numbers = [[known.setdefault(spec, len(known)) for spec in f.specs] for f in facts]
    return Shared(numbers, {n: visible[s] for s, n in known.items() if s in visible})


def settle(batch: Shared, checks: Sequence[PartCheck], batch_id: str) -> None:
    """Fill `elsewhere`: what an earlier digest or a kept item holds, else another part of this batch (D8)."""
    holders = batch.holders
    here = {numbers[n] for numbers, check in zip(batch.numbers, checks, strict=True) for n in check.shown}
    for numbers, check in zip(batch.numbers, checks, strict=True):
        held = [n for n, number in enumerate(numbers) if number in holders or number in here]
        check.elsewhere = {n: holders.get(numbers[n], batch_id) for n in held if n not in check.shown}


def counted(surveys, checks: Iterable[PartCheck], redacted: int) -> SpecificCounts:
    """Counts over items, by class; shown + elsewhere + left out = total in each (D4)."""
    every, shown, elsewhere = Counter[str](), Counter[str](), Counter[str]()
    held: dict[str, dict[str, int]] = {}
    for survey, check in zip(surveys, checks, strict=True):
        specs = survey.specs
        every.update([spec.cls for spec in specs])
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


def shown_specifics(survey, check: PartCheck) -> tuple[Specific, ...]:
    """What a part shows, sorted, each under the key it has in the survey."""
    return tuple(sorted(survey.specs[number] for number in check.shown))


def prose_violation(facts, lines, registry):
    return ""
