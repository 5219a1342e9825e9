"""What a session's events add up to: what was observed, what was decided (`fold` brings the two together).

Observed of items and windows: the newest sighting counts, a host's placeholder never (L1, L4). Decided: batches, what
stands for which item, pins, the policy.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias

import msgspec

from ..models.events import (
    Applied,
    Decision,
    Envelope,
    Event,
    Gone,
    Pinned,
    PolicySet,
    PurgedEvent,
    Reinstated,
    Replaced,
    ReplacedBatch,
    ReplacedItem,
    Reserved,
    Seen,
    Unpinned,
    UsageSeen,
)
from ..models.items import Content, Item, content_text
from ..models.probes import ProbeReport
from ..models.views import BatchState

# Texts that hosts put in the place of a result they cleared or cut: never a fuller version of it (L4).


MARKERS = (
    "[Old tool result content cleared]",
    "[cleared]",
    "[cleared to save context]",
    "<persisted-output>",
    "[Tool result omitted]",
    "[tool output truncated]",
)
"""First words of known placeholders (Claude Code, Anthropic context editing, LangChain), compared without case."""
MAX_CHARACTERS = 4_000
"""A longer text is a result that happens to begin like one. Claude Code's preview of a spilled result has 2 KB."""

_TOO_LONG = ("error: result (", "exceeds maximum allowed tokens", 200)
"""Claude Code's words in the place of an MCP result that it put into a file: how they begin, and what soon follows."""
_LOWERED = tuple(marker.lower() for marker in MARKERS)


def is_placeholder(content: Content | None) -> bool:
    """Whether a host's text only stands for a result."""
    if content is None:
        return True
    if isinstance(content, str) and (len(content) > MAX_CHARACTERS or content[:1] not in "[<E \n"):
        return False
    text = content_text(content)
    if len(text) > MAX_CHARACTERS:
        return False
    text = text.lstrip().lower()
    begins, follows, within = _TOO_LONG
    return text.startswith(_LOWERED) or (text.startswith(begins) and follows in text[:within])


Position: TypeAlias = tuple[int, int]
Stamp: TypeAlias = tuple[int, str, int]
"""(clock, writer, n): a total order in which a later import stands after all that it had read."""


def stamp(event: Event) -> Stamp:
    """Where an observation stands among the others, whatever the wall clock said."""
    return event.clock, event.w, event.n


class ItemState(msgspec.Struct, gc=False):
    """Everything observed of one item."""

    seen: Seen | dict[str, Seen] | None = None
    """The one sighting of nearly every item; by hash the newest of each where its bytes were others once."""
    moved: Seen | Applied | Gone | None = None
    """The newest that says whether it is in the host's list."""
    applied: Applied | None = None
    fetched_at: int | None = None
    """Assistant messages in the context when it was last handed out."""

    @property
    def versions(self) -> Mapping[str, Seen]:
        """Hash -> newest sighting of those bytes."""
        seen = self.seen
        return {seen.item.sha256: seen} if isinstance(seen, Seen) else seen or {}

    def see(self, event: Seen) -> None:
        """Take in a sighting, and let go of an older one of the same bytes."""
        versions = self.versions
        known = versions.get(event.item.sha256)
        if known is None or stamp(known) < stamp(event):
            self._put(event, alone=len(versions) == (known is not None))

    def replace(self, known: Seen, event: Seen) -> None:
        """Put another sighting of the same bytes in the place of one, and keep nothing of that."""
        self._put(event, alone=len(self.versions) == 1)
        self.moved = event if self.moved is known else self.moved

    def _put(self, event: Seen, *, alone: bool) -> None:
        self.seen = event if alone else {**self.versions, event.item.sha256: event}

    @property
    def present(self) -> bool:
        """Whether it is in the host's list."""
        return self.moved is not None and not isinstance(self.moved, Gone)

    def move(self, event: Seen | Applied | Gone) -> None:
        """Take in what says whether it is in the host's list."""
        if _place(event) > _place(self.moved):
            self.moved = event

    @property
    def current(self) -> Item:
        """The bytes that count: the newest fuller version; a placeholder only when there is nothing else (L4)."""
        if isinstance(self.seen, Seen):
            return self.seen.item
        versions = self.versions.values()
        full = [seen for seen in versions if not is_placeholder(seen.item.content)]
        return max(full or versions, key=stamp).item


def _place(event: Seen | Applied | Gone | None) -> tuple[Stamp, bool, str]:
    if event is None:
        return (-1, "", 0), False, ""
    return stamp(event), not isinstance(event, Gone), event.why if isinstance(event, Gone) else ""


class UsageFields(msgspec.Struct):
    """The newest known value of each number that was reported, each on its own."""

    used: UsageSeen | None = None
    window: UsageSeen | None = None
    model: UsageSeen | None = None
    host: UsageSeen | None = None
    beside: UsageSeen | None = None
    notice: UsageSeen | None = None


class Rows(msgspec.Struct):
    """The newest known messages around the items of one agent."""

    newest: Envelope
    by_row: dict[int, tuple[Stamp, str]] = {}

    def messages(self) -> list[str] | None:
        """JSON text of every message in order; None when one is missing."""
        rows = [self.by_row.get(row) for row in range(self.newest.total_rows)]
        return None if None in rows else [row[1] for row in rows if row is not None]


# Sums over what one agent's context holds, kept as events come: one more item costs the same in any session.


class Share(NamedTuple):
    """What one item adds to the sums."""

    agent: str
    row: int
    present: bool
    is_result: bool
    by_assistant: bool
    is_query: bool
    tokens: int
    """Of what stands in its place, by our view."""
    whole_tokens: int
    """Of its original, save where the host showed our part."""
    unapplied: bool


def share_of(item: Item, *, present: bool, part_tokens: int | None, applied: bool) -> Share:
    """An item's share.

    Args:
        part_tokens: of the part that stands for it; None where none does.
        applied: whether the host's own list showed that part.
    """
    tokens = item.tokens if part_tokens is None else part_tokens
    return Share(
        agent=item.agent,
        row=item.position[0],
        present=present,
        is_result=item.role == "tool",
        by_assistant=item.role == "assistant",
        is_query=item.kind == "original_query",
        tokens=tokens,
        whole_tokens=tokens if applied else item.tokens,
        unapplied=part_tokens is not None and not applied,
    )


_FAR = 1 << 24
"""Rows from here on stand one by one: nobody's list is as long, but a foreign event may name any row."""


class RowSet:
    """Row numbers, a bit each: lists have up to millions of rows."""

    def __init__(self, bits: bytes = b"", far: Iterable[int] = ()) -> None:
        self._bits = bytearray(bits)
        self._far = set(far)
        self._count = int.from_bytes(bits, "little").bit_count() + len(self._far)

    def add(self, row: int) -> None:
        """Put a row in; once is enough."""
        if not 0 <= row < _FAR:
            self._count += row not in self._far
            self._far.add(row)
            return
        byte, bit = row >> 3, 1 << (row & 7)
        if byte >= len(self._bits):
            self._bits.extend(bytes(max(byte + 1 - len(self._bits), len(self._bits) >> 2)))
        self._count += not self._bits[byte] & bit
        self._bits[byte] |= bit

    def __len__(self) -> int:
        return self._count

    def parts(self) -> tuple[bytes, tuple[int, ...]]:
        """What makes an equal one."""
        return bytes(self._bits.rstrip(b"\0")), tuple(sorted(self._far))


class TallySums(msgspec.Struct, frozen=True, kw_only=True):
    """A tally as it is written down."""

    items: int
    results: int
    queries: int
    tokens: int
    whole_tokens: int
    unapplied: int
    last_row: int
    said: bytes
    said_far: tuple[int, ...] = ()
    since: tuple[int, int, int] | None = None


class Tally:
    """The sums of one agent. What a result takes beside its text is in no sum: it is `results` times so much."""

    def __init__(self) -> None:
        self.items = 0
        """Present."""
        self.results = 0
        self.queries = 0
        """Original queries, present and gone."""
        self.tokens = 0
        self.whole_tokens = 0
        self.unapplied = 0
        self.last_row = -1
        """Of the present ones."""
        self.said = RowSet()
        """Rows of the assistant, present and gone."""
        self._since: tuple[int, int, int] | None = None
        """(row, tokens, results) of what stands behind a row."""

    @classmethod
    def of(cls, sums: TallySums) -> Tally:
        """The tally that was written down."""
        tally = cls()
        for name in ("items", "results", "queries", "tokens", "whole_tokens", "unapplied", "last_row"):
            setattr(tally, name, getattr(sums, name))
        tally.said = RowSet(sums.said, sums.said_far)
        tally._since = sums.since
        return tally

    def sums(self) -> TallySums:
        """What makes an equal one."""
        said, far = self.said.parts()
        return TallySums(
            items=self.items,
            results=self.results,
            queries=self.queries,
            tokens=self.tokens,
            whole_tokens=self.whole_tokens,
            unapplied=self.unapplied,
            last_row=self.last_row,
            said=said,
            said_far=far,
            since=self._since,
        )

    def add(self, share: Share) -> None:
        """Take one more item in."""
        if share.by_assistant:
            self.said.add(share.row)
        self.queries += share.is_query
        if share.present:
            self._sum(share, 1)
            self.last_row = max(self.last_row, share.row)

    def change(self, old: Share, new: Share) -> bool:
        """One item's share is another now; False where only a count of all items can tell what the sums are."""
        if (old.agent, old.row, old.by_assistant) != (new.agent, new.row, new.by_assistant):
            return False
        if old.present and not new.present and old.row == self.last_row:
            return False
        self.queries += new.is_query - old.is_query
        if old.present:
            self._sum(old, -1)
        if new.present:
            self._sum(new, 1)
            self.last_row = max(self.last_row, new.row)
        return True

    def since(self, row: int) -> tuple[int, int] | None:
        """Tokens and results behind a row; None where they were not summed from there: `sum_since` does it."""
        if self._since is None or self._since[0] != row:
            if row < self.last_row:
                return None
            self._since = (row, 0, 0)
        return self._since[1:]

    def sum_since(self, row: int, tokens: int, results: int) -> None:
        """Sum what comes behind a row from now on, from what stands there already."""
        self._since = (row, tokens, results)

    def _sum(self, share: Share, sign: int) -> None:
        self.items += sign
        self.results += sign * share.is_result
        self.tokens += sign * share.tokens
        self.whole_tokens += sign * share.whole_tokens
        self.unapplied += sign * share.unapplied
        if self._since is not None and share.row > self._since[0]:
            row, tokens, results = self._since
            self._since = (row, tokens + sign * share.tokens, results + sign * share.is_result)


Parts: TypeAlias = dict[str, dict[str, str]]
"""Hash of a digest part -> item id -> batch id. Two short results may well have parts with equal text."""


def part_owner(
    parts: Mapping[str, Mapping[str, str]], part_sha256: str, item_id: str, taken: Collection[str] = ()
) -> tuple[str, str] | None:
    """(batch id, item id) that a part's text stands for: the item of this id, else the first that is not taken."""
    owners = parts.get(part_sha256, {})
    if item_id in owners:
        return owners[item_id], item_id
    return next(((batch, name) for name, batch in owners.items() if name not in taken), None)


class Replacement(msgspec.Struct, frozen=True, gc=False):
    """What stands for an item by our latest decision."""

    batch: ReplacedBatch
    item: ReplacedItem
    rev: int


class Batch(msgspec.Struct, gc=False):
    """A committed batch as later decisions left it."""

    info: ReplacedBatch
    rev: int
    ts: str
    agent: str
    reason: str = ""
    state: BatchState = "replaced"
    """`replaced`, `superseded`, `reinstated` or `purged`."""
    purged_items: tuple[str, ...] = ()
    last_row: int = -1
    """Newest message that the context held when it left; -1: not written down."""


def replacement_of(item_id: str, events: Iterable[Event]) -> Replacement | None:
    """What stands for one item, by all events that name it; revisions that occur once."""
    decisions = [event for event in events if isinstance(event, Replaced | Reinstated)]
    found: Replacement | None = None
    for decision in sorted(decisions, key=lambda one: one.rev):
        if isinstance(decision, Reinstated) and item_id in decision.item_ids:
            found = None
        batches = decision.batches if isinstance(decision, Replaced) else decision.stands
        for batch in batches:
            for item in batch.items:
                if item.id == item_id:
                    found = Replacement(batch, item, decision.rev)
    return found


PICTURES = "pictures"
"""Reason of what a pass did for pictures, on top of itself."""


class Decided:
    """Decisions, replayed one after the other."""

    def __init__(self, decisions: Iterable[Decision]) -> None:
        self.replacements: dict[str, Replacement] = {}
        self.batches: dict[str, Batch] = {}
        self.parts: Parts = {}
        """Every part ever committed (L7)."""
        self.pinned: set[str] = set()
        self.policy: dict[str, Any] | None = None
        self.last_number = 0
        """Highest batch number reserved or used (L11)."""
        self.last_pass_rev = 0
        self.last_pass_row = -1
        """Newest message at the last pass; -1 unknown."""
        self.last_probes: ProbeReport | None = None
        """Of the last pass that asked any."""
        self.purged_batches: set[str] = set()
        """Batches of which nothing can be given back."""
        self.purged: bool = False
        """The whole session."""
        self.reinstated_at: dict[str, int] = {}
        """Item id -> assistant messages in the context when it came back."""
        for decision in decisions:
            self.apply(decision)

    def apply(self, decision: Decision) -> None:
        """One more, of a higher revision than all before it."""
        if isinstance(decision, Replaced):
            self._replace(decision)
        elif isinstance(decision, Reinstated):
            self._reinstate(decision)
        elif isinstance(decision, Pinned):
            self.pinned.update(decision.item_ids)
        elif isinstance(decision, Unpinned):
            self.pinned.difference_update(decision.item_ids)
        elif isinstance(decision, PolicySet):
            self.policy = decision.policy
        elif isinstance(decision, Reserved):
            self.last_number = max(self.last_number, decision.first + decision.count - 1)
        else:
            self._purge(decision)

    def _purge(self, decision: PurgedEvent) -> None:
        self.purged = self.purged or decision.whole
        for batch_id in decision.batch_ids:
            if not decision.item_ids:
                self.purged_batches.add(batch_id)
            if batch := self.batches.get(batch_id):
                batch.purged_items += decision.item_ids
                if not decision.item_ids or {item.id for item in batch.info.items} <= {*batch.purged_items}:
                    batch.state = "purged"
                    self.purged_batches.add(batch_id)

    def _replace(self, decision: Replaced) -> None:
        if decision.reason != "at_birth":  # one result on its way in is no pass over the context
            self.last_pass_rev, self.last_pass_row = decision.rev, decision.last_row
        if decision.probes is not None and decision.probes.total:
            self.last_probes = decision.probes
        for info in decision.batches:
            if info.mode != "copy":
                self.batches[info.batch_id] = Batch(
                    info, decision.rev, decision.ts, decision.agent, decision.reason, last_row=decision.last_row
                )
                self.last_number = max(self.last_number, batch_number(info.batch_id))
            for item in info.items:
                self.replacements[item.id] = Replacement(info, item, decision.rev)
                self.parts.setdefault(item.part_sha256, {})[item.id] = info.batch_id
            for old in info.replaces:
                if batch := self.batches.get(old):
                    batch.state = "superseded"

    def _reinstate(self, decision: Reinstated) -> None:
        for item_id in decision.item_ids:
            self.replacements.pop(item_id, None)
            self.reinstated_at[item_id] = decision.assistant_messages
        for batch in self.batches.values():
            ids = {item.id for item in batch.info.items}
            if batch.state == "replaced" and ids and not ids & self.replacements.keys():
                batch.state = "reinstated"
        for info in decision.stands:
            self.batches[info.batch_id].state = "replaced"
            self.replacements.update({item.id: Replacement(info, item, decision.rev) for item in info.items})

    def passes(self) -> list[list[Batch]]:
        """The batches of each pass over the context, oldest first, as it can be taken back, whatever became of them.
        At birth there is no pass."""
        found: dict[int, list[Batch]] = {}
        last = 0
        for batch in sorted(self.batches.values(), key=lambda one: (one.rev, batch_number(one.info.batch_id))):
            if batch.reason != "at_birth":
                last = last if batch.reason == PICTURES and last else batch.rev
                found.setdefault(last, []).append(batch)
        return list(found.values())


def batch_number(batch_id: str) -> int:
    """7 for `offload_0007`; 0 for anything else."""
    digits = batch_id.removeprefix("offload_")
    return int(digits) if digits != batch_id and digits.isascii() and digits.isdigit() else 0


def batch_id(number: int) -> str:
    """`offload_0007` for 7."""
    return f"offload_{number:04d}"
