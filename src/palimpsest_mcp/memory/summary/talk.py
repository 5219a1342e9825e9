"""What a handoff quotes of a conversation: requests, reports, and questions that nobody answered."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise, takewhile

import msgspec

from ...models.items import Item, content_text
from ...models.summaries import Said
from .answers import ASKING, CHOSEN, DOES, ENDS, agrees, data_given, invites, is_invited, leaned_on, wants_data
from .calls import Call
from .plans import MAX_REACTION, MAX_REPORT, announcement, before_calls, has_last_word, plan_of, thought_of
from .quotes import (
    EMPHASIS,
    KEPT,
    MARKS,
    MAX_MASKED,
    MAX_REQUEST,
    NOT_WRONG,
    WRONG,
    Mask,
    asks,
    ends_of,
    is_undone,
    one_line,
    paragraph,
    quoted,
    sentences,
    spoken,
    tells,
    with_end,
)

MAX_INTENT = 900
"""Characters of the user's own words that stand for the intent."""
MAX_ASKED = 240
MAX_SAID = 480
MAX_REPLY = 120
BEFORE = "(before the user's newest message)"
_MARK = re.compile(r"[#*<\[]{1,9} ?(?:stop|end|done|exit|quit)(?: of conversation)? ?[#*>\]]{1,9}\s*$", re.IGNORECASE)
"""A mark that a program set at the end of its last message."""
MAX_END = 200


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
    begin = with_end(mask(ends_of(said[0][1])), MAX_SAID)
    replies = [text for item, text in spoken(items, "user") if item.position > said[0][0].position]
    if not replies:
        return begin
    if tells(replies[0]):
        return f"{begin} {BEFORE}"
    return f"{begin} The user then said: {one_line(mask(ends_of(replies[0])), MAX_REPLY)}"


MAX_OVERTURNED = 120
"""Characters of a statement that the user overturned."""
MAX_NEWEST = 1_200
"""Characters of the newest request, and of what the agent said last."""
MAX_QUESTION = 240
REPORT_CHARACTERS = 200
"""A shorter message of the agent announces its next call; it reports nothing."""
MOST_MUSINGS = 2
"""Where no message ends a turn: so many of those that announce a call."""


def first_request(items: Sequence[Item], mask: Mask) -> Said | None:
    """What the user asked first."""
    return next(iter(quoted(list(islice(spoken(items, "user"), 1)), mask, MAX_REQUEST)), None)


def requests_of(items: Sequence[Item], mask: Mask) -> tuple[Said, ...]:
    """What the user asked for, newest last; the first one too, each with the message that took it back. Only the newest
    is quoted at some length."""
    asked = list(spoken(items, "user"))[-KEPT * 4 :]
    data = data_given(items)
    telling = ([(item, text) for item, text in asked if tells(text) and item.id not in data] or asked)[-KEPT:]
    back = {
        one.position: (item.position[0] + 1, text)
        for (one, _), (item, text) in pairwise(telling)
        if is_undone(text) and not agrees(text, _said_before(items, item))
    }
    newest = quoted(telling[-1:], mask, MAX_NEWEST)
    each = (
        *quoted(telling[:-1], mask, MAX_REQUEST),
        *(msgspec.structs.replace(one, about=_leans_on(items, *telling[-1], mask)) for one in newest),
    )
    return tuple(_taken_back(one, back.get(item.position), mask) for one, (item, _) in zip(each, telling, strict=True))


def _leans_on(items: Sequence[Item], request: Item, text: str, mask: Mask) -> str:
    """What a short request is to that agrees to, or points at, what the agent asked before it; else empty."""
    before = [one for one, _ in spoken(items, "assistant") if one.position < request.position][-1:]
    asked = content_text(before[0].content) if before else ""
    if len(text) > MAX_REQUEST or not invites(asked) or wants_data(asked):
        return ""
    if not agrees(text, asked) and not (asks(asked) and DOES.search(text)):
        return ""
    return leaned_on(mask(ends_of(asked)), text, before[0].position[0] + 1)


def _said_before(items: Sequence[Item], until: Item) -> str:
    """The agent's newest message before an item."""
    return next((text for item, text in reversed([*spoken(items, "assistant")]) if item.position < until.position), "")


def _taken_back(one: Said, by: tuple[int, str] | None, mask: Mask) -> Said:
    if by is None:
        return one
    words = f"message {by[0]}: {one_line(mask(ends_of(by[1])), MAX_REACTION)}"
    return msgspec.structs.replace(one, text=one_line(one.text, MAX_OVERTURNED), then=words, overturned=True)


def go_ahead_of(items: Sequence[Item], mask: Mask) -> Said | None:
    """The user's newest message where it is a short one that came after the newest request, such as "yeah, do it all",
    with what it answers where the agent asked for it; None otherwise."""
    said = list(spoken(items, "user"))
    if not said or said[-1][0].position[0] + 1 <= requests_of(items, mask)[-1].message:
        return None
    newest = said[-1][0]
    one = quoted(said[-1:], mask, MAX_NEWEST)[0]
    before = [(item, text) for item, text in spoken(items, "assistant") if item.position < newest.position][-1:]
    if not before or not invites(before[0][1]):
        return one
    about = leaned_on(mask(ends_of(before[0][1])), one.text, before[0][0].position[0] + 1)
    return msgspec.structs.replace(one, about=about)


def not_answered(items: Sequence[Item], mask: Mask) -> str:
    """What of the user is still worked on: the newest request, or the go-ahead to what the agent asked after it, which
    is all of it that is left; empty where the agent ended its turn."""
    if has_last_word(items) or ended_in(items):
        return ""
    asked, go_ahead = requests_of(items, mask)[-1], go_ahead_of(items, mask)
    kind = "request"
    if go_ahead is not None and is_invited(items, go_ahead.message):
        asked, kind = go_ahead, "go-ahead"
    named = f"{kind} in message {asked.message}"
    return f"{named} is not answered yet" if is_unanswered(items) else f"{named}: the agent has not ended its turn yet"


def reports_of(items: Sequence[Item], calls: Sequence[Call], mask: Mask) -> tuple[Said, ...]:
    """The agent's longer messages that end a turn, else its longer ones, and the plan that it works by; newest last,
    without marks of emphasis, each with what the user said to it: words that the user overturned are no facts."""
    said = [(item, text) for item, text in spoken(items, "assistant") if len(text) >= REPORT_CHARACTERS]
    with_calls = before_calls(items)
    ends = [(item, text) for item, text in said if item.id not in with_calls]
    told = ends[-KEPT:] or said[-MOST_MUSINGS:]
    plan = plan_of(items)
    if plan is not None and plan[0].id not in {item.id for item, _ in told}:
        told = sorted([*told, plan], key=lambda pair: pair[0].position)
    plain = [(item, EMPHASIS.sub("", ends_of(text))) for item, text in told]
    answers = [*heard(items, calls, mask)]
    each = tuple(
        msgspec.structs.replace(one, is_thought=item.kind == "thinking")
        for one, (item, _) in zip(
            (*quoted(plain[:-1], mask, MAX_REPORT), *quoted(plain[-1:], mask, MAX_NEWEST)), plain, strict=True
        )
    )
    until = [*(one.message for one in each[1:]), len(items) + MAX_MASKED]
    with_work = (
        msgspec.structs.replace(one, announces=announcement(text) or one.text)
        if item.id in with_calls or item.kind == "thinking"
        else one
        for one, (item, text) in zip(each, plain, strict=True)
    )
    return tuple(_with_reaction(one, answers, stop) for one, stop in zip(with_work, until, strict=False))


def heard(items: Sequence[Item], calls: Sequence[Call], mask: Mask) -> Iterator[tuple[int, str, bool]]:
    """What the user said, by message: its number, its words, and whether they overturn what was said before."""
    rows = [(item.position[0] + 1, text) for item, text in spoken(items, "user")]
    rows += [
        (call.place[0] + 2, answer)
        for call in calls
        if not call.agent and ASKING.search(call.tool) and call.answered
        for _, answer in CHOSEN.findall(ends_of(call.text))
    ]
    for message, text in sorted(rows, key=lambda pair: pair[0]):  # several texts of one message stay in order
        overturns = (WRONG.match(text) and not NOT_WRONG.match(text)) or is_undone(text)
        yield message, one_line(mask(ends_of(text)), MAX_REACTION), bool(overturns)


def _with_reaction(one: Said, reactions: Sequence[tuple[int, str, bool]], until: int) -> Said:
    after = next((reaction for reaction in reactions if one.message < reaction[0] <= until), None)
    if after is None:
        return one
    message, words, overturned = after
    text = one_line(one.text, MAX_OVERTURNED) if overturned else one.text
    return msgspec.structs.replace(one, text=text, then=f"message {message}: {words}", overturned=overturned)


def newest_said(items: Sequence[Item], mask: Mask) -> Said | None:
    """The agent's newest message, or a thought of it that is newer; None where the user spoke since, and it did nothing
    yet."""
    if is_unanswered(items):
        return None
    said = list(spoken(items, "assistant"))[-1:]
    said += [(one, text) for one in items if one.kind == "thinking" and not one.agent and (text := thought_of(one))]
    newest = max(said, key=lambda pair: pair[0].position, default=None)
    if newest is None:
        return None
    one = quoted([newest], mask, MAX_NEWEST)[0]
    announces = announcement(mask(ends_of(newest[1])))
    return msgspec.structs.replace(one, is_thought=newest[0].kind == "thinking", announces=announces)


def open_questions(items: Sequence[Item], mask: Mask) -> tuple[str, ...]:
    """Questions that the agent asked after the user's last real request, and did not go on to work after."""
    heard = [item.position for item, text in spoken(items, "user") if tells(text)]
    worked = [item.position for item in items if item.kind == "tool_call" and not item.agent]
    since = max([(-1, -1), *heard[-1:], *worked[-1:]])
    found = [
        one_line(MARKS.sub("", sentence), MAX_QUESTION)
        for item, text in spoken(items, "assistant")
        if item.position > since
        for sentence in sentences(mask(ends_of(text)))
        if sentence.endswith(("?", "？")) and tells(sentence)
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
    is_thanks = len(text) <= MAX_END and ENDS.fullmatch(text.strip()) is not None
    return item.position[0] + 1 if is_thanks or _MARK.search(text[-MAX_END:]) else 0
