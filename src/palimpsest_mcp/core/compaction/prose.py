"""Summaries for the batches of one pass: handed in by the caller, or asked of a writer ahead of the digests."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence

from ...digest.verdict import PROSE_SHARE
from ...errors import InvalidArgument
from ...models.llm import Spent, WriteRequest, Written
from ...models.plans import Slot
from ...models.records import DigestSource, Prose
from ...ports.text import Redactor, Writer

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
