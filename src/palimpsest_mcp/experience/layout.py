"""`experience.md`, written: the seed's template under its caps and its ceiling of 120 lines. Same rules, same bytes."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from datetime import date

import msgspec

from ..errors import HandWrittenTooLong
from ..models.experience import Rule, Section
from .document import HEADINGS, Document, Part, Place
from .wilson import lower_bound

MAX_LINES = 120
CAPS: dict[Section, int] = {"active": 20, "failures": 15, "queries": 20}
"""Entries of a section, hand-written ones included; only the ceiling bounds what is pending."""


class Laid(msgspec.Struct, frozen=True):
    """A digest that fits."""

    text: str
    hidden: frozenset[str]
    """Ids of rules for which there was no room."""


def lay_out(
    document: Document, rules: Sequence[Rule], last_line: str, left_over: Mapping[Section, int] | None = None
) -> Laid:
    """The file's text: the user's lines as they are, then our rules, as many as fit.

    Over the ceiling there leave: what is pending, the oldest failure modes, the least seen active rules, the least
    seen query patterns, and corrections last. Never a line that a person wrote.

    Args:
        left_over: rules of a section that are not even handed in.

    Raises:
        HandWrittenTooLong: those alone are too many.
    """
    more = dict(left_over or {})
    parts = _parts(document, any(rule.section == "pending" for rule in rules))
    shown = _capped(rules, {part.place: len(part.hand) for part in parts})
    leaving = sorted(shown, key=_drop_order)
    lines = _lines(document, parts, rules, shown, last_line, more)
    while len(lines) > MAX_LINES:
        if not leaving:
            raise _too_long(len(lines))
        shown.remove(leaving.pop(0))
        lines = _lines(document, parts, rules, shown, last_line, more)
    kept = {rule.id for rule in shown}
    text = document.newline.join([*lines, ""])
    return Laid(text, frozenset(rule.id for rule in rules if rule.id not in kept))


def rule_line(rule: Rule) -> str:
    """One line, its id last."""
    numbers = f"seen={rule.failed}" if rule.section == "failures" else f"seen={rule.seen}, success={rule.success}"
    conflict = f", conflict={rule.conflict}" if rule.conflict else ""
    return f"- {rule.text} — {numbers}, last_verified={rule.last_verified}{conflict}, id={rule.id}"


def last_compacted_line(today: date, events: int, promoted: int, archive: str) -> str:
    """The one bullet under `## Last Compacted`."""
    rotated = f", archived raw events before {today} ({archive})" if archive else ""
    return f"- {today}, from {events} events, promoted {promoted} rule{'' if promoted == 1 else 's'}{rotated}."


def unified_diff(before: str, after: str) -> str:
    """What a compaction changes, as `diff -u` would show it; empty where nothing does."""
    old, new = (text.removesuffix("\n").split("\n") if text else [] for text in (before, after))
    lines = difflib.unified_diff(old, new, "experience.md", "experience.md (compacted)", lineterm="")
    return "\n".join(lines)


def sort_key(rule: Rule) -> tuple[object, ...]:
    """The order within a section."""
    newest = -rule.last_verified.toordinal()
    if rule.section == "failures":
        return (rule.kind != "correction", -rule.failed, newest, rule.text)
    if rule.section == "queries":
        return (-rule.seen, -rule.success, newest, rule.text)
    if rule.section == "pending":
        return (newest, -rule.success, rule.text)
    return (-rule.success, -rule.seen, newest, rule.text)


def _drop_order(rule: Rule) -> tuple[object, ...]:
    """What leaves first sorts first."""
    day = rule.last_verified.toordinal()
    if rule.kind == "correction":
        return (4, day, rule.failed, rule.text)
    if rule.section == "failures":
        return (1, day, rule.failed, rule.text)
    rank = {"pending": 0, "active": 2, "queries": 3}[rule.section]
    first = day if rank == 0 else rule.seen
    return (rank, first, lower_bound(rule.success, rule.seen), day, rule.text)


def _capped(rules: Sequence[Rule], hand: dict[Place, int]) -> list[Rule]:
    shown: list[Rule] = []
    for section in ("active", "failures", "queries", "pending"):
        here = sorted((rule for rule in rules if rule.section == section), key=sort_key)
        cap = CAPS.get(section, MAX_LINES)
        shown += here[: max(0, cap - hand.get(section, 0))]
    return shown


def _parts(document: Document, pending: bool) -> list[Part]:
    """The file's own sections in their order, and those that it lacks where the template has them."""
    parts = [part for part in document.parts if part.place != "pending" or pending or part.hand]
    for place, heading in HEADINGS.items():
        if (place == "pending" and not pending) or any(part.place == place for part in parts):
            continue
        later = list(HEADINGS)[list(HEADINGS).index(place) + 1 :]
        at = next((index for index, part in enumerate(parts) if part.place in later), len(parts))
        parts.insert(at, Part(place=place, heading=heading, hand=()))
    return parts


def _lines(
    document: Document,
    parts: Sequence[Part],
    rules: Sequence[Rule],
    shown: Sequence[Rule],
    last_line: str,
    more: Mapping[Section, int],
) -> list[str]:
    lines = [document.title, *(("", *document.intro) if document.intro else ())]
    for part in parts:
        ours = [rule_line(rule) for rule in sorted(shown, key=sort_key) if rule.section == part.place]
        missing = sum(rule.section == part.place for rule in rules) - len(ours)
        if part.place not in ("last", "foreign"):
            missing += more.get(part.place, 0)
        if missing:
            ours.append(f"- ({missing} not shown)")
        if part.place == "last":
            ours.append(last_line)
        lines += ["", part.heading, *part.hand, *ours]
    return lines


def _too_long(lines: int) -> HandWrittenTooLong:
    return HandWrittenTooLong(
        f"The lines of experience.md that people wrote need {lines} lines with the headings, of {MAX_LINES} allowed.",
        next="Shorten them by hand, then compact again; nothing was written.",
    )
