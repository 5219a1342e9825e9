"""`experience.md`, read: which lines are rules of ours, which a person wrote, when it was compacted last.

A line is ours only when it ends in the metadata footer and reads as we wrote it; everything else is the user's and is
kept as it stands.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Literal

import msgspec

from ..errors import HandWrittenTooLong
from ..models.sections import cut
from .models import Rule, Section, lower_bound

Place = Literal["active", "failures", "queries", "pending", "last", "foreign"]

HEADINGS: dict[Place, str] = {
    "active": "## Active Rules",
    "failures": "## Failure Modes",
    "queries": "## Good Query Patterns",
    "pending": "## Pending Revalidation",
    "last": "## Last Compacted",
}
"""In the order of the template."""
_NAMES: dict[str, Place] = {heading[3:].casefold(): place for place, heading in HEADINGS.items()}
_RULE = re.compile(
    r"- (?P<text>.*\S)\s+(?:—|--)\s+seen=(?P<seen>\d{1,9})(?:, success=(?P<success>\d{1,9}))?"
    r"(?:, last_verified=(?P<verified>\d{4}-\d\d-\d\d|unknown))?(?:, conflict=(?P<conflict>\w+))?"
    r"(?:, id=(?P<id>r[0-9a-f]{3,64}))?\s*"
)
_PINNED = re.compile(r"- \[pin(?:ned)?\]", re.IGNORECASE)
_OURS = re.compile(r"- \(\d+ not shown\)|- None yet\.|# ≤ \d+ (?:entries|templates)")
_SEED_LAST = re.compile(r"- (\d{4}-\d\d-\d\d), from \d+ events, promoted \d+ rules?\b.*")
_OLD_LAST = re.compile(r"Last Compacted:\s*(\S+)\s*")
_OLD_COUNTS = re.compile(r"- from \d+ events, promoted \d+ rules?\.?")


class RuleInFile(msgspec.Struct, frozen=True, kw_only=True):
    """A rule as the file has it."""

    id: str
    """Empty in a file of the original's."""
    section: Section
    text: str
    seen: int
    success: int | None
    last_verified: date | None


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """A section of the file."""

    place: Place
    heading: str
    hand: tuple[str, ...]
    """The user's lines, without blank ones at both ends."""


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """The whole file."""

    title: str
    intro: tuple[str, ...]
    parts: tuple[Part, ...]
    rules: tuple[RuleInFile, ...]
    last_compacted: datetime | None
    newline: str = "\n"

    @property
    def hand(self) -> tuple[str, ...]:
        """Every line that a person wrote in a section of rules."""
        return tuple(line for part in self.parts for line in part.hand)


def empty_document(skill: str) -> Document:
    """What a skill without a digest starts from."""
    parts = tuple(
        Part(place=place, heading=heading, hand=()) for place, heading in HEADINGS.items() if place != "pending"
    )
    return Document(title=f"# {skill} experience", intro=(), parts=parts, rules=(), last_compacted=None)


def read_document(text: str, skill: str, written: Mapping[str, str]) -> Document:
    """Read a digest of any origin. Nothing of it is refused.

    Args:
        written: rule id -> the text that we gave it; a line of ours whose text differs was changed by hand.
    """
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    head, blocks = cut(lines, fenced=True)
    title, intro = _head(head, skill)
    parts: list[Part] = []
    rules: list[RuleInFile] = []
    last: datetime | None = None
    for name, body in blocks:
        place = _NAMES.get(_name(name), "foreign")
        if any(part.place == place != "foreign" for part in parts):
            place = "foreign"
        hand = body
        if place == "last":
            hand, last = _without_last(body)
        elif place != "foreign":
            hand, found = _without_rules(body, place, written)
            rules += found
        parts.append(Part(place=place, heading=f"## {name}", hand=_trimmed(hand)))
    return Document(
        title=title, intro=intro, parts=tuple(parts), rules=tuple(rules), last_compacted=last, newline=newline
    )


def with_later_lines(text: str, earlier: Document, later: Document) -> str:
    """The text of an earlier document, with the lines that a person wrote since, each under its own heading."""
    known = {line for part in earlier.parts for line in part.hand} | {*earlier.intro}
    end = "\r" if earlier.newline == "\r\n" else ""
    lines = text.split("\n") if text else [later.title]
    at = next((index for index, line in enumerate(lines) if line.lstrip("\ufeff").startswith("# ")), -1)
    added = _new_lines(later.intro, known)
    lines[at + 1 : at + 1] = [end, *(line + end for line in added)] if added else []
    for part in later.parts:
        if not (added := [line + end for line in _new_lines(part.hand, known)]):
            continue
        name = _name(part.heading.removeprefix("## "))
        at = next((i for i, line in enumerate(lines) if line[:3] == "## " and _name(line[3:]) == name), -1)
        if at < 0:
            lines = [*_trimmed(lines), end, part.heading + end]
            at = len(lines) - 1
            added.append("")
        lines[at + 1 : at + 1] = added
    return "\n".join(lines)


def _new_lines(hand: Sequence[str], known: set[str]) -> list[str]:
    return [line for line in hand if line.strip() and line not in known]


def _name(heading: str) -> str:
    """`Active Rules        # ≤ 20 entries` -> `active rules`."""
    return heading.split("#")[0].strip().casefold()


def _head(lines: list[str], skill: str) -> tuple[str, tuple[str, ...]]:
    kept = _trimmed(lines)
    if kept and kept[0].lstrip("\ufeff").startswith("# "):
        return kept[0], _trimmed(list(kept[1:]))
    return f"# {skill} experience", kept


def _without_rules(
    lines: list[str], section: Section, written: Mapping[str, str]
) -> tuple[list[str], list[RuleInFile]]:
    hand: list[str] = []
    rules: list[RuleInFile] = []
    for line in lines:
        match = None if _PINNED.match(line) else _RULE.fullmatch(line)
        if match is not None and written.get(match["id"] or "", match["text"]) == match["text"]:
            rules.append(_written(match, section))
        elif not _OURS.fullmatch(line.strip()):
            hand.append(line)
    return hand, rules


def _written(match: re.Match[str], section: Section) -> RuleInFile:
    return RuleInFile(
        id=match["id"] or "",
        section=section,
        text=match["text"],
        seen=int(match["seen"]),
        success=int(match["success"]) if match["success"] else None,
        last_verified=_date(match["verified"]),
    )


def _date(text: str | None) -> date | None:
    try:
        return date.fromisoformat(text or "")
    except ValueError:
        return None


def _without_last(lines: list[str]) -> tuple[list[str], datetime | None]:
    """Both known forms: one dated bullet, or a stamp and a bullet of counts."""
    hand: list[str] = []
    last: datetime | None = None
    for line in lines:
        stripped = line.strip()
        if match := _SEED_LAST.fullmatch(stripped) or _OLD_LAST.fullmatch(stripped):
            last = _moment(match[1]) or last
        elif not _OLD_COUNTS.fullmatch(stripped):
            hand.append(line)
    return hand, last


def _moment(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _trimmed(lines: list[str]) -> tuple[str, ...]:
    while lines and not lines[0].strip():
        lines = lines[1:]
    while lines and not lines[-1].strip():
        lines = lines[:-1]
    return tuple(lines)


# `experience.md`, written: the seed's template under its caps and its ceiling of 120 lines. Same rules, same bytes.


MAX_LINES = 120
CAPS: dict[Section, int] = {"active": 20, "failures": 15, "queries": 20}
"""Entries of a section, hand-written ones included; only the ceiling bounds what is pending."""


class FittedDigest(msgspec.Struct, frozen=True):
    """A digest that fits."""

    text: str
    hidden: frozenset[str]
    """Ids of rules for which there was no room."""


def lay_out(
    document: Document, rules: Sequence[Rule], last_line: str, left_over: Mapping[Section, int] | None = None
) -> FittedDigest:
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
    return FittedDigest(text, frozenset(rule.id for rule in rules if rule.id not in kept))


def rule_line(rule: Rule) -> str:
    """One line, its id last."""
    numbers = f"seen={rule.failed}" if rule.section == "failures" else f"seen={rule.seen}, success={rule.success}"
    conflict = f", conflict={rule.conflict}" if rule.conflict else ""
    return f"- {rule.text} — {numbers}, last_verified={rule.last_verified}{conflict}, id={rule.id}"


ADVICE_CHARS = 1_200
"""About 300 tokens."""
_ADVICE = {"corrected": "The user corrected", "active": "Do", "failures": "Avoid", "queries": "Queries that worked"}


def advice_of(skill: str, rules: Sequence[Rule], *, most: int = 0) -> str:
    """The rules as advice to whoever uses the skill next, whole lines only; what is pending is left out. Empty where
    there is nothing to advise.

    Args:
        most: characters; 0: all of it. What the user corrected and what people wrote is kept first.
    """
    shown = [rule for rule in rules if rule.shown and rule.section != "pending"]
    room = most - 120 - len(skill)
    kept: list[Rule] = []
    for rule in sorted(shown, key=_advice_order):
        room -= len(_advice_line(rule)) + 1
        if not most or room >= 0:
            kept.append(rule)
    lines = [f"What earlier uses of {skill} taught:"]
    for place, title in _ADVICE.items():
        here = [rule for rule in kept if _advised_in(rule) == place]
        lines += [f"{title}:", *map(_advice_line, here)] if here else []
    if left := len(shown) - len(kept):
        lines.append(f"({left} more: palimpsest-mcp experience show {skill})")
    return "\n".join(lines) if kept else ""


def _advised_in(rule: Rule) -> str:
    return "corrected" if rule.kind == "correction" else rule.section


def _advice_order(rule: Rule) -> tuple[object, ...]:
    return (rule.kind != "correction", bool(rule.seen), rule.section != "active", *sort_key(rule))


def _advice_line(rule: Rule) -> str:
    """One rule, and how far it can be relied on."""
    if rule.kind == "correction":
        return f"- {rule.text.removeprefix('user corrected: ').removeprefix('user corrected; ')}"
    if not rule.seen:
        return f"- {rule.text}"
    if rule.section == "failures":
        return f"- {rule.text} ({'once' if rule.failed == 1 else f'{rule.failed} times'})"
    return f"- {rule.text} (worked in {rule.success} of {rule.seen})"


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
