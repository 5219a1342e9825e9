"""One batch on its way to a digest: budget, ceiling, items as pointers, a pointer for all, refusal."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from ..errors import DigestRefused
from ..models.records import Digest, DigestRequest, Verification
from ..ports.text import Registry, TokenCounter
from ..text.specifics.classes import CLASSES, SpecificClass
from .candidates import left_out
from .drafts import Draft, DraftPrinter
from .lines import Survey
from .manifest import is_brief
from .plan import Plan, batch_of
from .selection import Selector
from .survey import spell
from .verify import CHECKS, PartCheck, shown_specifics
from .worth import CARRIED, Rank, ranks_of, worth

_ROUNDS = 4
"""Times that a selection is corrected until the tokens counted meet the budget."""
_NEAR = 0.97
"""A digest this close to its budget is not filled further."""
_START, _LARGE = 0.985, 2_000
"""Of the room, where it has so many tokens: selections come out up to a fortieth larger than estimated, and most then
fit at the first attempt."""
_MORE_ROUNDS = 6
"""Times that what is left of it is spent where values come first."""
_YIELD, _EXTRA = 0.2, 10
"""Of the budget, what lines yield so that the last values fit, too; and tokens more than those cost bare."""
_MUCH = 5_000
"""Tokens of a budget from which so small a part is left over that looking for it is not worth the time."""
_FOCUS_BONUS = 0.8
"""For each task word in a line."""
_FOCUS_VALUE = 10.0
"""For a specific that is a task word."""
_FOCUS_WORDS = 24
_VAST, _LINES_A_TOKEN, _LEAST_LINES = 30, 0.1, 60
"""Times its budget from which a source is sampled, and lines that are then looked at: spread over it, for each token of
the budget, and at least."""
_SMALL = 600
"""Tokens of a result below which, at a tight budget, values come first: the call above it says what it was."""


class Attempt(DraftPrinter):
    """Everything about one request; `run` gives the digest."""

    def __init__(
        self, request: DigestRequest, registry: Registry, counter: TokenCounter, ranks: Mapping[str, Rank], name: str
    ) -> None:
        super().__init__(request, registry, counter)
        self._ranks = ranks
        self._name = name
        brief = is_brief(request, self._unit)
        small = self._source_tokens < _SMALL * self._unit * len(request.sources) and brief
        self._vast = self._source_tokens > _VAST * request.budget_tokens and self._source_tokens > _LARGE
        self._values_first = (request.values_first or small) and not self._vast
        if not self._values_first:
            spell(self._surveys)
        rated = [worth(one, ranks, values_first=self._values_first) for one in self._surveys]
        self._rated = rated
        self._weight = [one if self._fixed else [1.0] * len(one) for one in rated]
        self._least = request.min_shown
        if request.carried:
            self._rated = [self._with_carried(one, of) for one, of in zip(self._surveys, rated, strict=True)]
        self._add_focus()
        self._offered = [self._sample(one, of) for one, of in zip(self._surveys, self._rated, strict=True)]

    def run(self) -> Digest:
        """The first form on the ladder that passes every check."""
        request = self._request
        most = request.most_tokens
        if not request.pointer_only:
            draft = self._selected()
            if draft is not None:
                found = self._violations(draft, max(request.budget_tokens, request.ceiling_tokens))
                if not found and len(draft.pointers) < len(request.sources):
                    return self._finished(draft, "digest")
        draft = self._printed([[] for _ in self._surveys], frozenset(range(len(self._surveys))))
        if draft.tokens > most:
            raise DigestRefused(
                f"Even a pointer for so many items is longer than the {most:,} tokens that a digest may have.",
                next="Leave these items as they are, or raise max_digest_tokens in the policy.",
            )
        if draft.tokens >= self._source_tokens:
            raise DigestRefused(
                "Even a pointer is not smaller than what it would stand for.", next="Leave these items as they are."
            )
        if not request.pointer_only:
            draft.notes.append("the batch became a pointer")
        return self._finished(draft, "pointer")

    # -- selection ---------------------------------------------------------------------------------------------------

    def _selected(self) -> Draft | None:
        """Select; an item that stays under `min_shown` gives up its content lines for its ledger, and where even that
        does not suffice it becomes a pointer, and what it frees is spent on the others."""
        pointers: frozenset[int] = frozenset()
        bare: frozenset[int] = frozenset()
        notes: list[str] = []
        while len(pointers) < len(self._surveys):
            draft = self._filled(pointers, bare)
            if draft is None:
                return None
            least = self._least
            poor = {n for n, check in enumerate(draft.checks) if n not in pointers and self._in_view(n, check) < least}
            if not poor:
                draft.notes = notes + draft.notes
                return draft
            lost = poor & bare
            notes += [f"item {n + 1} became a pointer: too little of it would be in view" for n in sorted(lost)]
            pointers |= lost
            bare |= poor
        return None

    def _filled(self, pointers: frozenset[int], bare: frozenset[int]) -> Draft | None:
        """Fill the budget; where its last values would fit in the place of lines that say what it was, once more."""
        draft, missing = self._chosen(pointers, bare)
        yielded = 0
        while draft is not None and missing and yielded < _YIELD * self._request.budget_tokens:
            yielded += missing + _EXTRA
            other, missing = self._chosen(pointers, bare, yielded)
            if other is None or other.counts.left_out >= draft.counts.left_out:
                break
            draft = other
        return draft

    def _chosen(self, pointers: frozenset[int], bare: frozenset[int], yielded: int = 0) -> tuple[Draft | None, int]:
        """Fill the budget; then, up to the ceiling, what is of the first rank and still left out.

        Args:
            yielded: tokens that lines which say what it was leave to values.

        Returns it with the tokens for which all that it leaves out would fit, if such lines yielded them; else 0.
        """
        request = self._request
        batch = batch_of(
            [(one, source.tokens) for one, source in zip(self._surveys, request.sources, strict=True)],
            self._rated,
            self._weight,
            self._shared,
            self._count,
        )
        plans = list(batch.plans)
        for plan, offered in zip(plans, self._offered, strict=True):
            plan.offered = offered
        batch.plans = [plan for n, plan in enumerate(plans) if n not in pointers]
        for n in bare:
            plans[n].no_lines = True
        empty = self._printed([[] for _ in plans], pointers)
        room = request.budget_tokens - empty.tokens
        if room <= 0:
            return None, 0
        # Where the length of a digest ends its growth, no more can be asked of it than fits (D11, D20).
        if self._fixed or self._cut or request.ceiling_tokens >= request.most_tokens:
            values, words = batch.need()
            need = values if self._values_first else values + words
            most = room + max(0, request.ceiling_tokens - request.budget_tokens) + self._prose_tokens
            self._least = request.min_shown * min(1.0, most / max(1, need))
        selector = Selector(
            batch,
            self._least,
            brief=is_brief(request, self._unit),
            sparing=self._fixed,
            values_first=self._values_first,
        )
        selector.lines(room, yielded)
        draft = self._fitted(plans, selector, pointers, request.budget_tokens, empty.tokens)
        if request.ceiling_tokens > request.budget_tokens and self._lacks(draft, pointers):
            return self._grown(plans, selector, draft, pointers, empty.tokens), 0
        missing = 0
        if self._fixed and self._values_first and draft.counts.left_out and selector.said:
            parts = zip(plans, draft.checks, draft.bodies, strict=True)
            missing = sum(left_out(plan, check, body) for plan, check, body in parts)
        return draft, missing if missing <= selector.said else 0

    def _fitted(
        self, plans: list[Plan], selector: Selector, pointers: frozenset[int], budget: int, fixed: int
    ) -> Draft:
        """Fill until what is counted, not what was estimated, comes near the budget and stays within it."""
        room = budget - fixed
        available = int(_START * room) if room >= _LARGE and not self._values_first else room
        best: Draft | None = None
        for _ in range(_ROUNDS):
            selector.fill(available)
            draft = self._drafted(plans, pointers)
            if draft.tokens <= budget and (best is None or draft.tokens >= best.tokens):
                best = draft
            if draft.tokens <= budget and (draft.tokens >= _NEAR * budget or selector.spent < _NEAR * available):
                break
            rate = max(0.5, (draft.tokens - fixed) / max(1, selector.spent))
            available = int(room * 0.99 / rate)
        if best is not None and self._values_first and budget <= _MUCH:
            best = self._topped_up(plans, selector, pointers, budget, best)
        return best or self._trimmed(plans, selector, pointers, budget)

    def _topped_up(
        self, plans: list[Plan], selector: Selector, pointers: frozenset[int], budget: int, best: Draft
    ) -> Draft:
        """As much more as still fits: in a list every token left is part of a value left out."""
        least, most = selector.spent, 0
        available = least + budget - best.tokens
        for _ in range(_MORE_ROUNDS):
            if best.tokens >= budget - 1 or available <= least:
                break
            selector.fill(available)
            draft = self._drafted(plans, pointers)
            if draft.tokens > budget:
                most = available
            else:
                least = available
                best = draft if draft.tokens > best.tokens else best
            available = (least + most) // 2 if most else available + budget - draft.tokens
        return best

    def _trimmed(self, plans: list[Plan], selector: Selector, pointers: frozenset[int], budget: int) -> Draft:
        draft = self._drafted(plans, pointers)
        while draft.tokens > budget and selector.trim(draft.tokens - budget):
            draft = self._drafted(plans, pointers)
        return draft

    def _grown(
        self, plans: list[Plan], selector: Selector, draft: Draft, pointers: frozenset[int], fixed: int
    ) -> Draft:
        """With the ceiling as budget: all items their least share, then what is of the first rank, nothing else."""
        ceiling = self._request.ceiling_tokens
        selector.fill(self._request.budget_tokens - fixed)
        selector.add(int((ceiling - fixed) * 0.97), self._first_classes())
        grown = self._drafted(plans, pointers)
        if any(self._in_view(n, c) < self._least for n, c in enumerate(grown.checks) if n not in pointers):
            selector.fill(int((ceiling - fixed) * 0.97))
            grown = self._drafted(plans, pointers)
        if grown.tokens > ceiling:
            grown = self._trimmed(plans, selector, pointers, ceiling)
        if grown.tokens > draft.tokens:
            grown.notes.append(f"budget grew from {self._request.budget_tokens} to {grown.tokens} tokens")
        return grown

    def _in_view(self, number: int, check: PartCheck) -> float:
        """Share of an item's specifics in view.

        Where no budget may grow, each counts by its worth, so that two hundred time stamps that cannot all stay do not
        make a pointer of an item whose other specifics are there; and the least share falls with the part of all
        specifics that the budget could hold: some of them and an honest count tell more than the count alone.
        """
        weight = self._weight[number]
        total = sum(weight)
        return sum(weight[n] for n in (*check.shown, *check.elsewhere)) / total if total else 1.0

    def _first_classes(self) -> frozenset[str]:
        return frozenset(name for name, rank in self._ranks.items() if rank.first)

    def _lacks(self, draft: Draft, pointers: frozenset[int]) -> bool:
        first = self._first_classes()
        if any(count.left_out for name, count in draft.counts.by_class.items() if name in first):
            return True
        least = self._least
        return any(self._in_view(n, c) < least for n, c in enumerate(draft.checks) if n not in pointers)

    def _finished(self, draft: Draft, mode: str) -> Digest:
        found = self._violations(draft, max(draft.tokens, self._request.ceiling_tokens))
        return Digest(
            batch_id=self._request.batch_id,
            parts=draft.parts,
            tokens=draft.tokens,
            mode="digest" if mode == "digest" else "pointer",
            specifics=draft.counts,
            shown=tuple(shown_specifics(s, c) for s, c in zip(self._surveys, draft.checks, strict=True)),
            verification=Verification(passed=not found, checks=CHECKS, violations=found),
            digester=self._name,
            registry=self._registry.version,
            notes=tuple(draft.notes),
        )

    def _sample(self, one: Survey, rated: Sequence[float]) -> list[int] | None:
        """Of a source that is vast for its digest: the specifics of some lines, spread over it, and those that are
        worth more than most; None for all of any other. Whole records of it tell more than a list of its first values.
        """
        wanted = max(_LEAST_LINES, int(_LINES_A_TOKEN * self._request.budget_tokens))
        homes = sorted(set(one.home))
        if not self._vast or len(homes) <= wanted:
            return None
        chosen = {homes[n * (len(homes) - 1) // (wanted - 1)] for n in range(wanted)}
        bound = sorted(rated, reverse=True)[wanted]
        return [n for n, home in enumerate(one.home) if home in chosen or rated[n] > bound]

    def _with_carried(self, one: Survey, rated: list[float]) -> list[float]:
        """What other digests rely on comes first (D9)."""
        carried = self._request.carried
        return [
            gain + CARRIED if (spec.cls, spec.text) in carried else gain
            for spec, gain in zip(one.specs, rated, strict=True)
        ]

    def _add_focus(self) -> None:
        """Lines with task words, and the specifics that are one, get a bonus; nothing needs one."""
        asked = {word.lower() for word in self._request.focus if len(word) > 2}
        words = sorted(asked)[:_FOCUS_WORDS]
        if not words:
            return
        self._rated = [
            [gain + _FOCUS_VALUE * (spec.text.lower() in asked) for spec, gain in zip(one.specs, rated, strict=True)]
            for one, rated in zip(self._surveys, self._rated, strict=True)
        ]
        pattern = re.compile("|".join(re.escape(word) for word in words))
        for one in self._surveys:
            for unit in one.reduced.units:
                hits = {found.group() for found in pattern.finditer(unit.text.lower())}
                unit.words = _FOCUS_BONUS * len(hits)


# The extractive digester: route, reduce, select under a budget, ledger, manifest, verify; no model, no network.


VERSION = "1"
"""Counts up with every release that changes the bytes a digest has."""


class ExtractiveDigester:
    """Implements `ports.text.Digester`. Pure: the same request gives the same bytes in every process.

    It computes for as long as the batch is big (about 2 s for a million tokens); callers put it in a thread.
    """

    def __init__(self, registry: Registry, counter: TokenCounter, classes: Iterable[SpecificClass] = CLASSES) -> None:
        """`classes`: ranks of what the registry finds; pass the registry's own where users added some."""
        self._registry = registry
        self._counter = counter
        self._ranks = ranks_of(classes)

    @property
    def name(self) -> str:
        """`extractive/1`."""
        return f"extractive/{VERSION}"

    async def digest(self, request: DigestRequest) -> Digest:
        """Digest a batch (`ports.text.Digester`)."""
        return self.compute(request)

    def compute(self, request: DigestRequest) -> Digest:
        """The same for callers that are in a thread of their own.

        Raises:
            DigestRefused: no form of it is smaller than its source.
        """
        return Attempt(request, self._registry, self._counter, self._ranks, self.name).run()
