"""Fits a handoff into its budget: what code found is left out, newest kept longest; what was stated never is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..models.facts import SessionFacts
from ..models.handoffs import Handoff
from ..models.summaries import AnchoredSummary
from .filling import completed, fill
from .markdown import to_markdown
from .material import LADDER
from .templates import Template

BUDGET_TOKENS = 2_000
"""o200k tokens of the whole file: less than this."""


def fitted(
    template: Template,
    header: Mapping[str, Any],
    summary: AnchoredSummary,
    facts: SessionFacts,
    stated: Mapping[str, Any],
    count: Callable[[str], int],
    limit: int = BUDGET_TOKENS,
) -> Handoff:
    """The handoff with as much as fits into less than `limit` tokens; more only where what was stated takes more.

    Args:
        header: title, date, project, session, pointers; `task` holds the caller's words.
        count: tokens of a text.
    """
    task = str(header["task"])
    rest = {name: value for name, value in header.items() if name != "task"}
    made = None
    for room in LADDER:
        filled = fill(template, task, summary, facts, room)
        made = completed(template, rest, filled, stated)
        if count(to_markdown(made)) < limit:
            break
    assert made is not None
    return made


__all__ = ["BUDGET_TOKENS", "fitted"]
