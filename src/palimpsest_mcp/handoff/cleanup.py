"""What a cleanup does on a day: a plan of steps, made from what stands there and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Literal, NamedTuple

from ..models.handoffs import CleanupStep, Source
from .choosing import Candidate, written_at, written_on
from .naming import slug_of, stem_of

ARCHIVE_AFTER_DAYS = 30
DELETE_AFTER_DAYS = 90
"""Older than this in whole days since the day it was written: day 30 stays, day 31 is archived."""
HASH_DIGITS = 12


class Old(NamedTuple):
    """A handoff with the hash of its bytes."""

    candidate: Candidate
    sha256: str

    @property
    def source(self) -> Source:
        """How a merged handoff names it."""
        return Source(name=self.candidate.name, sha256=self.sha256[:HASH_DIGITS])


class Step(NamedTuple):
    """One thing to do: what a report says of it, and the handoffs it is about (of a merge, oldest first)."""

    told: CleanupStep
    about: tuple[Old, ...]


class Plan(NamedTuple):
    """Steps in the order in which they are done."""

    steps: tuple[Step, ...]
    notes: tuple[str, ...]


class _Aged(NamedTuple):
    old: Old
    day: date
    age: int
    """Whole days."""

    @property
    def key(self) -> tuple[str, str, str]:
        """What handoffs of one task and phase have in common."""
        handoff = self.old.candidate.handoff
        return self.old.candidate.phase, handoff.project, slug_of(handoff.title)


def plan_cleanup(found: Sequence[Old], today: date) -> Plan:
    """Delete what is over 90 days old, archive what is over 30, merge what is left of one task.

    Done twice on one day it does nothing the second time. What has no date, or one after today, is left alone.
    Forks are not touched: they go when they are consumed.
    """
    aged, notes = _dated([old for old in found if old.candidate.place != "temp"], today)
    steps = [_step("delete", one, f"older than {DELETE_AFTER_DAYS} days") for one in aged if _is_over(one)]
    tasks: dict[tuple[str, str, str], list[_Aged]] = {}
    for one in aged:
        if one.old.candidate.place == "memory" and not _is_over(one):
            tasks.setdefault(one.key, []).append(one)
    for group in tasks.values():
        steps += _of_task(sorted(group, key=_order))
    return Plan(tuple(steps), tuple(notes))


def _dated(found: Sequence[Old], today: date) -> tuple[list[_Aged], list[str]]:
    aged: list[_Aged] = []
    notes: list[str] = []
    for old in found:
        day = written_on(old.candidate.handoff, old.candidate.name)
        if day is None or day > today:
            why = "has no date that can be read" if day is None else f"is dated {day}, after today"
            notes.append(f"{old.candidate.name} {why}: left alone")
        else:
            aged.append(_Aged(old, day, (today - day).days))
    return aged, notes


def _is_over(one: _Aged) -> bool:
    return one.age > DELETE_AFTER_DAYS


def _order(one: _Aged) -> tuple[object, int, str]:
    """Oldest first; a merged one comes after what it was made of."""
    handoff = one.old.candidate.handoff
    return written_at(handoff), len(handoff.sources), one.old.candidate.name


def _of_task(group: Sequence[_Aged]) -> list[Step]:
    """What is done with the handoffs of one task that stand in `memory`."""
    latest = group[-1]
    if latest.age > ARCHIVE_AFTER_DAYS:
        return [_step("archive", one, f"older than {ARCHIVE_AFTER_DAYS} days") for one in group]
    if len(group) == 1:
        return []
    candidate = latest.old.candidate
    if {one.old.source for one in group[:-1]} <= set(candidate.handoff.sources):
        return [_step("archive", one, f"merged into {candidate.name}") for one in group[:-1]]
    told = CleanupStep(
        action="merge",
        name=stem_of(str(latest.day), candidate.handoff.title, candidate.phase),
        task=candidate.handoff.title,
        date=str(latest.day),
        age_days=latest.age,
        why=f"{len(group)} handoffs of one task; they are archived then",
        sources=tuple(one.old.candidate.name for one in group),
    )
    return [Step(told, tuple(one.old for one in group))]


def _step(action: Literal["archive", "delete"], one: _Aged, why: str) -> Step:
    candidate = one.old.candidate
    told = CleanupStep(
        action=action,
        name=candidate.name,
        task=candidate.handoff.title,
        date=str(one.day),
        age_days=one.age,
        why=why,
    )
    return Step(told, (one.old,))


__all__ = ["ARCHIVE_AFTER_DAYS", "DELETE_AFTER_DAYS", "Old", "Plan", "Step", "plan_cleanup"]
