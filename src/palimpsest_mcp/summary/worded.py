"""What a model words for a summary: checked entry by entry, labelled, never in the place of what somebody stated."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import TypeVar

import msgspec

from ..errors import InvalidArgument
from ..models.summaries import AnchoredSummary, Blocker, Decision
from .checks import check
from .naming import fold_text

T = TypeVar("T")
MOST_ENTRIES = 8
"""Worded entries of one section that a summary keeps."""
MOST_CHARS = 300
"""Of one entry."""
_LABEL = re.compile(r" \(worded by [^()\n]{1,80}, not verified\)$")

Specifics = Callable[[str], AbstractSet[tuple[str, str]]]
"""The specifics of a text, as (class, text)."""


def is_worded(text: str) -> bool:
    """Whether an entry carries the label of a model's wording."""
    return _LABEL.search(text) is not None


def usable(draft: AnchoredSummary, author: str, source: str, specifics: Specifics) -> tuple[AnchoredSummary, int]:
    """The entries that may be used, labelled, and how many may not: they say a specific that the source does not hold,
    hold a placeholder, or are too long."""
    known = specifics(source)
    dropped = 0

    def fine(text: str, more: str = "") -> bool:
        nonlocal dropped
        whole = f"{text}\n{more}"
        good = bool(text.strip()) and len(whole) <= MOST_CHARS and specifics(whole) <= known and _is_clean(text, more)
        dropped += bool(text.strip()) and not good
        return good

    def labelled(text: str) -> str:
        return f"{_LABEL.sub('', text).rstrip()} (worded by {author}, not verified)"

    kept = AnchoredSummary(
        decisions_made=tuple(
            Decision(decision=labelled(one.decision), rationale=one.rationale)
            for one in draft.decisions_made
            if fine(one.decision, one.rationale)
        ),
        technical_context=tuple(labelled(text) for text in draft.technical_context if fine(text)),
        current_state=labelled(draft.current_state) if fine(draft.current_state) else "",
        blockers=tuple(Blocker(text=labelled(one.text)) for one in draft.blockers if fine(one.text)),
        next_steps=tuple(labelled(text) for text in draft.next_steps if fine(text)),
    )
    return kept, dropped


def _is_clean(text: str, more: str) -> bool:
    try:
        check(AnchoredSummary(decisions_made=(Decision(decision=text, rationale=more),)))
    except InvalidArgument:
        return False
    return True


def worded(kept: AnchoredSummary, draft: AnchoredSummary) -> AnchoredSummary:
    """The summary with a labelled draft. State, steps and open questions that a model worded before are replaced by its
    new ones, where it has any; decisions and context are added to. What anybody stated stays as it is."""
    return msgspec.structs.replace(
        kept,
        decisions_made=_grown(kept.decisions_made, draft.decisions_made, lambda one: one.decision),
        technical_context=_grown(kept.technical_context, draft.technical_context, str),
        current_state=draft.current_state or kept.current_state
        if _is_free([kept.current_state])
        else kept.current_state,
        blockers=_renewed(kept.blockers, draft.blockers, lambda one: one.text),
        next_steps=draft.next_steps[:MOST_ENTRIES] or kept.next_steps if _is_free(kept.next_steps) else kept.next_steps,
    )


def _is_free(texts: Iterable[str]) -> bool:
    return all(not text or is_worded(text) for text in texts)


def _grown(old: Sequence[T], new: Sequence[T], text_of: Callable[[T], str]) -> tuple[T, ...]:
    """Old and new, each once, with at most so many worded ones."""
    known = {_bare(text_of(one)) for one in old}
    room = MOST_ENTRIES - sum(is_worded(text_of(one)) for one in old)
    fresh = [one for one in new if _bare(text_of(one)) not in known]
    return (*old, *fresh[: max(0, room)])


def _renewed(old: Sequence[T], new: Sequence[T], text_of: Callable[[T], str]) -> tuple[T, ...]:
    """Stated ones stay; worded ones give way to new ones, where there are any."""
    if not new:
        return tuple(old)
    stated = [one for one in old if not is_worded(text_of(one))]
    return _grown(stated, new, text_of)


def _bare(text: str) -> str:
    return fold_text(_LABEL.sub("", text))


__all__ = ["MOST_CHARS", "MOST_ENTRIES", "is_worded", "usable", "worded"]
