"""What is in one agent's context now, as the fold says: items in the host's order, with what stands for them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping
from functools import cached_property

import msgspec

from ..models.items import Item
from ..models.plans import ContextItem
from ..models.records import SpecificCounts
from .alignment import part_hash
from .fold import Fold
from .state import Batch, ItemState, batch_number


class View:
    """One agent's context at one revision.

    The sums are there at once. Items are put together when one asks for them, from what the fold says then: whoever
    needs them as they were at this revision asks before it waits for anything.
    """

    def __init__(
        self,
        fold: Fold,
        *,
        agent: str = "",
        result_overhead: int = 0,
        digester: str = "",
        open_units: frozenset[str] | None = None,
    ) -> None:
        self._fold, self._overhead, self._digester, self._open_units = fold, result_overhead, digester, open_units
        tally = fold.tally(agent)
        self.agent = agent
        self.rev = fold.rev
        self.count = tally.items
        """Of the items present."""
        self.asked = tally.queries > 0
        """Whether the original query was ever in it."""
        self.assistant_messages = len(tally.said)
        """Rows of the assistant ever seen: it only grows."""
        self.tool_calls = tally.results
        """Tool results present."""
        self.last_row = tally.last_row
        self.tokens = tally.tokens + result_overhead * tally.results
        """Of what stands in the context now, by our view."""
        self.whole_tokens = tally.whole_tokens + result_overhead * tally.results
        """Of the same items, each with its original, save where the host showed our part."""
        self.unapplied = tally.unapplied
        """Replaced items whose part the host's list did not show when it was last read."""

    @cached_property
    def items(self) -> tuple[ContextItem, ...]:
        """Present items in the host's order (L2); `gone` ones are not among them."""
        return tuple(one for one in self._every if one.state != "gone")

    @cached_property
    def gone(self) -> tuple[ContextItem, ...]:
        """Items that the host's list no longer holds."""
        return tuple(one for one in self._every if one.state == "gone")

    @cached_property
    def _every(self) -> list[ContextItem]:
        fold = self._fold
        found = [(state.current, state) for state in fold.states.values() if state.versions]
        mine = ((item, state) for item, state in found if item.agent == self.agent)
        found = sorted(mine, key=lambda pair: (pair[0].position, pair[0].id))
        said = sorted({item.position[0] for item, _ in found if item.role == "assistant"})
        waiting = _open_units(found) if self._open_units is None else self._open_units
        return [
            _context_item(fold, item, state, said, waiting, self._overhead, self._digester) for item, state in found
        ]

    def find(self, item_id: str) -> ContextItem | None:
        """The present item of this id."""
        return next((item for item in self.items if item.item.id == item_id), None)

    def tokens_since(self, row: int) -> int:
        """Tokens of what stands behind a row, by our view."""
        tally = self._fold.tally(self.agent)
        found = tally.since(row)
        if found is None:
            behind = [one for one in self.items if one.item.position[0] > row]
            results = sum(one.item.role == "tool" for one in behind)
            found = sum(one.tokens for one in behind) - self._overhead * results, results
            tally.sum_since(row, *found)
        return found[0] + self._overhead * found[1]


def view(
    fold: Fold,
    *,
    agent: str = "",
    result_overhead: int = 0,
    digester: str = "",
    open_units: frozenset[str] | None = None,
) -> View:
    """One agent's view of a fold.

    Args:
        result_overhead: tokens a tool result takes beside its text.
        digester: whose failed attempts count as unshrinkable.
        open_units: units with a call that waits, where the host's list was just read; None derives them from the items.
    """
    return View(fold, agent=agent, result_overhead=result_overhead, digester=digester, open_units=open_units)


def _context_item(
    fold: Fold, item: Item, state: ItemState, said: list[int], waiting: frozenset[str], overhead: int, digester: str
) -> ContextItem:
    decided = fold.decided
    extra = overhead if item.role == "tool" else 0
    replaced = decided.replacements.get(item.id)
    if replaced is not None and replaced.item.sha256 != item.sha256:
        replaced = None
    origin = _origin(fold, item)
    return ContextItem(
        item=item,
        tokens=(item.tokens if replaced is None else replaced.item.part_tokens) + extra,
        state="gone" if not state.present else "live" if replaced is None else "replaced",
        batch_id="" if replaced is None else replaced.batch.batch_id,
        level=0 if replaced is None else replaced.batch.level,
        pinned=item.id in decided.pinned,
        restored_ago=_restored_ago(fold, item, state, said, is_copy=bool(origin)),
        call_open=bool(item.unit) and item.unit in waiting,
        unshrinkable=item.id in fold.unshrinkable.get(digester, ()),
        copy_of=" ".join(origin),
    )


def _origin(fold: Fold, item: Item) -> tuple[str, ...]:
    """Batch and item that a result is a fetched copy of, by its hash; empty for any other, the original among them."""
    if not fold.fetched or item.role != "tool" or item.content is None:
        return ()
    origin = fold.fetched.get(part_hash(item), ())
    return () if origin[1:] == (item.id,) else origin


def _restored_ago(fold: Fold, item: Item, state: ItemState, said: list[int], *, is_copy: bool) -> int | None:
    """Assistant messages since an original was handed out or put back, or since its copy came in; None for others.

    Args:
        said: rows of all assistant messages, in order.
    """
    if is_copy:
        return len(said) - bisect_right(said, item.position[0])
    at, again = state.fetched_at, fold.decided.reinstated_at.get(item.id)
    if at is None and again is None:
        return None
    return max(0, len(said) - max(-1 if at is None else at, -1 if again is None else again))


def _open_units(found: list[tuple[Item, ItemState]]) -> frozenset[str]:
    """Units of the newest calls that have no result yet, with nothing said after them."""
    open_now: set[str] = set()
    answered: set[str] = set()
    for item, state in found:
        if not state.present:
            continue
        if item.kind == "tool_call":
            open_now.add(item.unit)
        elif item.role == "tool":
            answered.add(item.unit)
        elif item.role in ("user", "assistant") and item.kind != "thinking":
            open_now.clear()
    return frozenset(open_now - answered - {""})


def settle_holders(counts: SpecificCounts, holders: Mapping[str, bool]) -> SpecificCounts:
    """Counts as they stand now: what a holder no longer shows is left out from now on (D9).

    Args:
        holders: holder -> whether it still stands in the context; one that is missing does not.
    """
    gone = [holder for holder in counts.holders if not holders.get(holder, False)]
    if not gone:
        return counts
    lost = sum(counts.holders[holder] for holder in gone)
    by_class = dict(counts.by_class)
    for holder in gone:
        for name, count in counts.held.get(holder, {}).items():
            one = by_class[name]
            by_class[name] = msgspec.structs.replace(
                one, elsewhere=one.elsewhere - count, left_out=one.left_out + count
            )
    return msgspec.structs.replace(
        counts,
        elsewhere=counts.elsewhere - lost,
        left_out=counts.left_out + lost,
        by_class=by_class,
        holders={holder: count for holder, count in counts.holders.items() if holder not in gone},
        held={holder: classes for holder, classes in counts.held.items() if holder not in gone},
    )


def present_items(fold: Fold) -> frozenset[str]:
    """Ids of what the host's list shows, of every agent."""
    return frozenset(name for name, state in fold.states.items() if state.present)


def standing_holders(fold: Fold, present: frozenset[str]) -> dict[str, bool]:
    """Every batch and item that may hold specifics, and whether it still stands in the context.

    A batch stands while each of its parts does; one whose place a digest of a higher level took stands as long as that
    one does, which shows all that was left to it (L16) unless it says that it does not (`ReplacedBatch.sheds`).
    """
    replaced = fold.decided.replacements

    def shows(batch: Batch) -> bool:
        return all(
            item.id in present
            and (stands := replaced.get(item.id)) is not None
            and stands.batch.batch_id == batch.info.batch_id
            and item.sha256 == fold.states[item.id].current.sha256
            for item in batch.info.items
        )

    standing = _with_heirs(fold, shows)
    standing.update(dict.fromkeys(present - replaced.keys(), True))
    return standing


def inherited_holders(parent: Fold, child: Fold) -> dict[str, bool]:
    """The same for a parent's batches, as a session that came out of it shows them (L14)."""
    items = [state.current for state in child.states.values() if state.versions and state.present]
    shown = {part_hash(item) for item in items if item.kind == "digest_part"}
    standing = _with_heirs(parent, lambda batch: all(item.part_sha256 in shown for item in batch.info.items))
    standing.update(dict.fromkeys((item.id for item in items), True))
    return standing


def _with_heirs(fold: Fold, shows: Callable[[Batch], bool]) -> dict[str, bool]:
    """Batch -> whether it is shown, or another that took its place."""
    batches = fold.decided.batches
    heirs = {old: name for name, batch in batches.items() for old in {*batch.info.replaces} - {*batch.info.sheds}}
    standing: dict[str, bool] = {}
    for name in sorted(batches, key=batch_number, reverse=True):  # an heir's number is higher
        standing[name] = shows(batches[name]) or standing.get(heirs.get(name, ""), False)
    return standing


def lost_holders(fold: Fold, standing: Mapping[str, bool]) -> int:
    """Specifics of digests in the context that were left to what is no longer there (D9)."""
    return sum(
        count
        for name, batch in fold.decided.batches.items()
        if batch.state == "replaced" and standing.get(name)
        for holder, count in batch.info.holders.items()
        if not standing.get(holder, False)
    )
