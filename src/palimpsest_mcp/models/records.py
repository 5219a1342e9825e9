"""The archive's records: one a batch, written once, never changed. The format is specified in `docs/format.md`."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

from .items import Action, Content

RECORD_SCHEMA = 1
"""Version of the record format. A reader refuses a higher one and keeps reading every lower one."""

Reason: TypeAlias = Literal["token_budget_exceeded", "forced", "at_birth"]
KEPT = "kept/1"
"""Digester of a record that was made because a host was about to drop its items: no pass commits it."""

Mode: TypeAlias = Literal["digest", "pointer"]


class ClassCount(msgspec.Struct, frozen=True, kw_only=True):
    """One class of specifics in a batch: `shown + elsewhere + left_out == total` (D4)."""

    total: int = 0
    shown: int = 0
    elsewhere: int = 0
    left_out: int = 0


class SpecificCounts(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What became of a batch's specifics, as code counted them."""

    total: int = 0
    shown: int = 0
    elsewhere: int = 0
    left_out: int = 0
    factored: int = 0
    """Of `left_out`: values that a reader could compute from what is shown (D6)."""
    redacted: int = 0
    """Masked spans; outside the total (D4)."""
    by_class: dict[str, ClassCount] = {}
    holders: dict[str, int] = {}
    """Where the `elsewhere` ones stand: batch id or item id -> how many (D8, D9)."""
    held: dict[str, dict[str, int]] = {}
    """The same by class: holder -> class -> how many."""


class Verification(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What code checked of a digest before it was used."""

    passed: bool
    checks: tuple[str, ...] = ()
    """Names of the checks that ran."""
    violations: tuple[str, ...] = ()
    """Empty when passed. Rule names and counts, never source text."""


class ArchivedItem(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One original in a record: the seed's keys `kind, tool_name, args, result`, and what proves it is whole."""

    id: str
    kind: str
    tool_name: str = ""
    args: dict[str, Any] | None = None
    result: Content | None = None
    """Verbatim: a string, a list of blocks, or `{"base64": …}`. None when recorded without text."""
    role: str = "tool"
    position: tuple[int, int] = (0, 0)
    sha256: str = ""
    size_bytes: int = 0
    tokens: int = 0
    call_id: str = ""
    unit: str = ""
    title: str = ""
    url: str = ""
    source_channel: str = ""
    action: Action | None = None
    ts: str = ""
    is_error: bool = False
    digest_span: tuple[int, int] = (0, 0)
    """Where this item's part stands in `digest_replacing_inline`: start and end, in characters (L8)."""
    digest_tokens: int = 0
    """Of this item's part."""
    digest_sha256: str = ""
    """Of the part's UTF-8 bytes: by it a host's text is known to be our digest (L7)."""
    purged: bool = False
    """The user had the original and its part of the digest removed (L15)."""
    enc: str | None = None
    key_id: str | None = None
    body_ref: str | None = None
    """Room for encryption at rest and for bodies kept elsewhere; always null in schema 1 as written today."""


class OffloadRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One batch: the originals, the digest that took their place, and what was verified."""

    schema: int = RECORD_SCHEMA
    ts: str
    """ISO-8601 with offset."""
    session_id: str
    batch_id: str
    """`offload_` and at least four digits."""
    reason: Reason
    items: tuple[ArchivedItem, ...]
    digest_replacing_inline: str
    """All parts, joined by a blank line."""
    original_token_count: int
    digest_token_count: int
    digest_sha256: str = ""
    """Of all parts (`digest_replacing_inline`)."""
    mode: Mode = "digest"
    level: int = 1
    """2: stands for several digests, and was made from their originals (L16)."""
    replaces: tuple[str, ...] = ()
    """Batch ids that a level-2 digest took the place of."""
    batch_key: str = ""
    """Hash of item ids, hashes, policy, digester and version: a prepared record with an equal key is adopted (L10)."""
    agent: str = ""
    parent: str | None = None
    registry: str = ""
    """Version of the specifics registry that the counts were made with (D12)."""
    digester: str = ""
    policy: dict[str, Any] = {}
    verification: Verification = Verification(passed=False)
    specifics: SpecificCounts = SpecificCounts()
    redaction: dict[str, int] = {}
    """Masked spans by kind, never the values."""
    counter: str = ""
    """What counted the tokens."""
    enc: str | None = None
    key_id: str | None = None

    def part(self, item: ArchivedItem) -> str:
        """The digest text that stands for `item`."""
        start, end = item.digest_span
        return self.digest_replacing_inline[start:end]
