"""Which handoff is meant: the newest of a project, or one by its task; another project's only when asked."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime
from typing import NamedTuple

from ..models.handoffs import FORKS, Handoff, Phase, Place
from .naming import slug_of
from .templates import template_of

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


__all__ = ["ANY_PROJECT", "Candidate", "newest_first", "of_project", "of_task", "written_at", "written_on"]
