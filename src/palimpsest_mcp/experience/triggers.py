"""When a compaction is due. What is handed in is counted since the last one, so that each trigger resets with it."""

from __future__ import annotations

from ..models.experience import Trigger

NEW_EVENTS = 10
NEW_BYTES = 64 * 1024
ROTATE_BYTES = 1024 * 1024
"""A log above this becomes an archive."""
LARGE_BYTES = 64 * 1024
"""Above this a model may word the rules."""


def triggers_met(
    new_events: int, new_bytes: int, last_feedback: str, *, used_in_ended_session: bool
) -> tuple[Trigger, ...]:
    """The triggers that are met, in the seed's order.

    Args:
        last_feedback: explicit feedback of the last event, if that event is new.
        used_in_ended_session: a session ends in which the skill was used since the last compaction.
    """
    met: dict[Trigger, bool] = {
        "new_events": new_events >= NEW_EVENTS,
        "new_bytes": new_bytes > NEW_BYTES and new_events > 0,
        "user_feedback": bool(last_feedback),
        "session_end": used_in_ended_session,
    }
    return tuple(name for name, is_met in met.items() if is_met)
