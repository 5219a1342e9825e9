"""Numbers as people read them."""

from __future__ import annotations

from datetime import datetime

from ..models.nouns import counted
from ..models.usage import Usage


def tokens(value: int | None) -> str:
    """`131,072`, or `unknown`."""
    return "unknown" if value is None else f"{value:,}"


def size(value: int) -> str:
    """`1.4 MB`, in powers of 1,000."""
    if value < 1_000:
        return f"{value} B"
    for unit, scale in (("kB", 1e3), ("MB", 1e6), ("GB", 1e9)):
        if value < scale * 1_000 or unit == "GB":
            return f"{value / scale:.1f} {unit}"
    return f"{value} B"


def percent(share: float | None) -> str:
    """`65.5 %`, or `unknown`."""
    return "unknown" if share is None else f"{share * 100:.1f} %"


def age(since: str, now: datetime) -> str:
    """`5 min`, `3 h`, `12 d`: how long ago something was; empty where the stamp is none."""
    try:
        minutes = (now - datetime.fromisoformat(since)).total_seconds() / 60
    except (ValueError, TypeError):
        return ""
    if minutes < 60:
        return f"{max(0, int(minutes))} min"
    return f"{int(minutes / 60)} h" if minutes < 48 * 60 else f"{int(minutes / 1440)} d"


def fill(usage: Usage) -> str:
    """`131,072 of 200,000 tokens (65.5 %)`."""
    share = "" if usage.ratio is None else f" ({percent(usage.ratio)})"
    return f"{tokens(usage.used.value)} of {tokens(usage.effective_window.value)} tokens{share}"


def sources(usage: Usage) -> str:
    """Where both numbers come from."""
    return f"used: {usage.used.source}; window: {usage.effective_window.source}"


__all__ = ["counted", "fill", "size", "sources", "tokens"]
