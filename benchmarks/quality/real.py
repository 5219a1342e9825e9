"""Real sessions of chosen sources, as the judges want them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from measuring import Skipped
from real_sessions import sessions

from .replay import Message, results_of


def chosen(sources: Sequence[str], most: int, results: int) -> Iterator[tuple[str, list[Message]]]:
    """(source, messages) of the first sessions of each source that have enough results, sources in order of their name.

    Raises:
        Skipped: none is at hand.
    """
    found = 0
    for source in sorted(sources):
        taken = 0
        for session in sessions(source):
            if taken == most:
                break
            if session.file.name == f"{source}.jsonl.gz" and len(results_of(session.messages)) >= results:
                taken += 1
                yield source, session.messages
        found += taken
    if not found:
        raise Skipped(f"no session of {', '.join(sources)} is at hand")
