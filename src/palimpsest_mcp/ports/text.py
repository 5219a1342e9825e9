"""Seams for text: counting, masking, digesting."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Protocol, TypeAlias

import msgspec

from ..models.items import Span
from ..models.llm import Judged, JudgeQuestion, SummaryDraft, SummaryRequest, WriteRequest, Written
from ..models.records import Digest, DigestRequest


class TokenCounter(Protocol):
    """Counts tokens of text, deterministic, without network."""

    @property
    def name(self) -> str:
        """What counts and by which factor: `o200k x 1.55`; goes into every answer."""
        ...

    def count(self, text: str) -> int:
        """Tokens of one text, 0 for the empty one. Never raises, whatever the text."""
        ...


class Redacted(msgspec.Struct, frozen=True, kw_only=True):
    """A text with its secrets masked."""

    text: str
    counts: dict[str, int]
    """Masked spans by kind; never the values."""


class Redactor(Protocol):
    """Masks secrets by `[redacted:kind:hash8]`; same secret, same mark within one store. Idempotent. Never raises."""

    @property
    def rules(self) -> tuple[str, ...]:
        """What is loaded, for `doctor`: rule set names with counts."""
        ...

    @property
    def weakened(self) -> tuple[str, ...]:
        """Which settings of the user make it mask less; empty: none."""
        ...

    def redact(self, text: str) -> Redacted:
        """One text, masked."""
        ...

    def redact_all(self, texts: Sequence[str]) -> tuple[Redacted, ...]:
        """Texts that follow one another, in order: also masks a secret that runs over a boundary."""
        ...


class Registry(Protocol):
    """Finds specifics (D2). Deterministic, in time linear in the text."""

    @property
    def version(self) -> str:
        """Changes whenever what it finds changes; users' classes included."""
        ...

    def spans(self, text: str) -> list[Span]:
        """Specifics of a text in order of place, not overlapping, each with its key where there is one."""
        ...


class Digester(Protocol):
    """Makes a checked digest of one batch. What it returns has passed verification, or says so in `verification`."""

    @property
    def name(self) -> str:
        """With version: `extractive/2`. A record may name a writer instead (`Prose.digester`)."""
        ...

    async def digest(self, request: DigestRequest) -> Digest:
        """Digest a batch; falls back by itself (larger budget, then pointers) and never invents.

        Raises:
            DigestRefused: no form of it is smaller than its source.
        """
        ...


class Writer(Protocol):
    """Puts results into words. It writes only: the digest checks that and adds everything that must be exact."""

    @property
    def name(self) -> str:
        """`anthropic/claude-haiku-5-5`: what records name."""
        ...

    @property
    def author(self) -> str:
        """`claude-haiku-5-5`: what the label above its lines names."""
        ...

    @property
    def pass_limit_s(self) -> float:
        """How long one pass may wait for it in all, in seconds."""
        ...

    async def write(self, requests: Sequence[WriteRequest], *, within_s: float) -> tuple[Written, ...]:
        """Summaries for batches, in their order, several at a time.

        Returns within about `within_s` seconds; what is not there by then is late. Raises nothing but cancellation: a
        batch without an answer says why in `failure`.
        """
        ...


# Time and chance come in from outside, so that rules stay pure and checks need no waiting.


Clock: TypeAlias = Callable[[], datetime]
"""Now, with its offset from UTC."""

RandomHex: TypeAlias = Callable[[int], str]
"""`n` random bytes as lower-case hex."""

# Seams for a model that is asked about a session: to word what a summary lacks, and to judge probes.


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
