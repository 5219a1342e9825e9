"""The archive's records: one a batch, written once, never changed. The format is specified in `docs/format.md`."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

from .items import Action, Content, Specific

RECORD_SCHEMA = 1
"""Version of the record format. A reader refuses a higher one and keeps reading every lower one."""

Reason: TypeAlias = Literal["token_budget_exceeded", "forced", "at_birth"]
EXTRACTIVE = "extractive/2"
"""The digester of this program. Its number counts up with every release that changes the bytes a digest has."""
KEPT = "kept/1"
"""Digester of a record that was made because a host was about to drop its items: no pass commits it."""

Mode: TypeAlias = Literal["digest", "pointer"]


class ClassCount(msgspec.Struct, frozen=True, kw_only=True):
    """One class of specifics in a batch: `shown + elsewhere + left_out == total` (D4)."""

    total: int = 0
    shown: int = 0
    elsewhere: int = 0
    left_out: int = 0


class RecordCount(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of record in a batch, as `row`, `hit`, `outcome`: how many are shown whole, of how many."""

    shown: int = 0
    total: int = 0


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
    records: dict[str, RecordCount] = {}
    """What else was in the batch, by kind; digests made before `extractive/2` have none."""
    wanted: dict[str, RecordCount] = {}
    """By the words whose every line was to be kept: how many of them are shown whole."""


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


# A digest as data: typed lines in parts, one part an item (D3, L8).


LineKind: TypeAlias = Literal["quote", "row", "entry", "note", "prose"]
"""`quote`, `row` and `entry` are shown and checked; `note` is ours (closed grammar); `prose` is a model's (D3, D10)."""


class DigestLine(msgspec.Struct, frozen=True, gc=False):
    """One line of a digest, without its newline."""

    kind: LineKind
    text: str


class DigestPart(msgspec.Struct, frozen=True, kw_only=True):
    """What stands in the place of one item."""

    item_id: str
    lines: tuple[DigestLine, ...]

    @property
    def text(self) -> str:
        """The part as it enters the context."""
        return "\n".join(line.text for line in self.lines)


class DigestSource(msgspec.Struct, frozen=True, kw_only=True):
    """One item as the digest may see it: its text already redacted."""

    item_id: str
    kind: str
    text: str
    """Redacted text of the item (D1). Everything in a digest is a piece of it."""
    tokens: int
    """Of the original content, by the same counter as the budget."""
    tool_name: str = ""
    action: Action | None = None
    title: str = ""
    url: str = ""
    is_error: bool = False
    redacted: int = 0
    """How many spans were masked in it."""
    binary: bool = False
    """The content holds images or raw bytes; `text` names them by kind, size and hash (D14)."""
    focus: tuple[str, ...] = ()
    """What it is asked for, names as they are typed and words of the task: a bonus for selection, never a need."""
    wanted: tuple[str, ...] = ()
    """Words whose every line is to be kept: a line with all words of one of these comes before anything else."""
    arguments: tuple[tuple[str, str], ...] = ()
    """Names and short values that its call gives, where nothing else says what it acted on: they stand above the
    part."""
    part: bool = False
    """Its call asked for some lines of a file and got as many, so that it need not be told that there are more."""


class Visible(msgspec.Struct, frozen=True):
    """What the context already shows elsewhere for good (D8): specific (class, text, key) -> holder."""

    holders: dict[Specific, str] = {}
    """Holder: a batch id, or the id of an item that can never leave."""


class Prose(msgspec.Struct, frozen=True, kw_only=True):
    """A summary that a model or the calling agent wrote (D10): not checked yet, redacted already."""

    author: str
    """As its label names it: `claude-haiku-5-5`, `the calling agent`."""
    digester: str
    """As the record names it: `anthropic/claude-haiku-5-5`, `host/1`."""
    item_ids: tuple[str, ...]
    """The items of the batch that it is about."""
    text: str = ""
    failure: str = ""
    """Why there is no text, where one was asked for."""


class DigestRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One batch to digest."""

    sources: tuple[DigestSource, ...]
    budget_tokens: int
    """A ceiling for the whole digest, header and manifest included: at most 1.05 of it is used, never padded (D11)."""
    ceiling_tokens: int
    """Up to this the budget may grow before a specific of the first rank is left out (design §9.1); equal to the budget
    where an explicit target forbids growth."""
    wanted_tokens: int = 0
    """Up to this it may grow for lines that are to be kept; 0: it may not."""
    most_tokens: int = 2_000
    """Of the whole digest, whatever budget and ceiling say (D20)."""
    handle: str
    batch_id: str
    level: int = 1
    replaces: tuple[str, ...] = ()
    """Batch ids this one takes the place of, for level 2."""
    carried: frozenset[tuple[str, str]] = frozenset()
    """(class, text) that digests elsewhere left to what this one replaces: shown before anything else (D9)."""
    visible: Visible = Visible()
    said: frozenset[str] = frozenset()
    """Names that messages and calls show for good: a bare list of names need not repeat them."""
    min_shown: float = 0.5
    """Least share of a batch's specifics in view, each by what showing it is worth: below it the budget grows up to
    its ceiling."""
    pointer_only: bool = False
    """Leave a pointer with its manifest, no content lines (`prefer_compact_over_drop = false`)."""
    prose: tuple[Prose, ...] = ()
    """Summaries to stand above what is shown, each only if it passes every check."""


class Digest(msgspec.Struct, frozen=True, kw_only=True):
    """A finished digest with what code found when it checked it."""

    batch_id: str
    parts: tuple[DigestPart, ...]
    tokens: int
    """Of all parts together, by the counter handed in."""
    mode: Literal["digest", "pointer"]
    specifics: SpecificCounts
    shown: tuple[tuple[Specific, ...], ...]
    """Per part, what it shows: for `Visible` of later batches."""
    verification: Verification
    digester: str
    registry: str
    notes: tuple[str, ...] = ()
    """What happened on the way, for the report: `budget grew`, `item became a pointer: …`."""
