"""Several handoffs of one task become one: nothing said twice, the latest state wins, decisions united."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from ..models.handoffs import Handoff, Note, Source
from .filling import main_text
from .roots import with_whole_paths
from .templates import POINTERS, template_of

QUESTIONS = "questions"
UNITED = frozenset(
    {
        "decisions", "artifacts", "files", "findings", "changes", "complete", "completed", "constraints",
        "agents", "skills", "status", "unit_tests", "integration_tests", "acceptance_tests", "scope", "merge_guidance",
    }
)  # fmt: skip
"""What only grows. Everything else says where things stand: the latest that says anything wins."""
STATE = frozenset({"in_progress", "blocked", "remaining"})
"""Of these the latest wins also where it is empty: what was under way is done."""


def merged(handoffs: Sequence[tuple[Source, Handoff]]) -> Handoff:
    """One handoff of one template and task.

    Args:
        handoffs: with what names each of them, oldest first.
    """
    if len({one.root for _, one in handoffs}) > 1:
        handoffs = [(source, with_whole_paths(one)) for source, one in handoffs]
    latest = handoffs[-1][1]
    fields: dict[str, Any] = {}
    for name, part in template_of(latest).parts().items():
        values = [getattr(one, name) for _, one in handoffs]
        if name == POINTERS:
            values = [one.pointers for _, one in handoffs if one is latest or one.session != latest.session]
            fields[name] = united(values)
        elif name == QUESTIONS:
            fields[name] = united([getattr(one, name) for one in _latest_of_sessions(handoffs)])
        elif name in UNITED and part.form.has_entries:
            fields[name] = united(values)
        elif name in STATE:
            fields[name] = values[-1]
        else:
            fields[name] = next((value for value in reversed(values) if value), values[-1])
    return msgspec.structs.replace(
        latest,
        **fields,
        sources=_sources(handoffs),
        notes=_notes([one for _, one in handoffs]),
        left_out=_left_out([one for _, one in handoffs]),
    )


def _latest_of_sessions(handoffs: Sequence[tuple[Source, Handoff]]) -> list[Handoff]:
    """The latest handoff of each session: what was open in an earlier one of the same session is settled since."""
    latest = {one.session: one for _, one in handoffs}
    return [one for _, one in handoffs if one is latest[one.session]]


def united(values: Sequence[Sequence[Any]]) -> tuple[Any, ...]:
    """Entries of all, in the order in which they first came, each in its latest wording."""
    whole: dict[str, Any] = {}
    for entry in (entry for value in values for entry in value):
        key = " ".join(main_text(entry).casefold().split()).rstrip(".!; ")
        whole[key] = _both(whole[key], entry) if key in whole else entry
    return tuple(whole.values())


def _both(old: Any, new: Any) -> Any:
    """The new entry, with what only the old one says."""
    if isinstance(new, str):
        return new
    kept = {name: getattr(new, name) or getattr(old, name) for name in new.__struct_fields__}
    return msgspec.structs.replace(new, **kept)


def _sources(handoffs: Sequence[tuple[Source, Handoff]]) -> tuple[Source, ...]:
    named: dict[Source, None] = {}
    for source, handoff in handoffs:
        named |= dict.fromkeys((*handoff.sources, source))
    return tuple(named)


def _notes(handoffs: Sequence[Handoff]) -> tuple[Note, ...]:
    return tuple(dict.fromkeys(note for handoff in handoffs for note in handoff.notes))


def _left_out(handoffs: Sequence[Handoff]) -> dict[str, int]:
    """What the latest leaves out; of what is united, the most that any did."""
    found = dict(handoffs[-1].left_out)
    for one in handoffs:
        for name, number in one.left_out.items():
            if name in UNITED:
                found[name] = max(found.get(name, 0), number)
    return found


__all__ = ["merged", "united"]
