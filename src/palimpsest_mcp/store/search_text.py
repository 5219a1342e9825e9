"""Text for searching: what becomes a word, how a query is read, and what a hit shows."""

from __future__ import annotations

import math
import re
import threading
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeAlias

from ..ports.store import Entry, Match

MAX_TERMS = 64
"""Of one query; what comes after is ignored."""
SENTENCE = 4
"""Terms from which on a query is a sentence, and no list of what must be there."""
SNIPPET_CHARACTERS = 160
_BEFORE_HIT = 48

# Scripts written without spaces, and Hangul, whose words grow endings: runs of them are indexed by pairs of characters.
_CJK = (
    "\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3105-\u312f\u31a0-\u31bf\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff"
)
_CJK_RUN = re.compile(f"[{_CJK}]+")
_WORD = re.compile(r"\w+")
_PIECE = re.compile(r'"([^"]*)"|([^\s"]+)')

_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-_])")
_INVISIBLE = re.compile("[\u00ad\u061c\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f]+")
_BLANK = re.compile("[\\s\x00-\x1f\x7f-\x9f]+")
_SURROGATE = re.compile("[\ud800-\udfff]")


class Term(NamedTuple):
    """One thing to look for."""

    words: tuple[str, ...]
    """Words that follow one another; for CJK its pairs of characters, or one character that begins a pair."""
    cjk: bool


def parse(query: str) -> tuple[Term, ...]:
    """Terms of a user's text. Nothing in it is syntax but quotes, which make a phrase; an odd quote is a space."""
    terms: dict[Term, None] = {}
    for phrase, plain in _PIECE.findall(_plain(query)):
        text = phrase or plain
        for run in _CJK_RUN.findall(text):
            terms[Term(tuple(_pairs(run)) or (run,), True)] = None
        if words := tuple(_WORD.findall(_CJK_RUN.sub(" ", text))):
            terms[Term(words, False)] = None
    return tuple(terms)[:MAX_TERMS]


def steps(terms: Sequence[Term]) -> tuple[tuple[tuple[Term, ...], bool], ...]:
    """What to look for, one after the other: (terms, whether all of them are wanted).

    A few words mean what holds them all, and only where nothing does, what holds any. A sentence goes on to what holds
    any of its terms, or a word of one: what it calls `page-count` may stand as `page count` there.
    """
    if len(terms) < SENTENCE:
        return (tuple(terms), True), (tuple(terms), False)
    loose = dict.fromkeys(terms)
    for term in terms:
        if not term.cjk:
            loose.update((Term((word,), False), None) for word in term.words)
    return (tuple(terms), True), (tuple(loose), False)


def words(text: str) -> str:
    """The text as the index sees its words: CJK left out, compatibility forms unified."""
    return text if text.isascii() else _CJK_RUN.sub(" ", _plain(text))


def cjk(text: str) -> str:
    """The text's CJK runs as pairs of characters, each run's last character by itself; empty where there is none.

    `ABC` gives `AB BC C`: a run is found as a phrase of pairs, a single character as the beginning of one.
    """
    if text.isascii():
        return ""
    return " ".join(" ".join([*_pairs(run), run[-1]]) for run in _CJK_RUN.findall(_plain(text)))


def snippet(text: str, terms: Sequence[Term]) -> str:
    """One line around the first hit: no control, bidirectional or escape characters, about 160 characters."""
    starts = [found.start() for term in terms if (found := _pattern(term).search(text))]
    first = min(starts, default=0)
    begin = max(0, first - _BEFORE_HIT) if first > SNIPPET_CHARACTERS - _BEFORE_HIT else 0
    line = one_line(text[begin : begin + 4 * SNIPPET_CHARACTERS])
    cut = line[:SNIPPET_CHARACTERS].rstrip()
    more = len(line) > SNIPPET_CHARACTERS or begin + 4 * SNIPPET_CHARACTERS < len(text)
    return f"{'…' if begin else ''}{cut}{'…' if more else ''}"


def one_line(text: str) -> str:
    """Text that is safe to show on one line of a terminal or in a list."""
    visible = _INVISIBLE.sub("", _ANSI.sub("", text))
    return _SURROGATE.sub("\ufffd", _BLANK.sub(" ", visible)).strip()


def _pairs(run: str) -> list[str]:
    return [run[at : at + 2] for at in range(len(run) - 1)]


def _plain(text: str) -> str:
    """One form for what looks the same; half a surrogate pair becomes a mark, and NUL a space."""
    if text.isascii():
        return text.replace("\0", " ")
    return unicodedata.normalize("NFKC", _SURROGATE.sub("\ufffd", text)).replace("\0", " ")


def _pattern(term: Term) -> re.Pattern[str]:
    """Where the term stands in the original text, near enough for a snippet."""
    if term.cjk:
        return re.compile(re.escape(term.words[0] + "".join(pair[-1] for pair in term.words[1:])))
    return re.compile(r"(?<!\w)" + r"\W+".join(map(re.escape, term.words)) + r"(?!\w)", re.IGNORECASE)


# Search without an index: looks through every entry. Where SQLite or its disk fails.


_Key: TypeAlias = tuple[str, str, str, str]


# The usual constants of Okapi BM25 (Robertson and Zaragoza 2009), as SQLite's FTS5 has them too.
_K1, _B = 1.2, 0.75


class _Text(NamedTuple):
    entry: Entry
    words: str
    """Folded words between single spaces, a space at either end."""
    pairs: str
    """The same of CJK pairs."""


class LinearSearch:
    """Entries in memory. Safe over threads."""

    def __init__(self) -> None:
        self._texts: dict[_Key, _Text] = {}
        self._lock = threading.Lock()

    def add(self, entries: Sequence[Entry]) -> None:
        new = {_key(entry): _Text(entry, _fold(words(entry.text)), _fold(cjk(entry.text))) for entry in entries}
        with self._lock:
            self._texts.update(new)

    def find(
        self, query: str, *, principal: str, session_ids: Sequence[str] | None, project: str | None, limit: int
    ) -> tuple[Match, ...]:
        with self._lock:
            texts = [text for text in self._texts.values() if _in_scope(text.entry, principal, session_ids, project)]
        terms = parse(query)
        found: dict[_Key, Match] = {}
        for wanted, every in steps(terms):
            tests = [_occurrences(term) for term in wanted]
            counts = [(text, [test(text) for test in tests]) for text in texts]
            chosen = [row for row in counts if row[1] and (all(row[1]) if every else any(row[1]))]
            for score, text in sorted(_scored(chosen, len(texts)), key=lambda row: (-row[0], _key(row[1].entry))):
                found.setdefault(_key(text.entry), _match(text.entry, score, terms))
            if len(found) >= limit or (found and len(terms) < SENTENCE):
                break
        return tuple(found.values())[: max(0, limit)]

    def indexed(self, principal: str, session_id: str) -> frozenset[str]:
        with self._lock:
            return frozenset(key[2] for key in self._texts if key[:2] == (principal, session_id))

    def forget(self, principal: str, session_id: str, batch_ids: Sequence[str]) -> None:
        gone = set(batch_ids)
        with self._lock:
            for key in [key for key in self._texts if key[:2] == (principal, session_id) and key[2] in gone]:
                del self._texts[key]

    def clear(self) -> None:
        with self._lock:
            self._texts.clear()


def _key(entry: Entry) -> _Key:
    return entry.principal, entry.session_id, entry.batch_id, entry.item_id


def _in_scope(entry: Entry, principal: str, session_ids: Sequence[str] | None, project: str | None) -> bool:
    return (
        entry.principal == principal
        and (session_ids is None or entry.session_id in session_ids)
        and (project is None or entry.project == project)
    )


def _fold(text: str) -> str:
    if not text.isascii():
        text = "".join(sign for sign in unicodedata.normalize("NFKD", text) if not unicodedata.combining(sign))
        text = unicodedata.normalize("NFC", text)
    return f" {' '.join(_WORD.findall(text.lower()))} "


def _occurrences(term: Term) -> Callable[[_Text], int]:
    """How often a text has the term."""
    if not term.cjk:
        phrase = _fold(" ".join(term.words))
        return lambda text: text.words.count(phrase)
    pairs = _fold(" ".join(term.words))
    needle = pairs[:-1] if len(term.words[0]) == 1 else pairs  # one character: it begins a pair
    return lambda text: text.pairs.count(needle)


def _scored(rows: Sequence[tuple[_Text, list[int]]], total: int) -> Iterable[tuple[float, _Text]]:
    mean = sum(len(text.words) for text, _ in rows) / len(rows) if rows else 1.0
    columns = range(len(rows[0][1])) if rows else range(0)
    having = [sum(1 for _, counts in rows if counts[column]) for column in columns]
    rarity = [math.log(1 + (total - n + 0.5) / (n + 0.5)) for n in having]
    for text, counts in rows:
        length = _K1 * (1 - _B + _B * len(text.words) / mean)
        yield sum(r * n * (_K1 + 1) / (n + length) for r, n in zip(rarity, counts, strict=True)), text


def _match(entry: Entry, score: float, terms: Sequence[Term]) -> Match:
    return Match(
        session_id=entry.session_id,
        batch_id=entry.batch_id,
        item_id=entry.item_id,
        snippet=snippet(entry.text, terms),
        score=score,
    )
