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
    """The specifics that a reader could least guess, the weightiest classes first and in each the newest first."""
    ranked: dict[str, tuple[float, int]] = {}
    for place, one in enumerate(newest_first):
        weight = _WEIGHTS.get(one.cls, _USERS_CLASS)
        if weight >= _LEAST_WEIGHT and len(one.text) <= _VALUE and one.text not in ranked:
            ranked[one.text] = (-weight, place)
    chosen = sorted(ranked, key=lambda text: ranked[text])[: 4 * most]
    # No class takes all the room: they take turns, the weightiest class first.
    classes: dict[float, list[str]] = {}
    for text in chosen:
        classes.setdefault(ranked[text][0], []).append(text)
    return _by_turns(list(classes.values()), most)


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
