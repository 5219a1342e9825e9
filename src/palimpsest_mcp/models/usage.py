"""How full the window is, and where each number comes from."""

from __future__ import annotations

import msgspec


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """One number with its origin. None is unknown, never 0."""

    value: int | None
    source: str
    """`argument`, `provider usage`, `provider usage + estimate`, `estimate (o200k x 1.55)`, `characters rule`,
    `model table`, `setting`, `host`, `forced`, `unknown`."""


OUTSIDE = "outside_the_list"
"""Reason of the part that no item accounts for: the system prompt, tool definitions, what was not measured."""
NOT_APPLIED = "not_applied_yet"
"""Reason of the part that waiting digests would free."""


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a breakdown: the lines sum to its total, in items and in tokens."""

    reason: str
    items: int
    tokens: int


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """A measurement of one agent's context in one session."""

    used: Measured
    window: Measured
    """The model's whole window."""
    effective_window: Measured
    """What is left of it after the host's own reserve; the ratio divides by this."""
    ratio: float | None
    """used / effective window of the host's own list; may exceed 1. None when either is unknown."""
    zone: str
    """Name of the policy's zone, or `unknown`."""
    action: str
    policy: str
    model: str = ""
    compacted_view_tokens: int | None = None
    """Our own view after passes that the host has not applied yet (L12); None where it shows all of them."""
    compacted_view_ratio: float | None = None
    """That view / effective window."""
    waiting: int = 0
    """Results that have a digest which the host's list does not show."""
    meaning: str = ""
    """One sentence: which list the ratio is of, and what the next step is."""
    how_to_apply: str = ""
    """How the shorter list becomes real in this host; empty where nothing waits."""
    parts: tuple[Part, ...] = ()
    """What fills the window, by why it stays: sums to `used`. Only where it was asked for."""
    host: str = ""
    host_compacts: bool | None = None
    """Whether the host compacts by itself with this model; None: not known."""
    host_compaction_point: str = ""
    """Where it does, in words; empty for a list that no host keeps, and for hosts that are not in the table."""
    signals: tuple[str, ...] = ()
    """Seed 004's signs of a full window, used where there are no numbers."""
    notice: str = ""
    """Said once when a zone is entered; empty ever after, until a pass or a fall below it."""
    candidates: tuple[str, ...] = ()
    """Where the zone asks to prepare: the largest items that a pass would take, with their tokens. Redacted."""
    candidates_total: int = 0
    would_free_tokens: int | None = None
    """What a pass would free; None where the zone does not ask to prepare."""
    notes: tuple[str, ...] = ()


class Prices(msgspec.Struct, frozen=True, kw_only=True):
    """Price multipliers over the model's plain input price."""

    write: float
    """Writing to the prompt cache for 5 minutes; 1.0 where caching costs nothing extra."""
    read: float
    """Reading from the cache; 1.0 where there is none."""
    write_1h: float | None = None
    """Writing for an hour, where that is sold."""
    source: str
    """Whose prices these are."""


DEFAULT_PRICES = Prices(write=1.25, read=0.10, write_1h=2.0, source="most Claude models: write x 1.25, read x 0.1")
