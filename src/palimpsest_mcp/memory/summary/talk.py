"""What a handoff quotes of a conversation: requests, reports, and questions that nobody answered."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice, pairwise, takewhile
from typing import TypeAlias

from ...models.items import Item, content_text
from ...models.summaries import Decision, Said
from ...models.text import late
from ...text.languages import word_lists
from .merge import tidy

# Quotes for a summary: masked first, whole words, marked where something was cut off.


Mask: TypeAlias = Callable[[str], str]
"""A text with its secrets masked. It sees whole texts: half a secret may not look like one."""

CUT = " […]"
"""Ends what was cut off between words."""
MAX_MASKED = 40_000
"""Characters of one text that are masked to quote from it: of a longer one, both ends in whole lines."""
_SPACE = re.compile(r"\s+")
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s+|\n+")


def ends_of(text: str) -> str:
    """The text, or where it is too long whole lines from both its ends."""
    if len(text) <= MAX_MASKED:
        return text
    half = MAX_MASKED // 2
    return text[: text.rfind("\n", 0, half) + 1 or half] + "\n" + text[text.find("\n", len(text) - half) + 1 :]


def one_line(text: str, limit: int) -> str:
    """One line of at most `limit` characters, cut between words and marked."""
    line = _SPACE.sub(" ", tidy(text)).strip()
    if len(line) <= limit:
        return line
    end = line.rfind(" ", limit // 2, limit - len(CUT) + 1)
    return line[: end if end > 0 else limit - len(CUT)].rstrip() + CUT


def paragraph(text: str, limit: int) -> str:
    """The text with its lines, cut between words after `limit` characters and marked."""
    text = tidy(text)
    if len(text) <= limit:
        return text
    end = max(text.rfind(" ", limit // 2, limit), text.rfind("\n", limit // 2, limit))
    return text[: end if end > 0 else limit].rstrip() + CUT


def sentences(text: str) -> list[str]:
    """Sentences and lines, without white space around them."""
    return [part.strip() for part in _SENTENCE.split(text) if part.strip()]


# What user and agent said, verbatim: the intent, the newest request and answer, and decisions in so many words.


MAX_INTENT = 900
"""Characters of the user's own words that stand for the intent."""
MAX_ASKED = 240
MAX_SAID = 160
MAX_REPLY = 120
MAX_DECISION = 220
"""A longer sentence is no statement of one decision; it is left where it stands."""
_NOTICE = re.compile(
    r"\s*(?:<(?:system-reminder|command-|local-command|task-notification|bash-)|\[Request interrupted|"
    r"This session is being continued from|Your task is to create a (?:detailed )?summary of th)|\$ \S|/[\w:-]+\s*$"
)
"""Notices of the host, commands to the host, and what hosts show of commands that users ran in a shell of their own."""
_OWN = r"(?:^|[,;:(] ?|\b(?:so|and|then|instead|therefore|thus|ok|okay|alright|now)\b,? )"
_THANKS = "|".join(words for table in word_lists("feedback").values() for words in table.get("ends", ()))
_ENDS = late(rf"(?:(?:ok(?:ay)?|alright|great|perfect|no)?[,.! ]*(?:many )?(?:{_THANKS}))+[.!。！ ]*", re.IGNORECASE)
"""A whole message that ends a conversation: nothing but thanks."""
_MARK = re.compile(r"[#*<\[]{1,9} ?(?:stop|end|done|exit|quit)(?: of conversation)? ?[#*>\]]{1,9}\s*$", re.IGNORECASE)
"""A mark that a program set at the end of its last message."""
MAX_END = 200
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
    """How the agent's newest message begins, and a short answer of the user to it."""
    said = list(spoken(items, "assistant"))[-1:]
    if not said:
        return ""
    begin = one_line(mask(ends_of(said[0][1])), MAX_SAID)
    replies = [text for item, text in spoken(items, "user") if item.position > said[0][0].position]
    if not replies:
        return begin
    if _tells(replies[0]):
        return f"{begin} (before the user's newest message)"
    return f"{begin} The user then said: {one_line(mask(ends_of(replies[0])), MAX_REPLY)}"


def decisions_of(items: Sequence[Item], mask: Mask) -> tuple[tuple[int, Decision], ...]:
    """Decisions that the agent states as its own, each sentence verbatim, with the row of the message that states it
    last; questions and conditions are none."""
    found: dict[str, tuple[int, Decision]] = {}
    for item, text in spoken(items, "assistant"):
        if not any(_states_decision(sentence) for sentence in sentences(text)):
            continue
        for sentence in sentences(mask(ends_of(text))):
            if _states_decision(sentence):
                one = _decision(sentence)
                known = found.get(one.decision.casefold())
                found[one.decision.casefold()] = (item.position[0], known[1] if known else one)
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


MAX_REQUEST = 260
MAX_NEWEST = 700
"""Characters of the newest request."""
MAX_REPORT = 900
MAX_QUESTION = 240
REPORT_CHARACTERS = 200
"""A shorter message of the agent announces its next call; it reports nothing."""
MOST_MUSINGS = 2
"""Where no message ends a turn: so many of those that announce a call."""
KEPT = 40
"""Newest of each kind that are looked at."""
_WORD = re.compile(r"\w+")
_MARKS = re.compile(r"^(?:[-*+>#]+|\d+[.)])\s+")
_EMPHASIS = re.compile(r"\*\*|__|^#+ ", re.MULTILINE)


def first_request(items: Sequence[Item], mask: Mask) -> Said | None:
    """What the user asked first."""
    return next(iter(_quoted(list(islice(spoken(items, "user"), 1)), mask, MAX_REQUEST)), None)


def requests_of(items: Sequence[Item], mask: Mask) -> tuple[Said, ...]:
    """What the user asked for, newest last; the first one too. Only the newest is quoted at some length."""
    asked = list(spoken(items, "user"))[-KEPT * 4 :]
    telling = ([(item, text) for item, text in asked if _tells(text)] or asked)[-KEPT:]
    return (*_quoted(telling[:-1], mask, MAX_REQUEST), *_quoted(telling[-1:], mask, MAX_NEWEST))


def replies_of(items: Sequence[Item], mask: Mask) -> tuple[Said, ...]:
    """Short answers of the user to a question of the agent, such as "last 6 months", newest last."""
    found: list[tuple[Item, str]] = []
    question = False
    for item in items:
        if is_said(item, "assistant"):
            question = any(mark in content_text(item.content) for mark in "?？")
        elif is_said(item, "user"):
            text = content_text(item.content)
            if question and text.strip() and not _tells(text) and not _NOTICE.match(text):
                found.append((item, text))
            question = False
    return _quoted(found[-KEPT:], mask, MAX_REQUEST)


def reports_of(items: Sequence[Item], mask: Mask) -> tuple[Said, ...]:
    """The agent's longer messages that end a turn, else its longer ones; newest last, without marks of emphasis."""
    said = [(item, text) for item, text in spoken(items, "assistant") if len(text) >= REPORT_CHARACTERS]
    before_calls = _before_calls(items)
    ends = [(item, text) for item, text in said if item.id not in before_calls]
    told = ends[-KEPT:] or said[-MOST_MUSINGS:]
    plain = [(item, _EMPHASIS.sub("", ends_of(text))) for item, text in told]
    return _quoted(plain, mask, MAX_REPORT)


def newest_said(items: Sequence[Item], mask: Mask) -> Said | None:
    """The agent's newest message; None where the user spoke since, and the agent did nothing yet."""
    said = list(spoken(items, "assistant"))[-1:]
    return None if not said or is_unanswered(items) else _quoted(said, mask, MAX_REQUEST)[0]


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
    """Whether the user had the last word."""
    heard = max((item.position for item, _ in spoken(items, "user")), default=None)
    if heard is None:
        return False
    since = takewhile(lambda item: item.position > heard, reversed(items))
    return not any(item.role == "assistant" for item in since)


def ended_in(items: Sequence[Item]) -> int:
    """Which message of the user, the newest one, ended the conversation; 0: none did."""
    said = list(spoken(items, "user"))[-1:] if is_unanswered(items) else []
    if not said:
        return 0
    item, text = said[0]
    is_thanks = len(text) <= MAX_END and _ENDS.fullmatch(text.strip()) is not None
    return item.position[0] + 1 if is_thanks or _MARK.search(text[-MAX_END:]) else 0


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
