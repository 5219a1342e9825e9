"""How well a text answers a query, where in it, and a search through texts that needs no index.

A text's score is Okapi BM25 over the whole of it, plus the same over its best passage: what is asked stands close
together, in a long result too. The passage counts rarity among passages, so that a name which every text has still
tells who speaks; where all that is asked for are plain words it counts the root of it, so that a passage with many of
them is better than one with the rarest. `benchmarks/recall.py` has the figure of each part.
"""

from __future__ import annotations

import math
import re
import threading
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from ..ports.store import Entry, Match
from ..text.stem import forms, stem
from .search_text import STOP, WORD, Term, fold, keys, one_line, parse, spaced

SENTENCE = 4
"""Terms from which on a query is a sentence, and no list of what must be there."""
SNIPPET_CHARACTERS = 160
_BEFORE_HIT = 48
_K1, _B = 1.2, 0.75
"""The usual constants of Okapi BM25 (Robertson and Zaragoza 2009), as SQLite's FTS5 has them too."""
NAMED_WEIGHT = 2.0
"""A word of the tool, the title or the arguments counts as so many of the text."""
_BLOCK = 100
_BLOCKS = 3
"""A passage is three blocks of so many characters: about two sentences, or three lines."""
_MOST_DIGITS = 20
"""Of a number that may stand in groups: `1,234` for `1234`."""
_LINE_START = 400
"""The line of a hit begins at most so far before it; in longer lines the place is the hit's own."""


class Need(NamedTuple):
    """One thing that makes a text better."""

    term: Term
    weight: float
    prefix: bool = False
    """Nothing has it whole: what begins with it."""
    near: tuple[str, ...] = ()
    """Words that stand for it: its irregular forms, or where nothing has it, what resembles it."""


class Query(NamedTuple):
    """What a user's text asks for."""

    terms: tuple[Term, ...]
    every: bool
    """A few words mean what holds them all; only where nothing does, what holds any."""
    needs: tuple[Need, ...]


def read(text: str) -> Query:
    """A query's terms without those that say nothing, and what each may stand as: `main_loop` as `main loop`."""
    given = parse(text)
    telling = tuple(one for one in given if one.cjk or one.several or fold(one.words[0]) not in STOP)
    terms = telling or given
    needs: dict[Term, float] = dict.fromkeys(terms, 1.0)
    for term in terms:
        if term.cjk or term.quoted:
            continue
        inner = [key for word in term.words for key in _loose(word) if key not in STOP]
        if len(inner) > 1:
            for key in inner:
                needs.setdefault(Term((key,), False), 1 / len(inner))
    every = len(given) < SENTENCE
    return Query(
        terms, every, tuple(Need(term, weight, near=() if every else _forms(term)) for term, weight in needs.items())
    )


def _forms(term: Term) -> tuple[str, ...]:
    """Of a word in a sentence: among a few terms `left` may be a side, and `saw` a tool."""
    return () if term.cjk or term.several else forms(fold(term.words[0]))


def _loose(word: str) -> list[str]:
    """What a word of a query may stand as. With digits it is a number or a code, which is itself or nothing."""
    if any(sign.isdigit() for sign in word):
        return [fold(word)] if len(word) > 2 else []
    return sorted(keys(word))


class Text(NamedTuple):
    """A text that may answer."""

    named: str
    """Its tool, title, address and arguments."""
    body: str


class Answer(NamedTuple):
    """How well a text answers."""

    score: float
    has: tuple[bool, ...]
    """Of each need, whether the text has it."""
    close: float
    """Nats of rarity that stand together in the best passage."""
    place: int
    """Character of the body at which the rarest of the best passage stands; -1 where only the name answers."""


class _Found(NamedTuple):
    length: int
    named: dict[int, int]
    """By number of the need, how often its name has it."""
    at: dict[int, list[int]]
    """By number of the need, the characters at which it stands, in order."""


def ranked(
    texts: Sequence[Text], needs: Sequence[Need], *, having: Sequence[int] | None = None, total: int | None = None
) -> list[Answer]:
    """The answer of every text, in the order given.

    Args:
        having: of each need, how many texts have it where these are only the likeliest of many; None counts here.
        total: how many texts there are then.
    """
    sought = _seek(needs)
    seen = [_look(text, sought) for text in texts]
    tallies = [{n: Counter([place // _BLOCK for place in places]) for n, places in one.at.items()} for one in seen]
    numbers = range(len(needs))
    having = having or [sum(1 for one in seen if n in one.named or n in one.at) for n in numbers]
    rare = _rarity(having, max(total or 0, len(texts)))
    rare = [worth * need.weight for worth, need in zip(rare, needs, strict=True)]
    mean = sum(one.length for one in seen) / len(seen) if seen else 1
    with_it = [sum(len(tally[n]) for tally in tallies if n in tally) for n in numbers]
    nats = _rarity(with_it, sum(one.length // _BLOCK + 1 for one in seen))
    nats = [worth * need.weight for worth, need in zip(nats, needs, strict=True)]
    close = [math.sqrt(worth) for worth in nats] if all(map(_is_plain_word, needs)) else nats
    answers: list[Answer] = []
    for one, tally in zip(seen, tallies, strict=True):
        frequency = {n: NAMED_WEIGHT * count for n, count in one.named.items()}
        for _, number in sorted((places[0], n) for n, places in one.at.items()):
            frequency[number] = frequency.get(number, 0) + len(one.at[number])
        norm = _K1 * (1 - _B + _B * one.length / max(1, mean))
        whole = sum([rare[n] * count * (_K1 + 1) / (count + norm) for n, count in frequency.items()])
        first, held = _densest(tally) if len(tally) == 1 else _best_passage(_blocks(one.at, tally), close)
        best = sum([close[n] * count * (_K1 + 1) / (count + _K1) for n, count in held.items()])
        together = sum([nats[n] * count * (_K1 + 1) / (count + _K1) for n, count in held.items()])
        rarest = max([close[n] for n in held], default=0)
        begins = [one.at[n][bisect_left(one.at[n], first * _BLOCK)] for n in held if close[n] == rarest]
        has = tuple([n in frequency for n in numbers])
        answers.append(Answer(whole + best, has, together, min(begins, default=-1)))
    return answers


def _is_plain_word(need: Need) -> bool:
    """Whether it is a word of a language: no code, number, path or phrase, nor a part of one."""
    return need.weight == 1 and not need.term.several and need.term.words[0].isalpha()


def _rarity(having: Sequence[int], total: int) -> list[float]:
    return [math.log(1 + (max(total, n) - n + 0.5) / (n + 0.5)) for n in having]


class _Sought(NamedTuple):
    """Needs as every text is looked through for them."""

    phrases: tuple[tuple[int, str, bool], ...]
    """(number of the need, its pattern in folded text, whether in the text's CJK runs)."""
    by_key: Mapping[str, Collection[int]]
    """By what a word is found by, the numbers of the needs that it is."""
    begins: tuple[tuple[str, int], ...]
    beginnings: tuple[str, ...]
    """Patterns of all words that are looked for by themselves."""


def _seek(needs: Sequence[Need]) -> _Sought:
    phrases: list[tuple[int, str, bool]] = []
    by_key: dict[str, set[int]] = {}
    begins: list[tuple[str, int]] = []
    for number, need in enumerate(needs):
        if need.term.cjk or need.term.several:
            phrases.append((number, _phrase(need.term), need.term.cjk))
        elif need.prefix:
            begins.append((fold(need.term.words[0]), number))
        else:
            word = need.term.words[0]
            for key in {stem(fold(one)) for one in (word, *need.near)}:
                by_key.setdefault(key, set()).add(number)
            if word.isascii() and word.isdigit() and 3 < len(word) < _MOST_DIGITS:
                phrases.append((number, rf"(?<![\d.,]){int(word):,}(?![\d,])", False))
    beginnings = {_beginning(key) for key in by_key} | {begin for begin, _ in begins}
    return _Sought(tuple(phrases), by_key, tuple(begins), tuple(map(re.escape, beginnings)))


def _beginning(key: str) -> str:
    """What every word of this stem begins with: `happi` stands for `happy`."""
    return key[:-1] if len(key) > 2 and key[-1] in "iey" else key


def _phrase(term: Term) -> str:
    """The pattern of a term of several words in folded text."""
    if term.cjk:
        return re.escape(fold(term.words[0] + "".join(pair[-1] for pair in term.words[1:])))
    first, *rest = (re.escape(fold(word)) for word in term.words)
    # What stands before it is looked at behind its first word: in front, the engine would not skip from word to word.
    return r"[\W_]+".join((rf"{first}(?<![^\W_]{first})", *rest)) + r"(?![^\W_])"


def _look(text: Text, sought: _Sought) -> _Found:
    named = {number: len(places) for number, places in _places(text.named, sought).items()}
    return _Found(len(text.body), named, {n: sorted(places) for n, places in _places(text.body, sought).items()})


def _places(text: str, sought: _Sought) -> dict[int, list[int]]:
    """By number, where each need stands in a text."""
    whole, text = fold(text), spaced(text)
    folded = whole if whole.isascii() else fold(text)
    is_ascii = text.isascii()
    signs = re.ASCII if is_ascii else re.UNICODE  # the same in such a text, and looked up sooner
    found: defaultdict[int, list[int]] = defaultdict(list)
    for number, pattern, is_cjk in sought.phrases:
        hits = re.compile(pattern, signs).finditer(whole if is_cjk else folded)
        if starts := [hit.start() for hit in hits]:
            found[number] += starts
    last = -1
    here: dict[str, list[list[int]]] = {}
    """By word, what gets its places."""
    # One beginning after the other: an engine that looks for many at once tries each character.
    rest = r"\w*" if is_ascii else ""  # else a sign may be of a word only when it is folded
    patterns = [re.compile(beginning + rest, signs) for beginning in sought.beginnings]
    for start, end in sorted([hit.span() for pattern in patterns for hit in pattern.finditer(folded)]):
        if start < last:
            continue
        while start and (folded[start - 1].isalnum() or folded[start - 1] == "_"):
            start -= 1
        if not is_ascii:
            hit = WORD.match(text, start)
            if hit is None:
                continue
            end = hit.end()
        last, word = end, text[start:end]
        if word not in here:
            numbers = {number for key in keys(word) for number in sought.by_key.get(key, ())}
            here[word] = [found[number] for number in numbers]
        for places in here[word]:
            places.append(start)
        for begin, number in sought.begins:
            if folded.startswith(begin, start):
                found[number].append(start)
    return found


_Counts: TypeAlias = dict[int, int]
"""By number of the need, how often it stands there; in the order of the first places."""


def _blocks(at: Mapping[int, list[int]], tally: Mapping[int, Mapping[int, int]]) -> dict[int, _Counts]:
    """By number of the block, in order.

    Args:
        tally: by number of the need, how often each block has it.
    """
    rows: list[tuple[int, int]] = []
    for number, places in at.items():
        first = {place // _BLOCK: place for place in reversed(places)}
        rows += [(place, number) for place in first.values()]
    found: dict[int, _Counts] = {}
    for place, number in sorted(rows):
        block = place // _BLOCK
        found.setdefault(block, {})[number] = tally[number][block]
    return found


_NOTHING: _Counts = {}


def _best_passage(blocks: Mapping[int, _Counts], worth: Sequence[float]) -> tuple[int, _Counts]:
    """The block that the best passage begins in, and what it holds."""
    best, first, held = 0.0, 0, _NOTHING
    looked = -1  # blocks are in order
    values: dict[tuple[tuple[int, int], ...], float] = {}
    """By what a passage holds: many hold the same."""
    for block in blocks:
        for start in range(max(looked + 1, block - _BLOCKS + 1), block + 1):
            counts = {**blocks.get(start, _NOTHING)}
            for here in range(start + 1, start + _BLOCKS):
                for number, count in blocks.get(here, _NOTHING).items():
                    counts[number] = counts.get(number, 0) + count
            key = tuple(counts.items())
            value = values.get(key)
            if value is None:
                value = values[key] = sum(worth[n] * count * (_K1 + 1) / (count + _K1) for n, count in key)
            if value > best:
                best, first, held = value, start, counts
        looked = block
    return first, held


def _densest(tally: Mapping[int, Mapping[int, int]]) -> tuple[int, _Counts]:
    """The same where one need is all that stands there: the best passage has most of it."""
    [(number, blocks)] = tally.items()
    has = blocks.get
    first = most = 0
    for block in blocks:  # in order
        start = block - 2 if block > 2 else 0  # what begins earlier and has as much ends in a block that has some
        count = has(start, 0) + has(start + 1, 0) + has(start + 2, 0)
        if count > most:
            first, most = start, count
    return first, {number: most}


def match(entry: Entry, answer: Answer) -> Match:
    """A hit as it is shown: the place, and one clean line of it."""
    body = entry.text
    at = max(0, answer.place)
    start = body.rfind("\n", max(0, at - _LINE_START), at) + 1
    if start == 0 and at > _LINE_START:
        start = at - _BEFORE_HIT
    return Match(
        session_id=entry.session_id,
        batch_id=entry.batch_id,
        item_id=entry.item_id,
        snippet=snippet(body, at),
        score=answer.score,
        close=answer.close,
        tool_name=entry.tool_name,
        title=entry.title,
        ts=entry.ts,
        line=body.count("\n", 0, at) + 1 if entry.lines_stand else None,
        offset=start if entry.places_stand else None,
    )


def snippet(text: str, at: int) -> str:
    """One line around a place: no control, bidirectional or escape characters, about 160 characters."""
    begin = max(0, at - _BEFORE_HIT) if at > SNIPPET_CHARACTERS - _BEFORE_HIT else 0
    window = text[begin : begin + 4 * SNIPPET_CHARACTERS]
    line = one_line(window[: 2 * SNIPPET_CHARACTERS])
    if len(line) <= SNIPPET_CHARACTERS or "\x1b" in window:  # much white space, or an escape that may have been cut
        line = one_line(window)
    shown = line[:SNIPPET_CHARACTERS].rstrip()
    more = len(line) > SNIPPET_CHARACTERS or begin + 4 * SNIPPET_CHARACTERS < len(text)
    return f"{'…' if begin else ''}{shown}{'…' if more else ''}"


# Search without an index: looks through every entry. Where SQLite or its disk fails.


_Key: TypeAlias = tuple[str, str, str, str]


class LinearSearch:
    """Entries in memory. Safe over threads."""

    def __init__(self) -> None:
        self._entries: dict[_Key, Entry] = {}
        self._lock = threading.Lock()

    def add(self, entries: Sequence[Entry]) -> None:
        with self._lock:
            self._entries.update({_key(entry): entry for entry in entries})

    def find(
        self, query: str, *, principal: str, session_ids: Sequence[str] | None, project: str | None, limit: int
    ) -> tuple[Match, ...]:
        with self._lock:
            entries = [one for one in self._entries.values() if _in_scope(one, principal, session_ids, project)]
        asked = read(query)
        if not asked.terms or limit <= 0:
            return ()
        texts = [Text(one.named, one.text) for one in entries]
        answers = ranked(texts, asked.needs)
        missing = {n for n in range(len(asked.needs)) if not any(one.has[n] for one in answers)}
        needs = [one._replace(prefix=may_begin(one.term)) if n in missing else one for n, one in enumerate(asked.needs)]
        if missing:
            answers = ranked(texts, needs)
        return best(list(zip(entries, answers, strict=True)), asked, limit)

    def indexed(self, principal: str, session_id: str) -> frozenset[str]:
        with self._lock:
            return frozenset(key[2] for key in self._entries if key[:2] == (principal, session_id))

    def forget(self, principal: str, session_id: str, batch_ids: Sequence[str]) -> None:
        gone = set(batch_ids)
        with self._lock:
            for key in [key for key in self._entries if key[:2] == (principal, session_id) and key[2] in gone]:
                del self._entries[key]

    def clear(self) -> None:
        with self._lock:
            self._entries.clear()


def may_begin(term: Term) -> bool:
    """Whether words that begin with a term stand for it: two letters begin too many."""
    return not term.cjk and not term.several and len(term.words[0]) > 2


def best(found: Iterable[tuple[Entry, Answer]], asked: Query, limit: int) -> tuple[Match, ...]:
    """The best of what was found, in order. Where all terms of a few are there somewhere, only what has them all."""
    rows = [row for row in found if any(row[1].has)]
    if asked.every:
        rows = [row for row in rows if all(row[1].has[: len(asked.terms)])] or rows
    rows.sort(key=lambda row: (-row[1].score, _key(row[0])))
    return tuple(match(*row) for row in rows[:limit])


def _key(entry: Entry) -> _Key:
    return entry.principal, entry.session_id, entry.batch_id, entry.item_id


def _in_scope(entry: Entry, principal: str, session_ids: Sequence[str] | None, project: str | None) -> bool:
    return (
        entry.principal == principal
        and (session_ids is None or entry.session_id in session_ids)
        and (project is None or entry.project == project)
    )
