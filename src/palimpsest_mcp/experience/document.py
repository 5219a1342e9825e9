"""`experience.md`, read: which lines are rules of ours, which a person wrote, when it was compacted last.

A line is ours only when it ends in the metadata footer and reads as we wrote it; everything else is the user's and is
kept as it stands.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Literal

import msgspec

from ..models.experience import Section
from ..models.sections import cut

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


class Written(msgspec.Struct, frozen=True, kw_only=True):
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
    rules: tuple[Written, ...]
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
    rules: list[Written] = []
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


def _name(heading: str) -> str:
    """`Active Rules        # ≤ 20 entries` -> `active rules`."""
    return heading.split("#")[0].strip().casefold()


def _head(lines: list[str], skill: str) -> tuple[str, tuple[str, ...]]:
    kept = _trimmed(lines)
    if kept and kept[0].lstrip("\ufeff").startswith("# "):
        return kept[0], _trimmed(list(kept[1:]))
    return f"# {skill} experience", kept


def _without_rules(lines: list[str], section: Section, written: Mapping[str, str]) -> tuple[list[str], list[Written]]:
    hand: list[str] = []
    rules: list[Written] = []
    for line in lines:
        match = None if _PINNED.match(line) else _RULE.fullmatch(line)
        if match is not None and written.get(match["id"] or "", match["text"]) == match["text"]:
            rules.append(_written(match, section))
        elif not _OURS.fullmatch(line.strip()):
            hand.append(line)
    return hand, rules


def _written(match: re.Match[str], section: Section) -> Written:
    return Written(
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
