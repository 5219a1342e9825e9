"""One batch as it was made, and its originals as the archive keeps them."""

from __future__ import annotations

import hashlib

import msgspec

from ..models.items import Content
from ..models.plans import ContextItem
from ..models.records import ArchivedItem, OffloadRecord
from ..models.specifics import Specific


class Made(msgspec.Struct, frozen=True, kw_only=True):
    """One batch, ready to be archived; or adopted, when an earlier pass had archived it already (L10)."""

    record: OffloadRecord
    shown: tuple[tuple[Specific, ...], ...] = ()
    texts: tuple[str, ...] = ()
    """The originals as it was made from them, redacted; empty where it was adopted."""
    notes: tuple[str, ...] = ()
    adopted: bool = False

    def sizes(self, result_overhead: int) -> tuple[int, int, str]:
        """Tokens before and after, each result's own among both, and what stands there."""
        record = self.record
        stays = result_overhead * sum(item.role == "tool" for item in record.items)
        return record.original_token_count, record.digest_token_count + stays, record.mode


class Above(msgspec.Struct, frozen=True, kw_only=True):
    """What makes a digest one of a higher level (L16)."""

    level: int
    replaces: tuple[str, ...]
    """Batches whose digests it takes the place of."""
    carried: frozenset[tuple[str, str]]
    """(class, text) that other digests left to those: it must show them (D9)."""
    min_shown: float
    """As in `DigestRequest`; 0 where what is carried matters more than what else would be in view."""


def archived_item(one: ContextItem, span: tuple[int, int], part: str, tokens: int) -> ArchivedItem:
    """An original as the archive keeps it, with its part of the digest."""
    item = one.item
    return ArchivedItem(
        id=item.id,
        kind=item.kind,
        tool_name=item.tool_name,
        args=item.args,
        result=item.content,
        role=item.role,
        position=item.position,
        sha256=item.sha256,
        size_bytes=item.size_bytes,
        tokens=item.tokens,
        call_id=item.call_id,
        unit=item.unit,
        title=item.title,
        url=item.url,
        source_channel=item.source_channel,
        action=item.action,
        ts=item.ts,
        is_error=item.is_error,
        digest_span=span,
        digest_tokens=tokens,
        digest_sha256=digest_hash(part),
    )


def has_binary(content: Content | None) -> bool:
    """Whether a content holds anything that is not text."""
    if content is None or isinstance(content, str):
        return False
    if isinstance(content, dict):
        return content.get("type") != "text"
    return any(not isinstance(block, str) and has_binary(block) for block in content)


def digest_hash(text: str) -> str:
    """SHA-256 of a digest or a part of it, lower-case hex."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


__all__ = ["Above", "Made", "archived_item", "digest_hash", "has_binary"]
