"""One digest in the place of several (L16), made from the originals; it shows what others left to those (D9)."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence

import msgspec

from ...context.budgets import Group
from ...digest.proof import facts_of
from ...digest.verdict import shown_in
from ...errors import DigestRefused
from ...models.items import Specific, content_text
from ...models.plans import ContextItem, Slot
from ...models.records import ArchivedItem, DigestSource, OffloadRecord
from ...ports.text import Redacted
from ..batch import Above, Made, Numbers, has_binary
from ..dependencies import Dependencies
from .digests import BatchDigests

Pair = tuple[str, str]
"""Class and text."""


def left_to(
    deps: Dependencies,
    leaving: Collection[str],
    held: Mapping[Specific, str],
    standing: Sequence[OffloadRecord],
    made: Sequence[Made],
    known: dict[str, set[Pair]] | None = None,
) -> frozenset[Pair]:
    """What these batches show and others in the context do not, though their originals hold it.

    Args:
        held: specific -> the batch or item that shows it.
        standing: records whose digests are in the context.
        made: batches of this pass.
        known: by the hash of a batch what it does not show, kept from one call to the next.
    """
    known = {} if known is None else known
    theirs = {(one.cls, one.text) for one, holder in held.items() if holder in leaving}
    found: set[Pair] = set()
    for record in (*standing, *(one.record for one in made)):
        own = record.batch_id
        if own not in leaving and any(holder != own for holder in record.specifics.holders) and theirs - found:
            if (key := f"{own} {record.digest_sha256}") not in known:
                known[key] = _unshown(deps, record)
            found |= theirs & known[key]
    return frozenset(found)


def _unshown(deps: Dependencies, record: OffloadRecord) -> set[Pair]:
    masked = deps.redactor.redact_all([content_text(item.result) for item in record.items])
    left: set[Pair] = set()
    for item, one in zip(record.items, masked, strict=True):
        own = {(s.cls, s.text) for s in shown_in(record.part(item), deps.registry)}
        left |= {(s.cls, s.text) for s in facts_of(source_of(item, one), deps.registry).specs} - own
    return left


def source_of(item: ArchivedItem, masked: Redacted) -> DigestSource:
    """An archived original as its digest was made from it, as far as its specifics go."""
    return DigestSource(
        item_id=item.id,
        kind=item.kind,
        text=masked.text,
        tokens=item.tokens,
        redacted=sum(masked.counts.values()),
        binary=has_binary(item.result),
    )


ROOMIER = 0.8
"""Of the digests it stands for, for one of a higher level that must carry much."""


async def raised(
    deps: Dependencies,
    group: Group,
    items: Sequence[ContextItem],
    digesting: BatchDigests,
    standing: Sequence[OffloadRecord],
    fresh: Sequence[Made],
    numbers: Numbers,
    *,
    least: float,
    pressed: bool = False,
) -> Made | None:
    """None where the digests that stand are kept: one that shows all that others left to them is not smaller (D9).

    Args:
        standing: records whose digests are in the context.
        fresh: batches of this pass so far.
        least: share of an item's specifics in view.
        pressed: the context is above the trigger whatever else leaves: what others left to them is shown first, and
            what of it does not fit counts as left out from now on.
    """
    before = digesting.held()
    carried = await asyncio.to_thread(left_to, deps, group.batch_ids, before, standing, fresh, digesting.unshown)
    most = int(ROOMIER * group.tokens)
    largest = most if len(group.batch_ids) == 1 else group.tokens - 1  # one alone must save a fifth to be worth a level
    room = min(most, group.budget_tokens + digesting.price_of(text for _, text in carried))
    tries = [(room, least), (room, 0.0), (most, 0.0)] if carried else [(room, least)]
    for budget, min_shown in tries:
        slot = Slot(item_ids=group.item_ids, tokens=group.tokens, budget_tokens=budget, ceiling_tokens=budget)
        above = Above(level=group.level, replaces=group.batch_ids, carried=carried, min_shown=min_shown)
        try:
            made = await digesting.make(slot, items, await numbers.next(), {}, above=above)
        except DigestRefused:
            break
        missing = carried - {(one.cls, one.text) for part in made.shown for one in part}
        if made.record.digest_token_count <= largest and (pressed or not missing):
            sheds = {holder for one, holder in before.items() if (one.cls, one.text) in missing}
            return msgspec.structs.replace(made, sheds=tuple(name for name in group.batch_ids if name in sheds))
        digesting.hold_again(before)
    digesting.hold_again(before)
    return None
