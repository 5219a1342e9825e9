"""Runs rules over a text: one pass for all keywords, then each rule only where one of its keywords stands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .literals import looks_random
from .matching import Find, Found, Pattern, compiled, literal
from .rules import Rule, entropy


class RuleSet:
    """Rules with a common prefilter."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._rules = tuple(rules)
        self._always = tuple(i for i, rule in enumerate(rules) if not rule.keywords)
        words = sorted({word for rule in rules for word in rule.keywords})
        self._gate: Pattern | None = None
        self._by_word: dict[bytes, tuple[int, ...]] = {}
        if words:
            self._gate = compiled("|".join(map(literal, words)), any_case=True, longest=True)
            for word in words:
                fits = [i for i, rule in enumerate(rules) if any(word.startswith(k) for k in rule.keywords)]
                self._by_word[word.encode()] = tuple(fits)

    def find(self, text: bytes, start: int, end: int) -> Iterator[Find]:
        """Secrets that begin between `start` and `end`; overlapping ones, in no order."""
        for index in self._always:
            yield from _matches(self._rules[index], text, start, end, index)
        for index, windows in self._windows(text, start, end).items():
            for window in windows:
                yield from _matches(self._rules[index], text, window[0], window[1], index)

    def _windows(self, text: bytes, start: int, end: int) -> dict[int, list[list[int]]]:
        """For each rule with a keyword in the text, where to try it: disjoint and in order."""
        out: dict[int, list[list[int]]] = {}
        place = start
        while self._gate and (hit := self._gate.search(text, place, end)):
            place = hit.start() + 1
            for index in self._by_word.get(hit.group().lower(), ()):
                reach = self._rules[index].reach or end - start
                left, right = max(start, hit.start() - reach), min(end, hit.end() + reach)
                windows = out.setdefault(index, [])
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
        left, right = _secret(rule, match)
        place = max(match.end(), place + 1)
        if left < right and _counts(rule, text, match, text[left:right]):
            yield Find(left, right, rule.kind, rank)


_ROOM = 1 << 16


def _secret(rule: Rule, match: Found) -> tuple[int, int]:
    if rule.group:
        return match.span(rule.group)
    for group in range(1, rule.pattern.groups + 1):
        if match.start(group) >= 0:
            return match.span(group)
    return match.span()


def _counts(rule: Rule, text: bytes, match: Found, secret: bytes) -> bool:
    if rule.entropy and entropy(secret) <= rule.entropy:
        return False
    if rule.random and not looks_random(secret.decode("utf-8", "replace")):
        return False
    if not rule.exemptions:
        return True
    line_start = text.rfind(b"\n", 0, match.start()) + 1
    line_end = text.find(b"\n", match.end())
    line = text[max(line_start, match.start() - 500) : min(line_end if line_end >= 0 else len(text), match.end() + 500)]
    whole = match.group()
    return not any(exemption.lets_through(secret, whole, line) for exemption in rule.exemptions)
