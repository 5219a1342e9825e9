"""Archives what a host is about to drop: everything that has no record yet, without a word in the context (L10)."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence

from ...context.fold import is_placeholder
from ...context.view import View
from ...digest.manifest import header, item_note
from ...digest.proof import facts_of
from ...models.events import SessionInfo
from ...models.items import Specific, content_sha256, content_text
from ...models.plans import ContextItem
from ...models.records import (
    KEPT,
    ArchivedItem,
    ClassCount,
    DigestRequest,
    OffloadRecord,
    Reason,
    SpecificCounts,
    Verification,
)
from ...ports.text import Redacted
from ...text.specifics.delimited import fields_apart
from ..dependencies import ContentCounter, Dependencies
from ..made import Made, archived_item, reserve_numbers
from ..sessions import Sessions
from .commit import archive_and_commit
from .digests import Sources

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
        here = {one.item.id for one in shown.items}
        old = [
            record
            async for record in self._deps.store.archive.records(self._sessions.key(info))
            if any(item.id in here for item in record.items)
        ]
        known = {(item.id, item.sha256) for record in old for item in record.items}
        new = [one for one in shown.items if _is_evidence(one) and (one.item.id, one.item.sha256) not in known]
        made = await self.made(info, new, counter, reason=reason)
        await archive_and_commit(self._deps, self._sessions, info, made)
        before = await asyncio.to_thread(self._read_again, old)
        return tuple(sorted((*before, *made), key=lambda kept: kept.record.batch_id))

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
        return tuple(await asyncio.to_thread(self._made, info, list(zip(names, groups, strict=True)), counter, reason))

    async def records(self, info: SessionInfo, items: Collection[str]) -> tuple[Kept, ...]:
        """The records that hold any of these items."""
        found = [
            record
            async for record in self._deps.store.archive.records(self._sessions.key(info))
            if any(item.id in items for item in record.items)
        ]
        return tuple(await asyncio.to_thread(self._read_again, found))

    def _read_again(self, records: Sequence[OffloadRecord]) -> list[Kept]:
        return [
            Kept(
                record=record,
                adopted=True,
                specifics=tuple(
                    self.specifics_of(masked.text)
                    for masked in self._deps.redactor.redact_all([content_text(item.result) for item in record.items])
                ),
            )
            for record in records
        ]

    def specifics_of(self, text: str) -> frozenset[Specific]:
        """What a redacted text holds, without the keys: a summary may name a value in other words."""
        return frozenset(Specific(span.cls, span.text) for span in self._deps.registry.spans(fields_apart(text)))

    def _made(
        self,
        info: SessionInfo,
        groups: Sequence[tuple[str, list[ContextItem]]],
        counter: ContentCounter,
        reason: Reason,
    ) -> list[Kept]:
        return [self._kept(info, name, items, counter, reason) for name, items in groups]

    def _kept(
        self, info: SessionInfo, batch_id: str, items: list[ContextItem], counter: ContentCounter, reason: Reason
    ) -> Kept:
        about = Sources(self._deps.redactor, self._deps.registry)
        masked = about.masked(items)
        found = tuple(self.specifics_of(one.text) for one in masked)
        sources = about.of(items, masked)
        # As every digest counts them, item by item: `verify` counts them again.
        surveyed = [facts_of(source, self._deps.registry).specs for source in sources]
        request = DigestRequest(
            sources=sources,
            budget_tokens=1_000_000,
            ceiling_tokens=1_000_000,
            handle=info.handle,
            batch_id=batch_id,
        )
        parts = [
            item_note(source, number, source.text.count("\n") + 1, shape="everything")
            for number, source in enumerate(request.sources, 1)
        ]
        whole = _counts([one for specs in surveyed for one in specs])
        parts[0] = f"{header(request, whole, 0)}\n{parts[0]}"
        return Kept(
            record=self._record(info, batch_id, items, masked, parts, whole, counter, reason),
            texts=tuple(one.text for one in masked),
            specifics=found,
        )

    def _record(
        self,
        info: SessionInfo,
        batch_id: str,
        items: Sequence[ContextItem],
        masked: Sequence[Redacted],
        parts: Sequence[str],
        counts: SpecificCounts,
        counter: ContentCounter,
        reason: Reason,
    ) -> OffloadRecord:
        archived: list[ArchivedItem] = []
        start = 0
        for one, part in zip(items, parts, strict=True):
            archived.append(archived_item(one, (start, start + len(part)), part, counter.count(part)))
            start += len(part) + 2
        redaction: dict[str, int] = {}
        for text in masked:
            for kind, count in text.counts.items():
                redaction[kind] = redaction.get(kind, 0) + count
        whole = "\n\n".join(parts)
        return OffloadRecord(
            ts=self._deps.now(),
            session_id=info.session_id,
            batch_id=batch_id,
            reason=reason,
            items=tuple(archived),
            digest_replacing_inline=whole,
            original_token_count=sum(one.tokens for one in items),
            digest_token_count=sum(item.digest_tokens for item in archived),
            digest_sha256=content_sha256(whole),
            mode="pointer",
            batch_key=content_sha256(f"kept {[(one.item.id, one.item.sha256) for one in items]}"),
            parent=info.parent,
            registry=self._deps.registry.version,
            digester=KEPT,
            verification=Verification(passed=True, checks=("pointer",)),
            specifics=counts,
            redaction=dict(sorted(redaction.items())),
            counter=counter.name,
        )


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


def _counts(found: Sequence[Specific]) -> SpecificCounts:
    """All of them left out: a pointer shows nothing."""
    by_class: dict[str, int] = {}
    for one in found:
        by_class[one.cls] = by_class.get(one.cls, 0) + 1
    return SpecificCounts(
        total=len(found),
        left_out=len(found),
        by_class={cls: ClassCount(total=n, left_out=n) for cls, n in sorted(by_class.items())},
    )
