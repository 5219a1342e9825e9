"""Runs rules over a text: each rule only where one of its keywords stands, in time that grows as the text does."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache

from .literals import looks_random, stands_in, without_words
from .patterns import WITHHELD, Find, PatternMatch, compiled, literal
from .rules import Rule
from .scan import Ranges

_ROOM = 1 << 16  # how far a match may go on behind the window in which it began
_JUDGED = 512  # bytes of a candidate that are looked at; what it takes to tell a key is in its beginning
_FAR = 4096  # and so many where a mark in the middle or at the end of a key makes it known
_TRIED = 4  # what trying a rule costs besides, in bytes
_WORK = 32 << 20  # bytes that may be judged in one text, and as many again as the text has


class RuleSet:
    """Rules with a common prefilter. The order of the rules is their rank.

    Args:
        work: bytes that may be judged in a text beyond its own length. When they are spent, the rest of the text is
            one find of the kind `withheld`: nothing is shown unchecked.
    """

    def __init__(self, rules: Sequence[Rule], *, work: int = _WORK) -> None:
        ranked = list(enumerate(rules))
        self._work = work
        self._prefixes = _Keywords([(n, rule) for n, rule in ranked if rule.keywords and rule.prefix], r"(?:\b|_)")
        self._others = _Keywords([(n, rule) for n, rule in ranked if rule.keywords and not rule.prefix])
        self._always = [(n, rule) for n, rule in ranked if not rule.keywords]

    @property
    def gates(self) -> tuple[str, ...]:
        """The keywords at the beginning of a match, those anywhere in it, then each rule without keywords."""
        keywords = (f"(?i){self._prefixes.pattern}", f"(?i){self._others.pattern}")
        return (*keywords, *(rule.source for _, rule in self._always))

    def find(self, gate: int, text: bytes, ranges: Ranges) -> Iterator[Find]:
        """Secrets that begin in these ranges, or anywhere by rules that look at whole texts."""
        if gate == 0:
            yield from self._begun(text, ranges)
        elif gate == 1:
            for rank, rule, windows in self._windows(text, ranges):
                for start, end in windows:
                    yield from _matches(rule, text, start, end, rank)
        else:
            rank, rule = self._always[gate - 2]
            for start, end in ranges:
                yield from _matches(rule, text, start, end, rank)

    def _begun(self, text: bytes, ranges: Ranges) -> Iterator[Find]:
        spent, found = 0, 0
        for place, rules in self._prefixes.hits(text, ranges):
            if place + _JUDGED < found:  # inside what is found already
                continue
            if spent > self._work + place:
                yield Find(place, len(text), WITHHELD, len(self._always))
                return
            for rank, rule in rules:
                find, cost = _begun_at(rule, text, place, rank)
                spent += _TRIED + cost
                if find:
                    found = max(found, find.end)
                    yield find

    def _windows(self, text: bytes, ranges: Ranges) -> Iterator[tuple[int, Rule, list[list[int]]]]:
        """Each rule with a keyword in the ranges, and where to try it: windows in order, disjoint."""
        out: dict[int, tuple[Rule, list[list[int]]]] = {}
        for place, rules in self._others.hits(text, ranges):
            for rank, rule in rules:
                reach = rule.reach or len(text)
                left, right = max(0, place - reach), min(len(text), place + reach)
                windows = out.setdefault(rank, (rule, []))[1]
                if windows and left <= windows[-1][1]:
                    windows[-1][1] = max(windows[-1][1], right)
                else:
                    windows.append([left, right])
        for rank, (rule, windows) in out.items():
            yield rank, rule, windows


class _Keywords:
    """The keywords of some rules, and a pattern that finds them all."""

    def __init__(self, ranked: Sequence[tuple[int, Rule]], before: str = "") -> None:
        owners: dict[str, list[tuple[int, Rule]]] = {}
        for n, rule in ranked:
            for word in rule.keywords:
                owners.setdefault(word, []).append((n, rule))
        beginnings = {word[:end] for word in owners for end in range(1, len(word) + 1)}
        words = "|".join(map(literal, sorted(owners))) or r"[^\x00-\x{10FFFF}]"
        self.pattern = f"{before}(?:{words})"
        self._gate = compiled(self.pattern, any_case=True, longest=True)
        self._rules = {word.encode(): _all_in(word, owners) for word in owners}
        self._steps = {word.encode(): _step(word, beginnings) for word in owners}

    def hits(self, text: bytes, ranges: Ranges) -> Iterator[tuple[int, tuple[tuple[int, Rule], ...]]]:
        """Where a keyword stands, and the rules to try there."""
        for place, end in ranges:
            while hit := self._gate.search(text, place, end):
                word = hit.group().lower().lstrip(b"_")
                place = hit.end() - len(word)
                yield place, self._rules.get(word, ())
                place += self._steps.get(word, 1)
                place -= text[place - 1 : place] == b"_"  # which the next one may stand behind


def _all_in(word: str, owners: dict[str, list[tuple[int, Rule]]]) -> tuple[tuple[int, Rule], ...]:
    """The rules of every keyword that stands in this one: where it was found, they were."""
    parts = {word[start:end] for start in range(len(word)) for end in range(start + 1, len(word) + 1)}
    return tuple({n: (n, rule) for part in sorted(parts & owners.keys()) for n, rule in owners[part]}.values())


def _step(word: str, beginnings: set[str]) -> int:
    """How far behind a keyword's beginning the next may begin: where two overlap, inside it."""
    starts = (i for i in range(1, len(word)) if word[i:] in beginnings)
    return len(word[: next(starts, len(word))].encode())


def _begun_at(rule: Rule, text: bytes, place: int, rank: int) -> tuple[Find | None, int]:
    """What the rule finds at this place, and how many bytes it took to judge. Only what is found is read to its end.

    Behind an underscore (`backup_ghp_…`) it is looked for as if the text began there.
    """
    if text[place - 1 : place] == b"_":
        find, cost = _begun_at(rule, text[place : place + _FAR], 0, rank)
        if find and find.end == _FAR:
            find, cost = _begun_at(rule, text[place : place + _ROOM], 0, rank)
        return find and find._replace(start=find.start + place, end=find.end + place), cost
    limit = place + _JUDGED
    match = rule.pattern.match(text, place, limit)
    if match is None:
        if limit >= len(text) or not _TOKEN.match(text, place, limit):
            return None, 0
        limit = place + _FAR
        match = rule.pattern.match(text, place, limit)
        if match is None:
            return None, _FAR
    cost = match.end() - place
    find = _find(rule, text, match, rank)
    if find and match.end() == limit < len(text) and (whole := rule.pattern.match(text, place)):
        left, right = _secret(rule, whole)
        find, cost = find._replace(start=left, end=right), cost + whole.end() - place
    return find, cost


_TOKEN = compiled(f"[!-~]{{{_JUDGED}}}")


def _matches(rule: Rule, text: bytes, start: int, end: int, rank: int) -> Iterator[Find]:
    place = start
    while place < end and (match := rule.pattern.search(text, place, end)):
        if match.end() == end < len(text):  # cut by the window, not by the text: look again with room
            match = rule.pattern.search(text, match.start(), min(len(text), end + _ROOM)) or match
        if find := _find(rule, text, match, rank):
            yield find
        place = max(match.end(), place + 1)


def _find(rule: Rule, text: bytes, match: PatternMatch, rank: int) -> Find | None:
    left, right = _secret(rule, match)
    secret = text[left : min(right, left + _JUDGED)]
    if not secret or (rule.entropy and entropy(secret) <= rule.entropy):
        return None
    judged = secret.decode("utf-8", "replace")
    if rule.random and not looks_random(judged) and not looks_random(without_words(judged)):
        return None
    if rule.beside is not None and stands_in(_behind_prefix(rule, judged), rule.beside):
        return None
    return (
        None if rule.exemptions and _is_let_through(rule, text, match, secret) else Find(left, right, rule.kind, rank)
    )


def _behind_prefix(rule: Rule, secret: str) -> str:
    lowered = secret.lower()
    return secret[max((len(word) for word in rule.keywords if lowered.startswith(word)), default=0) :]


def _secret(rule: Rule, match: PatternMatch) -> tuple[int, int]:
    if rule.group:
        return match.span(rule.group)
    spans = (match.span(group) for group in range(1, rule.pattern.groups + 1))
    return next((span for span in spans if span[0] >= 0), match.span())


def _is_let_through(rule: Rule, text: bytes, match: PatternMatch, secret: bytes) -> bool:
    whole = match.group()
    line = _line(text, *match.span()) if any(exemption.target == "line" for exemption in rule.exemptions) else b""
    return any(exemption.lets_through(secret, whole, line) for exemption in rule.exemptions)


def _line(text: bytes, start: int, end: int) -> bytes:
    """The match's line, up to 500 bytes on both sides."""
    line_start = max(text.rfind(b"\n", max(0, start - 500), start) + 1, start - 500, 0)
    line_end = text.find(b"\n", end, end + 500)
    return text[line_start : line_end if line_end >= 0 else end + 500]


@lru_cache(maxsize=1024)
def entropy(text: bytes) -> float:
    """Shannon's entropy of the bytes, in bits a byte."""
    total = len(text)
    return -sum(n / total * math.log2(n / total) for n in map(text.count, set(text))) if total else 0.0
