"""What a summary must not say (placeholders, vague intents), and when it has been compressed too often."""

from __future__ import annotations

import re

from ..errors import InvalidArgument
from ..models.open_ends import open_end_in
from ..models.summaries import AnchoredSummary
from .sections import PARTS

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
