"""One batch as it was made, and its originals as the archive keeps them."""

from __future__ import annotations

import hashlib

import msgspec
from msgspec.structs import replace

from ..models.items import Content, Item
from ..models.plans import ContextItem
from ..models.records import ArchivedItem, OffloadRecord
from ..models.specifics import Specific

_DESCRIBED = (
    *("kind", "tool_name", "args", "role", "position", "size_bytes", "tokens", "call_id"),
    *("unit", "title", "url", "source_channel", "action", "ts", "is_error"),
)


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
    item = ArchivedItem(id=one.item.id, kind=one.item.kind, result=one.item.content, sha256=one.item.sha256)
    part_sha256 = digest_hash(part)
    return replace(described(one.item, item), digest_span=span, digest_tokens=tokens, digest_sha256=part_sha256)


def described(item: Item, archived: ArchivedItem) -> ArchivedItem:
    """The same with everything that is known of an item but its content and hash."""
    return replace(archived, **{name: getattr(item, name) for name in _DESCRIBED})


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


__all__ = ["Above", "Made", "archived_item", "described", "digest_hash", "has_binary"]
