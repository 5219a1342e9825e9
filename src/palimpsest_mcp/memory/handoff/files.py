"""Which handoff is meant: the newest of a project, or one by its task; another project's only when asked."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Sequence
from datetime import UTC, date, datetime
from typing import Any, Literal, NamedTuple

import msgspec

from ...models.handoffs import FORKS, CleanupStep, Handoff, Phase, Place, Source
from ...models.summaries import Note
from ...models.text import plain_line
from .fill import main_text
from .material import with_whole_paths
from .templates import POINTERS, template_of

# Names of handoffs: a slug that is the task's identity, and the file name made of it.


MAX_TITLE = 100
"""Characters of a title: a longer task stands whole in its own section."""
MAX_SLUG = 60
_HASH_DIGITS = 6
_RUN = re.compile(r"[^a-z0-9]+")
_DEVICES = frozenset({"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))})


def title_of(task: str) -> str:
    """The task as a title."""
    return plain_line(task, MAX_TITLE)


def slug_of(title: str) -> str:
    """Lower-case letters, digits and `-`, safe on every file system; titles that differ in more than that differ here.

    Accents go; where letters had to go or the title is too long, a hash of it stands at the end.
    """
    bare = unicodedata.normalize("NFKD", title.casefold())
    bare = "".join(char for char in bare if not unicodedata.combining(char))
    words = _RUN.sub("-", bare).strip("-")
    lost = any(char.isalnum() and not char.isascii() for char in bare)
    if words and not lost and len(words) <= MAX_SLUG and words not in _DEVICES:
        return words
    digest = hashlib.sha256(" ".join(title.casefold().split()).encode("utf-8", "replace")).hexdigest()[:_HASH_DIGITS]
    head = words[: MAX_SLUG - _HASH_DIGITS - 1].rstrip("-")
    return f"{head or 'task'}-{digest}"


def stem_of(date: str, title: str, phase: Phase) -> str:
    """`2026-11-22-move-the-importer`, with the phase behind it where there is one."""
    stem = f"{date}-{slug_of(title)}"
    return stem if phase == "task" else f"{stem}-{phase}"


ANY_PROJECT = ("*", "any", "all")


class Candidate(NamedTuple):
    """A handoff in its place."""

    name: str
    place: Place
    handoff: Handoff

    @property
    def phase(self) -> Phase:
        return template_of(self.handoff).phase


def of_project(found: Sequence[Candidate], project: str) -> list[Candidate]:
    """Those of one project: its whole path, or its last folders; `*` takes all."""
    if project.casefold() in ANY_PROJECT:
        return list(found)
    wanted = _parts(project)
    exact = [one for one in found if _parts(one.handoff.project) == wanted]
    if exact or not wanted or project.startswith("/") or len(project) < 2:
        return exact
    return [one for one in found if _parts(one.handoff.project)[-len(wanted) :] == wanted]


def _parts(project: str) -> list[str]:
    return [part for part in project.replace("\\", "/").split("/") if part]


def of_task(found: Sequence[Candidate], task: str) -> list[Candidate]:
    """Those that a task's words mean: a file name, the task itself, or a part of it. Newest first, forks last.

    Without words: every one but forks, which are taken only by name.
    """
    if not task:
        return newest_first([one for one in found if one.phase not in FORKS])
    name = task.removesuffix(".md").rsplit("/", 1)[-1]
    if named := [one for one in found if one.name == name]:
        return named
    slug = slug_of(task)
    same = [one for one in found if slug_of(one.handoff.title) == slug]
    words = " ".join(task.casefold().split())
    like = same or [one for one in found if words in " ".join(one.handoff.title.casefold().split())]
    like = like or [one for one in found if len(slug) > 3 and slug in one.name]
    ranked = newest_first(like)
    return [one for one in ranked if one.phase not in FORKS] + [one for one in ranked if one.phase in FORKS]


def newest_first(found: Sequence[Candidate]) -> list[Candidate]:
    """By the time they were written; what still stands in `memory` before what was archived."""
    return sorted(found, key=lambda one: (one.place != "archive", written_at(one.handoff), one.name), reverse=True)


def written_at(handoff: Handoff) -> datetime:
    """When it was written, in UTC; the start of its day, or of time, where it does not say."""
    for text in (handoff.written, handoff.date):
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            continue
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    return datetime(1, 1, 2, tzinfo=UTC)


def written_on(handoff: Handoff, name: str) -> date | None:
    """The day it was written by its own word, else by its name; None where neither says."""
    for text in (handoff.date, handoff.written[:10], name[:10]):
        try:
            return date.fromisoformat(text)
        except ValueError:
            continue
    return None


# What a cleanup does on a day: a plan of steps, made from what stands there and nothing else.


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


# Several handoffs of one task become one: nothing said twice, the latest state wins, decisions united.


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
