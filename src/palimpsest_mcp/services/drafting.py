"""Asks a model for the sections of a summary that only a reader of the messages can fill, and checks its answer."""

from __future__ import annotations

from collections.abc import Sequence

from ..digest.failures import looks_like_a_failure
from ..errors import InvalidArgument
from ..models.asking import SummaryRequest
from ..models.items import Item, content_text
from ..models.summaries import AnchoredSummary
from ..models.writing import Spent
from ..ports.asking import SummaryAuthor
from ..specifics.delimited import fields_apart
from ..summary.loose import summary_of
from ..summary.markdown import to_markdown
from ..summary.worded import usable
from ..summary.words import spoken
from .dependencies import Dependencies

MOST_CHARS = 60_000
"""Of the newest messages, so much is sent."""


async def drafted(
    given: Dependencies, author: SummaryAuthor, current: AnchoredSummary, items: Sequence[Item]
) -> tuple[AnchoredSummary, tuple[str, ...]]:
    """Labelled entries that passed every check, and notes for the report; empty where nothing came of it."""
    messages = _messages(given, items)
    if not messages:
        return AnchoredSummary(), ()
    summary = to_markdown(current)
    answer = await author.draft(SummaryRequest(summary=summary, messages=messages))
    if answer.failure:
        return AnchoredSummary(), (f"summary sections by {author.author} not used: {answer.failure}",)
    try:
        found = summary_of(answer.sections)
    except InvalidArgument:
        return AnchoredSummary(), (f"summary sections by {author.author} not used: the answer has another form",)
    if looks_like_a_failure(found.current_state):
        return AnchoredSummary(), (f"summary sections by {author.author} not used: it is an error or a refusal",)

    def specifics(text: str) -> frozenset[tuple[str, str]]:
        return frozenset((one.cls, one.text) for one in given.registry.spans(fields_apart(text)))

    fine, dropped = usable(found, author.author, "\n".join((summary, *messages)), specifics)
    notes = [f"summary sections by {author.author}: {_words(answer.spent)}"]
    if dropped:
        notes.append(f"{dropped} of its entries were not used: they say what no message says, or are no statements")
    return fine, tuple(notes)


def _messages(given: Dependencies, items: Sequence[Item]) -> tuple[str, ...]:
    """What was said, redacted, the newest that fit, oldest first."""
    said = sorted(
        [(item, text) for role in ("user", "assistant") for item, text in spoken(items, role)],
        key=lambda pair: pair[0].position,
    )
    room = MOST_CHARS
    found: list[str] = []
    for item, _ in reversed(said):
        text = f"{item.role}: {given.redactor.redact(content_text(item.content)).text}"
        room -= len(text)
        if room < 0:
            break
        found.append(text)
    return tuple(reversed(found))


def _words(spent: Spent) -> str:
    price = "" if spent.dollars is None else f", ${spent.dollars:.4f}"
    return f"{spent.tokens_in:,} tokens in, {spent.tokens_out:,} out{price}"


__all__ = ["drafted"]
