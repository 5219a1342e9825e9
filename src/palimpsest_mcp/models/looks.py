"""What a person is shown of a session: what happened to it in order, and an original beside what stands for it."""

from __future__ import annotations

from typing import Literal

import msgspec

from .records import SpecificCounts
from .reports import CacheCost, Usage

PassState = Literal["stands", "partly stands", "superseded", "taken back", "purged"]


class PassView(msgspec.Struct, frozen=True, kw_only=True):
    """One pass over a context, and what became of it."""

    number: int
    """From 1, as `undo --pass` takes it; 0 for a result that was digested on its way in, which is no pass."""
    ts: str
    reason: str
    policy: str
    row: int
    """Newest message that the context held then, from 0; -1: not written down."""
    before_tokens: int
    after_tokens: int
    """Of the context by our own view: digests count as such, whether the host shows them yet or not."""
    batch_ids: tuple[str, ...]
    items: int
    original_tokens: int
    digest_tokens: int
    """With what a result takes beside its text, as `list` counts them."""
    state: PassState
    cache: CacheCost | None = None
    """Worked out again from the ledger, as the report of the pass did; None where nothing left, or its place is not
    written down."""
    probes: str = ""
    """Verdict and counts; empty where none were asked."""
    restored_results: int = 0
    """Results of its batches of which something was given back since."""
    restored_tokens: int = 0


class Moment(msgspec.Struct, frozen=True, kw_only=True):
    """One thing beside the passes that the ledger tells of: a restore, a step back, a measurement, a pin."""

    kind: Literal["restored", "reinstated", "measured", "pinned", "unpinned", "host compacted", "purged"]
    ts: str
    batch_id: str = ""
    items: int = 0
    tokens: int | None = None
    """Given back; or, of `measured`, used of the window."""
    row: int = -1
    """Message at which it was, where that is written down."""


class Timeline(msgspec.Struct, frozen=True, kw_only=True):
    """How a context filled, and every pass over it."""

    session_id: str
    handle: str
    usage: Usage
    """As `check_context_ratio` says it."""
    fill: tuple[tuple[int, int], ...]
    """(message, tokens): what the context held behind it, by our own view; it falls where a pass was. Ends at what the
    view holds now. Counted for the items that are in it now: what a host dropped is not in it."""
    passes: tuple[PassView, ...]
    moments: tuple[Moment, ...]


class Quote(msgspec.Struct, frozen=True):
    """Where a line of a digest stands in its original."""

    line: int
    """Of the digest, from 0."""
    source: int
    """Of the original, from 0: its first line, where several are behind it."""
    whole: bool
    """The original's line as it is; else values or pieces of it."""


class Beside(msgspec.Struct, frozen=True, kw_only=True):
    """One item: its original, and what stands in its place. All texts are masked."""

    session_id: str
    handle: str
    item_id: str
    kind: str
    role: str
    tool_name: str
    title: str
    """One line: what the call acted on, or what the result is."""
    ts: str
    state: str
    """`live`, `replaced`, `gone`; of a batch whose digest no longer stands, the batch's state."""
    batch_id: str
    original_tokens: int
    digest_tokens: int
    original: str
    original_lines: int
    """Of the whole original; `original` may end before."""
    cut: bool = False
    """Whether `original` is only its beginning."""
    digest: str = ""
    quotes: tuple[Quote, ...] = ()
    quoted_lines: int = 0
    """Lines of the original that a line of the digest was found in."""
    batch_specifics: SpecificCounts = SpecificCounts()
    """Of the whole batch, as `list` counts them now."""
    batch_items: tuple[str, ...] = ()
    restorable: bool = False
    note: str = ""
    """Why the original cannot be shown."""
