"""What is asked of a model, what it answers, and what that cost."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from .records import DigestSource


class Rate(msgspec.Struct, frozen=True):
    """Dollars for a million tokens, in requests whose prompt is not longer than `up_to`."""

    input: float
    output: float
    up_to: int | None = None
    """Tokens; None: of any length."""


class Spent(msgspec.Struct, frozen=True, kw_only=True):
    """What a writer used, as its provider reported it. Answers that could not be used count too."""

    calls: int = 0
    """Answers that came; an attempt that the provider refused is none."""
    tokens_in: int = 0
    tokens_out: int = 0
    dollars: float | None = 0.0
    """None where the price of the model is not known."""

    def __add__(self, other: Spent) -> Spent:
        known = self.dollars is not None and other.dollars is not None
        return Spent(
            calls=self.calls + other.calls,
            tokens_in=self.tokens_in + other.tokens_in,
            tokens_out=self.tokens_out + other.tokens_out,
            dollars=(self.dollars or 0.0) + (other.dollars or 0.0) if known else None,
        )


class WriteRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One batch to summarise."""

    sources: tuple[DigestSource, ...]
    """Redacted, in order."""
    most_tokens: int
    """A ceiling for all summaries of the batch together; what is longer is not used."""
    focus: tuple[str, ...] = ()
    """Task words."""


class Written(msgspec.Struct, frozen=True, kw_only=True):
    """The answer for one batch."""

    texts: tuple[str, ...] = ()
    """One a source, in order, empty where it wrote none; no texts at all after a failure."""
    failure: str = ""
    """Why there is no answer, in a few words that hold nothing of sources or answers."""
    spent: Spent = Spent()


def dollars(rates: Iterable[Rate], tokens_in: int, tokens_out: int) -> float | None:
    """The price of one answer; None without a rate that fits. `rates`: those with a limit first, rising."""
    for rate in rates:
        if rate.up_to is None or tokens_in <= rate.up_to:
            return (tokens_in * rate.input + tokens_out * rate.output) / 1e6
    return None


# What a model is asked about a session, and what it answers.


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


# The forms that a model's answer may have, as the JSON schemas that go with the question.

TEXT: dict[str, Any] = {"type": "string"}


def list_of(rows: dict[str, Any]) -> dict[str, Any]:
    """A list of these."""
    return {"type": "array", "items": rows}


def object_of(**fields: dict[str, Any]) -> dict[str, Any]:
    """An object with all of these fields, and no other."""
    return {"type": "object", "additionalProperties": False, "required": list(fields), "properties": fields}
