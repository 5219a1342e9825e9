"""The library's methods about the experience of skills, and what they stand on."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import PalimpsestError
from ..llm.rule_wording import AnthropicRuleWriter
from ..models.experience import (
    Compaction,
    EventRecorded,
    ExperienceView,
    Explanation,
    RolledBack,
    SkillStatus,
)
from ..ports.experience import Experience, RuleWriter
from ..services.dependencies import Dependencies
from ..services.experience_log import LearningMeans
from ..services.experience_views import ExperienceViews
from ..services.learn import Learn
from ..settings.settings import Settings
from ..store.experience_files import DiskExperience

_USUAL_ROOTS = (".claude/skills", ".autosearch/skills")
"""Looked for in the working folder and in the user's home, where no roots are set."""


class ExperienceMethods:
    """What `Palimpsest` can do with experience. A skill is named by its folder's name, or more of its path."""

    _learn: Learn
    _experience_views: ExperienceViews

    async def record_experience(self, skill: str, event: Mapping[str, Any]) -> EventRecorded:
        """Append one event to a skill's log, without secrets and raw queries; a skill that no root has gets a folder
        under our own.

        Raises:
            InvalidEvent: it names the field; nothing was written.
            InvalidArgument, SkillAmbiguous, WriteFailed, LockTimeout: nothing was written.
        """
        return await self._learn.record(skill, event)

    async def compact_experience(self, skill: str, *, dry_run: bool = False, ended_session: str = "") -> Compaction:
        """Bring a skill's `experience.md` up to date with its log.

        Args:
            dry_run: only say what would change; `diff` shows it.

        Raises:
            SkillUnknown, SkillAmbiguous, HandWrittenTooLong, WriteFailed, LockTimeout: the digest is as it was.
        """
        return await self._learn.compact(skill, dry_run=dry_run, ended_session=ended_session)

    async def compact_due_experience(
        self, *, ended_session: str = "", dry_run: bool = False
    ) -> tuple[tuple[Compaction, ...], tuple[tuple[str, PalimpsestError], ...]]:
        """Compact every skill with a trigger met: the reports, and by skill what could not be done."""
        done: list[Compaction] = []
        failed: list[tuple[str, PalimpsestError]] = []
        for place, _ in await self._learn.due(ended_session):
            try:
                done.append(await self._learn.compact_place(place, dry_run=dry_run, ended_session=ended_session))
            except PalimpsestError as error:
                failed.append((place.name, error))
        return tuple(done), tuple(failed)

    async def experience_due(self, *, ended_session: str = "") -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Skills with a trigger met, and which.

        Args:
            ended_session: id of a session that ends, `*` for any: what it used is due.
        """
        return tuple((place.name, triggers) for place, triggers in await self._learn.due(ended_session))

    async def experience_status(self) -> tuple[SkillStatus, ...]:
        """Every skill with experience, by name."""
        return await self._experience_views.status()

    async def experience_show(self, skill: str) -> ExperienceView:
        """A skill's digest, its rules and its status."""
        return await self._experience_views.show(skill)

    async def experience_explain(self, rule: str, skill: str = "") -> Explanation:
        """The events behind a rule.

        Raises:
            RuleUnknown: no digest has it, or several have and no skill was named.
        """
        return await self._experience_views.explain(rule, skill)

    async def experience_rollback(self, skill: str) -> RolledBack:
        """Put a skill's digest back as it was before the last compaction."""
        return await self._experience_views.rollback(skill)


def open_experience(settings: Settings, random_hex: Any) -> Experience:
    """Experience below the configured roots, or the usual ones, and our own folder."""
    roots: Sequence[Path] = settings.skills_roots or [
        base / root for base in (Path.cwd(), Path.home()) for root in _USUAL_ROOTS
    ]
    return DiskExperience(settings.home, roots, random_hex=random_hex)


def learning_means(settings: Settings, given: Dependencies, experience: Experience) -> LearningMeans:
    """What learning works with, by the settings."""
    return LearningMeans(
        experience=experience,
        redactor=given.redactor,
        clock=given.clock,
        min_wilson=settings.min_wilson,
        min_relevance=settings.min_relevance,
        writer=_rule_writer(settings),
    )


def _rule_writer(settings: Settings) -> RuleWriter | None:
    """A model words rules only where a key is there and nobody switched it off."""
    key = settings.anthropic_api_key.get_secret_value() or os.environ.get("ANTHROPIC_API_KEY", "")
    if not key or not settings.auto or settings.rule_wording != "auto":
        return None
    return AnthropicRuleWriter(key, base_url=settings.anthropic_base_url or None)
