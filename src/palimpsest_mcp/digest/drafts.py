"""A selection printed and checked: parts with header and notes around bodies, and what the verification says."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import msgspec

from ..models.items import Span
from ..models.records import DigestLine, DigestPart, DigestRequest, SpecificCounts
from ..ports.text import Registry, TokenCounter
from .manifest import SHORTENED, has_short_notes, header, item_note, unit_of
from .plan import Plan
from .print import body_lines, line_count, mended, note_line
from .survey import survey
from .verify import PartCheck, check_part, counted, settle, shared, violations


@dataclass(slots=True)
class Draft:
    """A selection printed and checked."""

    bodies: list[list[DigestLine]]
    checks: list[PartCheck]
    counts: SpecificCounts
    parts: tuple[DigestPart, ...]
    tokens: int
    pointers: frozenset[int] = frozenset()
    dropped: int = 0
    notes: list[str] = field(default_factory=list[str])


class DraftPrinter:
    """Prints the selections of one request."""

    _prose_tokens = 0
    """Taken by somebody else's wording (`digest/prose.py`)."""

    def __init__(self, request: DigestRequest, registry: Registry, counter: TokenCounter) -> None:
        self._cut = request.ceiling_tokens > request.most_tokens
        """The digest may not be as long as it would have been: what it must show falls with that."""
        request = self._request = _limited(request)
        self._registry = registry
        self._counter = counter
        self._counts_of: dict[str, int] = {}
        self._surveys = [survey(source, registry) for source in request.sources]
        self._shared = shared(self._surveys, request.visible.holders)
        self._source_tokens = sum(source.tokens for source in request.sources)
        self._fixed = request.ceiling_tokens <= request.budget_tokens
        self._unit = unit_of(counter) if self._fixed else 1.0  # what may grow is not that small
        self._redacted = sum(source.redacted for source in request.sources)

    def _drafted(self, plans: list[Plan], pointers: frozenset[int]) -> Draft:
        return self._printed([[] if n in pointers else body_lines(plan) for n, plan in enumerate(plans)], pointers)

    def _printed(self, bodies: list[list[DigestLine]], pointers: frozenset[int]) -> Draft:
        """Parts with header and notes around bodies; lines that break a rule are taken out first."""
        checks: list[PartCheck] = []
        dropped = 0
        for number, (one, lines) in enumerate(zip(self._surveys, bodies, strict=True)):
            check = check_part(one, lines, self._registry)
            if check.bad_lines:
                lines = bodies[number] = mended(one, lines, check, self._registry)
                check = check_part(one, lines, self._registry)
            if check.bad_lines:
                dropped += len(check.bad_lines)
                bodies[number] = [line for n, line in enumerate(lines) if n not in check.bad_lines]
                check = check_part(one, bodies[number], self._registry)
            checks.append(check)
        settle(self._shared, checks, self._request.batch_id)
        counts = counted(self._surveys, checks, self._redacted)
        parts, tokens = self._headed(bodies, checks, counts, pointers)
        return Draft(bodies, checks, counts, parts, tokens, pointers, dropped)

    def _headed(
        self, bodies: list[list[DigestLine]], checks: list[PartCheck], counts: SpecificCounts, pointers: frozenset[int]
    ) -> tuple[tuple[DigestPart, ...], int]:
        """The header says how many tokens the digest has, itself included: found by trying, else not said."""
        some = pointers if len(pointers) < len(bodies) else frozenset[int]()
        notes = [self._note(n, checks[n] if n in some else None) for n in range(len(bodies))]
        rest = [[note, *body] for note, body in zip(notes, bodies, strict=True)]
        if rest[0][0].text == SHORTENED:
            del rest[0][0]  # the header above it says so
        others = sum(self._counter.count("\n".join(line.text for line in lines)) for lines in rest[1:])
        said = 0
        for guess in range(4):
            said = said if guess else sum(1 for _ in rest) + others
            head = DigestLine("note", header(self._request, counts, said, self._unit))
            tokens = others + self._counter.count("\n".join(line.text for line in (head, *rest[0])))
            if tokens == said:
                break
            said = tokens
        else:
            head = DigestLine("note", header(self._request, counts, 0, self._unit))
            tokens = others + self._counter.count("\n".join(line.text for line in (head, *rest[0])))
        rest[0] = [head, *rest[0]]
        parts = tuple(
            DigestPart(item_id=source.item_id, lines=tuple(lines))
            for source, lines in zip(self._request.sources, rest, strict=True)
        )
        return parts, tokens

    def _note(self, number: int, pointer: PartCheck | None) -> DigestLine:
        source = self._request.sources[number]
        brief = has_short_notes(self._request, self._unit)
        if pointer is None:
            return note_line(source, number + 1, brief=brief)
        own = counted([self._surveys[number]], [pointer], source.redacted)
        return DigestLine("note", item_note(source, number + 1, line_count(source), own, brief=brief))

    def _violations(self, draft: Draft, ceiling: int) -> tuple[str, ...]:
        return violations(
            draft.parts,
            draft.checks,
            draft.counts,
            tokens=draft.tokens,
            ceiling=ceiling,
            most=self._request.most_tokens,
            source_tokens=self._source_tokens,
            prose_tokens=self._prose_tokens,
            budget=self._request.budget_tokens,
        )

    def _count(self, text: str) -> int:
        known = self._counts_of.get(text)
        if known is None:
            known = self._counts_of[text] = self._counter.count(text)
        return known


def _limited(request: DigestRequest) -> DigestRequest:
    """The request with no more tokens than any digest may have (D20)."""
    budget, ceiling = (min(one, request.most_tokens) for one in (request.budget_tokens, request.ceiling_tokens))
    return msgspec.structs.replace(request, budget_tokens=budget, ceiling_tokens=ceiling)


# One budget shared out over many batches by what each needs: a batch full of specifics gets more than an empty one.
#
# A pass with a target gives all its digests together so many tokens. The same share for each batch would leave room
# in one for whole lines while another next to it has to drop half of its specifics.


_HEADER = 110
"""Tokens that header, manifest and item notes of a batch take."""
_LABEL = 2
"""Tokens for the word or the separator beside a value."""
_PER_TOKEN = {
    "url": 3.0,
    "hash": 1.7,
    "uuid": 1.7,
    "date": 1.9,
    "number": 2.2,
    "integer": 1.8,
    "version": 1.7,
    "path": 3.2,
}
"""Characters a token, by class, over real tool output (o200k); 2.8 for every other."""
_EASE = 1.8
"""Times what the specifics take alone: with just that a digest leaves out the dearest, and shows values without the
words beside them."""
_LINES = 0.04
"""Of a batch's tokens, for the lines that say what its results were."""
_BY_SIZE = 0.7
"""Of the total, at most, shared out by size before need is looked at: the more, the further the total is from enough,
since need alone would then starve the small."""
_MOST = 0.85
"""Of a batch's tokens, at most: beyond that a digest is not worth its place."""


def need_of_spans(spans: Iterable[Span], seen: set[tuple[str, str, str]]) -> float:
    """About how many tokens it takes to show each specific of a text once beside a word of its line.

    `seen` holds what earlier texts show (it is in view already), and is added to: call in the order of the batches.
    """
    need = 0.0
    for span in spans:
        known = (span.cls, span.text, span.key)
        if known not in seen:
            seen.add(known)
            need += len(span.text) / _PER_TOKEN.get(span.cls, 2.8) + _LABEL
    return need


def wanted(need: float, tokens: int) -> float:
    """Tokens that the digest of a batch of so many should have: its specifics, and something around them."""
    return min(_MOST * tokens, _EASE * need + _HEADER + _LINES * tokens)


def share_out(total: int, needs: Sequence[float], tokens: Sequence[int]) -> list[int]:
    """Budgets that sum to about `total`: a part by size, so that none starves, then by need, and the rest by size.

    `needs` and `tokens` are of the batches, in order. No batch gets more than a fixed part of its own tokens.
    """
    sizes = [float(size) for size in tokens]
    most = [_MOST * size for size in sizes]
    wants = [wanted(need, size) for need, size in zip(needs, tokens, strict=True)]
    budgets = [0.0] * len(sizes)
    by_size = _BY_SIZE * total * max(0.0, 1.0 - total / max(1.0, sum(wants)))
    for part, weights, tops in ((by_size, sizes, wants), (total, wants, wants), (total, sizes, most)):
        left = part - sum(budgets)
        room = [top - budget for top, budget in zip(tops, budgets, strict=True)]
        more = _poured(left, weights, room)
        budgets = [budget + extra for budget, extra in zip(budgets, more, strict=True)]
    return [int(budget) for budget in budgets]


def _poured(total: float, weights: Sequence[float], most: Sequence[float]) -> list[float]:
    """Shares by weight, each at most `most`; what one cannot take goes on to the others."""
    shares = [0.0] * len(weights)
    open_ones: list[int] = [n for n, top in enumerate(most) if top > 0 and weights[n] > 0]
    while open_ones and total > 0.5:
        rate = total / sum(weights[n] for n in open_ones)
        full = {n for n in open_ones if rate * weights[n] >= most[n] - shares[n]}
        for n in open_ones:
            more = most[n] - shares[n] if n in full else 0.0 if full else rate * weights[n]
            shares[n] += more
            total -= more
        open_ones = [n for n in open_ones if n not in full] if full else []
    return shares
