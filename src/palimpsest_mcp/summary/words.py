"""What user and agent said, verbatim: the intent, the newest request and answer, and decisions in so many words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ..models.items import Item, content_text
from ..models.summaries import Decision
from .quoting import Mask, ends_of, one_line, paragraph, sentences

MAX_INTENT = 900
"""Characters of the user's own words that stand for the intent."""
MAX_ASKED = 240
MAX_SAID = 160
MAX_DECISION = 220
"""A longer sentence is no statement of one decision; it is left where it stands."""
_NOTICE = re.compile(
    r"\s*(?:<(?:system-reminder|command-|local-command|task-notification|bash-)|\[Request interrupted|"
    r"This session is being continued from)|\$ \S|/[\w:-]+\s*$"
)
"""Notices of the host, commands to the host, and what hosts show of commands that users ran in a shell of their own."""
_OWN = r"(?:^|[,;:(] ?|\b(?:so|and|then|instead|therefore|thus|ok|okay|alright|now)\b,? )"
_DECIDED = re.compile(
    rf"{_OWN}(?:i|we)(?:'ve|'ll|'m|'re| have| will| am| are)?(?: now| also| just| therefore| instead)? "
    r"(?:decided (?:to|on|for|against|that|not)|chose|choose|picked|settled on|opted for|opted to|going with|go with|"
    r"selected|(?:will )?use .{2,80} (?:instead of|rather than|because|so that|since))\b"
    rf"|{_OWN}let's (?:go with|use .{{2,80}} (?:instead of|rather than|because))\b"
    r"|^(?:\*\*)?(?:decision|decided|design decision|chosen approach)(?: \d+)?(?:\*\*)?:(?:\*\*)? ?\S",
    re.IGNORECASE,
)
_UNSURE = re.compile(
    r"\?\s*$|\b(?:if|whether|could|might|may|should|would|unless|perhaps|maybe|before)\b", re.IGNORECASE
)
_BECAUSE = re.compile(
    r"[,;]?\s+(?:because|since|so that|given that|as it|as this|due to|in order to)\s+(.+)$", re.IGNORECASE
)
_MARKS = re.compile(r"^(?:[-*+>#]+|\d+[.)])\s+")


def is_said(item: Item, role: str) -> bool:
    """Whether an item is something that user or agent said to the other."""
    return item.role == role and item.kind in ("message", "original_query") and not item.agent


def spoken(items: Sequence[Item], role: str) -> Iterator[tuple[Item, str]]:
    """What one side said, oldest first, without notices of the host."""
    for item in items:
        if is_said(item, role):
            text = content_text(item.content)
            if text.strip() and not (role == "user" and _NOTICE.match(text)):
                yield item, text


def intent_of(items: Sequence[Item], mask: Mask) -> str:
    """The original query in the user's own words."""
    asked = [item for item, _ in spoken(items, "user")]
    query = next((item for item in asked if item.kind == "original_query"), asked[0] if asked else None)
    return "" if query is None else paragraph(mask(ends_of(content_text(query.content))), MAX_INTENT)


def last_asked(items: Sequence[Item], mask: Mask) -> str:
    """The newest request, as one line; empty while it is the intent itself."""
    texts = [text for _, text in spoken(items, "user")]
    return one_line(mask(ends_of(texts[-1])), MAX_ASKED) if len(texts) > 1 else ""


def last_said(items: Sequence[Item], mask: Mask) -> str:
    """How the agent's newest message begins."""
    texts = [text for _, text in spoken(items, "assistant")]
    return one_line(mask(ends_of(texts[-1])), MAX_SAID) if texts else ""


def decisions_of(items: Sequence[Item], mask: Mask) -> tuple[Decision, ...]:
    """Decisions that the agent states as its own, each sentence verbatim; questions and conditions are none."""
    found: dict[str, Decision] = {}
    for _, text in spoken(items, "assistant"):
        if not any(_states_decision(sentence) for sentence in sentences(text)):
            continue
        for sentence in sentences(mask(ends_of(text))):
            if _states_decision(sentence):
                one = _decision(sentence)
                found.setdefault(one.decision.casefold(), one)
    return tuple(found.values())


def _states_decision(sentence: str) -> bool:
    words = _MARKS.sub("", sentence)
    return len(words) <= MAX_DECISION and _DECIDED.search(words) is not None and not _UNSURE.search(words)


def _decision(sentence: str) -> Decision:
    words = one_line(_MARKS.sub("", sentence), MAX_DECISION)
    because = _BECAUSE.search(words)
    if because is None:
        return Decision(decision=words)
    return Decision(decision=words[: because.start()].strip(), rationale=because[1].strip())
