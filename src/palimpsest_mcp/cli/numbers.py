"""Numbers as people read them."""

from __future__ import annotations

from ..models.usage import Usage


def tokens(value: int | None) -> str:
    """`131,072`, or `unknown`."""
    return "unknown" if value is None else f"{value:,}"


def counted(number: int, what: str) -> str:
    """`1 session`, `2,400 sessions`; of words that end in `ch`, `batches`."""
    ending = "" if number == 1 else "es" if what.endswith("ch") else "s"
    return f"{number:,} {what}{ending}"


def size(value: int) -> str:
    """`1.4 MB`, in powers of 1,000."""
    if value < 1_000:
        return f"{value} B"
    for unit, scale in (("kB", 1e3), ("MB", 1e6), ("GB", 1e9)):
        if value < scale * 1_000 or unit == "GB":
            return f"{value / scale:.1f} {unit}"
    return f"{value} B"


def fill(usage: Usage) -> str:
    """`131,072 of 200,000 tokens (65.5 %)`."""
    share = "" if usage.ratio is None else f" ({usage.ratio * 100:.1f} %)"
    return f"{tokens(usage.used.value)} of {tokens(usage.effective_window.value)} tokens{share}"


def sources(usage: Usage) -> str:
    """Where both numbers come from."""
    return f"used: {usage.used.source}; window: {usage.effective_window.source}"
