"""What becomes a word of a text, how a query is read, how well a text answers it, and where in it.

A search through texts that needs no index stands here, too; the one over the index, in `search`, ranks by the same.
"""

from __future__ import annotations

import functools
import math
import re
import threading
import unicodedata
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from ..models.text import late
from ..ports.store import Entry, Match
from ..text.stem import forms, stem

MAX_TERMS = 64
"""Of one query; what comes after is ignored."""

# Scripts written without spaces, and Hangul, whose words grow endings: runs of them are indexed by pairs of characters.
_CJK = (
    "\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3105-\u312f\u31a0-\u31bf\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff"
)
_CJK_RUN = late(f"[{_CJK}]+")
WORD = late(r"\w+")
_INNER = late(r"_|[a-z](?=[A-Z])|[A-Za-z](?=\d)|\d(?=[A-Za-z])")
"""Where a word of several has its parts: `main_loop`, `getUserName`, `utf8`."""
_PARTS = late(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]+")
_GROUPED = late(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?![\d,])")
"""A number written in groups, which is looked for without its commas too."""
_STOP = """
a about all also am an and any are as at be been being but by can could did do does doing for from had has have he her
hers him his how i if in into is it its just many me much my no nor not of off on or our out over own she should so some
such than that the their them then there these they this those through to too under until up us very was we were what
when where which while who whom whose why will with would you your yours s t d ll m re ve don doesn didn isn wasn let
please tell show give find
"""
STOP = frozenset(_STOP.split())
"""English words that ask without saying what for: left out of a query that has others. Words of other languages weigh
by how rare they are."""
_PIECE = late(r'"([^"]*)"|([^\s"]+)')
_POSSESSIVE = late(r"(?<=\w)['’]s\b")
"""`Ann's` asks for `Ann`."""

_ANSI = late(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-_])")
_INVISIBLE = late("[\u00ad\u061c\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f]+")
_BLANK = late("[\\s\x00-\x1f\x7f-\x9f]+")
_CONTROLS = dict.fromkeys((*range(32), 127), " ")
_FOREIGN = late("([^\x00-\x7f]+)")
_SURROGATE = late("[\ud800-\udfff]")


class Term(NamedTuple):
    """One thing to look for."""

    words: tuple[str, ...]
    """Words that follow one another; for CJK its pairs of characters, or one character that begins a pair."""
    cjk: bool
    quoted: bool = False
    """The user said that these words follow one another."""

    @property
    def several(self) -> bool:
        """More than one word."""
        return len(self.words) > 1


def parse(query: str) -> tuple[Term, ...]:
    """Terms of a user's text. Nothing in it is syntax but quotes, which make a phrase; an odd quote is a space."""
    terms: dict[Term, None] = {}
    for phrase, plain in _PIECE.findall(_plain(query)):
        text = phrase or _POSSESSIVE.sub("", plain)
        if not text.isascii():
            for run in _CJK_RUN.findall(text):
                terms[Term(tuple(_pairs(run)) or (run,), True)] = None
            text = _CJK_RUN.sub(" ", text)
        if words := tuple(WORD.findall(text)):
            terms[Term(words, False, bool(phrase) and len(words) > 1)] = None
    return tuple(terms)[:MAX_TERMS]


def cjk(text: str) -> str:
    """The text's CJK runs as pairs of characters, each run's last character by itself; empty where there is none.

    `ABC` gives `AB BC C`: a run is found as a phrase of pairs, a single character as the beginning of one.
    """
    if text.isascii():
        return ""
    return " ".join(" ".join([*_pairs(run), run[-1]]) for run in _CJK_RUN.findall(_plain(text)))


def one_line(text: str) -> str:
    """Text that is safe to show on one line of a terminal or in a list."""
    plain = _ANSI.sub("", text) if "\x1b" in text else text
    if plain.isascii():
        return " ".join(plain.translate(_CONTROLS).split())
    return _SURROGATE.sub("\ufffd", _BLANK.sub(" ", _INVISIBLE.sub("", plain))).strip()


def words(text: str) -> str:
    """The text as the index sees its words: CJK left out, compatibility forms unified."""
    return text if text.isascii() else _CJK_RUN.sub(" ", _plain(text))


def spaced(text: str) -> str:
    """The text with blanks for its CJK runs, every other character in its place."""
    return text if text.isascii() else _CJK_RUN.sub(lambda run: " " * len(run.group()), text)


def parts(text: str) -> str:
    """The words inside the words: `main loop` of `main_loop`, `get User Name` of `getUserName`, `1234` of `1,234`."""
    # Looked at word by word, each once: over a whole text the pattern would go back and forth in every plain word.
    # A plain word or number, which most are, is seen to have none much sooner.
    found = [
        word
        for word in dict.fromkeys(WORD.findall(text))
        if not (word.isdigit() or (word.isalpha() and (word.islower() or word[1:].islower()))) and _INNER.search(word)
    ]
    numbers = dict.fromkeys(number.replace(",", "") for number in _GROUPED.findall(text))
    return " ".join([*(part for word in found for part in _PARTS.findall(word)), *numbers])


@functools.lru_cache(maxsize=1 << 14)
def keys(word: str) -> frozenset[str]:
    """What a word of a text is found by: itself and its parts, folded and without English endings."""
    inner = _PARTS.findall(word) if _INNER.search(word) else ()
    return frozenset(stem(fold(part)) for part in (word, *inner))


def fold(text: str) -> str:
    """Lower case without accents, one character for one, so that places stay what they are."""
    if text.isascii():
        return text.lower()
    # Most of a text is ASCII, which needs no look at each character.
    return "".join([part.lower() if part.isascii() else "".join(map(_folded, part)) for part in _FOREIGN.split(text)])


@functools.lru_cache(maxsize=1 << 12)
def _folded(sign: str) -> str:
    bare = "".join(one for one in unicodedata.normalize("NFKD", sign) if not unicodedata.combining(one)).lower()
    return bare if len(bare) == 1 else sign


def _pairs(run: str) -> list[str]:
    return [run[at : at + 2] for at in range(len(run) - 1)]


def _plain(text: str) -> str:
    """One form for what looks the same; half a surrogate pair becomes a mark, and NUL a space."""
    if text.isascii():
        return text.replace("\0", " ")
    return unicodedata.normalize("NFKC", _SURROGATE.sub("\ufffd", text)).replace("\0", " ")


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
