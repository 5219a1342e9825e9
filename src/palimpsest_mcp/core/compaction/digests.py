"""From a slot of a plan to an archive record: redact, digest, and keep what proves both."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from ...digest.proof import shown_in
from ...models.events import SessionInfo
from ...models.items import Action, Specific, content_text
from ...models.plans import ContextItem, Policy, Slot
from ...models.records import ArchivedItem, Digest, DigestRequest, DigestSource, OffloadRecord, Reason, Visible
from ...ports.text import Digester, Redacted, Redactor, Registry
from ...text.specifics.delimited import fields_apart
from ..dependencies import ContentCounter, Dependencies
from ..made import Above, Made, archived_item, digest_hash, has_binary
from .focus import Asked, Focus
from .prose import ProseAbove

# What the digests of a pass are made of: the texts of items, masked, and what is known of them already.


class Sources:
    """The sources of one pass. Not for the event loop: masking and looking for specifics take their time."""

    def __init__(self, redactor: Redactor, registry: Registry) -> None:
        self._redactor = redactor
        self._registry = registry
        self._masked: dict[tuple[str, ...], Sequence[Redacted]] = {}
        """Ids of items -> their texts: kept to the end of the pass, since batches may be made again, and what was made
        holds the texts anyway."""

    def masked(self, items: Sequence[ContextItem]) -> Sequence[Redacted]:
        """Their texts redacted, one after the other: a secret may run over the end of one."""
        ids = _ids(items)
        if ids not in self._masked:
            larger = next((known for known in self._masked if set(ids) < set(known)), None)
            if larger is not None:
                # Masked together with more before: what runs over the end of one is masked there too.
                by_id = dict(zip(larger, self._masked[larger], strict=True))
                return [by_id[name] for name in ids]
            self._masked[ids] = self._redactor.redact_all([content_text(one.item.content) for one in items])
        return self._masked[ids]

    def of(self, items: Sequence[ContextItem], masked: Sequence[Redacted]) -> tuple[DigestSource, ...]:
        """What a digester is given of items with these texts."""
        return tuple(self._source(one, text) for one, text in zip(items, masked, strict=True))

    def _source(self, one: ContextItem, masked: Redacted) -> DigestSource:
        item = one.item
        action = item.action
        if action is not None:
            action = Action(verb=action.verb, target=self._without_secrets(action.target))
        return DigestSource(
            item_id=item.id,
            kind=item.kind,
            text=masked.text,
            tokens=item.tokens,
            tool_name=item.tool_name,
            action=action,
            title=self._without_secrets(item.title),
            url=self._without_secrets(item.url),
            is_error=item.is_error,
            redacted=sum(masked.counts.values()),
            binary=has_binary(item.content),
        )

    def _without_secrets(self, text: str) -> str:
        return self._redactor.redact(text).text if text else ""


def _ids(items: Sequence[ContextItem]) -> tuple[str, ...]:
    return tuple(one.item.id for one in items)


_BESIDE = 2
"""Tokens beside a value: a word that it shares with others, what keeps it apart from the next."""
NEVER_LEAVES = ("original_query", "clarify_verification", "system_prompt")
"""Kinds that no pass takes, beside the policy's own: what they show is in view for good (D8)."""


class BatchDigests:
    """Makes the batches of one pass, in order; each may refer to what the ones before it show."""

    def __init__(
        self,
        deps: Dependencies,
        info: SessionInfo,
        policy: Policy,
        counter: ContentCounter,
        *,
        focus: str = "",
        reason: Reason = "token_budget_exceeded",
    ) -> None:
        self._deps = deps
        self._info = info
        self._policy = policy
        self._counter = counter
        words = tuple(dict.fromkeys(word for word in focus.split() if len(word) > 2))
        self._focus = Focus(deps.redactor, words)
        self._asked_for: dict[str, tuple[str, ...]] = {}
        """Item id -> words that its digest was found to lack."""
        self._reason: Reason = reason
        self._digester: Digester = deps.digester_for(counter)
        self.wording = ProseAbove(deps.redactor, deps.writer, words)
        """Summaries above the digests of this pass."""
        self.sources = Sources(deps.redactor, deps.registry)
        """What the digests are made of."""
        self._holders: dict[Specific, str] = {}
        self._prepared: dict[str, OffloadRecord] = {}

    @property
    def digester(self) -> str:
        """Name and version of what makes the digests."""
        return self._digester.name

    async def look_around(
        self, items: Sequence[ContextItem], records: Sequence[OffloadRecord], standing: Mapping[str, bool]
    ) -> None:
        """Take in what the context shows for good, and what earlier passes prepared but never committed.

        Args:
            records: every record of the session.
            standing: batch id -> whether its digest stands in the context now; a missing one was never committed.
        """
        await asyncio.to_thread(self._look_around, items, records, standing)

    def _look_around(
        self, items: Sequence[ContextItem], records: Sequence[OffloadRecord], standing: Mapping[str, bool]
    ) -> None:
        self._focus.look_around(items)
        forever = {*NEVER_LEAVES, *self._policy.never_compact}
        for one in items:
            if one.item.kind in forever and one.item.content is not None:
                text = self._deps.redactor.redact(content_text(one.item.content)).text
                self._hold(
                    (Specific(s.cls, s.text, s.key) for s in self._deps.registry.spans(fields_apart(text))),
                    one.item.id,
                )
        for record in records:
            if record.batch_id not in standing:
                self._prepared[record.batch_key] = record
            elif standing[record.batch_id]:
                for item in record.items:
                    self._hold(shown_in(record.part(item), self._deps.registry), record.batch_id)

    def _hold(self, specifics: Iterable[Specific], holder: str) -> None:
        for specific in specifics:
            self._holders.setdefault(specific, holder)

    def forget(self, batches: Collection[str]) -> None:
        """Batches of this pass that are not used: nothing is left to them from now on."""
        self._holders = {one: holder for one, holder in self._holders.items() if holder not in batches}

    def held(self) -> dict[Specific, str]:
        """Specific -> what shows it, for `hold_again`."""
        return dict(self._holders)

    def hold_again(self, held: Mapping[Specific, str]) -> None:
        """Come back to what `held` said before."""
        self._holders = dict(held)

    async def write_ahead(self, batches: Sequence[tuple[Slot, Sequence[ContextItem]]]) -> None:
        """Have the summaries of batches written before their digests are made: side by side, while those follow one
        another."""
        wanted: list[tuple[Slot, tuple[DigestSource, ...]]] = []
        for slot, items in batches:
            ids = tuple(one.item.id for one in items)
            if not items or slot.pointer or not self._policy.prefer_compact_over_drop:
                continue
            if not self.wording.wants(slot, ids):
                continue
            masked, asked = await self._asked(items)
            if self._batch_key(slot, items, asked) not in self._prepared:
                wanted.append((slot, self.sources.of(items, masked)))
        await self.wording.write_ahead(wanted)

    async def _asked(self, items: Sequence[ContextItem]) -> tuple[Sequence[Redacted], Asked]:
        """Their masked texts, and what their digest is asked for."""
        return await asyncio.to_thread(self._ask, items)

    def _ask(self, items: Sequence[ContextItem]) -> tuple[Sequence[Redacted], Asked]:
        masked = self.sources.masked(items)
        asked = self._focus.of([one.item for one in items], masked)
        words = tuple(
            tuple(dict.fromkeys((*self._asked_for.get(one.item.id, ()), *known)))
            for one, known in zip(items, asked.words, strict=True)
        )
        return masked, Asked(words, asked.said)

    async def make(
        self,
        slot: Slot,
        items: Sequence[ContextItem],
        batch_id: str,
        standing: Mapping[str, bool],
        *,
        above: Above | None = None,
    ) -> Made:
        """Digest one slot, or adopt the record that an interrupted pass left for the very same items.

        Args:
            standing: batch or item -> whether it stands in the context.
            above: what it takes the place of, where it is of a higher level.

        Raises:
            DigestRefused: nothing smaller than the originals could be made.
        """
        masked, asked = await self._asked(items)
        key = self._batch_key(slot, items, asked)
        prepared = self._prepared.get(key)
        if prepared is not None and all(
            standing.get(holder, holder == prepared.batch_id) for holder in prepared.specifics.holders
        ):
            shown = tuple(tuple(shown_in(prepared.part(item), self._deps.registry)) for item in prepared.items)
            made = Made(record=prepared, shown=shown, notes=("adopted from an interrupted pass",), adopted=True)
        else:
            made = await self._digest(slot, items, masked, asked, batch_id, key, above)
        if above is not None:
            self.forget(above.replaces)
        for specifics in made.shown:
            self._hold(specifics, made.record.batch_id)
        return made

    async def _digest(
        self,
        slot: Slot,
        items: Sequence[ContextItem],
        masked: Sequence[Redacted],
        asked: Asked,
        batch_id: str,
        key: str,
        above: Above | None,
    ) -> Made:
        sources = self.sources.of(items, masked)
        request = DigestRequest(
            sources=tuple(
                msgspec.structs.replace(source, focus=words) for source, words in zip(sources, asked.words, strict=True)
            ),
            budget_tokens=slot.budget_tokens,
            ceiling_tokens=slot.ceiling_tokens,
            most_tokens=self._policy.max_digest_tokens,
            handle=self._info.handle,
            batch_id=batch_id,
            level=above.level if above else 1,
            replaces=above.replaces if above else (),
            carried=above.carried if above else frozenset(),
            visible=self._visible(above),
            said=asked.said,
            min_shown=above.min_shown if above else self._policy.min_shown,
            pointer_only=slot.pointer or not self._policy.prefer_compact_over_drop,
            prose=() if above else self.wording.of(slot, tuple(one.item.id for one in items)),
        )
        digest = await self._digester.digest(request)
        record = self._record(items, masked, digest, key)  # hashes, and counts that are known: under a millisecond
        if above is not None:
            record = msgspec.structs.replace(record, level=above.level, replaces=above.replaces)
        texts = tuple(one.text for one in masked)
        return Made(record=record, shown=digest.shown, texts=texts, notes=digest.notes)

    def price_of(self, texts: Iterable[str]) -> int:
        """Tokens of these values, each with what stands beside it."""
        return sum(self._counter.count(text) + _BESIDE for text in texts)

    def ask_for(self, item_id: str, words: Iterable[str]) -> None:
        """From now on, these words, and lines with them, count for more in the digest of an item."""
        known = self._asked_for.get(item_id, ())
        self._asked_for[item_id] = tuple(dict.fromkeys((*known, *words)))

    def _visible(self, above: Above | None) -> Visible:
        """What this digest may leave to others: nothing to those it replaces, and nothing that it must show itself."""
        if above is None:
            return Visible(self._holders)
        return Visible(
            {
                one: holder
                for one, holder in self._holders.items()
                if holder not in above.replaces and (one.cls, one.text) not in above.carried
            }
        )

    def _record(
        self, items: Sequence[ContextItem], masked: Sequence[Redacted], digest: Digest, key: str
    ) -> OffloadRecord:
        parts = {part.item_id: part.text for part in digest.parts}
        archived: list[ArchivedItem] = []
        start = 0
        for one in items:
            text = parts[one.item.id]
            archived.append(archived_item(one, (start, start + len(text)), text, self._counter.count(text)))
            start += len(text) + 2
        whole = "\n\n".join(parts[one.item.id] for one in items)
        redaction: dict[str, int] = {}
        for one in masked:
            for kind, count in one.counts.items():
                redaction[kind] = redaction.get(kind, 0) + count
        return OffloadRecord(
            ts=self._deps.now(),
            session_id=self._info.session_id,
            batch_id=digest.batch_id,
            reason=self._reason,
            items=tuple(archived),
            digest_replacing_inline=whole,
            original_token_count=sum(one.tokens for one in items),
            digest_token_count=digest.tokens,
            digest_sha256=digest_hash(whole),
            mode=digest.mode,
            batch_key=key,
            parent=self._info.parent,
            registry=digest.registry,
            digester=digest.digester,
            policy=msgspec.to_builtins(self._policy),
            verification=digest.verification,
            specifics=digest.specifics,
            redaction=dict(sorted(redaction.items())),
            counter=self._counter.name,
        )

    def _batch_key(self, slot: Slot, items: Sequence[ContextItem], asked: Asked) -> str:
        """Equal only where an adopted digest would be the digest that this pass makes (L10)."""
        parts = [
            [[one.item.id, one.item.sha256] for one in items],
            msgspec.to_builtins(self._policy),
            [slot.budget_tokens, slot.ceiling_tokens, slot.pointer, asked.words, sorted(asked.said)],
            [self._digester.name, self._deps.registry.version, self._counter.name],
            *self.wording.key(slot),
        ]
        return digest_hash(json.dumps(parts, sort_keys=True))
