"""Sections as an agent gives them: loose names, strings or lists or objects (I2)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, TypeVar

import msgspec

from ...errors import InvalidArgument
from ...models.sections import Incoming
from ...models.summaries import AnchoredSummary, Blocker, Decision, StandingOrder
from ...models.text import open_end_in
from .merge import fold_text, tidy
from .sections import PARTS, part_of_name

MAX_TEXT = 2_000
"""Characters of one entry."""
MAX_ENTRIES = 200
"""Entries of one section in one call."""
EXAMPLE = (
    '{"session_intent": "Make the nightly import in etl/load.py survive duplicate rows", '
    '"files_modified": {"etl/load.py": ["skip rows with a known id"]}, '
    '"decisions_made": [{"decision": "Keep the first of two equal rows", "rationale": "the source repeats them"}], '
    '"current_state": "load.py is done, its tests are not", "blockers": ["May old rows be deleted?"], '
    '"errors_encountered": [{"error": "duplicate key value", "resolution": "skipped by id"}], '
    '"next_steps": ["Test with two files"]}'
)


def summary_of(sections: Mapping[str, Any]) -> AnchoredSummary:
    """The sections as a summary; texts without control characters.

    Raises:
        InvalidArgument: an unknown section, a value of the wrong form, or too much; with a correct example.
    """
    fields: dict[str, Any] = {}
    for name, value in sections.items():
        part = part_of_name(name)
        if part is None:
            raise _refused(f"There is no section {tidy(name)[:40]!r}; sections are {', '.join(PARTS)}.")
        if value is None:
            continue
        made = part.form.take(_INCOMING._replace(name=part.field), value)
        old = fields.get(part.field)
        fields[part.field] = (old + made) if isinstance(made, tuple) and isinstance(old, tuple) else made
    return AnchoredSummary(**fields)


def _refused(message: str) -> InvalidArgument:
    return InvalidArgument(message, next=f"Give sections such as {EXAMPLE}")


_INCOMING = Incoming(
    "",
    _refused,
    MAX_TEXT,
    MAX_ENTRIES,
    too_many="fit into one call",
    nameless="An entry of {name} needs the field {key!r}.",
)

# What a summary must not say (placeholders, vague intents), and when it has been compressed too often.


WARN_AFTER = 3
FRESH_AFTER = 10
"""Compressions after which a warning, then the advice to start fresh, stands in the report (seed 003's original)."""

_VAGUE_WORDS = """
    a about all and an any anything app application assist assistant at bug bugs build change changes chat code coding
    context continue conversation develop development do everything feature features finish fix fixing for from general
    get go going help helping i implement implementation in is issue issues it its keep make me my of on our please
    problem problems program programming proceed project request requests session software solve some something stuff
    support task tasks that the them they thing things this to tool try up update updates us use user users various
    want we with work working
"""
_VAGUE = frozenset(_VAGUE_WORDS.split())
_WORD = re.compile(r"[^\W_]+(?:[-'.][^\W_]+)*")
LEAST_MEANING = 2
"""Words beyond the vague ones that an intent needs; a script without spaces is asked for letters in their place."""
LEAST_LETTERS = 6


def check(new: AnchoredSummary) -> None:
    """Refuse what somebody states with placeholders, or an intent that says nothing.

    Raises:
        InvalidArgument: it names the section and says what to write in its place.
    """
    for section in PARTS:
        if found := open_end_in(getattr(new, section), except_in="where"):
            raise InvalidArgument(
                f"{section} holds a placeholder or an open end ({found[:20]!r}).",
                next="Write what is known, all of it, or leave the section out: what stands there stays.",
            )
    if new.session_intent and is_vague(new.session_intent):
        raise InvalidArgument(
            "session_intent is too vague to go on from.",
            next="Say what is to be built, fixed or found, where, and how one sees that it is done: "
            '"Make the nightly import in etl/load.py survive duplicate rows; tests in tests/test_load.py pass".',
        )


def is_vague(intent: str) -> bool:
    """Whether an intent names nothing that tells this session from any other."""
    words = [word.lower() for word in _WORD.findall(intent)]
    telling = {word for word in words if word not in _VAGUE}
    if any(not word.isascii() for word in telling):
        return sum(map(len, telling)) < LEAST_LETTERS and len(telling) < LEAST_MEANING
    return len(telling) < LEAST_MEANING


def cycle_note(count: int) -> str:
    """What to say of a session that was compressed so often; empty below the first bound."""
    if count >= FRESH_AFTER:
        return (
            f"this was compression {count} of the session: start fresh from its summary "
            "(after ten, a new session costs less than it loses)"
        )
    if count >= WARN_AFTER:
        return f"this was compression {count} of the session: check that the summary still says what matters"
    return ""


# What a model words for a summary: checked entry by entry, labelled, never in the place of what somebody stated.


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
        standing_orders=tuple(
            StandingOrder(text=labelled(one.text)) for one in draft.standing_orders if fine(one.text)
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
        standing_orders=_grown(kept.standing_orders, draft.standing_orders, lambda one: one.text),
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
