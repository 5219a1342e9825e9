"""From a slot of a plan to an archive record: redact, digest, and keep what proves both.

Summaries for the batches of one pass: handed in by the caller, or asked of a writer ahead of the digests.

One digest in the place of several (L16), made from the originals; it shows what others left to those (D9).
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from ...context.budgets import Group, least_budget
from ...digest.proof import facts_of
from ...digest.rank import holds
from ...digest.verdict import PROSE_SHARE, shown_in
from ...errors import DigestRefused, InvalidArgument
from ...models.events import SessionInfo
from ...models.items import Action, Item, Specific, content_sha256, content_text
from ...models.llm import Spent, WriteRequest, Written
from ...models.plans import ContextItem, Policy, Slot
from ...models.records import ArchivedItem, Digest, DigestRequest, DigestSource, OffloadRecord, Prose, Reason, Visible
from ...ports.seams import Digester, Redacted, Redactor, Registry, Writer
from ...text.specifics.delimited import fields_apart
from ..batch import Above, Made, Numbers, archived, has_binary, masks_in, original_text
from ..dependencies import ContentCounter, Dependencies
from .focus import Asked, Focus

HOST = "host/1"
"""What records name when the calling agent wrote the summary."""
HOST_AUTHOR = "the calling agent"
LEAST_TOKENS = 60
"""For each item of a batch; with less room, label and words of a summary would not fit, and nobody is asked."""


class ProseAbove:
    """What stands above the digests of one pass, by the items of their batches."""

    def __init__(self, redactor: Redactor, writer: Writer | None, focus: tuple[str, ...]) -> None:
        self._redactor = redactor
        self._writer = writer
        self._focus = focus
        self._left_s = writer.pass_limit_s if writer is not None else 0.0
        self._handed: dict[tuple[str, ...], str] = {}
        self._written: dict[str, Prose] = {}
        self._questions = 0
        self.spent = Spent()

    @property
    def author(self) -> str:
        """Who writes; empty where nobody does."""
        return self._writer.author if self._writer is not None else ""

    @property
    def silent(self) -> bool:
        """Whether a writer was asked and nothing came back: it need not be asked for more in this pass."""
        return bool(self._questions) and not self.spent.calls

    def hand_in(self, slots: Sequence[Slot], texts: Mapping[str, object]) -> None:
        """Take the calling agent's texts, by the number of their slot: `1` for the first.

        Raises:
            InvalidArgument: there is no such slot, it is named twice, or what it is given is no text.
        """
        known = f"Its slots are 1 to {len(slots)}" if slots else "It has no slots"
        following = f'{known}; digests is like {{"1": "your text"}}.'
        for name, text in ((str(key), value) for key, value in texts.items()):
            number = int(name) if name.isascii() and name.isdigit() and len(name) < 7 else 0
            if not 1 <= number <= len(slots):
                raise InvalidArgument(f"The plan has no slot {name[:20]!r}.", next=following)
            if not isinstance(text, str):
                raise InvalidArgument(f"What was handed in for slot {number} is no text.", next=following)
            items = slots[number - 1].item_ids
            if items in self._handed:
                raise InvalidArgument(f"Slot {number} is named twice.", next=following)
            self._handed[items] = self._redactor.redact(text).text

    def wants(self, slot: Slot, item_ids: tuple[str, ...]) -> bool:
        """Whether a writer is to be asked about a batch."""
        return (
            self._writer is not None
            and slot.item_ids not in self._handed
            and not all(name in self._written for name in item_ids)
        )

    async def write_ahead(self, batches: Sequence[tuple[Slot, tuple[DigestSource, ...]]]) -> None:
        """Have summaries of several batches written side by side, within what time the pass still has for that."""
        writer = self._writer
        if writer is None or not batches:
            return
        requests = [
            WriteRequest(sources=sources, most_tokens=int(PROSE_SHARE * slot.budget_tokens), focus=self._focus)
            for slot, sources in batches
        ]
        roomy = [one.most_tokens >= LEAST_TOKENS * len(one.sources) for one in requests]
        answers = iter(await self._asked(writer, [one for one, fits in zip(requests, roomy, strict=True) if fits]))
        for request, fits in zip(requests, roomy, strict=True):
            answer = next(answers) if fits else Written(failure="its digest has no room for one")
            self._take(writer, request, answer)

    async def _asked(self, writer: Writer, requests: Sequence[WriteRequest]) -> Sequence[Written]:
        if self._left_s <= 0:
            return [Written(failure=f"no answer within the {writer.pass_limit_s:.3g} s of the pass")] * len(requests)
        self._questions += len(requests)
        started = time.monotonic()
        try:
            return await writer.write(requests, within_s=self._left_s)
        finally:
            self._left_s -= time.monotonic() - started

    def _take(self, writer: Writer, request: WriteRequest, answer: Written) -> None:
        self.spent += answer.spent
        texts = answer.texts or ("",) * len(request.sources)
        for source, text in zip(request.sources, texts, strict=True):
            self._written[source.item_id] = Prose(
                author=writer.author,
                digester=writer.name,
                item_ids=(source.item_id,),
                text=self._redactor.redact(text).text,
                failure=answer.failure,
            )

    def of(self, slot: Slot, item_ids: tuple[str, ...]) -> tuple[Prose, ...]:
        """What was written about the items of a slot that are to be digested."""
        if (text := self._handed.get(slot.item_ids)) is not None:
            return (Prose(author=HOST_AUTHOR, digester=HOST, item_ids=item_ids, text=text),)
        return tuple(self._written[name] for name in item_ids if name in self._written)

    def key(self, slot: Slot) -> list[str]:
        """What the batch's key must hold (L10): a digest with another text, or by another writer, is another digest."""
        if (text := self._handed.get(slot.item_ids)) is not None:
            return [HOST, hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()]
        return [self._writer.name] if self._writer is not None else []


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
            self._masked[ids] = self._redactor.redact_all([original_text(one.item) for one in items])
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
            arguments=self._arguments(item),
            part=is_a_part(item.args, masked.text),
        )

    def _arguments(self, item: Item) -> tuple[tuple[str, str], ...]:
        if item.args is None or (item.action is not None and item.action.target):
            return ()
        plain = (one for one in item.args.items() if isinstance(one[1], (str, int)) and not isinstance(one[1], bool))
        told = [(name, str(one)) for name, one in plain]
        short = [(name, one) for name, one in told if one.isprintable() and 0 < len(one) <= _SHORT_ARGUMENT]
        return tuple((name, self._without_secrets(one)) for name, one in short[:_ARGUMENTS])

    def _without_secrets(self, text: str) -> str:
        return self._redactor.redact(text).text if text else ""


def is_a_part(args: Mapping[str, Any] | None, text: str) -> bool:
    """Whether a call got as many lines as it asked for; fewer were cut by the tool, which its caller cannot know."""
    asked = [one for name in _OF_A_PART if isinstance(one := (args or {}).get(name), int)]
    return bool(asked) and text.count("\n") + 1 >= max(asked)


def _ids(items: Sequence[ContextItem]) -> tuple[str, ...]:
    return tuple(one.item.id for one in items)


_SHORT_ARGUMENT, _ARGUMENTS = 60, 8
"""Characters of an argument that names what a call acted on, and how many of one call do."""
_OF_A_PART = ("limit", "max_lines", "num_lines", "n_lines")
"""Arguments by which a call says how many lines of a file it wants."""
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
        self.focus = Focus(deps.redactor, focus)
        """What the digests of this pass are asked for."""
        self._asked_for: dict[str, tuple[str, ...]] = {}
        """Item id -> words that its digest was found to lack."""
        self._reason: Reason = reason
        self._digester: Digester = deps.digester_for(counter)
        self.wording = ProseAbove(deps.redactor, deps.writer, self.focus.words)
        """Summaries above the digests of this pass."""
        self.sources = Sources(deps.redactor, deps.registry)
        """What the digests are made of."""
        self._holders: dict[Specific, str] = {}
        self._prepared: dict[str, OffloadRecord] = {}
        self.unshown: dict[str, set[tuple[str, str]]] = {}
        """By batch and hash the values of its originals that it does not show, once somebody looked for them."""

    @property
    def digester(self) -> str:
        """Name and version of what makes the digests."""
        return self._digester.name

    def look_around(
        self, items: Sequence[ContextItem], records: Sequence[OffloadRecord], standing: Mapping[str, bool]
    ) -> None:
        """Take in what the context shows for good, and what earlier passes prepared but never committed. Not for the
        event loop.

        Args:
            records: every record of the session.
            standing: batch id -> whether its digest stands in the context now; a missing one was never committed.
        """
        self.focus.look_around(items)
        forever = {*NEVER_LEAVES, *self._policy.never_compact}
        for one in items:
            if one.item.kind in forever and one.item.content is not None:
                text = self._deps.masked(content_text(one.item.content))
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
            masked, asked = await asyncio.to_thread(self._asked, items)
            if self._batch_key(slot, items, asked) not in self._prepared:
                wanted.append((slot, self.sources.of(items, masked)))
        await self.wording.write_ahead(wanted)

    def _asked(self, items: Sequence[ContextItem]) -> tuple[Sequence[Redacted], Asked]:
        """Their masked texts, and what their digest is asked for."""
        masked = self.sources.masked(items)
        asked = self.focus.of([one.item for one in items], masked)
        words = tuple(
            tuple(dict.fromkeys((*self._asked_for.get(one.item.id, ()), *known)))
            for one, known in zip(items, asked.words, strict=True)
        )
        return masked, asked._replace(words=words)

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
        masked, asked = await asyncio.to_thread(self._asked, items)
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
        lines = asked.wanted and (line for one in masked for line in one.text.splitlines())
        wanted = any(holds(line, words) for line in lines for words in asked.wanted)
        request = DigestRequest(
            sources=tuple(
                msgspec.structs.replace(source, focus=words, wanted=asked.wanted)
                for source, words in zip(sources, asked.words, strict=True)
            ),
            budget_tokens=max(slot.budget_tokens, least_budget(len(items)) if wanted else 0),
            ceiling_tokens=slot.ceiling_tokens,
            wanted_tokens=self._policy.max_digest_tokens if wanted else 0,
            most_tokens=self._policy.max_digest_tokens,
            handle=self._info.handle,
            batch_id=batch_id,
            level=above.level if above else 1,
            replaces=above.replaces if above else (),
            carried=above.carried if above else frozenset(),
            visible=self._visible(above),
            said=asked.said,
            min_shown=above.min_shown if above else self._policy.min_shown,
            pointer_only=(slot.pointer and not wanted) or not self._policy.prefer_compact_over_drop,
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
        own = [parts[one.item.id] for one in items]
        archive_items, whole = archived(items, own, [self._counter.count(part) for part in own])
        return OffloadRecord(
            ts=self._deps.now(),
            session_id=self._info.session_id,
            batch_id=digest.batch_id,
            reason=self._reason,
            items=archive_items,
            digest_replacing_inline=whole,
            original_token_count=sum(one.tokens for one in items),
            digest_token_count=digest.tokens,
            digest_sha256=content_sha256(whole),
            mode=digest.mode,
            batch_key=key,
            parent=self._info.parent,
            registry=digest.registry,
            digester=digest.digester,
            policy=msgspec.to_builtins(self._policy),
            verification=digest.verification,
            specifics=digest.specifics,
            redaction=masks_in(masked),
            counter=self._counter.name,
        )

    def _batch_key(self, slot: Slot, items: Sequence[ContextItem], asked: Asked) -> str:
        """Equal only where an adopted digest would be the digest that this pass makes (L10)."""
        parts = [
            [[one.item.id, one.item.sha256] for one in items],
            msgspec.to_builtins(self._policy),
            [slot.budget_tokens, slot.ceiling_tokens, slot.pointer, asked.words, sorted(asked.said), *asked.wanted],
            [self._digester.name, self._deps.registry.version, self._counter.name],
            *self.wording.key(slot),
        ]
        return content_sha256(json.dumps(parts, sort_keys=True))


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
