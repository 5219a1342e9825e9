"""Are the handoffs whole: those that nobody can read, or that lost a part, with what to do."""

from __future__ import annotations

import re

from ..errors import StoreNewer
from ..handoff.markdown import FORMAT_START, NotAHandoff, absent_sections, from_markdown
from ..models.reports import Finding
from ..ports.handoffs import StoredHandoff
from .dependencies import Dependencies

_OUR_NAME = re.compile(r"\d{4}-\d{2}-\d{2}-")
_MEND = (
    "Make it readable, or restore it from a backup; else remove it and write it again: palimpsest-mcp handoff write. "
    "Everything else stays usable."
)


async def verify_handoffs(given: Dependencies) -> tuple[int, list[Finding]]:
    """How many files there are, and what is wrong with which.

    Raises:
        StoreUnusable: a folder cannot be read.
    """
    stored = await given.store.handoffs.list(given.principal)
    return len(stored), [finding for one in stored if (finding := _wrong(one))]


def _wrong(one: StoredHandoff) -> Finding | None:
    if one.text is None:
        return _damage(one, f"handoff {one.why}")
    if "\0" in one.text:
        return _damage(one, "handoff holds zeros in the place of text")
    try:
        absent = absent_sections(one.text, from_markdown(one.text))
    except StoreNewer as error:
        return Finding(where=one.path, what=error.message, severity="note", next=error.next)
    except NotAHandoff:
        if one.text.startswith(FORMAT_START) or _OUR_NAME.match(one.name):
            return _damage(one, "handoff lost its title, so nobody can load it")
        what, next = "no handoff: left alone", "Nothing; it may stand elsewhere as well."
        return Finding(where=one.path, what=what, severity="note", next=next)
    if absent:
        what = f"handoff has no {', '.join(absent)}: cut off, or edited"
        next = "If nobody took that out, restore it from a backup or write it again: palimpsest-mcp handoff write."
        return Finding(where=one.path, what=what, severity="note", next=next)
    return None


def _damage(one: StoredHandoff, what: str) -> Finding:
    return Finding(where=one.path, what=what, severity="damage", next=_MEND)


__all__ = ["verify_handoffs"]
