"""Ledger events: the append-only truth about what is in a session's context (rules L1-L16)."""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

from .items import Item
from .probes import ProbeReport

EVENT_SCHEMA = 1
"""Version of the event format."""


class _Event(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False, tag_field="k"):
    """What every event carries.

    The ledger that appends an event fills `w`, `n` and `clock`; whoever makes one leaves them empty.
    """

    v: int = EVENT_SCHEMA
    w: str = ""
    """Writer: process id and 64 random bits (L3)."""
    n: int = 0
    """1-based number within the writer; (w, n) is the event's id."""
    clock: int = 0
    """Lamport clock: higher than every event the writer had read. Orders observations whatever the wall clock does."""
    ts: str = ""
    """ISO-8601 with offset, for people only (L2)."""
    agent: str = ""


class Opened(_Event, frozen=True, kw_only=True, omit_defaults=True, tag="opened"):
    """A session became known. Written by the store itself, so that `session.json` is only a cache of it."""

    info: SessionInfo


class Seen(_Event, frozen=True, kw_only=True, omit_defaults=True, tag="seen"):
    """An item was seen in the host's context, with its exact bytes."""

    item: Item


class UsageSeen(_Event, frozen=True, kw_only=True, omit_defaults=True, tag="usage"):
    """A number about the window that somebody reported. None is unknown, never 0."""

    used_tokens: int | None = None
    window_tokens: int | None = None
    model: str = ""
    host: str = ""
    transcript_path: str = ""
    used_source: str = ""
    window_source: str = ""
    row: int = -1
    """Row of the host's order up to which `used_tokens` counts; -1 unknown."""
    assistant_messages: int = 0
    """How many the context held then."""
    beside_tokens: int | None = None
    """Estimate of what a request carries beside the items: the system prompt, and tools where they are known."""
    notice: str = ""
    """A zone that was noticed: it is said once."""
    notice_rev: int = 0
    """Revision of the last pass then: after the next one it is said again."""


class Applied(_Event, frozen=True, kw_only=True, omit_defaults=True, tag="applied"):
    """The host's own list shows our digest part in the place of the item (L12)."""

    item_id: str
    batch_id: str
    part_sha256: str


class Gone(_Event, frozen=True, kw_only=True, omit_defaults=True, tag="gone"):
    """Known items that the host's list no longer holds."""

    item_ids: tuple[str, ...]
    why: str
    """`host_compaction`, `rewind` or `fork`."""


class Fetched(_Event, frozen=True, kw_only=True, omit_defaults=True, tag="fetched"):
    """Originals were handed out; the digest stays (L13)."""

    batch_id: str
    item_ids: tuple[str, ...]
    text_sha256: tuple[str, ...] = ()
    """Hashes under which the handed-out copy may come back into the context."""
    tokens: int = 0
    assistant_messages: int = 0
    """How many the context held then: protection lasts for five more."""


class Envelope(_Event, frozen=True, kw_only=True, omit_defaults=True, tag="envelope"):
    """The host's messages around the items, so that a whole list can be given back equal to what came in."""

    form: str
    total_rows: int
    """How many messages the host's list has."""
    first_row: int = 0
    rows: tuple[str, ...] = ()
    """Messages from `first_row` on that are new or changed, as JSON; a tool result's content is its item's mark."""
    wrapper: str = ""
    """JSON text of the object around the list, without its messages; empty where the list stood alone."""


class Unshrinkable(_Event, frozen=True, kw_only=True, omit_defaults=True, tag="unshrinkable"):
    """No digest of these was smaller than they are: left alone and not tried again by the same digester (D14)."""

    item_ids: tuple[str, ...]
    """Items; or batches of which no digest of a higher level was smaller."""
    digester: str


class LostBatch(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One batch of originals, and what a host's summary kept of it."""

    batch_id: str
    total: int
    """Specifics of its originals."""
    lost: int
    """Of these, neither in the summary nor anywhere else that stays."""
    title: str = ""
    """What its items are, in a few redacted words."""


class HostCompacted(_Event, frozen=True, kw_only=True, omit_defaults=True, tag="host_compacted"):
    """The host put a summary of its own in the place of what its context held; and what that lost, by count."""

    trigger: str = ""
    summary: str
    """As the host wrote it."""
    total: int = 0
    """Specifics of the archived originals."""
    lost: int = 0
    batches: tuple[LostBatch, ...] = ()
    """Those that lost something, the most first."""
    examples: tuple[str, ...] = ()
    """Some of what was lost, the weightiest first; redacted."""
    probes: ProbeReport | None = None
    """Asked of the summary alone."""


class LossTold(_Event, frozen=True, kw_only=True, omit_defaults=True, tag="loss_told"):
    """What the last compaction of the host lost was named to the model: it is said once."""


class LossAccepted(_Event, frozen=True, kw_only=True, omit_defaults=True, tag="loss_accepted"):
    """The user was told what is lost of these batches, and goes on without it: `verify` says so, and no longer calls
    it damage."""

    batch_ids: tuple[str, ...]


class Reserved(_Event, frozen=True, kw_only=True, omit_defaults=True, tag="reserved"):
    """Batch numbers taken by a pass (L11); gaps are normal."""

    rev: int = 0
    pass_id: str
    first: int
    count: int


class ReplacedItem(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One item whose place a part takes; used only where key and original hash match (L6)."""

    id: str
    sha256: str
    part_sha256: str
    part_tokens: int = 0
    part: str | None = None
    """Set for pointers to what the archive already has, and where the host writes a digest down in a form of its own
    (numbered lines); else the part is read from the archive."""


class ReplacedBatch(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One batch of a pass, as far as the fold needs it."""

    batch_id: str
    items: tuple[ReplacedItem, ...]
    original_tokens: int
    digest_tokens: int
    digest_sha256: str = ""
    level: int = 1
    replaces: tuple[str, ...] = ()
    sheds: tuple[str, ...] = ()
    """Of `replaces`, those of which it does not show all that other digests left to them: they hold nothing more."""
    mode: str = "digest"
    """`digest`, `pointer`, or `copy` (a fetched copy replaced by a pointer; nothing is archived)."""
    holders: dict[str, int] = {}
    """Where its `elsewhere` specifics stand (D9)."""


class Replaced(_Event, frozen=True, kw_only=True, omit_defaults=True, tag="replaced"):
    """The commit of one pass (L9): one line, and also the pass's SummarizationEvent."""

    rev: int = 0
    pass_id: str
    session_id: str
    batches: tuple[ReplacedBatch, ...]
    kept: tuple[str, ...] = ()
    """Ids of the items that stayed whole."""
    reason: str = "token_budget_exceeded"
    policy: str = ""
    before_tokens: int = 0
    after_tokens: int = 0
    last_row: int = -1
    """Newest message that the context held then: how many came since is counted from here. -1: not written down."""
    probes: ProbeReport | None = None
    """What came of the pass's probes."""


class Reinstated(_Event, frozen=True, kw_only=True, omit_defaults=True, tag="reinstated"):
    """Whole units came back in the place of their parts (L13)."""

    rev: int = 0
    item_ids: tuple[str, ...]
    batch_ids: tuple[str, ...] = ()
    stands: tuple[ReplacedBatch, ...] = ()
    """Digests of a lower level that stand again, where one of a higher level is taken back."""
    assistant_messages: int = 0
    """How many the context held then: protection lasts for some more."""


class Pinned(_Event, frozen=True, kw_only=True, omit_defaults=True, tag="pinned"):
    """Items that must stay until unpinned."""

    rev: int = 0
    item_ids: tuple[str, ...]


class Unpinned(_Event, frozen=True, kw_only=True, omit_defaults=True, tag="unpinned"):
    """Pins taken off."""

    rev: int = 0
    item_ids: tuple[str, ...]


class PolicySet(_Event, frozen=True, kw_only=True, omit_defaults=True, tag="policy"):
    """The session's policy from now on."""

    rev: int = 0
    policy: dict[str, Any]


class PurgedEvent(_Event, frozen=True, kw_only=True, omit_defaults=True, tag="purged"):
    """Tombstone: originals that the user had removed (L15)."""

    rev: int = 0
    batch_ids: tuple[str, ...]
    item_ids: tuple[str, ...] = ()
    """Empty: the whole batches, or with `whole` the whole session."""
    keys: tuple[str, ...] = ()
    """Hashes of the contents that nobody keeps any more, whichever item has them; of one below 16 bytes, which many
    items may have, hash and item id with a colon between."""
    whole: bool = False
    """The whole session."""


Observation: TypeAlias = (
    Opened
    | Seen
    | UsageSeen
    | Applied
    | Gone
    | Fetched
    | Unshrinkable
    | Envelope
    | HostCompacted
    | LossTold
    | LossAccepted
)
"""Events that need no lock and commute (L1)."""

Decision: TypeAlias = Reserved | Replaced | Reinstated | Pinned | Unpinned | PolicySet | PurgedEvent
"""Events that are written one at a time, each with the next revision (L1)."""

Event: TypeAlias = Observation | Decision


class SummarizationEvent(msgspec.Struct, frozen=True, kw_only=True):
    """What listeners get after a pass has committed: the `replaced` line with the texts it names."""

    session_id: str
    agent: str
    pass_id: str
    replaced: tuple[Item, ...]
    kept: tuple[str, ...]
    batch_ids: tuple[str, ...]


class SessionInfo(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`session.json`: who a session is. A cached fold; it can be rebuilt from ledger and archive."""

    schema: int = 1
    session_id: str
    handle: str
    """Short name for manifests and tools (I1): `s` and at least four characters of a-z2-7."""
    principal: str = ""
    host: str = ""
    project: str = ""
    parent: str | None = None
    """Session id whose batches and digests this one inherits (L14)."""
    created: str = ""
    source: str = ""
    """Where it was read from, for people: a file name, a client name."""
    path: str = ""
    """Absolute path of the file that it was read from first; empty where it came another way."""


class SessionKey(msgspec.Struct, frozen=True):
    """The store's key. The local principal is empty."""

    session_id: str
    principal: str = ""
