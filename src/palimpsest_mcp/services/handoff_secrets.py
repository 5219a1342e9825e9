"""The last look at a handoff before it is written: over the very text of the file."""

from __future__ import annotations

from ..errors import HandoffSecret
from ..handoff.markdown import NotAHandoff, from_markdown, section_lines, to_markdown
from ..handoff.templates import missing, template_of
from ..models.handoffs import Handoff
from ..ports.text import Redactor

ACROSS = "across sections"


def free_of_secrets(handoff: Handoff, redactor: Redactor) -> Handoff:
    """The handoff whose file holds nothing that is a secret. Its entries were masked one by one before; here secrets
    that only the whole text shows are masked too.

    Raises:
        HandoffSecret: the text cannot be had without one; it names kind and section, never the value.
    """
    found = redactor.redact(to_markdown(handoff))
    if not found.counts:
        return handoff
    try:
        masked = from_markdown(found.text)
    except NotAHandoff:
        raise _refused(handoff, found.counts, redactor) from None
    left = redactor.redact(to_markdown(masked)).counts
    if left or type(masked) is not type(handoff) or missing(masked):
        raise _refused(handoff, left or found.counts, redactor)
    return masked


def _refused(handoff: Handoff, counts: dict[str, int], redactor: Redactor) -> HandoffSecret:
    where = tuple(
        section.heading
        for section in template_of(handoff).sections
        if redactor.redact("\n".join(section_lines(handoff, section))).counts
    )
    kinds = tuple(sorted(counts))
    return HandoffSecret(
        f"The handoff still holds what looks like a secret ({', '.join(kinds)}) in: {', '.join(where) or ACROSS}.",
        next="Nothing was written. Say it without the value: name where the secret is kept, not what it is.",
        kinds=kinds,
        where=where or (ACROSS,),
    )


__all__ = ["free_of_secrets"]
