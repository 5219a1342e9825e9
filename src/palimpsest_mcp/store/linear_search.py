"""Search without an index: looks through every entry. Where SQLite or its disk fails."""

from __future__ import annotations

import math
import re
import threading
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeAlias

from ..ports.store import Entry, Match
from .search_text import SENTENCE, Term, cjk, parse, snippet, steps, words

_Key: TypeAlias = tuple[str, str, str, str]
_WORD = re.compile(r"\w+")

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
