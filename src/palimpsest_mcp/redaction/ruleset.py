"""Runs rules over a text: one pass for all keywords, then each rule only where one of its keywords stands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .literals import looks_random
from .matching import Find, Found, Pattern, compiled, literal
from .rules import Rule, entropy

_ROOM = 1 << 16  # how far a match may go on behind the window in which it began


class RuleSet:
    """Rules with a common prefilter. The order of the rules is their rank."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._always = tuple((rank, rule) for rank, rule in enumerate(rules) if not rule.keywords)
        self._prefixes = _Keywords(rules, prefix=True)
        self._others = _Keywords(rules, prefix=False)

    def find(self, text: bytes, start: int, end: int) -> Iterator[Find]:
        """Secrets that begin between `start` and `end`; they may overlap, in no order."""
        for rank, rule in self._always:
            yield from _matches(rule, text, start, end, rank)
        for place, hits in self._prefixes.hits(text, start, end):
            for rank, rule in hits:
                if (match := rule.pattern.match(text, place)) and (find := _find(rule, text, match, rank)):
                    yield find
        for rank, (rule, windows) in _windows(self._others, text, start, end).items():
            for left, right in windows:
                yield from _matches(rule, text, left, right, rank)


class _Keywords:
    """The keywords of some rules, and a pattern that finds them all."""

    def __init__(self, rules: Sequence[Rule], *, prefix: bool) -> None:
        ranked = [(rank, rule) for rank, rule in enumerate(rules) if rule.keywords and rule.prefix == prefix]
        words = sorted({word for _, rule in ranked for word in rule.keywords})
        self._gate: Pattern | None = None
        if words:
            start = r"\b" if prefix else ""
            self._gate = compiled(f"{start}(?:{'|'.join(map(literal, words))})", any_case=True, longest=True)
        self._rules = {
            word.encode(): tuple((n, rule) for n, rule in ranked if any(word.startswith(k) for k in rule.keywords))
            for word in words
        }

    def hits(self, text: bytes, start: int, end: int) -> Iterator[tuple[int, tuple[tuple[int, Rule], ...]]]:
        """Where a keyword stands, and the rules to try there."""
        while self._gate and (hit := self._gate.search(text, start, end)):
            start = hit.start() + 1
            yield hit.start(), self._rules.get(hit.group().lower(), ())


def _windows(keywords: _Keywords, text: bytes, start: int, end: int) -> dict[int, tuple[Rule, list[list[int]]]]:
    """For each rule with a keyword in the text, where to try it: disjoint and in order."""
    out: dict[int, tuple[Rule, list[list[int]]]] = {}
    for place, hits in keywords.hits(text, start, end):
        for rank, rule in hits:
            reach = rule.reach or end - start
            left, right = max(start, place - reach), min(end, place + reach)
            windows = out.setdefault(rank, (rule, []))[1]
            if windows and left <= windows[-1][1]:
                windows[-1][1] = max(windows[-1][1], right)
            else:
                windows.append([left, right])
    return out


def _matches(rule: Rule, text: bytes, start: int, end: int, rank: int) -> Iterator[Find]:
    place = start
    while place < end and (match := rule.pattern.search(text, place, end)):
        if match.end() == end < len(text):  # cut by the window, not by the text: look again with room
            match = rule.pattern.search(text, match.start(), min(len(text), end + _ROOM)) or match
        if find := _find(rule, text, match, rank):
            yield find
        place = max(match.end(), place + 1)


def _find(rule: Rule, text: bytes, match: Found, rank: int) -> Find | None:
    left, right = _secret(rule, match)
    secret = text[left:right]
    if not secret or (rule.entropy and entropy(secret) <= rule.entropy):
        return None
    if rule.random and not looks_random(secret.decode("utf-8", "replace")):
        return None
    return None if rule.exemptions and _is_let_through(rule, text, match, secret) else Find(left, right, rule.kind, rank)


def _secret(rule: Rule, match: Found) -> tuple[int, int]:
    if rule.group:
        return match.span(rule.group)
    spans = (match.span(group) for group in range(1, rule.pattern.groups + 1))
    return next((span for span in spans if span[0] >= 0), match.span())


def _is_let_through(rule: Rule, text: bytes, match: Found, secret: bytes) -> bool:
    start, end = match.span()
    line_start = max(text.rfind(b"\n", max(0, start - 500), start) + 1, start - 500, 0)
    line_end = text.find(b"\n", end, end + 500)
    line = text[line_start : line_end if line_end >= 0 else end + 500]
    whole = match.group()
    return any(exemption.lets_through(secret, whole, line) for exemption in rule.exemptions)
