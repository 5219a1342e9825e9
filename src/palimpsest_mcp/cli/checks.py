"""One line of `doctor`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Check:
    """One line."""

    name: str
    state: Literal["ok", "warn", "fail"]
    words: str
    next: str = ""
    status: int = 0
    """Exit status of the error behind a failure."""
