"""What a status line tells of a session."""

from __future__ import annotations

import msgspec


class StatusNote(msgspec.Struct, frozen=True, kw_only=True):
    """What was offloaded from a session and not put back."""

    handle: str
    batches: int
    items: int
    saved_tokens: int
    """Tokens of the originals less those of what stands for them."""
    probes_passed: int = 0
    probes_asked: int = 0
    """Of the last pass that asked any."""
