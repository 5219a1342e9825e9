"""Seams for a model that is asked about a session: to word what a summary lacks, and to judge probes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ..models.asking import Judged, JudgeQuestion, SummaryDraft, SummaryRequest


class SummaryAuthor(Protocol):
    """Words sections of an anchored summary. What it answers is checked before anything of it is used."""

    @property
    def author(self) -> str:
        """As labels name it: `claude-haiku-5-5`."""
        ...

    async def draft(self, request: SummaryRequest) -> SummaryDraft:
        """Sections for one session, within a time limit of its own. Never raises: a failure is a reason."""
        ...


class Judge(Protocol):
    """A second opinion on probes, beside the one by code."""

    @property
    def author(self) -> str:
        """As reports name it."""
        ...

    async def judge(self, questions: Sequence[JudgeQuestion]) -> Judged:
        """Whether each passage still answers its question. Never raises; late or broken answers are failures."""
        ...
