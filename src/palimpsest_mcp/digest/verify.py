"""Code checks a digest against the redacted sources before it is used (D4 to D8, D10, D11).

Nothing here looks at how the digest was made: it reads the lines that are shown, finds the specifics in them with the
same registry, and compares with what the sources hold. Numbers are read a second time, by a reader that shares nothing
with the first (`witness.py`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ..models import text as nouns
from ..models.items import Span, Specific
from ..models.records import ClassCount, DigestLine, DigestPart, SpecificCounts
from ..ports.text import Registry
from .ledger_lines import ALSO, entry_groups
from .lines import CUT, Judged, Survey
from .witness import Witness

CHECKS = ("counts", "invented", "factored", "pairs", "elsewhere", "prose", "budget", "length", "smaller")
_LEDGER = re.compile(r"(?: \S|[a-z][\w-]*: )")
SHOWN_KINDS = frozenset({"quote", "row", "entry"})
SLACK = 1.05
"""A digest may use this much of its budget (D11)."""
PROSE_SHARE = 0.4
"""Of the budget, at most, for a model's wording (D10)."""
_NUMBER = re.compile(r"(?<![\w.,])\d+(?:[.,]\d+)*(?!\w|[.,]\d)")
"""A number that stands alone, down to a single digit; the registry's classes begin with longer ones."""
_WORD = re.compile(r"\w+")
_ORDINAL = re.compile(r"(\d+)(?:st|nd|rd|th)")


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


def check_part(survey: Survey, lines: Sequence[DigestLine], registry: Registry) -> PartCheck:
    """What one part shows of its own item, and which of its lines say what the source does not (D4, D5, D7)."""
    judged = _judged(survey)
    check = PartCheck(total=len(survey.specs))
    checked = [n for n, line in enumerate(lines) if line.kind in SHOWN_KINDS or line.kind == "prose"]
    new = [line for line in {(lines[n].kind, lines[n].text): None for n in checked} if line not in judged.lines]
    texts = [text for _, text in new]
    for (kind, text), (begins, found) in zip(new, _found_by_line(texts, registry), strict=True):
        judged.lines[kind, text] = _judge(survey, judged, kind, text, begins, found)
    for number in checked:
        rule, shown = judged.lines[lines[number].kind, lines[number].text]
        if rule:
            check.bad_lines[number] = rule
        else:
            check.shown.update(shown)
    return check


def _judged(survey: Survey) -> Judged:
    """The survey's own memory of judged lines; only the registry that surveyed an item checks its parts."""
    if survey.judged is None:
        numbers = {(spec.cls, spec.text): number for number, spec in enumerate(survey.specs)}
        homes: dict[str, list[int]] = {}
        for spec, home in zip(survey.specs, survey.home, strict=True):
            homes.setdefault(spec.text, []).append(home)
        survey.judged = Judged(numbers, homes, Witness(survey.text))
    return survey.judged


def _judge(
    survey: Survey, judged: Judged, kind: str, text: str, begins: int, found: Sequence[Span]
) -> tuple[str, tuple[int, ...]]:
    """The rule that one line breaks, else the specifics that it shows."""
    numbers = judged.numbers
    shown = [numbers.get((span.cls, span.text), -1) for span in found]
    if strangers := shown.count(-1):
        return f"invented: {strangers} in a {kind} line", ()
    if kind in SHOWN_KINDS and judged.witness.strangers(text):
        return f"invented: a number in a {kind} line that a second reading does not find", ()
    if kind == "entry" and not _pairs_hold(survey, judged.homes, text, begins, found):
        return "pairs: a value under a key it does not have", ()
    return "", tuple(shown) if kind in SHOWN_KINDS else ()


def prose_violation(surveys: Sequence[Survey], lines: Sequence[str], registry: Registry) -> str:
    """The rule that a summary of these items breaks, empty where none: it holds no specific and no number, however
    short, that they do not hold (D5, D10), and gives no value, behind `=`, a key that it does not have (D7)."""
    known = {(spec.cls, spec.text) for survey in surveys for spec in survey.specs}
    pairs = {pair for survey in surveys for pair in survey.pairs}
    strangers = Counter[str]()
    mispaired = 0
    for text, (begins, found) in zip(lines, _found_by_line(lines, registry), strict=True):
        for span in found:
            if (span.cls, span.text) not in known:
                strangers[span.cls] += 1
            elif text[: span.start - begins].rstrip("\"' `").endswith("=") and (span.key, span.text) not in pairs:
                mispaired += 1
    if strangers:
        said = ", ".join(f"{count} {name}" for name, count in sorted(strangers.items()))
        return f"invented: {nouns.counted(strangers.total(), 'specific')} that its source does not hold ({said})"
    numbers = {number for line in lines for number in _numbers(line)}
    if numbers and (unknown := numbers.difference(*(_numbers(one.text) for s in surveys for one in s.lines))):
        return f"invented: {nouns.counted(len(unknown), 'number')} that its source does not hold"
    words = nouns.verb(mispaired, "it does", "they do")
    return f"pairs: {nouns.counted(mispaired, 'value')} under a key {words} not have" if mispaired else ""


def _numbers(text: str) -> set[str]:
    """Numbers and words with a digit in them, such as `node9`; of `2nd` the number."""
    words = (word for word in _WORD.findall(text) if not (word.isalpha() or word.isdigit()))
    with_digit = {word for word in words if any(map(str.isdigit, word))}
    ordinals = {word: found[1] for word in with_digit if (found := _ORDINAL.fullmatch(word))}
    return {*_NUMBER.findall(text), *(ordinals.get(word, word) for word in with_digit)}


def _found_by_line(texts: Sequence[str], registry: Registry) -> list[tuple[int, list[Span]]]:
    """Where each text begins when they stand below each other, and its specifics, their places counted there."""
    spans = registry.spans("\n".join(texts))
    found: list[tuple[int, list[Span]]] = []
    at = begins = 0
    for text in texts:
        end = begins + len(text) + 1
        first = at
        while at < len(spans) and spans[at].start < end:
            at += 1
        found.append((begins, spans[first:at]))
        begins = end
    return found


def _pairs_hold(
    survey: Survey, homes: Mapping[str, Sequence[int]], text: str, begins: int, found: Sequence[Span]
) -> bool:
    """Whether the values of every group of a ledger line stand in one piece of the source with its key or word (D7)."""
    for group in entry_groups(text):
        values = [span.text for span in found if group.start <= span.start - begins < group.end]
        if group.together:
            shared = set(homes.get(values[0], ())) if values else set[int]()
            for value in values[1:]:
                shared &= set(homes.get(value, ()))
            if values and not any(group.key in survey.lines[home].text for home in shared):
                return False
        elif group.key and any((group.key, value) not in survey.pairs for value in values):
            return False
    return True


def mispaired(survey: Survey, lines: Sequence[str], registry: Registry) -> int:
    """Of the lines of a stored part, the ledger's that have a value under a key it does not have (D7).

    A line of the source that looks like the ledger's is no such line, nor is a piece of it: the source may be a digest.
    """
    own = {line.text for line in survey.lines}
    ledger = [line for line in lines if _LEDGER.match(line) and line not in own]
    if ledger:
        source = "\n".join(own)
        ledger = [line for line in ledger if line.removesuffix(f" {CUT}") not in source]
    homes = _judged(survey).homes
    return sum(
        _may_be_ledger(line, found) and not _pairs_hold(survey, homes, line, begins, found)
        for line, (begins, found) in zip(ledger, _found_by_line(ledger, registry), strict=True)
    )


def _may_be_ledger(line: str, found: Sequence[Span]) -> bool:
    """A line under the name of a class holds that class alone, one beside a word has no cells: a row of records that
    begins so does not, or has."""
    if line[0] == " ":
        return " |" not in line
    name = line.partition(": ")[0]
    return name == ALSO or all(span.cls == name for span in found)


class Shared(NamedTuple):
    """Specifics of a batch by numbers: equal (class, text, key) share one, in whatever item they stand."""

    numbers: list[list[int]]
    """Per item, of each of its specifics."""
    holders: dict[int, str]
    """Of those in view already, what holds them."""


def shared(surveys: Sequence[Survey], visible: Mapping[Specific, str]) -> Shared:
    """Number the specifics of a batch, in order."""
    known: dict[Specific, int] = {}
    numbers = [[known.setdefault(spec, len(known)) for spec in survey.specs] for survey in surveys]
    return Shared(numbers, {number: visible[spec] for spec, number in known.items() if spec in visible})


def settle(batch: Shared, checks: Sequence[PartCheck], batch_id: str) -> None:
    """Fill `elsewhere`: what an earlier digest or a kept item holds, else another part of this batch (D8)."""
    holders = batch.holders
    here = {numbers[n] for numbers, check in zip(batch.numbers, checks, strict=True) for n in check.shown}
    for numbers, check in zip(batch.numbers, checks, strict=True):
        held = [n for n, number in enumerate(numbers) if number in holders or number in here]
        check.elsewhere = {n: holders.get(numbers[n], batch_id) for n in held if n not in check.shown}


def counted(surveys: Iterable[Survey], checks: Iterable[PartCheck], redacted: int) -> SpecificCounts:
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


def shown_specifics(survey: Survey, check: PartCheck) -> tuple[Specific, ...]:
    """What a part shows, sorted, each under the key it has in the survey."""
    return tuple(sorted(survey.specs[number] for number in check.shown))
