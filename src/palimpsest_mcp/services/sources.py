"""What the digests of a pass are made of: the texts of items, masked, and what is known of them already."""

from __future__ import annotations

from collections.abc import Sequence

from ..models.digests import DigestSource
from ..models.items import Action, content_text
from ..models.plans import ContextItem
from ..models.specifics import Span
from ..ports.text import Redacted, Redactor, Registry
from .made import has_binary


class Sources:
    """The sources of one pass. Not for the event loop: masking and looking for specifics take their time."""

    def __init__(self, redactor: Redactor, registry: Registry) -> None:
        self._redactor = redactor
        self._registry = registry
        self._masked: dict[tuple[str, ...], Sequence[Redacted]] = {}
        """Ids of items -> their texts: kept to the end of the pass, since batches may be made again, and what was made
        holds the texts anyway."""
        self._spans: dict[str, tuple[str, list[Span]]] = {}
        """Item id -> its masked text and the specifics of that, where these were looked for before; used once."""

    def known(self, items: Sequence[ContextItem]) -> Sequence[Redacted] | None:
        """What `masked` gives at once; None where there is work to do."""
        return self._masked.get(_ids(items))

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

    def look_ahead(self, items: Sequence[ContextItem]) -> list[list[Span]]:
        """The specifics of each item, kept for the digest that is made of the same text."""
        found: list[list[Span]] = []
        for one, masked in zip(items, self.masked(items), strict=True):
            found.append(self._registry.spans(masked.text))
            self._spans[one.item.id] = masked.text, found[-1]
        return found

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
            spans=self._spans_of(item.id, masked.text),
        )

    def _without_secrets(self, text: str) -> str:
        return self._redactor.redact(text).text if text else ""

    def _spans_of(self, item_id: str, text: str) -> list[Span] | None:
        """None where nobody looked, or where the text was masked otherwise, in other company."""
        known, spans = self._spans.pop(item_id, ("", None))
        return spans if known == text else None


def _ids(items: Sequence[ContextItem]) -> tuple[str, ...]:
    return tuple(one.item.id for one in items)


__all__ = ["Sources"]
