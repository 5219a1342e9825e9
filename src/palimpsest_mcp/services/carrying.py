"""What other digests left to digests that are about to be replaced: the one that replaces them must show it (D9)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from ..digest.shown import shown_in
from ..digest.survey import survey
from ..models.digests import DigestSource
from ..models.items import content_text
from ..models.records import ArchivedItem, OffloadRecord
from ..models.specifics import Specific
from ..ports.text import Redacted
from .dependencies import Dependencies
from .made import Made, has_binary

Pair = tuple[str, str]
"""Class and text."""


def left_to(
    given: Dependencies,
    leaving: Collection[str],
    held: Mapping[Specific, str],
    standing: Sequence[OffloadRecord],
    made: Sequence[Made],
) -> frozenset[Pair]:
    """What these batches show and others in the context do not, though their originals hold it.

    Args:
        held: specific -> the batch or item that shows it.
        standing: records whose digests are in the context.
        made: batches of this pass.
    """
    theirs = {(one.cls, one.text) for one, holder in held.items() if holder in leaving}
    found: set[Pair] = set()
    for record in (*standing, *(one.record for one in made)):
        own = record.batch_id
        if own not in leaving and any(holder != own for holder in record.specifics.holders) and theirs - found:
            found |= theirs & _unshown(given, record)
    return frozenset(found)


def _unshown(given: Dependencies, record: OffloadRecord) -> set[Pair]:
    masked = given.redactor.redact_all([content_text(item.result) for item in record.items])
    left: set[Pair] = set()
    for item, one in zip(record.items, masked, strict=True):
        own = {(s.cls, s.text) for s in shown_in(record.part(item), given.registry)}
        left |= {(s.cls, s.text) for s in survey(source_of(item, one), given.registry).specs} - own
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


__all__ = ["left_to", "source_of"]
