"""Whether a form fits a stretch of lines, judged by a sample of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

_SAMPLE = 120
"""Lines looked at to judge a stretch: spread over it, never only its head."""


def sample_of(lines: Sequence[str], start: int, end: int) -> list[str]:
    """Lines that are not blank, cut at 400 characters."""
    step = max(1, (end - start) // _SAMPLE)
    return [line for line in (lines[k][:400] for k in range(start, end, step)) if line.strip()]


def fits(sample: Sequence[str], pattern: Callable[[str], object], share: float) -> bool:
    """Whether a pattern fits so many of the lines; no longer looked at than until that is known."""
    left = share * len(sample)
    spare = len(sample) - left
    for line in sample:
        if pattern(line):
            left -= 1
            if left <= 0:
                return True
        else:
            spare -= 1
            if spare < 0:
                return False
    return False


__all__ = ["fits", "sample_of"]
