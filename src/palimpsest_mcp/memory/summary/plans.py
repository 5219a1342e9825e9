"""What the agent says that it decided, plans and does next, and what it lists as left."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from ...models.items import Item, content_text
from ...models.summaries import Decision
from ...models.text import late
from .answers import ASKING, FEW_WORDS, MAX_ABOUT, STEPS, agrees
from .quotes import (
    EMPHASIS,
    FEEDBACK,
    MARKS,
    NOTICE,
    WORD,
    Mask,
    begins_with,
    ends_of,
    is_said,
    one_line,
    sentences,
    spoken,
    tells,
)

_ANNOUNCES = begins_with("announces")
_OFFERS = late("|".join(cue for table in FEEDBACK for cue in table.get("offers", ())), re.IGNORECASE)
MAX_DECISION = 220
"""A longer sentence is no statement of one decision; it is left where it stands."""
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
    words = MARKS.sub("", sentence)
    return len(words) <= MAX_DECISION and _DECIDED.search(words) is not None and not _UNSURE.search(words)


def _decision(sentence: str) -> Decision:
    words = one_line(MARKS.sub("", sentence), MAX_DECISION)
    because = _BECAUSE.search(words)
    if because is None:
        return Decision(decision=words)
    return Decision(decision=words[: because.start()].strip(), rationale=because[1].strip())


_NUMBERED_STEP = late(r"^[ \t]*\d{1,2}[.)]\s+\S", re.MULTILINE)
MAX_REACTION = 160
MAX_REPORT = 900
_OFFERED = late("|".join(cue for table in FEEDBACK for cue in table.get("offered", ())), re.IGNORECASE)
LAST_TURNS = 6
REMAINS = "Listed by the agent in message "
"""Begins what quotes a list of what remains."""
_LEFT = "|".join(words for table in FEEDBACK for words in table.get("remains", ()))
_REMAINS = late(
    rf"^[#*_> \t]{{0,12}}(?:{_LEFT})\b[^\n]{{0,80}}\n{{1,3}}"
    r"(?:[ \t]{0,12}(?:[-*+]|\d{1,3}[.)]) [^\n]{1,400}\n{0,2}){1,20}",
    re.IGNORECASE | re.MULTILINE,
)
"""A heading that says what remains, and the list below it."""


def plan_of(items: Sequence[Item]) -> tuple[Item, str] | None:
    """The newest numbered list of steps that the agent works by: said, or thought, while it worked on the newest
    request, or said right before a message that agrees to it."""
    main = [item for item in items if not item.agent]
    plan: tuple[Item, str] | None = None
    before = ""
    for item, after in pairwise([*main, None]):
        assert item is not None
        if item.kind == "tool_call" and ASKING.search(item.tool_name):
            plan = None
        elif is_said(item, "user"):
            text = content_text(item.content)
            if tells(text) and not (NOTICE.match(text) or agrees(text, before)):
                plan = None
        elif item.kind == "thinking":
            words = thought_of(item)
            works = after is not None and (after.kind == "tool_call" or is_said(after, "assistant"))
            if works and len(_NUMBERED_STEP.findall(words)) > 1 and not _lists_options(words):
                plan = item, words
        elif is_said(item, "assistant"):
            before = content_text(item.content)
            works = after is not None and after.kind == "tool_call" and not ASKING.search(after.tool_name)
            agreed = after is not None and is_said(after, "user") and agrees(content_text(after.content), before)
            if len(_NUMBERED_STEP.findall(before)) > 1 and (works or agreed) and not _lists_options(before):
                plan = item, before
    return plan


def _lists_options(text: str) -> bool:
    """Whether what stands before the last numbered list of a message says that one of its entries is to be chosen, or
    its entries are questions."""
    if any("?" in words or "？" in words for _, words in STEPS.findall(text)):
        return True
    starts = [found.start() for found in STEPS.finditer(text) if found[1] == "1"]
    leads = sentences(text[: starts[-1]])[-1:] if starts else []
    return any(_OFFERS.search(lead) for lead in leads)


def remains_of(items: Sequence[Item], mask: Mask) -> str:
    """The list under the newest heading by which the agent says what remains, in one of the messages that ended its
    last turns, with its message; empty: none."""
    ends = frozenset(ends_of_turns(items)[-LAST_TURNS:])
    said = [(item, text) for item, text in spoken(items, "assistant") if item.position[0] + 1 in ends]
    asked = max((item.position[0] + 1 for item, text in spoken(items, "user") if tells(text)), default=0)
    for item, text in reversed(said):
        found = list(_REMAINS.finditer(mask(ends_of(text))))
        if found and not _is_left_offer(found[-1][0], item, text, items):
            row = item.position[0] + 1
            before = ", before the newest request" if asked > row else ""
            return f"{REMAINS}{row}{before}: {one_line(EMPHASIS.sub('', found[-1][0]), MAX_REPORT)}"
    return ""


def _is_left_offer(listed: str, said: Item, text: str, items: Sequence[Item]) -> bool:
    """Whether a list was an offer ("when you're ready: …") that the user's next message does not take up."""
    later = (words for item, words in spoken(items, "user") if item.position > said.position and tells(words))
    answer = next(later, "")
    return bool(answer) and _OFFERED.search(listed.split("\n", 1)[0]) is not None and not agrees(answer, text)


def announced(items: Sequence[Item], mask: Mask) -> str:
    """What the agent said it would do next, where that is the last thing in a conversation."""
    main = _exchanged(items)
    if not main or not is_said(main[-1], "assistant"):
        return ""
    parts = sentences(mask(ends_of(content_text(main[-1].content))))
    last = MARKS.sub("", parts[-1]) if parts else ""
    return one_line(last, MAX_ABOUT) if _ANNOUNCES.match(last) and not last.endswith(("?", "？")) else ""


def ends_of_turns(items: Sequence[Item]) -> list[int]:
    """Numbers, from 1, of the agent's messages that no call follows: what it answers with."""
    main = [item for item in items if not item.agent and item.kind != "thinking"]
    return [
        item.position[0] + 1
        for item, after in pairwise([*main, None])
        if item is not None and is_said(item, "assistant") and (after is None or after.kind != "tool_call")
    ]


def has_last_word(items: Sequence[Item]) -> bool:
    """Whether the agent ended its turn: nothing came after a message of its own."""
    main = _exchanged(items)
    return bool(main) and is_said(main[-1], "assistant")


def _exchanged(items: Sequence[Item]) -> list[Item]:
    """What user, agent and tools gave one another, without thoughts and notices of the host."""
    main = (item for item in items if not item.agent and item.kind != "thinking")
    return [item for item in main if not (is_said(item, "user") and NOTICE.match(content_text(item.content)))]


def announcement(text: str) -> str:
    """How a message ends that says what its author does next: from the last sentences that announce it."""
    parts = sentences(text)
    told = [_ANNOUNCES.match(MARKS.sub("", part)) is not None for part in parts]
    at = next((n for n in range(len(parts) - 1, -1, -1) if told[n]), None)
    if at is None:
        return ""
    while at and told[at - 1]:
        at -= 1
    is_short = len(WORD.findall(" ".join(parts[at:]))) < FEW_WORDS
    return one_line(" ".join(parts[max(0, at - is_short) :]), MAX_REACTION)


def thought_of(item: Item) -> str:
    """What an agent thought, where that is on record in words."""
    words = item.content.get("thinking") if isinstance(item.content, dict) else item.content
    return words.strip() if isinstance(words, str) else ""


def before_calls(items: Sequence[Item]) -> set[str]:
    """Ids of messages that a tool call follows: they announce it."""
    main = [item for item in items if not item.agent and item.kind != "thinking"]
    return {item.id for item, after in pairwise(main) if after.kind == "tool_call"}
