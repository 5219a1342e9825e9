"""A selection printed and checked: parts with header and notes around bodies, and what the verification says."""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

from ..models.digests import DigestLine, DigestPart, DigestRequest
from ..models.records import SpecificCounts
from ..ports.text import Registry, TokenCounter
from .assembly import body_lines, line_count, note_line
from .manifest import SHORTENED, has_short_notes, header, item_note, unit_of
from .mending import mended
from .plans import Plan
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


class Drafting:
    """Prints the selections of one request."""

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
        source = self._source_tokens
        return violations(
            draft.parts,
            draft.checks,
            draft.counts,
            tokens=draft.tokens,
            ceiling=ceiling,
            most=self._request.most_tokens,
            source_tokens=source,
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


__all__ = ["Draft", "Drafting"]
