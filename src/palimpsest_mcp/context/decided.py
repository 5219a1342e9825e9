"""What the decisions of a session add up to: batches, what stands for which item, pins, the policy."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, TypeAlias

import msgspec

from ..models.events import (
    Decision,
    Event,
    Pinned,
    PolicySet,
    PurgedEvent,
    Reinstated,
    Replaced,
    ReplacedBatch,
    ReplacedItem,
    Reserved,
    Unpinned,
)
from ..models.probes import ProbeReport
from ..models.views import BatchState

Parts: TypeAlias = dict[str, dict[str, str]]
"""Hash of a digest part -> item id -> batch id. Two short results may well have parts with equal text."""


def part_owner(
    parts: Mapping[str, Mapping[str, str]], part_sha256: str, item_id: str, taken: Collection[str] = ()
) -> tuple[str, str] | None:
    """(batch id, item id) that a part's text stands for: the item of this id, else the first that is not taken."""
    owners = parts.get(part_sha256, {})
    if item_id in owners:
        return owners[item_id], item_id
    return next(((batch, name) for name, batch in owners.items() if name not in taken), None)


class Replacement(msgspec.Struct, frozen=True, gc=False):
    """What stands for an item by our latest decision."""

    batch: ReplacedBatch
    item: ReplacedItem
    rev: int


class Batch(msgspec.Struct, gc=False):
    """A committed batch as later decisions left it."""

    info: ReplacedBatch
    rev: int
    ts: str
    agent: str
    reason: str = ""
    state: BatchState = "replaced"
    """`replaced`, `superseded`, `reinstated` or `purged`."""
    purged_items: tuple[str, ...] = ()
    last_row: int = -1
    """Newest message that the context held when it left; -1: not written down."""


def replacement_of(item_id: str, events: Iterable[Event]) -> Replacement | None:
    """What stands for one item, by all events that name it; revisions that occur once."""
    decisions = [event for event in events if isinstance(event, Replaced | Reinstated)]
    found: Replacement | None = None
    for decision in sorted(decisions, key=lambda one: one.rev):
        if isinstance(decision, Reinstated) and item_id in decision.item_ids:
            found = None
        batches = decision.batches if isinstance(decision, Replaced) else decision.stands
        for batch in batches:
            for item in batch.items:
                if item.id == item_id:
                    found = Replacement(batch, item, decision.rev)
    return found


PICTURES = "pictures"
"""Reason of what a pass did for pictures, on top of itself."""


class Decided:
    """Decisions, replayed one after the other."""

    def __init__(self, decisions: Iterable[Decision]) -> None:
        self.replacements: dict[str, Replacement] = {}
        self.batches: dict[str, Batch] = {}
        self.parts: Parts = {}
        """Every part ever committed (L7)."""
        self.pinned: set[str] = set()
        self.policy: dict[str, Any] | None = None
        self.last_number = 0
        """Highest batch number reserved or used (L11)."""
        self.last_pass_rev = 0
        self.last_pass_row = -1
        """Newest message at the last pass; -1 unknown."""
        self.last_probes: ProbeReport | None = None
        """Of the last pass that asked any."""
        self.purged_batches: set[str] = set()
        """Batches of which nothing can be given back."""
        self.purged: bool = False
        """The whole session."""
        self.reinstated_at: dict[str, int] = {}
        """Item id -> assistant messages in the context when it came back."""
        for decision in decisions:
            self.apply(decision)

    def apply(self, decision: Decision) -> None:
        """One more, of a higher revision than all before it."""
        if isinstance(decision, Replaced):
            self._replace(decision)
        elif isinstance(decision, Reinstated):
            self._reinstate(decision)
        elif isinstance(decision, Pinned):
            self.pinned.update(decision.item_ids)
        elif isinstance(decision, Unpinned):
            self.pinned.difference_update(decision.item_ids)
        elif isinstance(decision, PolicySet):
            self.policy = decision.policy
        elif isinstance(decision, Reserved):
            self.last_number = max(self.last_number, decision.first + decision.count - 1)
        else:
            self._purge(decision)

    def _purge(self, decision: PurgedEvent) -> None:
        self.purged = self.purged or decision.whole
        for batch_id in decision.batch_ids:
            if not decision.item_ids:
                self.purged_batches.add(batch_id)
            if batch := self.batches.get(batch_id):
                batch.purged_items += decision.item_ids
                if not decision.item_ids or {item.id for item in batch.info.items} <= {*batch.purged_items}:
                    batch.state = "purged"
                    self.purged_batches.add(batch_id)

    def _replace(self, decision: Replaced) -> None:
        if decision.reason != "at_birth":  # one result on its way in is no pass over the context
            self.last_pass_rev, self.last_pass_row = decision.rev, decision.last_row
        if decision.probes is not None and decision.probes.total:
            self.last_probes = decision.probes
        for info in decision.batches:
            if info.mode != "copy":
                self.batches[info.batch_id] = Batch(
                    info, decision.rev, decision.ts, decision.agent, decision.reason, last_row=decision.last_row
                )
                self.last_number = max(self.last_number, batch_number(info.batch_id))
            for item in info.items:
                self.replacements[item.id] = Replacement(info, item, decision.rev)
                self.parts.setdefault(item.part_sha256, {})[item.id] = info.batch_id
            for old in info.replaces:
                if batch := self.batches.get(old):
                    batch.state = "superseded"

    def _reinstate(self, decision: Reinstated) -> None:
        for item_id in decision.item_ids:
            self.replacements.pop(item_id, None)
            self.reinstated_at[item_id] = decision.assistant_messages
        for batch in self.batches.values():
            ids = {item.id for item in batch.info.items}
            if batch.state == "replaced" and ids and not ids & self.replacements.keys():
                batch.state = "reinstated"
        for info in decision.stands:
            self.batches[info.batch_id].state = "replaced"
            self.replacements.update({item.id: Replacement(info, item, decision.rev) for item in info.items})

    def passes(self) -> list[list[Batch]]:
        """The batches of each pass over the context, oldest first, as it can be taken back, whatever became of them.
        At birth there is no pass."""
        found: dict[int, list[Batch]] = {}
        last = 0
        for batch in sorted(self.batches.values(), key=lambda one: (one.rev, batch_number(one.info.batch_id))):
            if batch.reason != "at_birth":
                last = last if batch.reason == PICTURES and last else batch.rev
                found.setdefault(last, []).append(batch)
        return list(found.values())


def batch_number(batch_id: str) -> int:
    """7 for `offload_0007`; 0 for anything else."""
    digits = batch_id.removeprefix("offload_")
    return int(digits) if digits != batch_id and digits.isascii() and digits.isdigit() else 0


def batch_id(number: int) -> str:
    """`offload_0007` for 7."""
    return f"offload_{number:04d}"
