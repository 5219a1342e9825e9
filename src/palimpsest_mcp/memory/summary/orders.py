"""Standing orders: what the user laid down, sentence by sentence and verbatim; what a later sentence takes back goes.

The words are data (`text/languages`). Only what the user typed is read: no tool's result, no pasted code or quote,
no question.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from ...models.items import Item, content_text
from ...models.summaries import Decision, StandingOrder
from ...models.text import late
from ...text.languages import word_lists
from ...text.stem import stem
from .answers import answers_to_questions, wants_data
from .merge import fold_text
from .quotes import Mask, ends_of, is_said, one_line, spoken

MAX_ORDER = 400
"""Characters; a longer sentence is pasted, or says several things. Never cut: an exception may stand at its end."""
MAX_LINE = 4_000
"""Characters; a longer line was not typed."""
_WRAPPED = 50
"""A line this long without a stop goes on in the next one, where that begins with a small letter."""
_DATA = word_lists("orders")
_LANGUAGES: list[dict[str, Any]] = [
    table for name, table in _DATA.items() if name not in ("joins", "topics", "kinds", "apart")
]
_CJK = r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"


def _cues(kind: str) -> list[str]:
    return [cue for table in _LANGUAGES for cue in table.get(kind, ())]


def _any(cues: Iterable[str]) -> re.Pattern[str]:
    """Any of the cues as whole words; those of scripts without spaces, and ends of sentences, anywhere."""
    found = list(cues)
    spaced = [cue for cue in found if not re.search(f"[{_CJK}]", cue) and not cue.endswith("$")]
    other = [cue for cue in found if cue not in spaced]
    whole = rf"(?<![\w-])(?:{'|'.join(spaced)})(?!\w)" if spaced else "(?!)"
    return late("|".join([whole, *other]), re.IGNORECASE)


_ORDER, _CALM, _NO, _LIFT, _CHANGE = (_any(_cues(kind)) for kind in ("order", "calm", "no", "lift", "change"))
_CHOOSES = _any(_cues("chooses"))
_BEGINS = late(
    rf"(?:^|[.!?,;:\u2013\u2014-]\s+|\(\s*|(?<!\w)(?:{'|'.join(_DATA['joins'])})\s+)(?:{'|'.join(_cues('begins'))})(?!\w)",
    re.IGNORECASE,
)
_POLITE = late(rf"(?<![\w-])(?:{'|'.join(_cues('polite'))})", re.IGNORECASE)
_LABEL = late(rf"(?:\*\*|__)?(?:{'|'.join(_cues('label'))})(?:\*\*|__)?\s?[:：](?:\*\*|__)?\s*\S", re.IGNORECASE)
_OLD = late(rf"(?<!\w)({'|'.join(_cues('old'))})(?!\w)\s*([^,.;:!?()、。，；]{{2,80}})", re.IGNORECASE)
_OLD_BEFORE = late(rf"([{_CJK}\w]{{2,12}}?)[をが는은을를]?\s?(?:{'|'.join(_cues('old_after'))})")
_KEEPS = late(rf"(?<![\w-])(?:{'|'.join(_cues('keeps'))})", re.IGNORECASE)
_REMOVES = [(cue, sorted(cue)) for cue in _cues("removes")]
_NEGATES = late(r"not|don'?t use|do not use|et non.*|y no|e não|e non|а не|a nie|nicht", re.IGNORECASE)
"""Of the cues for what no longer holds, those that deny something and replace nothing."""
_WORD = late(rf"[^\W{_CJK}_]+(?:[-'’./][^\W{_CJK}_]+)*|[{_CJK}]+")
_EMPTY = frozenset(word for table in _LANGUAGES for word in str(table.get("empty", "")).split())
_NAME = late(r"(?<=[\w:,] )[A-Z][a-z]+(?: [A-Z][a-z]+)+\b")
_VALUE = late(
    r"[$€£¥]\s?\d[\d,.]*[km]?\b|\b\d{4}-\d\d-\d\d\b|\b\d[\d,.]*\s?(?:%|[kmg]?b\b|ms\b|s\b|h\b|min\w*|hours?|days?|weeks?|"
    r"tokens?|lines?|characters?|words?|dollars?|euros?|usd|eur|times?)|"
    r"(?<=\bis )\d[\d,.]*|(?<=\bto )\d[\d,.]*|(?<=\bat )\d[\d,.]*|(?<=\bthan )\d[\d,.]*|(?<=\bmost )\d[\d,.]*",
    re.IGNORECASE,
)


_CONSENT = late(r"(?<=\bwithout )[A-Z][a-z]+(?: [A-Z][a-z]+)+\b")
_APART = frozenset(map(stem, _DATA["apart"].split()))
_KINDS = [frozenset(words.split()) for words in _DATA["kinds"].values()]
_PLACE = late(r"\S+[/.]\w\S*")
"""An address, a host, a path: as a value."""
_PLAIN = late(r"[^\s,;:!?()'\"]+")
_LEAST_SHARED = 3
"""Words that two sentences must share before only their values differ."""


class _Topic(NamedTuple):
    says: re.Pattern[str]
    about: frozenset[str]
    single: bool


_TOPICS = {
    name: _Topic(late(one["says"], re.IGNORECASE), frozenset(one["about"].split()), one.get("single", False))
    for name, one in _DATA["topics"].items()
}
_HOSTS = late(r"<(system-reminder|command-[\w-]+|local-command-[\w-]+|task-notification|bash-[\w-]+)>.*?</\1>", re.S)
_FENCE = late(r"^(?:```|~~~).*?(?:^(?:```|~~~)\s*$|\Z)", re.MULTILINE | re.DOTALL)
_PASTED = late(r'[{}]|=>|":|^\s*(?:at |File ")|^[\w./~-]+\$ |^\s*[`|+>$#➜│]|\\n|</\w')
_MARKS = late(r"^(?:[-*•]+|\(?\d+[.)]|[a-z]\))\s+")
_ABBREVIATIONS = "".join(
    rf"(?<!\b{word}\.)" for word in (r"e\.g", r"i\.e", r"z\.B", "etc", "vs", "Nr", "No", "Dr", "Mr", "Ms", "Mrs")
)
_STOP = late(rf"{_ABBREVIATIONS}(?<=[.!?])\s+|(?<=[。！？])\s*")
_NONE_OF = late(r"\W*(?:no|kein\w*|pas de|sin|senza|geen)\s+([^,.;:!?]+)", re.IGNORECASE)
_QUESTION = late(r"\?[)\"'”’]*\s*$|？\s*$")


class _Sentence(NamedTuple):
    """A sentence with what it says of itself."""

    text: str
    is_order: bool
    """By its own words; else only what it takes the place of makes it one."""
    forbids: bool
    lifts: bool
    removes: bool
    """It has something taken away."""
    topics: frozenset[str]
    words: frozenset[str]
    """What it is about."""
    label: str
    """What stands before its colon, where that says what the line is."""


class Orders(NamedTuple):
    """What holds, and what held until the user said otherwise; both oldest first."""

    standing: tuple[StandingOrder, ...]
    withdrawn: tuple[StandingOrder, ...]


def orders_of(items: Sequence[Item], mask: Mask) -> Orders:
    """What the user laid down, with the number of its message from 1.

    Args:
        items: every item ever seen, in the host's order.
        mask: masks secrets; it sees whole messages.
    """
    found: list[StandingOrder] = []
    asked, invited = _asked_before(items), answers_to_questions(items)
    for item, text in spoken(items, "user"):
        ends = ends_of(text)
        if any(_may_be_order(_read(one)) for one in _statements(ends)):
            before = asked.get(item.id, "")
            told = (one for one in _statements(mask(ends)) if not (before and _is_answer(one, before)))
            told = told if item.id not in invited else (one for one in told if not _only_chooses(one))
            found += (StandingOrder(text=one, message=item.position[0] + 1) for one in told)
    return settled(found)


def _asked_before(items: Sequence[Item]) -> dict[str, str]:
    """Ids of messages of the user that answer a question for data, each with the message that asks."""
    found: dict[str, str] = {}
    before = ""
    for item in items:
        if is_said(item, "assistant"):
            before = content_text(item.content)
        elif is_said(item, "user"):
            if wants_data(before):
                found[item.id] = before
            before = ""
    return found


def _is_answer(text: str, before: str) -> bool:
    """Whether a sentence only says that there is none of what was asked for, which orders nothing."""
    none = _NONE_OF.match(text)
    return none is not None and not _ORDER.search(text) and bool(_words(none[1]) & _words(before))


def _only_chooses(text: str) -> bool:
    """Whether a sentence is an order by nothing but a wish: in an answer it chooses among what the agent offered."""
    return _CHOOSES.search(text) is not None and not _is_told(_CHOOSES.sub(" ~ ", text))


def settled(orders: Iterable[StandingOrder]) -> Orders:
    """Of statements in the order in which they were made, those that are orders and still hold.

    What nobody said in a message (`message` 0) is taken as an order, and only a person takes it back.
    """
    standing: list[StandingOrder] = []
    withdrawn: list[StandingOrder] = []
    for one in orders:
        new = _read(one.text)
        gone = [old for old in standing if old.message and one.message and _replaces(new, _read(old.text))]
        if not (gone or new.is_order or not one.message):
            continue
        withdrawn += gone
        standing = [old for old in standing if old not in gone]
        if new.is_order or new.lifts or not new.removes:  # to have something removed is done once
            standing.append(one)
    return Orders(tuple(standing), tuple(withdrawn))


def forbids(text: str) -> bool:
    """Whether an order says what must not be done: those are cut last."""
    return _read(text).forbids


def rejected(decisions: Sequence[tuple[int, Decision]], items: Sequence[Item], mask: Mask) -> tuple[Decision, ...]:
    """The agent's decisions, struck where the user rejected one later, with the user's words.

    Args:
        decisions: each with the row of its message.
    """
    said = [
        (item.position[0], sentence)
        for item, text in spoken(items, "user")
        if any(True for one in _statements(ends_of(text)) for _ in _given_up(one))
        for sentence in _statements(mask(ends_of(text)))
    ]
    found: list[Decision] = []
    for row, one in decisions:
        words = _words(one.decision)
        by = next((text for at, text in said if at > row and _denies(text, words)), "")
        struck = msgspec.structs.replace(one, superseded=True, superseded_by=one_line(by, MAX_ORDER))
        found.append(struck if by else one)
    return tuple(found)


def _denies(text: str, words: frozenset[str]) -> bool:
    """Whether a sentence of the user names what a decision chose as what is not wanted."""
    return any(old and old <= words for old, _ in _given_up(text))


def _statements(text: str) -> Iterator[str]:
    """Sentences that may lay something down, each on one line: a labelled line whole, and a sentence that says nothing
    of what it is about together with the one before it."""
    for line in _lines(text):
        if len(line) > MAX_LINE or _PASTED.search(line):
            continue
        line = _MARKS.sub("", line)
        if _LABEL.match(line):
            if len(line) <= MAX_ORDER and not _QUESTION.search(line):
                yield one_line(line, MAX_ORDER)
            continue
        before = ""
        kept = ""
        for part in _STOP.split(line):
            part = part.strip()
            if part and len(part) <= MAX_ORDER and (_POLITE.search(part) or not _asks(part)):
                leans = before and len(_words(part)) < 2 and len(before) + len(part) < MAX_ORDER
                if kept and not leans:
                    yield kept
                kept = one_line(f"{before} {part}" if leans and _is_told(part) else part, MAX_ORDER)
                before = kept
            else:
                before = ""
        if kept:
            yield kept


def _lines(text: str) -> Iterator[str]:
    """Lines without what hosts and people paste; a line that a person broke for its length is whole again."""
    whole = ""
    text = _HOSTS.sub("\n", text) if "</" in text else text
    for line in _FENCE.sub("\n", text).split("\n"):
        line = line.strip()
        goes_on = MAX_ORDER >= len(whole) >= _WRAPPED and whole[-1] not in ".!?:;。！？" and line[:1].islower()
        if goes_on:
            whole = f"{whole} {line}"
            continue
        if whole:
            yield whole
        whole = line
    if whole:
        yield whole


def _asks(part: str) -> bool:
    """Whether a sentence is a question; one that only ends in a question within brackets is not."""
    return _QUESTION.search(part) is not None and part.count("(") <= part.count(")")


def _is_told(text: str) -> bool:
    asked = _POLITE.search(text)
    calmed = _CALM.sub(" ~ ", _QUESTION.sub("", text[asked.end() :]) if asked else text)
    return bool(_ORDER.search(calmed) or _BEGINS.search(calmed) or _LABEL.match(text))


def _may_be_order(one: _Sentence) -> bool:
    return one.is_order or one.lifts or one.removes or bool(one.topics) or bool(_OLD.search(one.text))


@lru_cache(maxsize=4_096)
def _read(text: str) -> _Sentence:
    return _Sentence(
        text=text,
        is_order=_is_told(text),
        forbids=_NO.search(text) is not None,
        lifts=_LIFT.search(text) is not None,
        removes=_removes(text),
        topics=frozenset(name for name, topic in _TOPICS.items() if topic.says.search(text)),
        words=_words(text),
        label=fold_text(found[0].partition(":")[0].strip("*_ ")) if (found := _LABEL.match(text)) else "",
    )


def _removes(text: str) -> bool:
    """Whether a sentence has something taken away, its verb perhaps with two letters in the wrong order."""
    low = text.lower()
    words = low.split()
    return any(cue in low or any(sorted(word) == letters for word in words) for cue, letters in _REMOVES)


def _words(text: str) -> frozenset[str]:
    """What a text is about: no empty words, values or names of people; of scripts without spaces, pairs of signs."""
    found: set[str] = set()
    for word in _WORD.findall(_NAME.sub(" ", text)):
        if re.match(f"[{_CJK}]", word):
            found |= {word[at : at + 2] for at in range(max(1, len(word) - 1))}
        else:
            low = word.lower().replace("’", "'").rstrip(".").removesuffix("'s")
            if low not in _EMPTY and len(low) > 1 and any(map(str.isalpha, low)):
                found.add(_stem(low))
    return frozenset(found)


subject_words = _words
"""For others: what a text is about."""


def _stem(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def _given_up(text: str) -> Iterator[tuple[frozenset[str], bool]]:
    """What a sentence names as what no longer holds; and whether it only denies it."""
    for found in _OLD.finditer(text):
        yield _words(found[2]), _NEGATES.fullmatch(found[1]) is not None
    for found in _OLD_BEFORE.finditer(text):
        yield _words(found[1]), False


def given_up_texts(text: str) -> Iterator[str]:
    """What a sentence names as what no longer holds, as it stands."""
    yield from (found[2].strip() for found in _OLD.finditer(text))


def _replaces(new: _Sentence, old: _Sentence) -> bool:
    """Whether an order takes an earlier one's place."""
    if fold_text(new.text) == fold_text(old.text) or _without_values(new.text) == _without_values(old.text):
        return True
    if new.removes and (kept := _KEEPS.search(old.text)):
        named = next(filter(None, kept.groups()), "").lower().split()  # "old code": what is old, not any code
        return bool(named) and named[0] in _PLAIN.findall(new.text.lower())
    if new.lifts and old.forbids:
        return _share(new.words, old.words) >= 2 / 3
    if new.is_order and new.forbids != old.forbids and new.words and new.words == old.words:
        return True
    tells = new.is_order or _CHANGE.search(new.text) is not None
    if tells and old.topics and old.topics <= new.topics and _same_scope(new, old):
        return True
    if _same_but_for_values(new, old) or _states_anew(new, old):
        return True
    if old.forbids:
        return False
    named = [(words, 0.5 if denies else 1 / 3) for words, denies in _given_up(new.text) if words]
    return any(words <= old.words and len(words) >= len(old.words) * least for words, least in named)


def _same_but_for_values(new: _Sentence, old: _Sentence) -> bool:
    """Whether two sentences say the same of other values: codes, addresses, numbers, names of people. A ban on one
    thing is not lifted by a ban on another; whose consent one waits for may change."""
    first, second = _values(new.text), _values(old.text)
    if not first or not second or first == second or new.forbids != old.forbids:
        return False
    if old.forbids:
        consent = _CONSENT.sub("#", new.text)
        return consent != new.text and fold_text(consent) == fold_text(_CONSENT.sub("#", old.text))
    one, other = _scope(new), _scope(old)
    return len(one & other) >= _LEAST_SHARED and len(one ^ other) <= 1


def _states_anew(new: _Sentence, old: _Sentence) -> bool:
    """Whether two sentences under one label say in other words what one thing is now: with a value of the same sort in
    both, no word that tells two things apart, and most of what they are about in common. A ban on one thing, then on
    another, has no such value: both stay."""
    if not new.label or new.label != old.label:
        return False
    one, other = _subject_words(new), _subject_words(old)
    shared = len(one & other)
    if shared < 2 or (one ^ other) & _APART or _speak_of_two(new.text, old.text):
        return False
    first, second = _kinds_of_values(new.text), _kinds_of_values(old.text)
    sorts = {sort for sort in first.keys() & second.keys() if first[sort] != second[sort]}
    named = bool(sorts & {"names", "places"}) and 3 * shared >= 2 * min(len(one), len(other))
    return named or (bool(sorts) and 2 * shared > max(len(one), len(other)))


def _speak_of_two(new: str, old: str) -> bool:
    """Whether one sentence has another word in the very place of one of the other's, such as uploads for downloads: a
    thing that is said in other words has them in other places. Where it is in doubt, both orders stand."""
    one, other = _words_in_order(new), _words_in_order(old)
    for what, at, till, start, end in SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        if what == "replace" and till - at == end - start:
            least = 1 if at and till < len(one) else 2  # at an end only if both say something
            pairs = zip(one[at:till], other[start:end], strict=True)
            if any(sum(word not in _EMPTY for word in pair) >= least for pair in pairs):
                return True
    return False


def _words_in_order(text: str) -> list[str]:
    """Stems of all words behind a label; no values, and nothing of scripts without spaces."""
    plain = _NAME.sub(" ", _PLACE.sub(" ", text.partition(":")[2]))
    words = (_stem(word.lower().replace("’", "'").removesuffix("'s")) for word in _WORD.findall(plain))
    return [
        word if word in _EMPTY else stem(word)
        for word in words
        if not any(map(str.isdigit, word))
        and not any(word in kind for kind in _KINDS)
        and not re.match(f"[{_CJK}]", word)
    ]


def _subject_words(one: _Sentence) -> frozenset[str]:
    """What a sentence is about, without its label and its values; stems, so that approving is approval."""
    plain = _words(_PLACE.sub(" ", one.text.partition(":")[2]))
    return frozenset(
        stem(part)
        for word in plain
        if not any(map(str.isdigit, word)) and not any(word in kind for kind in _KINDS)
        for part in re.split(r"[-/.]", word)
        if part not in _EMPTY
    )


def _kinds_of_values(text: str) -> dict[str, frozenset[str]]:
    """The values of a sentence by their sort."""
    places = _PLACE.findall(text)
    rest = _PLACE.sub(" ", text)
    low = set(re.findall(r"[^\s.,;:!?]+", rest.casefold()))
    found = {
        "names": frozenset(_NAME.findall(rest)),
        "places": frozenset(one.rstrip(".,;:") for one in places),
        "numbers": frozenset(word.strip(".,;:()") for word in rest.split() if any(map(str.isdigit, word))),
        **{f"kind {number}": frozenset(low & kind) for number, kind in enumerate(_KINDS)},
    }
    return {sort: values for sort, values in found.items() if values}


def _values(text: str) -> frozenset[str]:
    """Words with a digit in them, and names of people."""
    return frozenset(
        [*_NAME.findall(text), *(word.strip(".,;:()") for word in text.split() if any(map(str.isdigit, word)))]
    )


def _without_values(text: str) -> str:
    return fold_text(_VALUE.sub("#", text))


def _same_scope(new: _Sentence, old: _Sentence) -> bool:
    """Whether two sentences of one subject mean the same one: a project's budget is not a journey's."""
    topics = [_TOPICS[name] for name in old.topics]
    if any(topic.single for topic in topics):
        return True
    about = frozenset[str]().union(*(topic.about for topic in topics))
    first, second = _scope_without_places(new) - about, _scope_without_places(old) - about
    return not first or not second or _share(first, second) >= 1 / 3


def _scope(one: _Sentence) -> frozenset[str]:
    """Its words, one by one and without codes: those are what changes."""
    plain = (word for word in one.words if not any(map(str.isdigit, word)))
    return frozenset(_stem(part) for word in plain for part in re.split(r"[-/.]", word) if part not in _EMPTY)


def _scope_without_places(one: _Sentence) -> frozenset[str]:
    named = {part for place in _PLACE.findall(one.text.casefold()) for part in re.split(r"[-/.]", place)}
    return _scope(one) - named


def _share(one: frozenset[str], other: frozenset[str]) -> float:
    """How much of the smaller set stands in the other."""
    smaller = min(len(one), len(other))
    return len(one & other) / smaller if smaller else 0.0
