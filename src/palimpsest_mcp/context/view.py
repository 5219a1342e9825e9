"""What is in one agent's context now, as the fold says: items in the host's order, with what stands for them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping

import msgspec

from ..models.items import Item
from ..models.plans import ContextItem
from ..models.records import SpecificCounts
from .alignment import part_hash
from .fold import Batch, Fold, ItemState, batch_number


class View(msgspec.Struct, frozen=True):
    """One agent's context at one revision."""

    agent: str
    rev: int
    items: tuple[ContextItem, ...]
    """Present items in the host's order (L2); `gone` ones are not among them."""
    gone: tuple[ContextItem, ...]
    assistant_messages: int
    """Rows of the assistant ever seen: it only grows."""
    tool_calls: int
    """Tool results present."""
    last_row: int
    tokens: int
    """Of what stands in the context now, by our view."""
    whole_tokens: int
    """Of the same items, each with its original, save where the host showed our part."""
    unapplied: int = 0
    """Replaced items whose part the host's list did not show when it was last read."""

    def find(self, item_id: str) -> ContextItem | None:
        """The present item of this id."""
        return next((item for item in self.items if item.item.id == item_id), None)


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
    found = [(state.current, state) for state in fold.states.values() if state.versions]
    found = sorted(((i, s) for i, s in found if i.agent == agent), key=lambda pair: (pair[0].position, pair[0].id))
    said = sorted({item.position[0] for item, _ in found if item.role == "assistant"})
    waiting = _open_units(found) if open_units is None else open_units
    here: list[ContextItem] = []
    whole = unapplied = 0
    away: list[ContextItem] = []
    for item, state in found:
        stands = _context_item(fold, item, state, said, waiting, result_overhead, digester)
        (away if stands.state == "gone" else here).append(stands)
        if stands.state != "gone":
            applied = stands.state == "replaced" and _is_applied(fold, item, state)
            unapplied += stands.state == "replaced" and not applied
            whole += stands.tokens if applied else item.tokens + (result_overhead if item.role == "tool" else 0)
    return View(
        agent=agent,
        rev=fold.rev,
        items=tuple(here),
        gone=tuple(away),
        assistant_messages=len(said),
        tool_calls=sum(1 for item in here if item.item.role == "tool"),
        last_row=max((item.item.position[0] for item in here), default=-1),
        tokens=sum(one.tokens for one in here),
        whole_tokens=whole,
        unapplied=unapplied,
    )


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
        state="gone" if not state.present[1] else "live" if replaced is None else "replaced",
        batch_id="" if replaced is None else replaced.batch.batch_id,
        level=0 if replaced is None else replaced.batch.level,
        pinned=item.id in decided.pinned,
        restored_ago=_restored_ago(fold, item, state, said, is_copy=bool(origin)),
        call_open=bool(item.unit) and item.unit in waiting,
        unshrinkable=item.id in fold.unshrinkable.get(digester, ()),
        copy_of=" ".join(origin),
    )


def _is_applied(fold: Fold, item: Item, state: ItemState) -> bool:
    """Whether the host's own list showed the part that stands for an item, when it was last read."""
    part = fold.decided.replacements[item.id].item.part_sha256
    return state.applied is not None and state.applied.part_sha256 == part


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
    known = (state.fetched_at, fold.decided.reinstated_at.get(item.id))
    since = max((at for at in known if at is not None), default=None)
    return None if since is None else max(0, len(said) - since)


def _open_units(found: list[tuple[Item, ItemState]]) -> frozenset[str]:
    """Units of the newest calls that have no result yet, with nothing said after them."""
    open_now: set[str] = set()
    answered: set[str] = set()
    for item, state in found:
        if not state.present[1]:
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
    return frozenset(name for name, state in fold.states.items() if state.present[1])


def standing_holders(fold: Fold, present: frozenset[str]) -> dict[str, bool]:
    """Every batch and item that may hold specifics, and whether it still stands in the context.

    A batch stands while each of its parts does; one whose place a digest of a higher level took stands as long as that
    one does, which shows all that was left to it (L16).
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
    items = [state.current for state in child.states.values() if state.versions and state.present[1]]
    shown = {part_hash(item) for item in items if item.kind == "digest_part"}
    standing = _with_heirs(parent, lambda batch: all(item.part_sha256 in shown for item in batch.info.items))
    standing.update(dict.fromkeys((item.id for item in items), True))
    return standing


def _with_heirs(fold: Fold, shows: Callable[[Batch], bool]) -> dict[str, bool]:
    """Batch -> whether it is shown, or another that took its place."""
    batches = fold.decided.batches
    heirs = {old: name for name, batch in batches.items() for old in batch.info.replaces}
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


def item_of(fold: Fold, item_id: str) -> Item | None:
    """The current version of an item, present or gone."""
    state = fold.states.get(item_id)
    return state.current if state is not None and state.versions else None


# What offloading saved a session over its life: one sum, for every face that names it.


class Sizes(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens of a batch; what was purged counts in none of them."""

    original: int = 0
    """Originals as they stood in the context, with what a result takes beside its text."""
    digest: int = 0
    """The digest alone."""
    overhead: int = 0
    """What the results take beside their texts: as originals, and as parts of the digest."""


class Savings(msgspec.Struct, frozen=True, kw_only=True):
    """In tokens, over every batch that was ever committed and not purged."""

    batches: int
    offloaded: int
    """Originals as they stood in the context, with what a result takes beside its text."""
    digests: int
    """What stands for them, with the same beside it."""
    restored: int
    """Given back by restores."""

    @property
    def net(self) -> int:
        """Originals, less what stands for them and what came back."""
        return self.offloaded - self.digests - self.restored


def savings(fold: Fold, *, result_overhead: int) -> Savings:
    """What a session's batches saved.

    Args:
        result_overhead: tokens that a tool result takes beside its text, its digest too.
    """
    batches = [one for one in fold.decided.batches.values() if one.state != "purged"]
    each = [sizes(fold, one, result_overhead=result_overhead) for one in batches]
    return Savings(
        batches=len(batches),
        offloaded=sum(one.original for one in each),
        digests=sum(one.digest + one.overhead for one in each),
        restored=sum(_given_back(fold, *one) for one in fold.restored),
    )


def sizes(fold: Fold, batch: Batch, *, result_overhead: int) -> Sizes:
    """Tokens of one batch, without those of its items that were purged.

    Args:
        result_overhead: as in `savings`.
    """
    if batch.state == "purged":
        return Sizes()
    info, decided = batch.info, fold.decided.batches
    below = [item for name in info.replaces if name in decided for item in decided[name].info.items]
    stood = {item.id: item.part_tokens for item in below}  # what a digest of a higher level took the place of
    beside = {item.id: result_overhead * _is_result(fold, item.id) for item in info.items}
    gone = [item for item in info.items if item.id in batch.purged_items]
    leaves = sum(beside[item.id] for item in gone)
    originals = sum(stood.get(item.id, _text_tokens(fold, item.id)) for item in gone)
    return Sizes(
        original=max(0, info.original_tokens - originals - leaves),
        digest=max(0, info.digest_tokens - sum(item.part_tokens for item in gone)),
        overhead=sum(beside.values()) - leaves,
    )


def _given_back(fold: Fold, batch_id: str, item_ids: tuple[str, ...], tokens: int) -> int:
    """Of one restore, the tokens of what was not purged since."""
    batch = fold.decided.batches.get(batch_id)
    gone = {*item_ids} & {*(batch.purged_items if batch is not None else ())}
    if batch_id in fold.decided.purged_batches or (gone and gone == {*item_ids}):
        return 0
    return max(0, tokens - sum(_text_tokens(fold, item_id) for item_id in gone))


def _is_result(fold: Fold, item_id: str) -> bool:
    item = item_of(fold, item_id)
    return item is not None and item.role == "tool"


def _text_tokens(fold: Fold, item_id: str) -> int:
    item = item_of(fold, item_id)
    return 0 if item is None else item.tokens
