"""Plain-text instructions for a host's own summary: what it must keep word for word. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...models.plain_text import plain_line
from ...models.specifics import Specific
from ...models.summaries import AnchoredSummary
from ...specifics.classes import CLASSES
from .answers import within

MOST_CHARACTERS = 6_000
_VALUES = 60
_VALUE = 100
_FILES = 25
_STATED = 10
_WEIGHTS = {one.name: one.weight for one in CLASSES}
_USERS_CLASS = 3.0
_LEAST_WEIGHT = 2.0


def instructions(handle: str, batches: int, summary: AnchoredSummary, newest_first: Iterable[Specific]) -> str:
    """What the summary must keep. Never JSON: the host would paste or refuse it.

    Args:
        batches: how many can be restored.
        summary: of the session, redacted.
        newest_first: specifics of redacted originals, those of the newest items first.
    """
    lines = ["Keep the following word for word in the summary; do not round, shorten or translate any of it."]
    if batches:
        lines.append(
            "Every original of this conversation is archived. Write into the summary: originals can be read again with "
            f'restore_batch {handle} BATCH, found with search_offloaded {handle} "words", listed with '
            f"list_offloaded {handle}."
        )
    lines += _stated(summary)
    if values := weightiest(newest_first, _VALUES):
        lines.append("Exact values: " + " · ".join(values))
    return within("\n".join(lines), MOST_CHARACTERS)


def weightiest(newest_first: Iterable[Specific], most: int) -> list[str]:
    """The specifics that a reader could least guess: the classes take turns, the weightiest first, in each the newest
    first. No class takes all the room."""
    classes: dict[str, list[str]] = {}
    known: set[str] = set()
    for one in newest_first:
        if _weight(one.cls) < _LEAST_WEIGHT or len(one.text) > _VALUE or one.text in known:
            continue
        known.add(one.text)
        classes.setdefault(one.cls, []).append(one.text)
    heaviest = sorted(classes, key=lambda cls: (-_weight(cls), cls))
    return _by_turns([classes[cls] for cls in heaviest], most)


def _weight(cls: str) -> float:
    return _WEIGHTS.get(cls, _USERS_CLASS)


def _by_turns(groups: Sequence[list[str]], most: int) -> list[str]:
    found: list[str] = []
    for turn in range(max(map(len, groups), default=0)):
        found += [group[turn] for group in groups if turn < len(group)]
    return found[:most]


def _stated(summary: AnchoredSummary) -> list[str]:
    """The anchored summary's own sections, as lines."""
    lines: list[str] = []
    if summary.session_intent:
        lines.append("What the user asked for: " + plain_line(summary.session_intent, 600))
    files = [one.path for one in summary.files_modified][:_FILES]
    if files:
        lines.append("Files changed: " + " · ".join(plain_line(path, 200) for path in files))
    standing = [one.decision for one in summary.decisions_made if not one.superseded]
    lines += ["Decision: " + plain_line(text, 300) for text in standing[-_STATED:]]
    lines += ["Error met: " + plain_line(one.error, 300) for one in summary.errors_encountered[-_STATED:]]
    lines += ["Blocked by: " + plain_line(one.text, 300) for one in summary.blockers if not one.closed]
    lines += ["Next: " + plain_line(text, 300) for text in summary.next_steps[:_STATED]]
    return lines


__all__ = ["instructions", "weightiest"]
