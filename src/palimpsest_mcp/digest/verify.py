"""Code checks a digest against the redacted sources before it is used (D4 to D8, D10, D11).

Nothing here looks at how the digest was made: it reads the lines that are shown, finds the specifics in them with the
same registry, and compares with what the sources hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ..models.digests import DigestLine, DigestPart
from ..models.records import ClassCount, SpecificCounts
from ..models.specifics import Specific
from ..ports.text import Registry
from .entries import entry_pairs
from .units import Survey

CHECKS = ("counts", "invented", "factored", "pairs", "elsewhere", "prose", "budget", "smaller")
SHOWN_KINDS = frozenset({"quote", "row", "entry"})
SLACK = 1.05
"""A digest may use this much of its budget (D11)."""
PROSE_SHARE = 0.4
"""Of the budget, at most, for a model's wording (D10)."""


@dataclass(slots=True)
class PartCheck:
    """What became of one item's specifics."""

    shown: set[int] = field(default_factory=set[int])
    """Numbers of S that stand in its own part."""
    elsewhere: dict[int, str] = field(default_factory=dict[int, str])
    """Numbers of S in view elsewhere -> holder."""
    bad_lines: dict[int, str] = field(default_factory=dict[int, str])
    """Lines of the part that may not stand, with the rule they break."""
    total: int = 0

    @property
    def in_view(self) -> float:
        """Share of the item's specifics in view; 1.0 where it has none."""
        return (len(self.shown) + len(self.elsewhere)) / self.total if self.total else 1.0


def check_part(survey: Survey, lines: Sequence[DigestLine], registry: Registry) -> PartCheck:
    """What one part shows of its own item, and which of its lines say what the source does not (D4, D5, D7)."""
    known = {(spec.cls, spec.text): number for number, spec in enumerate(survey.specs)}
    homes: dict[str, list[int]] = {}
    for spec, home in zip(survey.specs, survey.home, strict=True):
        homes.setdefault(spec.text, []).append(home)
    check = PartCheck(total=len(survey.specs))
    checked = [n for n, line in enumerate(lines) if line.kind in SHOWN_KINDS or line.kind == "prose"]
    for number, found in zip(checked, _found_by_line([lines[n].text for n in checked], registry), strict=True):
        line = lines[number]
        strangers = [pair for pair in found if pair not in known]
        if strangers:
            check.bad_lines[number] = f"invented: {len(strangers)} in a {line.kind} line"
        elif line.kind == "entry" and not _pairs_hold(survey, homes, line.text):
            check.bad_lines[number] = "pairs: a value under a key it does not have"
        elif line.kind in SHOWN_KINDS:
            check.shown.update(known[pair] for pair in found)
    return check


def _found_by_line(texts: Sequence[str], registry: Registry) -> list[list[tuple[str, str]]]:
    spans = registry.spans("\n".join(texts))
    found: list[list[tuple[str, str]]] = []
    at = position = 0
    for text in texts:
        position += len(text) + 1
        here: list[tuple[str, str]] = []
        while at < len(spans) and spans[at].start < position:
            here.append((spans[at].cls, spans[at].text))
            at += 1
        found.append(here)
    return found


def _pairs_hold(survey: Survey, homes: Mapping[str, Sequence[int]], text: str) -> bool:
    """Whether every value of a ledger line stands in one piece of the source with its key or word (D7)."""
    return all(
        (key, value) in survey.pairs or any(key in survey.lines[home].text for home in homes.get(value, ()))
        for key, value in entry_pairs(text)
        if key
    )


def settle(
    surveys: Sequence[Survey], checks: Sequence[PartCheck], visible: Mapping[Specific, str], batch_id: str
) -> None:
    """Fill `elsewhere`: what an earlier digest or a kept item holds, else another part of this batch (D8)."""
    here = {survey.specs[n] for survey, check in zip(surveys, checks, strict=True) for n in check.shown}
    for survey, check in zip(surveys, checks, strict=True):
        check.elsewhere = {}
        for number, spec in enumerate(survey.specs):
            if number in check.shown:
                continue
            holder = visible.get(spec) or (batch_id if spec in here else "")
            if holder:
                check.elsewhere[number] = holder


def counted(surveys: Iterable[Survey], checks: Iterable[PartCheck], redacted: int) -> SpecificCounts:
    """Counts over items, by class; shown + elsewhere + left out = total in each (D4)."""
    by_class: dict[str, list[int]] = {}
    holders: dict[str, int] = {}
    for survey, check in zip(surveys, checks, strict=True):
        for number, spec in enumerate(survey.specs):
            row = by_class.setdefault(spec.cls, [0, 0, 0])
            row[0 if number in check.shown else 1 if number in check.elsewhere else 2] += 1
        for holder in check.elsewhere.values():
            holders[holder] = holders.get(holder, 0) + 1
    classes = {
        name: ClassCount(total=sum(row), shown=row[0], elsewhere=row[1], left_out=row[2])
        for name, row in sorted(by_class.items())
    }
    return SpecificCounts(
        total=sum(c.total for c in classes.values()),
        shown=sum(c.shown for c in classes.values()),
        elsewhere=sum(c.elsewhere for c in classes.values()),
        left_out=sum(c.left_out for c in classes.values()),
        redacted=redacted,
        by_class=classes,
        holders=dict(sorted(holders.items())),
    )


def violations(
    parts: Sequence[DigestPart],
    checks: Sequence[PartCheck],
    counts: SpecificCounts,
    *,
    tokens: int,
    ceiling: int,
    source_tokens: int,
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
        found.append(f"budget: {tokens} tokens, {ceiling} allowed")
    if tokens >= source_tokens:
        found.append(f"smaller: {tokens} tokens for {source_tokens}")
    if prose_tokens > PROSE_SHARE * budget:
        found.append("prose: more than its share of the budget")
    return tuple(found)


def shown_specifics(survey: Survey, check: PartCheck) -> tuple[Specific, ...]:
    """What a part shows, sorted, each under the key it has in the survey."""
    return tuple(sorted(survey.specs[number] for number in check.shown))


__all__ = ["CHECKS", "SLACK", "PartCheck", "check_part", "counted", "settle", "shown_specifics", "violations"]
