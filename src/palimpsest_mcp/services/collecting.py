"""The garbage collector while a pass works: it would look at everything again and again, and find nothing."""

from __future__ import annotations

import gc
import threading
from collections.abc import Generator
from contextlib import contextmanager

YOUNG_OBJECTS = 50_000
"""New objects before the collector looks at them (Python: 700, or 2,000). A pass over a million tokens makes some
80,000 that stay to its end, so with Python's figure the collector goes through all of the process several times, which
took a twentieth of the pass. They hold no circles: with no collection at all the pass takes no more memory."""


class _Passes:
    """Those of this process that are at work: the first sets the threshold, the last sets it back."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running = 0
        self._before = self._ours = gc.get_threshold()

    def begin(self) -> None:
        with self._lock:
            self._running += 1
            if self._running > 1:
                return
            self._before = young, middle, old = gc.get_threshold()
            # 0 switches the collector off, and a host may have a higher threshold than ours: both stay.
            self._ours = (max(young, YOUNG_OBJECTS) if young else 0, middle, old)
            gc.set_threshold(*self._ours)

    def end(self) -> None:
        with self._lock:
            self._running -= 1
            if not self._running and gc.get_threshold() == self._ours:  # else the host has set another meanwhile
                gc.set_threshold(*self._before)


_passes = _Passes()


@contextmanager
def rare_collections() -> Generator[None]:
    """Until it is left, in any thread of the process, the collector runs less often."""
    _passes.begin()
    try:
        yield
    finally:
        _passes.end()


__all__ = ["rare_collections"]
