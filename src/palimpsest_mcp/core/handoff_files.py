"""Handoffs as files: free of secrets when written, cleaned up when old, and whether they are whole."""

from __future__ import annotations

import json
import re

import msgspec

from ..errors import HandoffSecret, StoreNewer
from ..memory.handoff.files import (
    Candidate,
    Old,
    Plan,
    Step,
    merged,
    plan_cleanup,
)
from ..memory.handoff.markdown import (
    FORMAT_START,
    NotAHandoff,
    absent_sections,
    from_markdown,
    section_lines,
    to_markdown,
)
from ..memory.handoff.templates import missing, template_of
from ..models.handoffs import (
    Cleanup,
    CleanupStep,
    Handoff,
)
from ..models.text import counted, verb
from ..models.views import Finding
from ..ports.seams import Redactor
from ..ports.store import StoredHandoff
from .dependencies import Dependencies

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


def candidate_of(one: StoredHandoff) -> Candidate | None:
    """The handoff that a file holds; None for a file of somebody else.

    Raises:
        StoreNewer: a newer program wrote it.
    """
    try:
        return None if one.text is None else Candidate(one.name, one.place, from_markdown(one.text))
    except NotAHandoff:
        return None


async def clean_handoffs(deps: Dependencies, *, dry_run: bool) -> Cleanup:
    """Plan what is due today, and carry it out unless it is a dry run.

    Before a file is deleted its name, task, date and hash are on disk in `memory/archive/removed.jsonl`. A file that
    changed since it was looked at is left alone. Killed at any moment and run again, it ends in the same state.

    Raises:
        WriteFailed, LockTimeout: what was done stays done; run it again.
        HandoffSecret: a handoff that people edited holds a secret, so it cannot be merged; it is still there.
    """
    stored = await deps.store.handoffs.list(deps.principal)
    found: dict[tuple[str, str], StoredHandoff] = {(one.place, one.name): one for one in stored}
    plan, strangers = _plan(deps, stored)
    done = [one.told for one in plan.steps]
    notes = list(plan.notes)
    if strangers:
        words = verb(strangers, "is no handoff was", "are no handoffs were")
        notes.append(f"{counted(strangers, 'file')} that {words} left alone")
    if not dry_run:
        done = [told for one in plan.steps if (told := await _do(deps, one, found, notes))]
    about = {(old.candidate.place, old.candidate.name) for one in plan.steps for old in one.about}
    kept = sum(candidate_of(one) is not None for one in stored if (one.place, one.name) not in about)
    return Cleanup(dry_run=dry_run, steps=tuple(done), kept=kept, notes=tuple(notes))


def _plan(deps: Dependencies, stored: tuple[StoredHandoff, ...]) -> tuple[Plan, int]:
    parsed = [(one, candidate_of(one)) for one in stored]
    old = [Old(candidate, one.sha256) for one, candidate in parsed if candidate is not None]
    return plan_cleanup(old, deps.clock().date()), sum(candidate is None for _, candidate in parsed)


async def _do(
    deps: Dependencies, step: Step, found: dict[tuple[str, str], StoredHandoff], notes: list[str]
) -> CleanupStep | None:
    """Carry out one step; None where somebody was quicker."""
    handoffs, owner = deps.store.handoffs, deps.principal
    about = [found[old.candidate.place, old.candidate.name] for old in step.about]
    told = step.told
    if told.action == "delete":
        note = {"ts": deps.now(), "name": told.name, "task": told.task, "date": told.date, "sha256": about[0].sha256}
        done = await handoffs.remove(about[0], owner, note=json.dumps({**note, "why": told.why}))
    elif told.action == "archive":
        done = await handoffs.archive(about[0], owner) is not None
    else:
        whole = free_of_secrets(merged([(old.source, old.candidate.handoff) for old in step.about]), deps.redactor)
        added = await handoffs.add("memory", told.name, to_markdown(whole), owner)
        told = msgspec.structs.replace(told, name=added.name)
        done = all([await handoffs.archive(one, owner) is not None for one in about])
        if not done:
            notes.append(f"{told.name}: one of its sources changed meanwhile and stays; clean up again to take it in")
        return told
    if not done:
        notes.append(f"{told.name} changed or went meanwhile: left alone")
    return told if done else None


_OUR_NAME = re.compile(r"\d{4}-\d{2}-\d{2}-")
_MEND = (
    "Make it readable, or restore it from a backup; else remove it and write it again: palimpsest-mcp handoff write. "
    "Everything else stays usable."
)


async def verify_handoffs(deps: Dependencies) -> tuple[int, list[Finding]]:
    """How many files there are, and what is wrong with which.

    Raises:
        StoreUnusable: a folder cannot be read.
    """
    stored = await deps.store.handoffs.list(deps.principal)
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
