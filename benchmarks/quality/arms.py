"""Three floors under one token budget: clear, random lines, head and tail.

Every arm takes the texts of one batch and a budget for each, and gives one view a text: what would stand in its place.
Tokens are o200k's, counted here and not taken from any report.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from functools import cache

from measuring import Skipped

from palimpsest_mcp.text.tokens.count import ModelCounter, load_vocabulary, open_counter

Arm = Callable[[Sequence[str], Sequence[int]], list[str]]
"""(texts, budget in tokens for each) -> a view for each."""

SEED = 20261120
CLEARED = "[cleared]"
_PIECE = 80
"""Characters of a piece, where a floor has to cut a line that is longer; it cuts between words."""
_BREAK = re.compile(r"(?<=[\s,;}\])])")
_KNOWN: dict[str, int] = {}


@cache
def counter() -> ModelCounter:
    """o200k as it is, without a model family's factor.

    Raises:
        Skipped: no vocabulary loads here.
    """
    if load_vocabulary().encode is None:
        raise Skipped("no vocabulary to count with: see `palimpsest-mcp doctor`")
    return open_counter("gpt-5")


def tokens(text: str) -> int:
    """o200k tokens of a text; short ones are remembered, since the floors count lines."""
    if len(text) > 400:
        return counter().count(text)
    known = _KNOWN.get(text)
    if known is None:
        known = _KNOWN[text] = counter().count(text)
    return known


def clear(texts: Sequence[str], _budgets: Sequence[int]) -> list[str]:
    """What hosts do: the result is gone, a word stands in its place."""
    return [CLEARED for _ in texts]


def random_lines(texts: Sequence[str], budgets: Sequence[int]) -> list[str]:
    """Lines of the batch drawn by lot until its budget is full, in their order."""
    lines = [(n, line) for n, text in enumerate(texts) for line in pieces(text)]
    order = list(range(len(lines)))
    random.Random(f"{SEED}:{len(lines)}:{texts[0][:64] if texts else ''}").shuffle(order)
    budget = sum(budgets)
    chosen: list[int] = []
    for at in order:
        cost = tokens(lines[at][1]) + 1
        if cost <= budget:
            budget -= cost
            chosen.append(at)
    return _views(lines, sorted(chosen), len(texts))


def head_and_tail(texts: Sequence[str], budgets: Sequence[int]) -> list[str]:
    """Of every text three fifths of its budget from the beginning, the rest from the end; what is left is passed on."""
    views: list[str] = []
    left = 0
    for text, budget in zip(texts, budgets, strict=True):
        lines = pieces(text)
        head, left = _run(lines, range(len(lines)), int(0.6 * budget) + left)
        tail, left = _run(lines, range(len(lines) - 1, head[-1] if head else -1, -1), budget - int(0.6 * budget) + left)
        views.append("\n".join(lines[n] for n in (*head, *reversed(tail))))
    return views


def pieces(text: str) -> list[str]:
    """Lines; those too long for a line of a floor, in parts."""
    found: list[str] = []
    for line in text.split("\n"):
        if len(line) <= 3 * _PIECE:
            found.append(line)
            continue
        part = ""
        for word in _BREAK.split(line):
            part += word
            if len(part) >= _PIECE:
                found.append(part)
                part = ""
        found.append(part)
    return [line for line in found if line.strip()]


def _views(lines: Sequence[tuple[int, str]], chosen: Sequence[int], count: int) -> list[str]:
    found: list[list[str]] = [[] for _ in range(count)]
    for at in chosen:
        number, line = lines[at]
        found[number].append(line)
    return ["\n".join(one) for one in found]


def _run(lines: Sequence[str], order: Sequence[int], budget: int) -> tuple[list[int], int]:
    chosen: list[int] = []
    for n in order:
        cost = tokens(lines[n]) + 1
        if cost > budget:
            break
        budget -= cost
        chosen.append(n)
    return chosen, budget


def floors() -> dict[str, Arm]:
    """The three that stand in every table."""
    return {"clear": clear, "random lines": random_lines, "head+tail": head_and_tail}


def in_batches(arm: Arm, texts: Sequence[str], budgets: Sequence[int], size: int = 3) -> list[str]:
    """A whole session's texts, oldest first, `size` a batch."""
    views: list[str] = []
    for at in range(0, len(texts), size):
        views += arm(texts[at : at + size], budgets[at : at + size])
    return views
