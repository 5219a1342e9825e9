"""What a handoff quotes of a conversation: requests, reports, and questions that nobody answered."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice, pairwise, takewhile
from typing import TypeAlias

import msgspec

from ...models.items import Item, content_text
from ...models.summaries import Decision, Said
from ...models.text import late
from ...text.languages import word_lists
from ...text.stem import stem
from .calls import Call
from .merge import tidy

# Quotes for a summary: masked first, whole words, marked where something was cut off.


Mask: TypeAlias = Callable[[str], str]
"""A text with its secrets masked. It sees whole texts: half a secret may not look like one."""

CUT = " […]"
"""Ends what was cut off between words."""
SPARED = 40
"""Characters at the end of a text under `SHORT` that are never cut off alone: what it comes to may stand there."""
SHORT = 300
MAX_MASKED = 40_000
"""Characters of one text that are masked to quote from it: of a longer one, both ends in whole lines."""
MAX_ASIDE = 80
"""Characters of a bracket that stays whole where a text is cut off in it: "(except …" must say what."""
_SPACE = re.compile(r"\s+")
_DRAWN = re.compile(r"[│├└┌┐┘┤┬┴┼─]+(?=\s)")
"""What draws a tree of folders, or a table."""
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s+|\n+")


def ends_of(text: str) -> str:
    """The text, or where it is too long whole lines from both its ends."""
    if len(text) <= MAX_MASKED:
        return text
    half = MAX_MASKED // 2
    return text[: text.rfind("\n", 0, half) + 1 or half] + "\n" + text[text.find("\n", len(text) - half) + 1 :]


def one_line(text: str, limit: int) -> str:
    """One line of at most `limit` characters, cut between words and marked; the short end of a short text stays."""
    line = _SPACE.sub(" ", tidy(text if text.isascii() else _DRAWN.sub(" ", text))).strip()
    if len(line) <= limit or (len(line) <= limit + SPARED and len(line) < SHORT):
        return line
    end = line.rfind(" ", limit // 2, limit - len(CUT) + 1)
    end = end if end > 0 else limit - len(CUT)
    opens = line.rfind("(", 0, end)
    closes = line.find(")", opens) + 1
    if line.find(")", max(opens, 0), end) < 0 <= opens and end < closes <= opens + MAX_ASIDE:
        end = closes
    return line[:end].rstrip() + CUT


def with_end(text: str, limit: int) -> str:
    """One line of at most `limit` characters: how a text begins and its last sentence, where what is wanted may stand
    behind what was pasted."""
    whole = one_line(text, limit)
    last = one_line((sentences(text) or [""])[-1], limit)
    room = limit - len(last) - 1
    if not whole.endswith(CUT) or last.endswith(CUT) or room < limit // 2:
        return whole
    return f"{one_line(text, room)} {last}"


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
BEFORE = "(before the user's newest message)"
MAX_DECISION = 220
"""A longer sentence is no statement of one decision; it is left where it stands."""
_NOTICE = re.compile(
    r"\s*(?:<(?:system-reminder|command-|local-command|task-notification|bash-)|\[Request interrupted|"
    r"This session is being continued from|Your task is to create a (?:detailed )?summary of th)|\$ \S|/[\w:-]+\s*$"
)
"""Notices of the host, commands to the host, and what hosts show of commands that users ran in a shell of their own."""
_OWN = r"(?:^|[,;:(] ?|\b(?:so|and|then|instead|therefore|thus|ok|okay|alright|now)\b,? )"
_FEEDBACK = word_lists("feedback").values()
_THANKS = "|".join(words for table in _FEEDBACK for words in table.get("ends", ()))
_ENDS = late(rf"(?:(?:ok(?:ay)?|alright|great|perfect|no)?[,.! ]*(?:many )?(?:{_THANKS}))+[.!。！ ]*", re.IGNORECASE)
"""A whole message that ends a conversation: nothing but thanks."""
_GOES_ON = "|".join(words for table in _FEEDBACK for words in table.get("resumes", ()))
_RESUMES = late(rf"(?:(?:ok(?:ay)?|please|yes)[,.! ]*)?(?:{_GOES_ON})(?:[,.! ]*please)?[.!。！ ]*", re.IGNORECASE)
"""A whole message that only has the agent go on."""
_BARE = "|".join(words for table in _FEEDBACK for words in table.get("bare", ()))
_ONLY_AGREES = late(rf"(?:(?:{_BARE})[,.!。！ ]*)+", re.IGNORECASE)
"""A whole message that only agrees."""
_MARK = re.compile(r"[#*<\[]{1,9} ?(?:stop|end|done|exit|quit)(?: of conversation)? ?[#*>\]]{1,9}\s*$", re.IGNORECASE)
"""A mark that a program set at the end of its last message."""
MAX_END = 200


def begins_with(kind: str) -> re.Pattern[str]:
    """A text that begins with one of the cues of `feedback`, as whole words in scripts that have such."""
    cues = [cue for table in _FEEDBACK for cue in table.get(kind, ())]
    return late(rf"\W*(?:{'|'.join(cue + (r'(?![a-z])' if cue.isascii() else '') for cue in cues)})", re.IGNORECASE)


WRONG, NOT_WRONG = begins_with("wrong"), begins_with("calm")
_AGREES, _UNDECIDED, _ANNOUNCES = map(begins_with, ("agrees", "unsure", "announces"))
_WEAKLY, _JUDGES = map(begins_with, ("weakly", "judges"))
_OFFERS = late("|".join(cue for table in _FEEDBACK for cue in table.get("offers", ())), re.IGNORECASE)
_INVITES = late("|".join(cue for table in _FEEDBACK for cue in table.get("invites", ())), re.IGNORECASE)
_WANTS = late("|".join(cue for table in _FEEDBACK for cue in table.get("wants", ())), re.IGNORECASE)
_UNDOES = late("|".join(cue for table in _FEEDBACK for cue in table.get("undoes", ())), re.IGNORECASE)
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
        return f"{begin} {BEFORE}"
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


_ASKING = late(
    r"ask_?(?:user|human|clarif|follow)|clarif|follow_?up_?question|(?:user|human)_?(?:input|question)|elicit", re.I
)
"""Tools that put a question before the user."""
_CHOSEN = late(r'"([^"\n]{1,600})"="([^"\n]{1,400})"')
"""What a person chose of what a tool put before them: `"question"="answer"`."""
_NUMBERED_STEP = late(r"^[ \t]*\d{1,2}[.)]\s+\S", re.MULTILINE)
_STEPS = late(r"^[ \t]*(\d{1,2})[.)]\s+(\S.*)$", re.MULTILINE)
MAX_ABOUT = 100
MAX_ANSWERED = 140
"""Characters of an answer that is a decision, and of what it answers."""
MAX_DATA = 300
"""Characters of a message that only gives what the agent asked for."""
MAX_REACTION = 160
MAX_OVERTURNED = 120
"""Characters of a statement that the user overturned."""
_FEW_WORDS = 7
"""A shorter question ("Shall I?") says nothing without the sentence before it."""
MAX_TERMS = 700
"""Characters of a proposal with a price that a consent is told with."""
_AMOUNT = re.compile(r"[$€£¥]\s?\d|\b\d[\d.,]*\s?(?:usd|eur|gbp|dollars?|euros?|[$€£])(?!\w)", re.IGNORECASE)
_TELLING = 4
"""Letters of a word that says what it is about."""
MOST_QUESTIONS = 3
"""Questions of one message that an answer is told with where it may be to any of them."""
_LATE = 1_500
_LAST_WORDS = 2
"""Sentences at the end of a message without a question that may ask for something."""
_LAST_SENTENCES = 8
"""At the end of a message, where a question stands that the next message answers."""


def answers_of(items: Sequence[Item], calls: Sequence[Call], mask: Mask) -> tuple[tuple[int, Decision], ...]:
    """What the user decided: answers to questions of the agent or of its tools, go-aheads and refusals, verbatim, each
    with what it answers and the row of its message."""
    found = [*_chosen(calls, mask)]
    asked = {call.place: call for call in calls if not call.agent and _ASKING.search(call.tool) and not call.failed}
    before, row = "", 0
    for item in items:
        if item.agent or item.kind == "thinking":
            continue
        if item.kind == "tool_call":
            call = asked.get(item.position)
            before = "\n".join(question_texts(call)) if call and not _CHOSEN.search(call.text) else ""
            row = item.position[0] + 1
        elif is_said(item, "assistant"):
            before, row = content_text(item.content) or before, item.position[0] + 1
        elif is_said(item, "user"):
            text = content_text(item.content)
            if before and not _NOTICE.match(text) and _decides(text, before):
                words = one_line(mask(ends_of(text)), MAX_ANSWERED)
                proposed = mask(ends_of(before))
                has_price = _agrees(text, before) and _AMOUNT.search(proposed)
                about = _terms(proposed) if has_price else _answered(proposed, words, row)
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
    later = [item.position[0] for item, text in spoken(items, "user") if item.position[0] > answer_row and _tells(text)]
    if not later:
        return False
    is_short = _AGREES.match(text) is not None and len(_WORD.findall(text)) <= _FEW_WORDS
    return _ONLY_AGREES.fullmatch(text) is not None or (
        is_short and any(answer_row < row < later[-1] for row in commits)
    )


def answers_to_questions(items: Sequence[Item]) -> frozenset[str]:
    """Ids of messages of the user that come right after one of the agent that asks something, or asks to be told."""
    found: list[str] = []
    before = ""
    for item in items:
        if is_said(item, "assistant"):
            before = content_text(item.content)
        elif is_said(item, "user"):
            found += [item.id] if _invites(before) else []
            before = ""
    return frozenset(found)


def _chosen(calls: Sequence[Call], mask: Mask) -> Iterator[tuple[int, Decision]]:
    for call in calls:
        if not call.agent and _ASKING.search(call.tool) and call.answered and not call.failed:
            for question, answer in _CHOSEN.findall(mask(ends_of(call.text))):
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
    if not text or len(text) > MAX_REQUEST * 2 or _ENDS.fullmatch(text) or _UNDECIDED.match(text):
        return False
    if is_undone(text) or (WRONG.match(text) and not NOT_WRONG.match(text)):
        return _tells(text) and not _JUDGES.match(text)
    if not _invites(before) or wants_data(before) or _goes_on(text):
        return False
    return _agrees(text, before) or not (_tells(text) or text.endswith(("?", "？")))


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
    return len(parts) > 1 and _ENDS.fullmatch(parts[0]) is not None and parts[1].endswith(("?", "？"))


def _invites(text: str) -> bool:
    """Whether a message of the agent ends with a question, or asks for a go-ahead."""
    return _puts_question(text) or _INVITES.search(text[-_LATE:]) is not None


def _puts_question(text: str) -> bool:
    return any(part.endswith(("?", "？")) for part in sentences(text[-_LATE:])[-_LAST_SENTENCES:])


def _agrees(text: str, before: str) -> bool:
    """Whether a message agrees to what the agent's message before it put before the user. An "ok" to what was no
    question, with more behind it, begins a new request."""
    parts = sentences(text)
    if _WEAKLY.match(text) and _tells(text) and not _puts_question(before):
        return False
    return bool(parts) and not parts[0].endswith(("?", "？")) and _AGREES.match(text) is not None and _invites(before)


def _terms(text: str) -> str:
    """What a consent to a price is a consent to, whole; of a long message the sentences with amounts and what asks for
    the consent; empty where that is long, too: without its terms it is none."""
    whole = one_line(_EMPHASIS.sub("", text), len(text))
    if len(whole) <= MAX_TERMS:
        return whole
    told = [
        part
        for part in sentences(_EMPHASIS.sub("", text))
        if _AMOUNT.search(part) or _INVITES.search(part) or part.endswith(("?", "？"))
    ]
    words = one_line(f"{CUT} ".join(told).strip(), len(text))
    return words if len(words) <= MAX_TERMS else ""


def _answered(text: str, answer: str, message: int) -> str:
    """What of a message an answer is to: its question, with the sentence before it where it says little; of several the
    only one that shares words with the answer, else only that there are several: which one was meant no code can tell.
    Without one, what asks for a go-ahead, else how the message begins."""
    parts = [_MARKS.sub("", part) for part in sentences(_CODE.sub("", text))]
    parts = [part for part in parts if len(_WORD.findall(part)) > 1 or part.endswith(("?", "？"))] or parts
    backwards = range(len(parts) - 1, -1, -1)
    asked = [n for n in backwards if parts[n].endswith(("?", "？"))]
    invites = [n for n in backwards if _INVITES.search(parts[n])]
    begins = [n for n in reversed(backwards) if len(_WORD.findall(parts[n])) >= _FEW_WORDS]
    at = next(iter((*asked, *invites, *begins)), 0)
    if len(asked) > 1:
        said = _telling(answer)
        sharing = [n for n in asked if said & _telling(parts[n])]
        if len(sharing) != 1:
            return f"one of the questions of message {message}: {_both_ends([parts[n] for n in reversed(asked)])}"
        at = sharing[0]
    words = parts[at] if parts else ""
    if at > 0 and words.startswith("(") and ")" in words:  # examples for the question before it
        return one_line(f"{parts[at - 1]} {words[: words.index(')') + 1]}", 2 * MAX_ABOUT)
    if at > 0 and len(_WORD.findall(words)) < _FEW_WORDS and len(parts[at - 1]) + len(words) < MAX_ABOUT:
        words = f"{parts[at - 1]} {words}"
    return one_line(words, MAX_ABOUT)


def _both_ends(questions: Sequence[str]) -> str:
    """Questions of one message, as many as are read at once: the newest ones, each cut at its own end."""
    quoted = [f"“{one_line(one, MAX_ABOUT)}”" for one in questions[-MOST_QUESTIONS:]]
    return " ".join([*(["…"] if len(questions) > MOST_QUESTIONS else []), *quoted])


def _telling(text: str) -> frozenset[str]:
    """Words of some length, without their endings."""
    return frozenset(stem(word.lower()) for word in _WORD.findall(text) if len(word) >= _TELLING or not word.isascii())


def is_undone(text: str) -> bool:
    """Whether a message of the user takes back what was done before it: a short one anywhere, a long one at once."""
    begins = text if len(text) <= MAX_REQUEST else next(iter(sentences(text)), "")
    return len(begins) <= MAX_REQUEST and _UNDOES.search(begins) is not None


MAX_REQUEST = 260
MAX_NEWEST = 1_200
"""Characters of the newest request, and of what the agent said last."""
MAX_REPORT = 900
MAX_QUESTION = 240
REPORT_CHARACTERS = 200
"""A shorter message of the agent announces its next call; it reports nothing."""
MOST_MUSINGS = 2
"""Where no message ends a turn: so many of those that announce a call."""
KEPT = 40
"""Newest of each kind that are looked at."""
_WORD = re.compile(r"\w+")
_CODE = re.compile(r"^[ \t]*```.*?(?:^[ \t]*```[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_MARKS = re.compile(r"^(?:[-*+>#]+|\d+[.)])\s+")
LAST_TURNS = 6
REMAINS = "Listed by the agent in message "
"""Begins what quotes a list of what remains."""
_LEFT = "|".join(words for table in _FEEDBACK for words in table.get("remains", ()))
_REMAINS = late(
    rf"^[#*_> \t]{{0,12}}(?:{_LEFT})\b[^\n]{{0,80}}\n{{1,3}}"
    r"(?:[ \t]{0,12}(?:[-*+]|\d{1,3}[.)]) [^\n]{1,400}\n{0,2}){1,20}",
    re.IGNORECASE | re.MULTILINE,
)
"""A heading that says what remains, and the list below it."""
_EMPHASIS = re.compile(r"\*\*|__|^#+ ", re.MULTILINE)


def first_request(items: Sequence[Item], mask: Mask) -> Said | None:
    """What the user asked first."""
    return next(iter(_quoted(list(islice(spoken(items, "user"), 1)), mask, MAX_REQUEST)), None)


def requests_of(items: Sequence[Item], mask: Mask) -> tuple[Said, ...]:
    """What the user asked for, newest last; the first one too, each with the message that took it back. Only the newest
    is quoted at some length."""
    asked = list(spoken(items, "user"))[-KEPT * 4 :]
    data = _data_given(items)
    telling = ([(item, text) for item, text in asked if _tells(text) and item.id not in data] or asked)[-KEPT:]
    back = {
        one.position: (item.position[0] + 1, text)
        for (one, _), (item, text) in pairwise(telling)
        if is_undone(text) and not _agrees(text, _said_before(items, item))
    }
    quoted = (*_quoted(telling[:-1], mask, MAX_REQUEST), *_quoted(telling[-1:], mask, MAX_NEWEST))
    return tuple(
        _taken_back(one, back.get(item.position), mask) for one, (item, _) in zip(quoted, telling, strict=True)
    )


def _said_before(items: Sequence[Item], until: Item) -> str:
    """The agent's newest message before an item."""
    return next((text for item, text in reversed([*spoken(items, "assistant")]) if item.position < until.position), "")


def _data_given(items: Sequence[Item]) -> frozenset[str]:
    """Ids of messages that only give what the agent asked for, such as a number: what was requested is still that."""
    found: list[str] = []
    before = ""
    for item in items:
        if is_said(item, "assistant"):
            before = content_text(item.content)
        elif is_said(item, "user"):
            text = content_text(item.content)
            if wants_data(before) and len(text) <= MAX_DATA and not asks(text):
                found.append(item.id)
            before = ""
    return frozenset(found)


def _taken_back(one: Said, by: tuple[int, str] | None, mask: Mask) -> Said:
    if by is None:
        return one
    words = f"message {by[0]}: {one_line(mask(ends_of(by[1])), MAX_REACTION)}"
    return msgspec.structs.replace(one, text=one_line(one.text, MAX_OVERTURNED), then=words, overturned=True)


def replies_of(items: Sequence[Item], mask: Mask) -> tuple[Said, ...]:
    """Short answers of the user to a question of the agent, such as "last 6 months", newest last, each with it."""
    found: list[Said] = []
    data = _data_given(items)
    question, row = "", 0
    for item in items:
        if is_said(item, "assistant"):
            text, row = content_text(item.content), item.position[0] + 1
            question = text if any(mark in text for mark in "?？") else ""
        elif is_said(item, "user"):
            text = content_text(item.content)
            is_answer = question and text.strip() and (item.id in data or not _tells(text))
            if is_answer and not _NOTICE.match(text):
                said = _quoted([(item, text)], mask, MAX_REQUEST)[0]
                about = _answered(mask(ends_of(question)), said.text, row)
                found.append(msgspec.structs.replace(said, about=about))
            question = ""
    return tuple(found[-KEPT:])


def go_ahead_of(items: Sequence[Item], mask: Mask) -> Said | None:
    """The user's newest message where it is a short one that came after the newest request, such as "yeah, do it all",
    with what it answers where the agent asked for it; None otherwise."""
    said = list(spoken(items, "user"))
    if not said or said[-1][0].position[0] + 1 <= requests_of(items, mask)[-1].message:
        return None
    newest = said[-1][0]
    one = _quoted(said[-1:], mask, MAX_NEWEST)[0]
    before = [(item, text) for item, text in spoken(items, "assistant") if item.position < newest.position][-1:]
    if not before or not _invites(before[0][1]):
        return one
    about = _answered(mask(ends_of(before[0][1])), one.text, before[0][0].position[0] + 1)
    return msgspec.structs.replace(one, about=about)


def only_resumes(go_ahead: Said) -> bool:
    """Whether a go-ahead answers nothing, and only has a turn that was broken off go on with what was asked before."""
    return not go_ahead.about and _RESUMES.fullmatch(go_ahead.text.strip()) is not None


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


def is_invited(items: Sequence[Item], message: int) -> bool:
    """Whether a message of the user agrees to what the agent asked right before it; one that gives data does not."""
    before = ""
    data = _data_given(items)
    for item in items:
        if is_said(item, "user") and item.position[0] + 1 == message:
            return item.id not in data and _agrees(content_text(item.content), before)
        if not item.agent and item.kind != "thinking":
            before = content_text(item.content) if is_said(item, "assistant") else ""
    return False


def reports_of(items: Sequence[Item], calls: Sequence[Call], mask: Mask) -> tuple[Said, ...]:
    """The agent's longer messages that end a turn, else its longer ones, and the plan that it works by; newest last,
    without marks of emphasis, each with what the user said to it: words that the user overturned are no facts."""
    said = [(item, text) for item, text in spoken(items, "assistant") if len(text) >= REPORT_CHARACTERS]
    before_calls = _before_calls(items)
    ends = [(item, text) for item, text in said if item.id not in before_calls]
    told = ends[-KEPT:] or said[-MOST_MUSINGS:]
    plan = plan_of(items)
    if plan is not None and plan[0].id not in {item.id for item, _ in told}:
        told = sorted([*told, plan], key=lambda pair: pair[0].position)
    plain = [(item, _EMPHASIS.sub("", ends_of(text))) for item, text in told]
    answers = [*heard(items, calls, mask)]
    quoted = tuple(
        msgspec.structs.replace(one, is_thought=item.kind == "thinking")
        for one, (item, _) in zip(
            (*_quoted(plain[:-1], mask, MAX_REPORT), *_quoted(plain[-1:], mask, MAX_NEWEST)), plain, strict=True
        )
    )
    until = [*(one.message for one in quoted[1:]), len(items) + MAX_MASKED]
    with_work = (
        msgspec.structs.replace(one, announces=_announcement(text) or one.text) if item.id in before_calls else one
        for one, (item, text) in zip(quoted, plain, strict=True)
    )
    return tuple(_with_reaction(one, answers, stop) for one, stop in zip(with_work, until, strict=False))


def heard(items: Sequence[Item], calls: Sequence[Call], mask: Mask) -> Iterator[tuple[int, str, bool]]:
    """What the user said, by message: its number, its words, and whether they overturn what was said before."""
    rows = [(item.position[0] + 1, text) for item, text in spoken(items, "user")]
    rows += [
        (call.place[0] + 2, answer)
        for call in calls
        if not call.agent and _ASKING.search(call.tool) and call.answered
        for _, answer in _CHOSEN.findall(ends_of(call.text))
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


def plan_of(items: Sequence[Item]) -> tuple[Item, str] | None:
    """The newest numbered list of steps that the agent works by: said, or thought, while it worked on the newest
    request, or said right before a message that agrees to it."""
    main = [item for item in items if not item.agent]
    plan: tuple[Item, str] | None = None
    before = ""
    for item, after in pairwise([*main, None]):
        assert item is not None
        if item.kind == "tool_call" and _ASKING.search(item.tool_name):
            plan = None
        elif is_said(item, "user"):
            text = content_text(item.content)
            if _tells(text) and not (_NOTICE.match(text) or _agrees(text, before)):
                plan = None
        elif item.kind == "thinking":
            words = _thought(item)
            works = after is not None and (after.kind == "tool_call" or is_said(after, "assistant"))
            if works and len(_NUMBERED_STEP.findall(words)) > 1 and not _lists_options(words):
                plan = item, words
        elif is_said(item, "assistant"):
            before = content_text(item.content)
            works = after is not None and after.kind == "tool_call" and not _ASKING.search(after.tool_name)
            agreed = after is not None and is_said(after, "user") and _agrees(content_text(after.content), before)
            if len(_NUMBERED_STEP.findall(before)) > 1 and (works or agreed) and not _lists_options(before):
                plan = item, before
    return plan


def _lists_options(text: str) -> bool:
    """Whether what stands before the last numbered list of a message says that one of its entries is to be chosen."""
    starts = [found.start() for found in _STEPS.finditer(text) if found[1] == "1"]
    leads = sentences(text[: starts[-1]])[-1:] if starts else []
    return any(_OFFERS.search(lead) for lead in leads)


def remains_of(items: Sequence[Item], mask: Mask) -> str:
    """The list under the newest heading by which the agent says what remains, in one of the messages that ended its
    last turns, with its message; empty: none."""
    ends = frozenset(ends_of_turns(items)[-LAST_TURNS:])
    said = [(item, text) for item, text in spoken(items, "assistant") if item.position[0] + 1 in ends]
    asked = max((item.position[0] + 1 for item, text in spoken(items, "user") if _tells(text)), default=0)
    for item, text in reversed(said):
        found = list(_REMAINS.finditer(mask(ends_of(text))))
        if found:
            row = item.position[0] + 1
            before = ", before the newest request" if asked > row else ""
            return f"{REMAINS}{row}{before}: {one_line(_EMPHASIS.sub('', found[-1][0]), MAX_REPORT)}"
    return ""


def plan_steps(text: str) -> list[str]:
    """The steps of the last numbered list of a message."""
    found: list[str] = []
    for number, words in _STEPS.findall(text):
        found = [words.strip()] if number == "1" else [*found, words.strip()]
    return found


def announced(items: Sequence[Item], mask: Mask) -> str:
    """What the agent said it would do next, where that is the last thing in a conversation."""
    main = _exchanged(items)
    if not main or not is_said(main[-1], "assistant"):
        return ""
    parts = sentences(mask(ends_of(content_text(main[-1].content))))
    last = _MARKS.sub("", parts[-1]) if parts else ""
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
    return [item for item in main if not (is_said(item, "user") and _NOTICE.match(content_text(item.content)))]


def asks(text: str) -> bool:
    """Whether a message puts a question."""
    return any(part.endswith(("?", "？")) for part in sentences(text))


def gives_data(items: Sequence[Item], message: int) -> bool:
    """Whether a message of the user only gives what the agent asked for, such as a number."""
    data = _data_given(items)
    return any(item.id in data and item.position[0] + 1 == message for item in items)


def newest_said(items: Sequence[Item], mask: Mask) -> Said | None:
    """The agent's newest message, or a thought of it that is newer; None where the user spoke since, and it did nothing
    yet."""
    if is_unanswered(items):
        return None
    said = list(spoken(items, "assistant"))[-1:]
    said += [(item, text) for item in items if item.kind == "thinking" and not item.agent and (text := _thought(item))]
    newest = max(said, key=lambda pair: pair[0].position, default=None)
    if newest is None:
        return None
    one = _quoted([newest], mask, MAX_NEWEST)[0]
    announces = _announcement(mask(ends_of(newest[1])))
    return msgspec.structs.replace(one, is_thought=newest[0].kind == "thinking", announces=announces)


def _announcement(text: str) -> str:
    """How a message ends that says what its author does next: from the last sentences that announce it."""
    parts = sentences(text)
    told = [_ANNOUNCES.match(_MARKS.sub("", part)) is not None for part in parts]
    at = next((n for n in range(len(parts) - 1, -1, -1) if told[n]), None)
    if at is None:
        return ""
    while at and told[at - 1]:
        at -= 1
    is_short = len(_WORD.findall(" ".join(parts[at:]))) < _FEW_WORDS
    return one_line(" ".join(parts[max(0, at - is_short) :]), MAX_REACTION)


def _thought(item: Item) -> str:
    """What an agent thought, where that is on record in words."""
    words = item.content.get("thinking") if isinstance(item.content, dict) else item.content
    return words.strip() if isinstance(words, str) else ""


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
        yield Said(message=item.position[0] + 1, text=with_end(mask(ends_of(text)), limit))
