"""Sections as an agent gives them: loose names, strings or lists or objects (I2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import InvalidArgument
from ..models.forms import Incoming
from ..models.summaries import AnchoredSummary
from .naming import tidy
from .sections import PARTS, part_of_name

MAX_TEXT = 2_000
"""Characters of one entry."""
MAX_ENTRIES = 200
"""Entries of one section in one call."""
EXAMPLE = (
    '{"session_intent": "Make the nightly import in etl/load.py survive duplicate rows", '
    '"files_modified": {"etl/load.py": ["skip rows with a known id"]}, '
    '"decisions_made": [{"decision": "Keep the first of two equal rows", "rationale": "the source repeats them"}], '
    '"current_state": "load.py is done, its tests are not", "blockers": ["May old rows be deleted?"], '
    '"errors_encountered": [{"error": "duplicate key value", "resolution": "skipped by id"}], '
    '"next_steps": ["Test with two files"]}'
)


def summary_of(sections: Mapping[str, Any]) -> AnchoredSummary:
    """The sections as a summary; texts without control characters.

    Raises:
        InvalidArgument: an unknown section, a value of the wrong form, or too much; with a correct example.
    """
    fields: dict[str, Any] = {}
    for name, value in sections.items():
        part = part_of_name(name)
        if part is None:
            raise _refused(f"There is no section {tidy(name)[:40]!r}; sections are {', '.join(PARTS)}.")
        if value is None:
            continue
        made = part.form.take(_INCOMING._replace(name=part.field), value)
        old = fields.get(part.field)
        fields[part.field] = (old + made) if isinstance(made, tuple) and isinstance(old, tuple) else made
    return AnchoredSummary(**fields)


def _refused(message: str) -> InvalidArgument:
    return InvalidArgument(message, next=f"Give sections such as {EXAMPLE}")


_INCOMING = Incoming(
    "",
    _refused,
    MAX_TEXT,
    MAX_ENTRIES,
    too_many="fit into one call",
    nameless="An entry of {name} needs the field {key!r}.",
)
