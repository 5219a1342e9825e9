"""What a model is asked about a session, and what it answers."""

from __future__ import annotations

from typing import Any

import msgspec

from .writing import Spent


class SummaryRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A session whose summary lacks sections."""

    summary: str
    """As it stands, in markdown; redacted."""
    messages: tuple[str, ...]
    """What user and agent said, oldest first, each with its speaker; redacted."""


class SummaryDraft(msgspec.Struct, frozen=True, kw_only=True):
    """Sections in a model's words."""

    sections: dict[str, Any] = {}
    """By the seed's names, as `update_summary` takes them; unchecked."""
    failure: str = ""
    """Why there are none."""
    spent: Spent = Spent()


class JudgeQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """One probe as a judge sees it; redacted."""

    question: str
    original: str
    """The lines of the original that answer it."""
    passage: str
    """What stands in its place now."""


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """A judge's answers."""

    answered: tuple[bool, ...] = ()
    """One a question, in order; none at all after a failure."""
    failure: str = ""
    spent: Spent = Spent()


__all__ = ["JudgeQuestion", "Judged", "SummaryDraft", "SummaryRequest"]
