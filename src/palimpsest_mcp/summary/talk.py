"""What a handoff quotes of a conversation: requests, wishes, reports, and questions that nobody answered."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise, takewhile

from ..models.facts import Said
from ..models.items import Item
from .quoting import Mask, ends_of, one_line, sentences
from .words import spoken

MAX_REQUEST = 260
MAX_WISH = 220
MAX_REPORT = 900
MAX_QUESTION = 240
REPORT_CHARACTERS = 200
"""A shorter message of the agent announces its next call; it reports nothing."""
KEPT = 40
"""Newest of each kind that are looked at."""
_WORD = re.compile(r"\w+")
_WISH = re.compile(
    r"\b(?:i|we) (?:\w+ ){0,2}(?:want|need|prefer|like to|expect)\b"
    r"|\b(?:don'?t|do not|never|always|make sure|no longer|instead of|rather than|nothing else|at least|at most)\b"
    r"|\b(?:should|must|has to|have to|needs? to) (?:not|never|always|only|be|stay|keep|remain|use|have|work|cover)\b"
    r"|\bshouldn'?t\b|\bmustn'?t\b|\bplease (?:use|keep|avoid|do)\b",
    re.IGNORECASE,
)
_PASTED = re.compile(r'[{}]|=>|":|^\s*(?:at |File ")|^[\w./~-]+\$ |^`|^\|')
_MARKS = re.compile(r"^(?:[-*+>#]+|\d+[.)])\s+")
_EMPHASIS = re.compile(r"\*\*|__|^#+ ", re.MULTILINE)


def first_request(items: Sequence[Item], mask: Mask) -> Said | None:
    """What the user asked first."""
    return next(iter(_quoted(list(islice(spoken(items, "user"), 1)), mask, MAX_REQUEST)), None)


def requests_of(items: Sequence[Item], mask: Mask) -> tuple[Said, ...]:
    """What the user asked for, newest last; the first one too."""
    asked = list(spoken(items, "user"))[-KEPT * 4 :]
    telling = [(item, text) for item, text in asked if _tells(text)]
    return _quoted((telling or asked)[-KEPT:], mask, MAX_REQUEST)


def wishes_of(items: Sequence[Item], mask: Mask) -> tuple[Said, ...]:
    """The user's sentences about how it is wanted, verbatim; questions and pasted text are none."""
    found: dict[str, Said] = {}
    for item, text in list(spoken(items, "user"))[-KEPT * 4 :]:
        for sentence in sentences(mask(ends_of(text))):
            words = _MARKS.sub("", sentence)
            if _is_wish(words):
                found.pop(words.casefold(), None)
                found[words.casefold()] = Said(message=item.position[0] + 1, text=one_line(words, MAX_WISH))
    return tuple(found.values())[-KEPT:]


def _is_wish(words: str) -> bool:
    short = len(words) <= MAX_WISH and words[-1:] not in ("?", ":")
    return short and _tells(words) and _WISH.search(words) is not None and not _PASTED.search(words)


def reports_of(items: Sequence[Item], mask: Mask) -> tuple[Said, ...]:
    """The agent's longer messages that end a turn, else its longer ones; newest last, without marks of emphasis."""
    said = [(item, text) for item, text in spoken(items, "assistant") if len(text) >= REPORT_CHARACTERS]
    before_calls = _before_calls(items)
    ends = [(item, text) for item, text in said if item.id not in before_calls]
    plain = [(item, _EMPHASIS.sub("", ends_of(text))) for item, text in (ends or said)[-KEPT:]]
    return _quoted(plain, mask, MAX_REPORT)


def _before_calls(items: Sequence[Item]) -> set[str]:
    """Ids of messages that a tool call follows: they announce it."""
    main = [item for item in items if not item.agent and item.kind != "thinking"]
    return {item.id for item, after in pairwise(main) if after.kind == "tool_call"}


def open_questions(items: Sequence[Item], mask: Mask) -> tuple[str, ...]:
    """Questions that the agent asked after the user's last real request, and did not go on to work after."""
    heard = [item.position for item, text in spoken(items, "user") if _tells(text)]
    worked = [item.position for item in items if item.kind == "tool_call" and not item.agent]
    since = max([(-1, -1), *heard[-1:], *worked[-1:]])
    found = [
        one_line(_MARKS.sub("", sentence), MAX_QUESTION)
        for item, text in spoken(items, "assistant")
        if item.position > since
        for sentence in sentences(mask(ends_of(text)))
        if sentence.endswith(("?", "？")) and _tells(sentence)
    ]
    return tuple(dict.fromkeys(found))[-KEPT:]


def is_unanswered(items: Sequence[Item]) -> bool:
    """Whether the user had the last word with something that asks for work."""
    heard = max((item.position for item, text in spoken(items, "user") if _tells(text)), default=None)
    if heard is None:
        return False
    since = takewhile(lambda item: item.position > heard, reversed(items))
    return not any(item.role == "assistant" for item in since)


def _tells(text: str) -> bool:
    """Whether a message says more than "ok, go on"."""
    words = _WORD.findall(text)
    if any(not word.isascii() for word in words):
        return sum(map(len, words)) >= 6
    return len(words) >= 4 and sum(map(len, words)) >= 12


def _quoted(said: Sequence[tuple[Item, str]], mask: Mask, limit: int) -> tuple[Said, ...]:
    return tuple(_each(said, mask, limit))


def _each(said: Sequence[tuple[Item, str]], mask: Mask, limit: int) -> Iterator[Said]:
    for item, text in said:
        yield Said(message=item.position[0] + 1, text=one_line(mask(ends_of(text)), limit))
