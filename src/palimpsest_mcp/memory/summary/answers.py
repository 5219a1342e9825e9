"""Answers of the user: what each is to, whether it agrees, decides, or only gives the data that was asked for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from ...models.items import Item, content_text
from ...models.summaries import Decision, Said
from ...models.text import late
from ...text.stem import stem
from .calls import Call
from .quotes import (
    CUT,
    EMPHASIS,
    FEEDBACK,
    KEPT,
    MARKS,
    MAX_OPTION,
    MAX_REQUEST,
    MOST_OPTIONS,
    NOT_WRONG,
    NOTICE,
    WORD,
    WRONG,
    Mask,
    asks,
    begins_with,
    ends_of,
    is_said,
    is_undone,
    one_line,
    options_of,
    quoted,
    sentences,
    spoken,
    tells,
)

_THANKS = "|".join(words for table in FEEDBACK for words in table.get("ends", ()))
ENDS = late(rf"(?:(?:ok(?:ay)?|alright|great|perfect|no)?[,.! ]*(?:many )?(?:{_THANKS}))+[.!。！ ]*", re.IGNORECASE)
"""A whole message that ends a conversation: nothing but thanks."""
_GOES_ON = "|".join(words for table in FEEDBACK for words in table.get("resumes", ()))
_RESUMES = late(rf"(?:(?:ok(?:ay)?|please|yes)[,.! ]*)?(?:{_GOES_ON})(?:[,.! ]*please)?[.!。！ ]*", re.IGNORECASE)
"""A whole message that only has the agent go on."""
_BARE = "|".join(words for table in FEEDBACK for words in table.get("bare", ()))
_ONLY_AGREES = late(rf"(?:(?:{_BARE})[,.!。！ ]*)+", re.IGNORECASE)
"""A whole message that only agrees."""
_AGREES, _UNDECIDED = map(begins_with, ("agrees", "unsure"))
_WEAKLY, _JUDGES = map(begins_with, ("weakly", "judges"))
_INVITES = late("|".join(cue for table in FEEDBACK for cue in table.get("invites", ())), re.IGNORECASE)
_WANTS = late("|".join(cue for table in FEEDBACK for cue in table.get("wants", ())), re.IGNORECASE)
ASKING = late(
    r"ask_?(?:user|human|clarif|follow)|clarif|follow_?up_?question|(?:user|human)_?(?:input|question)|elicit", re.I
)
"""Tools that put a question before the user."""
CHOSEN = late(r'"([^"\n]{1,600})"="([^"\n]{1,400})"')
"""What a person chose of what a tool put before them: `"question"="answer"`."""
MAX_ABOUT = 100
MAX_ANSWERED = 140
"""Characters of an answer that is a decision, and of what it answers."""
MAX_DATA = 300
"""Characters of a message that only gives what the agent asked for."""
FEW_WORDS = 7
"""A shorter question ("Shall I?") says nothing without the sentence before it."""
MAX_TERMS = 700
"""Characters of a proposal with a price that a consent is told with."""
_AMOUNT = re.compile(r"[$€£¥]\s?\d|\b\d[\d.,]*\s?(?:usd|eur|gbp|dollars?|euros?|[$€£])(?!\w)", re.IGNORECASE)
SEVERAL = "one of the questions of message "
"""Begins what is said where nobody can tell which question was meant."""
EACH = "the questions of message "
"""The same where the answer is numbered as they are."""
_NUMBERED = re.compile(r"(?:^|\s)1[.)]\s.*\s2[.)]\s", re.DOTALL)
STEPS = late(r"^[ \t]*(\d{1,2})[.)]\s+(\S.*)$", re.MULTILINE)
POINTS = re.compile(r"\b(?:these|those|this|that|them|it|all|both|above|proceed|continue|begin|start)\b", re.IGNORECASE)
"""Words of a question, or of an answer, that only point at something that was said before."""
DOES = re.compile(
    r"\b(?:do|tackle|take|make|fix|implement|use) (?:it|that|this|these|those|them|so|all|both)\b", re.IGNORECASE
)
"""What an answer does with what it points at."""
_TELLING = 4
"""Letters of a word that says what it is about."""
MOST_QUESTIONS = 3
"""Questions of one message that an answer is told with where it may be to any of them."""
_CODE = re.compile(r"^[ \t]*```.*?(?:^[ \t]*```[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_LATE = 1_500
_LAST_WORDS = 2
"""Sentences at the end of a message without a question that may ask for something."""
_LAST_SENTENCES = 8
"""At the end of a message, where a question stands that the next message answers."""


def answers_of(items: Sequence[Item], calls: Sequence[Call], mask: Mask) -> tuple[tuple[int, Decision], ...]:
    """What the user decided: answers to questions of the agent or of its tools, go-aheads and refusals, verbatim, each
    with what it answers and the row of its message."""
    found = [*_chosen(calls, mask)]
    asked = {call.place: call for call in calls if not call.agent and ASKING.search(call.tool) and not call.failed}
    before, row = "", 0
    for item in items:
        if item.agent or item.kind == "thinking":
            continue
        if item.kind == "tool_call":
            call = asked.get(item.position)
            before = "\n".join(question_texts(call)) if call and not CHOSEN.search(call.text) else ""
            row = item.position[0] + 1
        elif is_said(item, "assistant"):
            before, row = content_text(item.content) or before, item.position[0] + 1
        elif is_said(item, "user"):
            text = content_text(item.content)
            if before and not NOTICE.match(text) and _decides(text, before):
                words = one_line(mask(ends_of(text)), MAX_ANSWERED)
                proposed = mask(ends_of(before))
                has_price = agrees(text, before) and _AMOUNT.search(proposed)
                about = _terms(proposed) if has_price else question_of(proposed, words, row)
                decision = Decision(
                    decision=f"User, message {item.position[0] + 1}: {words}", rationale=f"said to: {about}"
                )
                if about:
                    found.append((item.position[0], decision))
            before = ""
    return tuple(sorted(found, key=lambda pair: pair[0]))


def is_spent(answer_row: int, items: Sequence[Item], commits: Sequence[int]) -> bool:
    """Whether an answer of the user only agreed to what was asked then, and the user asked for something else since:
    what it was to is done, or was left. One with a few words more is, where what was done for it was committed.

    Args:
        commits: rows of the commits that went through.
    """
    text = next((text for item, text in spoken(items, "user") if item.position[0] == answer_row), "").strip()
    later = [item.position[0] for item, text in spoken(items, "user") if item.position[0] > answer_row and tells(text)]
    if not later:
        return False
    is_short = _AGREES.match(text) is not None and len(WORD.findall(text)) <= FEW_WORDS
    return _ONLY_AGREES.fullmatch(text) is not None or (
        is_short and any(answer_row < row < later[-1] for row in commits)
    )


def answers_to_questions(items: Sequence[Item]) -> frozenset[str]:
    """Ids of messages of the user that come right after one of the agent that asks something, or asks to be told."""
    return frozenset(item.id for item, before in _exchanges(items) if invites(_words(before)))


def _exchanges(items: Sequence[Item]) -> Iterator[tuple[Item, Item | None]]:
    """Messages of the user, each with the agent's message that it comes after; None where another one of the user's
    stands between."""
    before: Item | None = None
    for item in items:
        if is_said(item, "assistant"):
            before = item
        elif is_said(item, "user"):
            yield item, before
            before = None


def _words(item: Item | None) -> str:
    return "" if item is None else content_text(item.content)


def _chosen(calls: Sequence[Call], mask: Mask) -> Iterator[tuple[int, Decision]]:
    for call in calls:
        if not call.agent and ASKING.search(call.tool) and call.answered and not call.failed:
            for question, answer in CHOSEN.findall(mask(ends_of(call.text))):
                decision = f"User, answering in message {call.place[0] + 2}: {one_line(answer, MAX_ANSWERED)}"
                yield (
                    call.place[0] + 1,
                    Decision(decision=decision, rationale=f"said to: {one_line(question, MAX_ABOUT)}"),
                )


def question_texts(call: Call) -> Iterator[str]:
    """What a tool was to ask the user."""
    yield from (value for key, value in call.args.items() if isinstance(value, str) and "question" in key.lower())


def _decides(text: str, before: str) -> bool:
    """Whether a message settles what the agent's message before it asked or proposed."""
    text = text.strip()
    if not text or len(text) > MAX_REQUEST * 2 or ENDS.fullmatch(text) or _UNDECIDED.match(text):
        return False
    if is_undone(text) or (WRONG.match(text) and not NOT_WRONG.match(text)):
        return tells(text) and not _JUDGES.match(text)
    if not invites(before) or wants_data(before) or _goes_on(text):
        return False
    return agrees(text, before) or not (tells(text) or text.endswith(("?", "？")))


def wants_data(text: str) -> bool:
    """Whether the newest question of a message only asks for data; of one without a question, how it ends."""
    question = _newest_question(text)
    asking = [question] if question else sentences(text)[-_LAST_WORDS:]
    return any(_WANTS.search(part) for part in asking)


def _newest_question(text: str) -> str:
    return next((part for part in reversed(sentences(text)) if part.endswith(("?", "？"))), "")


def _goes_on(text: str) -> bool:
    """Whether a message only thanks, and then asks for something new."""
    parts = sentences(text)
    return len(parts) > 1 and ENDS.fullmatch(parts[0]) is not None and parts[1].endswith(("?", "？"))


def invites(text: str) -> bool:
    """Whether a message of the agent ends with a question, or asks for a go-ahead."""
    return _puts_question(text) or _INVITES.search(text[-_LATE:]) is not None


def _puts_question(text: str) -> bool:
    return any(part.endswith(("?", "？")) for part in sentences(text[-_LATE:])[-_LAST_SENTENCES:])


def agrees(text: str, before: str) -> bool:
    """Whether a message agrees to what the agent's message before it put before the user. An "ok" to what was no
    question, with more behind it, begins a new request."""
    parts = sentences(text)
    if _WEAKLY.match(text) and tells(text) and not _puts_question(before):
        return False
    return bool(parts) and not parts[0].endswith(("?", "？")) and _AGREES.match(text) is not None and invites(before)


def _terms(text: str) -> str:
    """What a consent to a price is a consent to, whole; of a long message the sentences with amounts and what asks for
    the consent; empty where that is long, too: without its terms it is none."""
    whole = one_line(EMPHASIS.sub("", text), len(text))
    if len(whole) <= MAX_TERMS:
        return whole
    told = [
        part
        for part in sentences(EMPHASIS.sub("", text))
        if _AMOUNT.search(part) or _INVITES.search(part) or part.endswith(("?", "？"))
    ]
    words = one_line(f"{CUT} ".join(told).strip(), len(text))
    return words if len(words) <= MAX_TERMS else ""


def question_of(text: str, answer: str, message: int) -> str:
    """What of a message an answer is to: its question, with the sentence before it where it says little; of several the
    only one that shares words with the answer, else only that there are several: which one was meant no code can tell.
    Without one, what asks for a go-ahead, else how the message begins."""
    parts = [MARKS.sub("", part) for part in sentences(_CODE.sub("", text))]
    parts = [part for part in parts if len(WORD.findall(part)) > 1 or part.endswith(("?", "？"))] or parts
    backwards = range(len(parts) - 1, -1, -1)
    asked = [n for n in backwards if parts[n].endswith(("?", "？"))]
    inviting = [n for n in backwards if _INVITES.search(parts[n])]
    begins = [n for n in reversed(backwards) if len(WORD.findall(parts[n])) >= FEW_WORDS]
    at = next(iter((*asked, *inviting, *begins)), 0)
    if len(asked) > 1:
        said = _telling(answer)
        sharing = [n for n in asked if said & _telling(parts[n])]
        if len(sharing) != 1:
            meant = EACH if _NUMBERED.search(answer) else SEVERAL
            return f"{meant}{message}: {_both_ends([parts[n] for n in reversed(asked)])}"
        at = sharing[0]
    words = parts[at] if parts else ""
    if at > 0 and words.startswith("(") and ")" in words:  # examples for the question before it
        return one_line(f"{parts[at - 1]} {words[: words.index(')') + 1]}", 2 * MAX_ABOUT)
    if at > 0 and len(WORD.findall(words)) < FEW_WORDS and len(parts[at - 1]) + len(words) < MAX_ABOUT:
        words = f"{parts[at - 1]} {words}"
    return one_line(words, MAX_ABOUT)


def leaned_on(text: str, answer: str, message: int) -> str:
    """What of a message a short answer is to: its question, and before one that names nothing ("Shall I do these?") the
    options or the steps of the list that it asks about."""
    question = question_of(text, answer, message)
    if question.startswith((SEVERAL, EACH)):
        return question
    heads = options_of(text, question)
    if not heads and POINTS.search(question):
        steps = [EMPHASIS.sub("", step) for step in plan_steps(_CODE.sub("", text))]
        heads = [f"{n}. {one_line(step, MAX_OPTION)}" for n, step in enumerate(steps[:MOST_OPTIONS], 1)]
        heads = heads if len(heads) > 1 else []
    return " ".join([*heads, question])


def plan_steps(text: str) -> list[str]:
    """The steps of the last numbered list of a message."""
    found: list[str] = []
    for number, words in STEPS.findall(text):
        found = [words.strip()] if number == "1" else [*found, words.strip()]
    return found


def _both_ends(questions: Sequence[str]) -> str:
    """Questions of one message, as many as are read at once: the newest ones, each cut at its own end."""
    told = [f"“{one_line(one, MAX_ABOUT)}”" for one in questions[-MOST_QUESTIONS:]]
    return " ".join([*(["…"] if len(questions) > MOST_QUESTIONS else []), *told])


def _telling(text: str) -> frozenset[str]:
    """Words of some length, without their endings."""
    return frozenset(stem(word.lower()) for word in WORD.findall(text) if len(word) >= _TELLING or not word.isascii())


def data_given(items: Sequence[Item]) -> frozenset[str]:
    """Ids of messages that only give what the agent asked for, such as a number: what was requested is still that."""
    return frozenset(item.id for item, before in _exchanges(items) if _is_data(_words(item), _words(before)))


def _is_data(text: str, before: str) -> bool:
    return wants_data(before) and len(text) <= MAX_DATA and not asks(text)


def replies_of(items: Sequence[Item], mask: Mask) -> tuple[Said, ...]:
    """Short answers of the user to a question of the agent, such as "last 6 months", newest last, each with it."""
    found: list[Said] = []
    data = data_given(items)
    for item, before in _exchanges(items):
        text, question = content_text(item.content), _words(before)
        is_answer = any(mark in question for mark in "?？") and text.strip() and (item.id in data or not tells(text))
        if before is not None and is_answer and not NOTICE.match(text):
            said = quoted([(item, text)], mask, MAX_REQUEST)[0]
            about = question_of(mask(ends_of(question)), said.text, before.position[0] + 1)
            found.append(msgspec.structs.replace(said, about=about))
    return tuple(found[-KEPT:])


def only_resumes(go_ahead: Said) -> bool:
    """Whether a go-ahead answers nothing, and only has a turn that was broken off go on with what was asked before."""
    return not go_ahead.about and _RESUMES.fullmatch(go_ahead.text.strip()) is not None


def is_invited(items: Sequence[Item], message: int) -> bool:
    """Whether a message of the user agrees to what the agent asked right before it; one that gives data does not."""
    before = ""
    data = data_given(items)
    for item in items:
        if is_said(item, "user") and item.position[0] + 1 == message:
            return item.id not in data and agrees(content_text(item.content), before)
        if not item.agent and item.kind != "thinking":
            before = content_text(item.content) if is_said(item, "assistant") else ""
    return False


def gives_data(items: Sequence[Item], message: int) -> bool:
    """Whether a message of the user only gives what the agent asked for, such as a number."""
    data = data_given(items)
    return any(item.id in data and item.position[0] + 1 == message for item in items)
