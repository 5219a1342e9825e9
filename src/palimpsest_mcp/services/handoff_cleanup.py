"""Cleaning up handoffs: old ones archived, very old ones deleted and named, several of one task merged."""

from __future__ import annotations

import json

import msgspec

from ..handoff.cleanup import Old, Plan, Step, plan_cleanup
from ..handoff.markdown import to_markdown
from ..handoff.merging import merged
from ..models.handoffs import Cleanup, CleanupStep
from ..models.nouns import counted, verb
from ..ports.handoffs import StoredHandoff
from .dependencies import Dependencies
from .handoff_secrets import free_of_secrets
from .handoffs import candidate_of


async def clean_handoffs(given: Dependencies, *, dry_run: bool) -> Cleanup:
    """Plan what is due today, and carry it out unless it is a dry run.

    Before a file is deleted its name, task, date and hash are on disk in `memory/archive/removed.jsonl`. A file that
    changed since it was looked at is left alone. Killed at any moment and run again, it ends in the same state.

    Raises:
        WriteFailed, LockTimeout: what was done stays done; run it again.
        HandoffSecret: a handoff that people edited holds a secret, so it cannot be merged; it is still there.
    """
    stored = await given.store.handoffs.list(given.principal)
    found: dict[tuple[str, str], StoredHandoff] = {(one.place, one.name): one for one in stored}
    plan, strangers = _plan(given, stored)
    done = [one.told for one in plan.steps]
    notes = list(plan.notes)
    if strangers:
        words = verb(strangers, "is no handoff was", "are no handoffs were")
        notes.append(f"{counted(strangers, 'file')} that {words} left alone")
    if not dry_run:
        done = [told for one in plan.steps if (told := await _do(given, one, found, notes))]
    about = {(old.candidate.place, old.candidate.name) for one in plan.steps for old in one.about}
    kept = sum(candidate_of(one) is not None for one in stored if (one.place, one.name) not in about)
    return Cleanup(dry_run=dry_run, steps=tuple(done), kept=kept, notes=tuple(notes))


def _plan(given: Dependencies, stored: tuple[StoredHandoff, ...]) -> tuple[Plan, int]:
    parsed = [(one, candidate_of(one)) for one in stored]
    old = [Old(candidate, one.sha256) for one, candidate in parsed if candidate is not None]
    return plan_cleanup(old, given.clock().date()), sum(candidate is None for _, candidate in parsed)


async def _do(
    given: Dependencies, step: Step, found: dict[tuple[str, str], StoredHandoff], notes: list[str]
) -> CleanupStep | None:
    """Carry out one step; None where somebody was quicker."""
    handoffs, owner = given.store.handoffs, given.principal
    about = [found[old.candidate.place, old.candidate.name] for old in step.about]
    told = step.told
    if told.action == "delete":
        note = {"ts": given.now(), "name": told.name, "task": told.task, "date": told.date, "sha256": about[0].sha256}
        done = await handoffs.remove(about[0], owner, note=json.dumps({**note, "why": told.why}))
    elif told.action == "archive":
        done = await handoffs.archive(about[0], owner) is not None
    else:
        whole = free_of_secrets(merged([(old.source, old.candidate.handoff) for old in step.about]), given.redactor)
        added = await handoffs.add("memory", told.name, to_markdown(whole), owner)
        told = msgspec.structs.replace(told, name=added.name)
        done = all([await handoffs.archive(one, owner) is not None for one in about])
        if not done:
            notes.append(f"{told.name}: one of its sources changed meanwhile and stays; clean up again to take it in")
        return told
    if not done:
        notes.append(f"{told.name} changed or went meanwhile: left alone")
    return told if done else None


__all__ = ["clean_handoffs"]
