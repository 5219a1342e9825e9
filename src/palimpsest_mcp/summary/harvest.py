"""A summary filled from a session's items alone: no model, nothing invented, every quote verbatim and masked."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ..models.items import Item
from ..models.summaries import AnchoredSummary
from .arranging import arranged
from .artifacts import artifacts_of
from .calls import Call, calls_of
from .failures import errors_met
from .quoting import Mask
from .todos import todos_of
from .trail import trail
from .words import decisions_of, intent_of, last_asked, last_said


def harvest(
    items: Sequence[Item], mask: Mask, *, session: str = "", project: str = "", gone: Collection[str] = ()
) -> AnchoredSummary:
    """What a session's items say of it.

    Args:
        items: every item ever seen, also what left the context since, in the host's order.
        mask: masks secrets; every quoted text goes through it before it is cut.
        session: the handle.
        project: the folder that the host works in.
        gone: ids of items that the host has no more (a rewind): they say nothing of where the work stands.
    """
    calls = calls_of(items)
    made = trail(calls)
    todos = todos_of(calls, mask)
    here = [item for item in items if item.id not in gone] if gone else items
    return AnchoredSummary(
        session=session,
        session_intent=intent_of(items, mask),
        files_modified=arranged(made.files),
        decisions_made=decisions_of(items, mask),
        technical_context=tuple(_context(made.unnamed, project)),
        todos=todos.open,
        todos_done=todos.done,
        todos_total=todos.total,
        last_asked=last_asked(here, mask),
        last_said=last_said(here, mask),
        errors_encountered=errors_met(calls, mask),
        key_artifacts=artifacts_of(items, calls, mask),
        files_read=len({call.action.target for call in _good(calls, "read")} - {""}),
        commands_run=sum(1 for call in calls if call.action.verb == "run"),
        searches=sum(1 for call in calls if call.action.verb == "search"),
    )


def _good(calls: Sequence[Call], verb: str) -> list[Call]:
    return [call for call in calls if call.action.verb == verb and not call.failed]


def _context(unnamed: int, project: str) -> list[str]:
    found = [f"Working folder: {project}"] if project else []
    if unnamed:
        found.append(UNNAMED)
    return found


UNNAMED = "Some shell commands changed files that only a variable in them names; those files are not listed."
