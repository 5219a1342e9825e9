"""What a pass came to so far: its batches, and what became of the slots that they were made of."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from ...context.plan import Outcome
from ...models.plans import ContextItem, Slot
from ..batch import Made

Batch = tuple[Made, list[ContextItem]]


@dataclass(kw_only=True)
class PassState:
    """Batches made, and what became of the slots that they were made of."""

    standing: dict[str, bool]
    """Batch or item -> whether it stands in the context."""
    made: list[Batch] = field(default_factory=list[Batch])
    copies: list[tuple[ContextItem, str]] = field(default_factory=list[tuple[ContextItem, str]])
    """Fetched copies with the pointer that each becomes (L13)."""
    refused: list[str] = field(default_factory=list[str])
    """Items that no digest could shrink."""
    outcomes: list[Outcome] = field(default_factory=list[Outcome])
    slots: dict[str, Slot] = field(default_factory=dict[str, Slot])
    """Batch id -> what it was made of; none for one of level 2."""
    freed: list[str] = field(default_factory=list[str])
    """Ids of batches that were taken out again: nothing was written under them, so the next ones have them."""
    given_way: int = 0
    """Results that leave pointers for the target, so that others can be digested."""

    def copy(self) -> PassState:
        """The same, which stays as it is now."""
        return PassState(
            standing=dict(self.standing),
            made=list(self.made),
            copies=list(self.copies),
            refused=list(self.refused),
            outcomes=list(self.outcomes),
            slots=dict(self.slots),
            freed=list(self.freed),
            given_way=self.given_way,
        )

    def add(self, made: Made, items: Iterable[ContextItem], slot: Slot | None = None) -> None:
        """A batch that stands from now on."""
        self.standing[made.record.batch_id] = True
        self.made.append((made, list(items)))
        if slot is not None:
            self.slots[made.record.batch_id] = slot

    def take_out(self, names: Collection[str]) -> list[Batch]:
        """The batches of these ids, which stand no more. Their outcomes and slots are left to the caller."""
        gone = [(made, items) for made, items in self.made if made.record.batch_id in names]
        self.made = [(made, items) for made, items in self.made if made.record.batch_id not in names]
        self.freed = sorted({*self.freed, *(made.record.batch_id for made, _ in gone if not made.adopted)})
        for made, _ in gone:
            self.standing.pop(made.record.batch_id, None)
        return gone

    def with_dependents(self, names: Collection[str]) -> set[str]:
        """These batches, and those that leave specifics to them, however far."""
        away = set(names)
        for made, _ in self.made:  # in order: a batch refers to earlier ones only
            if away & made.record.specifics.holders.keys():
                away.add(made.record.batch_id)
        return away

    def freed_tokens(self, items: Mapping[str, ContextItem]) -> int:
        """Tokens that the context is shorter by, digests of a higher level aside."""
        return sum(
            sum(items[name].tokens for name in one.item_ids) - one.digest_tokens
            for one in self.outcomes
            if one.digest_tokens is not None
        )

    def saved_by(self, names: Collection[str]) -> int:
        """Tokens that batches of this pass save."""
        return sum(
            made.record.original_token_count - made.record.digest_token_count
            for made, _ in self.made
            if made.record.batch_id in names
        )
