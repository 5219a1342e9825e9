"""Where the experience of skills is kept, and who may word it. Disk and memory pass one contract
(`palimpsest_mcp.testing.experience_contract`)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Literal, Protocol, TypeAlias

import msgspec

LIVE_LOG = "experience/patterns.jsonl"
"""The log that is appended to, relative to a skill's folder."""
ARCHIVE_FOLDER = "experience/archive"

SkillFile: TypeAlias = Literal["digest", "side"]
"""`digest`: `experience.md` in the skill's folder. `side`: our own notes about it, under our own root."""


class SkillPlace(msgspec.Struct, frozen=True):
    """Where a skill's experience is."""

    name: str
    key: str
    """Names the folder under our own root; differs for two skills of one name."""
    folder: str
    seed: str = ""
    """Folder of a bundled digest that is only read, as long as there is none of our own."""


class LogPart(msgspec.Struct, frozen=True):
    """One file of a skill's log."""

    name: str
    """Relative to the skill's folder: `LIVE_LOG`, or an archive's."""
    size: int
    head: str
    """Hash of its first line, by which it is known under a new name; empty while it has no whole line."""


class ExperienceLog(Protocol):
    """Append-only lines of skills. What was acknowledged survives a crash of process and machine."""

    async def append(self, place: SkillPlace, line: bytes) -> None:
        """Write one line, newline included, flushed. Processes take turns; nothing before it changes, but that a torn
        tail which somebody left is closed by a newline.

        Raises:
            WriteFailed, LockTimeout: the line does not count as written.
        """
        ...

    async def parts(self, place: SkillPlace) -> tuple[LogPart, ...]:
        """Every file of the log: archives in the order of their names, the live log last. Each line stands in one.

        Raises:
            LockTimeout: somebody who takes no lock renames them again and again.
        """
        ...

    def blocks(self, place: SkillPlace, part: LogPart, start: int = 0) -> AsyncIterator[bytes]:
        """Bytes of a part from an offset to the size it was listed with, cut behind newlines; the last block may end
        without one."""
        ...

    async def blank(self, place: SkillPlace, mask: Callable[[str], str]) -> bool:
        """Put in the place of every line what a mask makes of it, of the same size, in every part; appends wait
        meanwhile. Returns whether a line changed.

        Args:
            mask: gives a text of as many bytes back.

        Raises:
            WriteFailed, LockTimeout: some parts may be as they were; ask again.
        """
        ...

    async def rotate(self, place: SkillPlace, month: str) -> str:
        """Give the live log the name of an archive and start an empty one; nothing is copied or deleted, and appends
        wait meanwhile.

        Args:
            month: `YYYY-MM`; a suffix is added when the name is taken.

        Returns:
            The archive's name, relative to the skill's folder; empty when there is no log.

        Raises:
            WriteFailed, LockTimeout: the log is as it was.
        """
        ...


class ExperienceFiles(Protocol):
    """Small files that are read and replaced as a whole: after a crash the old or the new one, never half."""

    async def read(self, place: SkillPlace, file: SkillFile) -> bytes | None:
        """The file's bytes; None when it is not there. The digest falls back to the seed's."""
        ...

    async def replace(self, place: SkillPlace, file: SkillFile, data: bytes | None) -> None:
        """Put a file in the place of the old one, flushed; None removes it.

        Raises:
            WriteFailed: the old one still stands.
        """
        ...

    async def snapshots(self, place: SkillPlace) -> tuple[str, ...]:
        """Names of the snapshots, oldest first."""
        ...

    async def snapshot(self, place: SkillPlace, name: str) -> bytes | None:
        """A snapshot's bytes."""
        ...

    async def keep_snapshot(self, place: SkillPlace, name: str, data: bytes | None) -> None:
        """Write a snapshot, flushed; None removes it."""
        ...


class Experience(Protocol):
    """Experience of skills: where each is, its log, its files."""

    @property
    def log(self) -> ExperienceLog: ...
    @property
    def files(self) -> ExperienceFiles: ...

    async def find(self, skill: str, *, create: bool = False) -> SkillPlace:
        """The one folder of a skill under the roots. A longer path such as `channels/search-x` names one of several.

        Args:
            create: where no root has it, name a folder under our own root for it.

        Raises:
            InvalidArgument: the name could lead elsewhere.
            SkillAmbiguous, SkillUnknown: none, or several.
        """
        ...

    async def skills(self) -> tuple[SkillPlace, ...]:
        """Every skill with a log or a digest of our own, by name."""
        ...

    def lock(self, place: SkillPlace) -> AbstractAsyncContextManager[None]:
        """Held by the one compaction a skill may have at a time, over processes; freed when its holder dies.

        Raises:
            LockTimeout: on entry, when another one takes too long.
        """
        ...


class RuleDraft(msgspec.Struct, frozen=True):
    """A group of patterns before it has its words."""

    id: str
    texts: tuple[str, ...]
    """Redacted wordings, the most frequent first."""


class WordedRule(msgspec.Struct, frozen=True):
    """A proposal: these drafts are one rule, and it reads so."""

    ids: tuple[str, ...]
    text: str


class RuleWriter(Protocol):
    """Groups and words rules. It proposes; code verifies that a proposal adds nothing, and counts."""

    @property
    def name(self) -> str:
        """Goes into the report."""
        ...

    async def word(self, drafts: Sequence[RuleDraft]) -> tuple[WordedRule, ...]:
        """Proposals, in any order, for some or all drafts.

        Raises:
            WordingFailed: no answer in time, or none that can be read.
        """
        ...


class WordingFailed(Exception):
    """A rule writer gave nothing usable; its text says why, and quotes nothing."""
