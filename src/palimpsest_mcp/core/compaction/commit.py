"""Archive first, then commit (L9): the one way in which originals leave a context, and what the commit's line says."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ...context.fold import Fold
from ...models.events import Replaced, ReplacedBatch, ReplacedItem, SessionInfo
from ...models.items import content_sha256
from ...models.pass_options import Progress
from ...models.plans import ContextItem
from ...models.records import OffloadRecord
from ...ports.store import Entry
from ..dependencies import Dependencies
from ..made import Made
from ..notices import keep_status
from ..offloaded import Offloaded
from ..sessions import Sessions


class Committed(NamedTuple):
    """What came of it."""

    fold: Fold
    batches: tuple[Made, ...]
    """Those that the commit names; without a commit, all of them."""


async def archive_and_commit(
    deps: Dependencies,
    sessions: Sessions,
    info: SessionInfo,
    batches: Sequence[Made],
    decide: Callable[[Fold], Replaced | None] | None = None,
    *,
    lock_timeout_s: float | None = None,
    progress: Progress | None = None,
) -> Committed:
    """Originals and digests to disk, flushed and read back; then the one line that puts the digests in their place;
    then search index and status note.

    Args:
        decide: the commit as the session stands by then, asked again where somebody else was faster; None where nothing
            is left to replace. Without it the batches are only archived.
        lock_timeout_s: how long to wait for the commit lock; None: as long as the store does.

    Raises:
        WriteFailed, LockTimeout: nothing was replaced.
    """
    if fresh := [one.record for one in batches if not one.adopted]:
        if progress is not None:
            await progress(1, 3, "archive")
        await deps.store.archive.append(sessions.key(info), fresh)
    if decide is not None and progress is not None:
        await progress(2, 3, "commit")
    decided: list[Replaced] = []

    def commit(fold: Fold) -> list[Replaced]:
        replaced = decide(fold) if decide is not None else None
        decided[:] = [replaced] if replaced is not None else []
        return decided

    fold = await sessions.decide(info, commit, lock_timeout_s=lock_timeout_s)
    named = {batch.batch_id for one in decided for batch in one.batches if batch.mode != "copy"}
    done = tuple(one for one in batches if decide is None or one.record.batch_id in named)
    if done:
        await deps.store.search.add(await asyncio.to_thread(_entries, Offloaded(deps, sessions), info, done))
        if decide is not None:
            await keep_status(deps, sessions, info)
    return Committed(fold, done)


def _entries(offloaded: Offloaded, info: SessionInfo, batches: Sequence[Made]) -> list[Entry]:
    return [entry for one in batches for entry in offloaded.entries(info, one.record, one.texts)]


def unchanged(fold: Fold, one: ContextItem) -> bool:
    """Whether an item still stands as a pass took it: its bytes, what stands for it, and no pin."""
    state = fold.states.get(one.item.id)
    stands = fold.decided.replacements.get(one.item.id)
    return (
        state is not None
        and state.present[1]
        and state.current.sha256 == one.item.sha256
        and (stands.batch.batch_id if stands is not None else "") == one.batch_id
        and one.item.id not in fold.decided.pinned
    )


def committed_batch(record: OffloadRecord) -> ReplacedBatch:
    """A batch as the ledger names it."""
    return ReplacedBatch(
        batch_id=record.batch_id,
        items=tuple(
            ReplacedItem(id=item.id, sha256=item.sha256, part_sha256=item.digest_sha256, part_tokens=item.digest_tokens)
            for item in record.items
        ),
        original_tokens=record.original_token_count,
        digest_tokens=record.digest_token_count,
        digest_sha256=record.digest_sha256,
        level=record.level,
        replaces=record.replaces,
        mode=record.mode,
        holders=record.specifics.holders,
    )


def copied(one: ContextItem, text: str, tokens: int) -> ReplacedBatch:
    """A fetched copy that becomes a pointer of so many tokens (L13)."""
    item = ReplacedItem(
        id=one.item.id, sha256=one.item.sha256, part_sha256=content_sha256(text), part_tokens=tokens, part=text
    )
    return ReplacedBatch(
        batch_id=one.copy_of.partition(" ")[0],
        items=(item,),
        original_tokens=one.tokens,
        digest_tokens=tokens,
        mode="copy",
    )
