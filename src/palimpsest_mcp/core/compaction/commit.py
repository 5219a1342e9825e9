"""Archive first, then commit (L9): the one way in which originals leave a context, and what the commit's line says.

One step back: originals stand in the context again, of a batch or of a whole pass (L13).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from ...context.fold import Fold
from ...context.state import is_placeholder
from ...context.view import View
from ...errors import BatchUnknown, InvalidArgument
from ...models.advice import Advice, step
from ...models.events import Reinstated, Replaced, ReplacedBatch, ReplacedItem, SessionInfo
from ...models.host_table import host_note, how_to_apply
from ...models.items import Specific, content_sha256
from ...models.plans import ContextItem, Progress
from ...models.records import KEPT, OffloadRecord, Reason
from ...models.text import shown
from ...models.views import Undone
from ...ports.store import Entry
from ...text.specifics.delimited import fields_apart
from ..batch import Made, original_text, reserve_numbers
from ..dependencies import ContentCounter, Dependencies
from ..offloaded import Offloaded, Search, keep_status
from ..sessions import Sessions
from .digests import Sources
from .pointers import pointer_record


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
        await deps.store.search.add(await asyncio.to_thread(_entries, Search(deps, sessions), info, done))
        if decide is not None:
            await keep_status(deps, sessions, info)
    return Committed(fold, done)


def _entries(search: Search, info: SessionInfo, batches: Sequence[Made]) -> list[Entry]:
    return [entry for one in batches for entry in search.entries(info, one.record, one.texts)]


def unchanged(fold: Fold, one: ContextItem) -> bool:
    """Whether an item still stands as a pass took it: its bytes, what stands for it, and no pin."""
    state = fold.states.get(one.item.id)
    stands = fold.decided.replacements.get(one.item.id)
    return (
        state is not None
        and state.present
        and state.current.sha256 == one.item.sha256
        and (stands.batch.batch_id if stands is not None else "") == one.batch_id
        and one.item.id not in fold.decided.pinned
    )


def committed_batch(
    record: OffloadRecord, stands: Mapping[str, str] | None = None, sheds: tuple[str, ...] = ()
) -> ReplacedBatch:
    """A batch as the ledger names it.

    Args:
        stands: item id -> what the host shows in its place, where that is not its part.
        sheds: as `ReplacedBatch` has it.
    """
    shown = stands or {}
    return ReplacedBatch(
        batch_id=record.batch_id,
        items=tuple(
            ReplacedItem(
                id=item.id,
                sha256=item.sha256,
                part_sha256=content_sha256(shown[item.id]) if item.id in shown else item.digest_sha256,
                part_tokens=item.digest_tokens,
                part=shown.get(item.id),
            )
            for item in record.items
        ),
        original_tokens=record.original_token_count,
        digest_tokens=record.digest_token_count,
        digest_sha256=record.digest_sha256,
        level=record.level,
        replaces=record.replaces,
        sheds=sheds,
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


# Archives what a host is about to drop: everything that has no record yet, without a word in the context (L10).

RESULTS_A_BATCH = 3
MESSAGES_A_BATCH = 12
_NO_EVIDENCE = ("tool_call", "thinking", "host_block", "system_prompt", "digest_part")
"""Kinds that stand in the archive with their results, that nobody may read back, or that are ours."""


class Kept(Made, frozen=True, kw_only=True):
    """A batch that shows nothing of its originals, with what they hold, redacted."""

    specifics: tuple[frozenset[Specific], ...]
    """Of each item, in the record's order."""


class Keeper:
    """Everything in a session's context, archived."""

    def __init__(self, deps: Dependencies, sessions: Sessions) -> None:
        self._deps = deps
        self._sessions = sessions

    async def everything(
        self, info: SessionInfo, shown: View, counter: ContentCounter, *, reason: Reason
    ) -> tuple[Kept, ...]:
        """Archive what has no record, flushed and read back. Returns every record that the context stands on, old ones
        among them, in batch order."""
        old, made = await self.rest(info, shown, counter, reason=reason)
        before = await asyncio.to_thread(self._read_again, old)
        return tuple(sorted((*before, *made), key=lambda kept: kept.record.batch_id))

    async def rest(
        self, info: SessionInfo, shown: View, counter: ContentCounter, *, reason: Reason
    ) -> tuple[list[OffloadRecord], tuple[Kept, ...]]:
        """The same, but for the old records, which are not read again: they come first."""
        old = await self._of(info, {one.item.id for one in shown.items})
        known = {(item.id, item.sha256) for record in old for item in record.items}
        new = [one for one in shown.items if _is_evidence(one) and (one.item.id, one.item.sha256) not in known]
        made = await self.made(info, new, counter, reason=reason)
        await archive_and_commit(self._deps, self._sessions, info, made)
        return old, made

    async def made(
        self, info: SessionInfo, items: Sequence[ContextItem], counter: ContentCounter, *, reason: Reason
    ) -> tuple[Kept, ...]:
        """Batches of these items, each under a pointer, ready to be archived.

        Raises:
            WriteFailed, LockTimeout: they got no numbers.
        """
        groups = _groups(items)
        if not groups:
            return ()
        names = await reserve_numbers(
            self._deps, self._sessions, info, len(groups), pass_id=f"keep-{self._deps.random_hex(6)}"
        )

        def kept() -> tuple[Kept, ...]:
            named = zip(names, groups, strict=True)
            return tuple(self._kept(info, name, group, counter, reason) for name, group in named)

        return await asyncio.to_thread(kept)

    async def records(self, info: SessionInfo, items: Collection[str]) -> tuple[Kept, ...]:
        """The records that hold any of these items."""
        return tuple(await asyncio.to_thread(self._read_again, await self._of(info, items)))

    async def _of(self, info: SessionInfo, items: Collection[str]) -> list[OffloadRecord]:
        records = self._deps.store.archive.records(self._sessions.key(info))
        return [record async for record in records if any(item.id in items for item in record.items)]

    def _read_again(self, records: Sequence[OffloadRecord]) -> list[Kept]:
        return [
            Kept(
                record=record,
                adopted=True,
                specifics=tuple(
                    self.specifics_of(masked.text)
                    for masked in self._deps.redactor.redact_all([original_text(item) for item in record.items])
                ),
            )
            for record in records
        ]

    def specifics_of(self, text: str) -> frozenset[Specific]:
        """What a redacted text holds, without the keys: a summary may name a value in other words."""
        return frozenset(Specific(span.cls, span.text) for span in self._deps.registry.spans(fields_apart(text)))

    def _kept(
        self, info: SessionInfo, batch_id: str, items: list[ContextItem], counter: ContentCounter, reason: Reason
    ) -> Kept:
        about = Sources(self._deps.redactor, self._deps.registry)
        masked = about.masked(items)
        found = tuple(self.specifics_of(one.text) for one in masked)
        record = pointer_record(
            self._deps,
            info,
            batch_id,
            items,
            masked,
            about.of(items, masked),
            ["everything"] * len(items),
            counter,
            tokens={},
            reason=reason,
            digester=KEPT,
        )
        return Kept(record=record, texts=tuple(one.text for one in masked), specifics=found)


def _is_evidence(one: ContextItem) -> bool:
    item = one.item
    return (
        item.content is not None
        and item.kind not in _NO_EVIDENCE
        and not one.copy_of
        and not is_placeholder(item.content)
        and bool(item.size_bytes)
    )


def _groups(items: Sequence[ContextItem]) -> list[list[ContextItem]]:
    """Results by threes, words by twelves, each in the context's order."""
    results = [one for one in items if one.item.role == "tool"]
    words = [one for one in items if one.item.role != "tool"]
    groups = [results[at : at + RESULTS_A_BATCH] for at in range(0, len(results), RESULTS_A_BATCH)]
    groups += [words[at : at + MESSAGES_A_BATCH] for at in range(0, len(words), MESSAGES_A_BATCH)]
    return sorted(groups, key=lambda group: group[0].item.position)


class StepBack:
    """Takes passes back."""

    def __init__(self, deps: Dependencies, sessions: Sessions, offloaded: Offloaded) -> None:
        self._deps = deps
        self._sessions = sessions
        self._offloaded = offloaded

    async def reinstate(self, info: SessionInfo, batch_id: str) -> Undone:
        """Put the whole units of a batch back in the place of their parts.

        Raises:
            BatchUnknown: the session's context holds no digest of this batch.
        """

        def chosen(fold: Fold) -> tuple[int, list[str]]:
            if not any(one.batch.batch_id == batch_id for one in fold.decided.replacements.values()):
                raise BatchUnknown(
                    f"No digest of {shown(batch_id)} stands in the context of {info.handle}.",
                    next=Advice("See its batches: {}", step("list_offloaded", session_id=info.handle)),
                )
            every = enumerate(fold.decided.passes(), 1)
            return next((at for at, own in every if batch_id in {one.info.batch_id for one in own}), 0), [batch_id]

        return await self._put_back(info, chosen)

    async def undo(self, info: SessionInfo, number: int | None = None) -> Undone:
        """Put everything of one pass back: of the newest that still stands, or of the one with this number.

        Raises:
            InvalidArgument: no digest of such a pass stands in the context.
        """

        def chosen(fold: Fold) -> tuple[int, list[str]]:
            standing = {
                at: names
                for at, own in enumerate(fold.decided.passes(), 1)
                if (names := [one.info.batch_id for one in own if one.state == "replaced"])
            }
            at = max(standing, default=0) if number is None else number
            if at not in standing:
                raise _no_pass(info.handle, number, standing)
            return at, standing[at]

        return await self._put_back(info, chosen)

    async def _put_back(self, info: SessionInfo, chosen: Callable[[Fold], tuple[int, list[str]]]) -> Undone:
        done: list[Undone] = []

        def decide(fold: Fold) -> list[Reinstated]:
            number, names = chosen(fold)
            host = info.host or ("" if fold.envelopes else "mcp")
            note = host_note(host, attached=self._deps.attached)
            replaced = fold.decided.replacements
            units = {_unit(fold, name) for name, one in replaced.items() if one.batch.batch_id in names}
            items = tuple(sorted(name for name in replaced if _unit(fold, name) in units))
            stands = _digests_below(fold, names)
            below = {item.id: item.part_tokens for batch in stands for item in batch.items}
            done[:] = [
                Undone(
                    session_id=info.session_id,
                    handle=info.handle,
                    number=number,
                    batch_ids=tuple(names),
                    item_ids=items,
                    tokens=sum(
                        below.get(name, fold.states[name].current.tokens) - replaced[name].item.part_tokens
                        for name in items
                    ),
                    how=how_to_apply(note, info.handle, info.path, undo=True),
                )
            ]
            heard = fold.assistant_messages
            return [Reinstated(item_ids=items, batch_ids=tuple(names), stands=stands, assistant_messages=heard)]

        await self._sessions.decide(info, decide)
        await keep_status(self._deps, self._sessions, info)
        return done[0]


def _digests_below(fold: Fold, names: Iterable[str]) -> tuple[ReplacedBatch, ...]:
    """The digests that these took the place of: one step back from a higher level is not all the way (L16)."""
    batches = fold.decided.batches
    below = [batches[old] for name in names for old in batches[name].info.replaces if old in batches]
    return tuple(one.info for one in below if one.state == "superseded" and not one.purged_items)


def _no_pass(handle: str, number: int | None, standing: Collection[int]) -> InvalidArgument:
    which = "No pass" if number is None else f"No digest of pass {number}"
    others = f"Passes that stand: {', '.join(map(str, standing))}. " if standing else ""
    return InvalidArgument(
        f"{which} over {handle} stands in its context."
        if number is None
        else f"{which} stands in the context of {handle}.",
        next=Advice(f"{others}See its batches: {{}}", step("list_offloaded", session_id=handle)),
    )


def _unit(fold: Fold, item_id: str) -> str:
    state = fold.states.get(item_id)
    return (state.current.unit if state is not None and state.versions else "") or item_id
