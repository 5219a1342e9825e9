"""One batch on its way to a digest: read, encoded, filled under its budget, printed, and checked before it is used.

The ladder: a digest within the budget; where it may grow, up to its ceiling for what must not be missing; where an item
can show nothing but how it went, a pointer with its outcome and its shape; refusal where even that is not smaller.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from functools import cache

from ..errors import DigestRefused
from ..models.records import EXTRACTIVE, Digest, DigestRequest, DigestSource, Mode, Verification
from ..ports.seams import Registry, TokenCounter
from ..text.specifics.registry import CLASSES, SpecificClass
from .choice import FEW_SHARE, FULL, WIDE, Choice
from .draft import Draft, Drafts
from .fill import Filling
from .item import Item
from .rank import holds
from .study import Studies, Study
from .verdict import CHECKS, shown_specifics, violations

_ROUNDS = 5
"""Times that a selection is corrected until the tokens counted meet the budget."""
_NEAR = 0.97
"""A digest this close to its budget is not filled further."""
_WIDER = (2, 3, 4)
"""Times that room where there is no better use for the budget."""
_MOSTLY = 0.5
"""Share of its records from which a table is worth the names of its columns, however short its rows are."""
_WORTHWHILE = 0.4
"""Of what was shown before, so much must still be shown beside the outlines."""
_SILENCINGS = 4
"""Times that half of such results are left to their outlines, so that the others get what that frees."""
_BETTER = 1.15
"""Times as much of a table must be shown as with all columns: a row that is whole tells more than its values."""
_FEW_TOKENS = 20
"""Tokens that are shown of a result below which, and below `FEW_SHARE`, it had better be an outline. With 30 and 0.15
of what is needed later 88.8 instead of 88.3 % stays in view, and a tenth more results are outlines only, which readers
called bad more often than others."""


class Attempt:
    """Everything about one request; `run` gives the digest."""

    _prose_tokens = 0
    """Taken by somebody else's wording (`prose.py`)."""

    def __init__(
        self,
        request: DigestRequest,
        registry: Registry,
        counter: TokenCounter,
        classes: Sequence[SpecificClass],
        name: str,
        studies: Sequence[Study],
    ) -> None:
        self._registry = registry
        self._counter = counter
        self._count: Callable[[str], int] = cache(counter.count)
        self._name = name
        self._choice = Choice(request, self._count, classes, studies)
        self._request = self._choice.request
        self._facts = self._choice.facts
        self._items = self._choice.items
        self._drafts = Drafts(self._choice, self._count, counter)

    def run(self) -> Digest:
        """The first form on the ladder that passes every check."""
        request = self._request
        if not request.pointer_only:
            draft = self._filled()
            if draft is not None and not self._violations(draft):
                return self._finished(draft, "digest", ())
        for item in self._items:
            item.clear()
            item.taken.update(item.forced)
        draft = self._drafts.drafted()
        if draft.tokens > request.most_tokens:  # so many results that not even how they went fits (D20 before D17)
            for item in self._items:
                item.clear()
            draft = self._drafts.drafted()
        if draft.tokens > request.most_tokens:
            raise DigestRefused(
                f"Even a pointer for so many items is longer than the {request.most_tokens:,} tokens that a digest may "
                "have.",
                next="Leave these items as they are, or raise max_digest_tokens in the policy.",
            )
        if draft.tokens >= self._choice.source_tokens:
            raise DigestRefused(
                "Even a pointer is not smaller than what it would stand for.", next="Leave these items as they are."
            )
        if not request.pointer_only:
            draft.notes.append("the batch became a pointer")
        # What must stand in a pointer may be more than the budget (D17); every other rule holds for it, too.
        return self._finished(draft, "pointer", self._violations(draft, ceiling=draft.tokens))

    def _filled(self) -> Draft | None:
        """The budget filled; then, up to the ceiling, what is of the first rank and still left out. None where nothing
        but outcomes fits."""
        request = self._request
        filling = Filling(self._items, frozenset(self._choice.shared.holders), self._count)
        fixed = self._fixed(filling)
        if request.budget_tokens - fixed <= filling.spent and request.carried:  # what others rely on comes first (D9)
            for item in self._items:
                item.forced = ()
            fixed = self._fixed(filling)
        if request.budget_tokens - fixed <= filling.spent:
            return None
        draft = self._fitted(filling, request.budget_tokens, fixed)
        draft = self._with_fewer_columns(filling, draft, fixed)
        draft, fixed = self._with_fewer_results(filling, draft, fixed)
        missing = self._choice.first - filling.seen
        poor = self._in_view(draft) < request.min_shown
        if request.ceiling_tokens > request.budget_tokens and (missing or poor):
            grown = self._fitted(filling, request.ceiling_tokens, fixed, None if poor else missing)
            if grown.tokens > draft.tokens:
                grown.notes.append(f"budget grew from {request.budget_tokens} to {grown.tokens} tokens")
            draft = grown
        if any(one.shown < one.total for one in draft.counts.wanted.values()) and draft.tokens < request.wanted_tokens:
            draft = self._fitted(filling, request.wanted_tokens, fixed, frozenset(), base=draft.tokens)
            draft.notes.append(f"with the lines that were to be kept it has {draft.tokens} tokens")
        if all(item.taken <= set(item.forced) and not item.listed for item in self._items):
            return None
        return self._with_more_said(draft)

    def _with_more_said(self, draft: Draft) -> Draft:
        """The same with longer notes of what is not shown, as far as the budget goes that no line could use."""
        for self._drafts.wide in _WIDER:
            other = self._drafts.drafted()
            if other.tokens > max(self._request.budget_tokens, draft.tokens):
                self._drafts.wide -= 1
                break
            other.notes, draft = draft.notes, other
        return draft

    def _fixed(self, filling: Filling) -> int:
        """Tokens of a digest that shows only what is forced, without that; `filling.spent` are those of it."""
        filling.fill(0)
        self._drafts.shapes = False
        empty = self._drafts.drafted()
        self._drafts.shapes = True
        return empty.tokens - filling.spent

    def _in_view(self, draft: Draft) -> float:
        """Share of the batch's specifics in view, each by what showing it is worth."""
        values = [item.values for item in self._items]
        every = sum(sum(one.values()) for one in values)
        seen = sum(
            value[numbers[n]]
            for value, numbers, check in zip(values, self._choice.shared.numbers, draft.checks, strict=True)
            for n in (*check.shown, *check.elsewhere)
        )
        return seen / every if every else 1.0

    def _with_fewer_columns(self, filling: Filling, draft: Draft, fixed: int) -> Draft:
        """The same with fewer columns of wide tables, as long as that shows more of what is likely to be needed, or
        more titles of what a search found: one of five with all that it says tells less than four by their names."""
        titles = sum(map(Item.leading_shown, self._items))
        best = filling.gained() + (_BETTER - 1) * sum(map(self._in_rows, self._items))
        chosen, seen = [copy(item) for item in self._items], filling.seen
        while any(
            block.table >= 0 and len(block.columns) >= WIDE and item.rows_shown(n) < FULL * block.total
            for item in self._items
            for n, block in enumerate(item.blocks)
        ):
            before = [len(block.columns) for item in self._items for block in item.blocks]
            for item, source in zip(self._items, self._choice.sources, strict=True):
                if columns := self._choice.narrowed(item):
                    item.narrow(source, columns)
            other = self._fitted(filling, self._request.budget_tokens, fixed)
            gained, named = filling.gained(), sum(map(Item.leading_shown, self._items))
            better = named > titles or (named == titles and gained >= best)
            if better and other.tokens <= self._request.budget_tokens:
                best, titles, draft = gained, named, other
                chosen, seen = [copy(item) for item in self._items], filling.seen
            if before == [len(block.columns) for item in self._items for block in item.blocks]:
                break
        self._items[:], filling.seen = chosen, seen
        return draft

    def _with_fewer_results(self, filling: Filling, draft: Draft, fixed: int) -> tuple[Draft, int]:
        """The same with outlines in the place of results of which only scraps would be shown: few results well. Not of
        those with a line that is to be kept."""
        asked = [
            any(holds(item.records[n].text, words) for n in item.free for words in source.wanted)
            for item, source in zip(self._items, self._request.sources, strict=True)
        ]
        for _ in range(_SILENCINGS):
            live = [n for n, item in enumerate(self._items) if not item.silent and item.twin < 0 and not asked[n]]
            poor = sorted((share, n) for n in live if (share := self._little(self._items[n], filling)) < 1)
            if not poor or len(live) < 2:
                break
            kept, seen = [copy(item) for item in self._items], filling.seen
            shown = sum(map(filling.shown_tokens, self._items))
            for _, n in poor[: (len(poor) + 1) // 2]:
                self._items[n].silent = True
            room = self._fixed(filling)
            other = self._fitted(filling, self._request.budget_tokens, room)
            if sum(map(filling.shown_tokens, self._items)) < _WORTHWHILE * shown:  # the outlines take what they free
                self._items[:], filling.seen = kept, seen
                break
            draft, fixed = other, room
        return draft, fixed

    def _little(self, item: Item, filling: Filling) -> float:
        """What is shown of a result, as a share of what is more than scraps; 1 and more is enough."""
        if item.own_row() >= 0 and item.own_row() not in item.taken:
            return 0.0  # its outline says first which object it is
        tokens = filling.shown_tokens(item)
        whole = len(item.whole) / max(1, len(item.free))
        if whole < _MOSTLY and tokens < (above := filling.above_tokens(item)):
            return tokens / above  # of a table hardly more than the names of its columns
        return max(tokens / _FEW_TOKENS, whole / FEW_SHARE)

    def _in_rows(self, item: Item) -> float:
        """What the rows of tables that could have fewer columns are worth as they are shown."""
        wide = {n for n, block in enumerate(item.blocks) if block.table >= 0 and len(block.columns) >= WIDE}
        rows = [unit for unit in (item.units[number] for number in item.taken) if unit.block in wide]
        return sum(unit.told + unit.asked + sum(item.values[spec] for spec in unit.specs) for unit in rows)

    def _fitted(
        self, filling: Filling, budget: int, fixed: int, wanted: frozenset[int] | None = None, *, base: int = 0
    ) -> Draft:
        """Fill until what is counted, not what was estimated, comes near the budget and stays within it.

        Args:
            wanted: as in `Filling.add`, of what goes beyond the base.
            base: tokens that are filled with anything; 0: the batch's own budget.
        """
        available = budget - fixed
        least, most = -1, 10 * budget  # rooms that were seen to be within the budget, and over it
        best: Draft | None = None
        kept: list[tuple[set[int], list[str]]] = []
        for _ in range(_ROUNDS):
            draft = self._refilled(filling, available, wanted, (base or self._request.budget_tokens) - fixed)
            left = budget - draft.tokens
            if left < 0:
                most = min(most, available)
            else:
                least = max(least, available)
                if best is None or draft.tokens > best.tokens:
                    best, kept = draft, [(set(item.taken), list(item.listed)) for item in self._items]
                if left < (1 - _NEAR) * budget:
                    break
            wish = max(filling.spent, available if left > 0 else 0) + left
            available = wish if least < wish < most else (least + most) // 2
            if not least < available < most:
                break
        if best is None:
            draft = self._drafts.drafted()
            while draft.tokens > budget and filling.trim(draft.tokens - budget):
                draft = self._drafts.drafted()
            return draft
        for item, (taken, listed) in zip(self._items, kept, strict=True):
            item.taken, item.listed = taken, listed
        return best

    def _refilled(self, filling: Filling, room: int, wanted: frozenset[int] | None, base: int) -> Draft:
        if wanted is None:
            filling.fill(room)
        else:
            filling.fill(base)
            filling.add(room, wanted)
        return self._drafts.drafted()

    def _violations(self, draft: Draft, *, ceiling: int = 0) -> tuple[str, ...]:
        request = self._request
        return violations(
            draft.parts,
            draft.checks,
            draft.counts,
            tokens=draft.tokens,
            ceiling=max(request.budget_tokens, request.ceiling_tokens, request.wanted_tokens, ceiling),
            most=request.most_tokens,
            source_tokens=self._choice.source_tokens,
            prose_tokens=self._prose_tokens,
            budget=request.budget_tokens,
        )

    def _finished(self, draft: Draft, mode: Mode, found: tuple[str, ...]) -> Digest:
        return Digest(
            batch_id=self._request.batch_id,
            parts=draft.parts,
            tokens=draft.tokens,
            mode=mode,
            specifics=draft.counts,
            shown=tuple(shown_specifics(f, c) for f, c in zip(self._facts, draft.checks, strict=True)),
            verification=Verification(passed=not found, checks=CHECKS, violations=found),
            digester=self._name,
            registry=self._registry.version,
            notes=tuple(draft.notes),
        )


class ExtractiveDigester:
    """Implements `ports.seams.Digester`. Pure: the same request gives the same bytes in every process.

    It computes for as long as the batch is big; callers put it in a thread.
    """

    def __init__(
        self,
        registry: Registry,
        counter: TokenCounter,
        classes: Iterable[SpecificClass] = CLASSES,
        studies: Studies | None = None,
    ) -> None:
        """Take what every digest is made with.

        Args:
            classes: ranks of what the registry finds; pass the registry's own where users added some.
            studies: by the same registry, shared with others; None: its own.
        """
        self._registry = registry
        self._counter = counter
        self._classes = tuple(classes)
        self._studies = studies or Studies(registry)

    @property
    def name(self) -> str:
        """`extractive/2`."""
        return EXTRACTIVE

    async def digest(self, request: DigestRequest) -> Digest:
        """Digest a batch (`ports.seams.Digester`)."""
        return self.compute(request)

    def compute(self, request: DigestRequest) -> Digest:
        """The same for callers that are in a thread of their own.

        Raises:
            DigestRefused: no form of it is smaller than its source.
        """
        with self._studies.of(request.sources) as studies:
            return Attempt(request, self._registry, self._counter, self._classes, self.name, studies).run()


def read_ahead(source: DigestSource, studies: Studies, registry: Registry, counter: TokenCounter) -> bytes:
    """Read a text of which a digest may be asked for, and put its records into units as most digests of it do. What is
    asked for is not known yet, so nothing is weighed. Gives what was read, to be kept (`Study.kept`)."""
    with studies.of([source]) as found:
        found[0].read_on(source)
        room = source.tokens  # so that it is read as one with room for whole lines
        request = DigestRequest(sources=(source,), budget_tokens=room, ceiling_tokens=room, handle="", batch_id="")
        Choice(request, cache(counter.count), CLASSES, found).forget_worths()
        return found[0].kept(source)
