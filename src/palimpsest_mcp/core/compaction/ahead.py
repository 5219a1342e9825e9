"""Reads results that were recorded, so that a pass finds them read: in a moment in which nobody waits."""

from __future__ import annotations

import asyncio

from ...models.items import Item
from ...models.plans import ContextItem
from ..batch import original_text
from ..dependencies import Dependencies
from .digests import Sources

MOST_AT_ONCE = 100_000
"""Characters that are read in one go, about: a sixth of a second."""


async def read_ahead(deps: Dependencies) -> int:
    """Read some of what waits for it, one result after the other, in a thread.

    Nothing is written, and no digest changes. A secret that runs over the end of a result is found in the pass only:
    then the text is another one, and is read there.

    Returns:
        How many were read.
    """
    sources = Sources(deps.redactor, deps.registry)
    least = deps.policy_named(None).min_item_tokens
    count = done = 0
    while deps.unread and done < MOST_AT_ONCE:
        item = deps.unread.popleft()
        if item.tokens >= least:
            done += await asyncio.to_thread(_read, deps, sources, item)
            count += 1
    return count


def _read(deps: Dependencies, sources: Sources, item: Item) -> int:
    """Read one result; gives its characters."""
    masked = deps.redactor.redact(original_text(item))
    for source in sources.of([ContextItem(item=item, tokens=item.tokens)], [masked]):
        deps.studies().read(source)
    return len(masked.text)
