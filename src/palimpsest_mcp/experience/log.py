"""A skill's experience as it is now: side file, digest and log, and what of the log is new."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime

from ..ports.text import Clock, Redactor
from .document import Document, empty_document, read_document
from .models import Rule, Trigger
from .parse import read_line
from .ports import LIVE_LOG, Experience, ExperienceLog, LogPart, RuleWriter, SkillPlace
from .side_file import ReadPart, Side, ToRead, decode_side, still_counts, to_read, triggers_met
from .tally import Relevance, Tally

_SCANNED_BYTES = 1024 * 1024
"""New log that is looked through where only triggers are asked for; more than this is due anyway."""
_WINDOW_BYTES = 128 * 1024
"""Read at a time where single lines are looked up."""


@dataclass(frozen=True, kw_only=True)
class LearningDependencies:
    """Everything that learning may touch."""

    experience: Experience
    redactor: Redactor
    clock: Clock
    min_wilson: float = 0.40
    min_relevance: float = 0.5
    writer: RuleWriter | None = None
    """Words rules where the log is large; None: nothing ever leaves the machine."""

    def today(self) -> date:
        """The day in UTC, by which ages are counted."""
        return self.clock().astimezone(UTC).date()

    @property
    def mask(self) -> Callable[[str], str]:
        """A text without its secrets."""
        return lambda text: self.redactor.redact(text).text

    def masked(self, text: str) -> tuple[str, Mapping[str, int]]:
        """The same, and how many of each kind it had."""
        redacted = self.redactor.redact(text)
        return redacted.text, redacted.counts


@dataclass(frozen=True)
class SkillState:
    """What is on disk of one skill, the log's bytes left aside."""

    place: SkillPlace
    side: Side | None
    text: str
    """Of the digest; undecodable bytes as surrogates. Empty where there is none."""
    document: Document
    reads: tuple[ToRead, ...]

    @property
    def new_bytes(self) -> int:
        """Bytes that came since the last compaction; all of them where nobody noted how far it read."""
        return sum(read.part.size - read.start for read in self.reads)

    @property
    def rules(self) -> tuple[Rule, ...]:
        """Of the side file."""
        return self.side.rules if self.side else ()

    @property
    def damaged(self) -> int:
        """Damaged lines in what was read."""
        return self.side.damaged if self.side else 0

    @property
    def since(self) -> datetime | None:
        """Where the side file is missing, the digest says when it was compacted."""
        return self.document.last_compacted if self.side is None else None

    @property
    def live_bytes(self) -> int:
        return next((read.part.size for read in self.reads if read.part.name == LIVE_LOG), 0)


@dataclass(frozen=True)
class NewLog:
    """What came since the last compaction."""

    events: int
    damaged: int
    last_feedback: str
    sessions: frozenset[str]

    def triggers(self, state: SkillState, ended_session: str = "") -> tuple[Trigger, ...]:
        """Conditions for a compaction that are met. `ended_session`: id of a session that ends; `*` for any."""
        used = ended_session in self.sessions or (ended_session == "*" and self.events > 0)
        return triggers_met(self.events, state.new_bytes, self.last_feedback, used_in_ended_session=used)


@dataclass(frozen=True)
class Counted:
    """The whole log, counted, and how far it was read."""

    tally: Tally
    parts: tuple[ReadPart, ...]
    bases: tuple[tuple[int, LogPart], ...]
    """Place of the first byte of each part in the tally's places."""


async def state_of(means: LearningDependencies, place: SkillPlace) -> SkillState:
    """Read the small files and list the log."""
    files = means.experience.files
    side = decode_side(await files.read(place, "side"))
    text = (await files.read(place, "digest") or b"").decode("utf-8", "surrogateescape")
    written = {rule.id: rule.text for rule in side.rules} if side else {}
    document = read_document(text, place.name, written) if text.strip() else empty_document(place.name)
    reads = to_read(side, await means.experience.log.parts(place))
    return SkillState(place, side, text, document, tuple(reads))


async def count_new(means: LearningDependencies, state: SkillState) -> NewLog:
    """Count what is new, as far as the triggers need it."""
    tally = Tally(means.today().toordinal(), since=state.since)
    tally.sessions = set()
    tally.mark()
    left = _SCANNED_BYTES if state.since is None else state.new_bytes
    for read in state.reads:
        part = LogPart(read.part.name, min(read.part.size, read.start + left), read.part.head)
        left -= part.size - read.start
        async for block in means.experience.log.blocks(state.place, part, read.start):
            tally.add(block)
    return NewLog(tally.new_events, tally.damaged, tally.newest_feedback, frozenset(tally.sessions))


async def count_all(means: LearningDependencies, state: SkillState) -> Counted:
    """Count everything that may still weigh: first what the last compaction knew, then what is new."""
    relevance = await relevance_of(means, state)
    tally = Tally(means.today().toordinal(), relevance=relevance, since=state.since)
    bases = _bases(state.reads)
    log = means.experience.log
    newest: dict[str, date | None] = {read.part.name: read.newest for read in state.reads}
    for base, read in zip(bases, state.reads, strict=True):
        if still_counts(read, means.today()):
            at = base
            async for block in log.blocks(state.place, LogPart(read.part.name, read.start, read.part.head)):
                tally.add(block, at=at)
                at += len(block)
    tally.mark()
    parts: list[ReadPart] = []
    for base, read in zip(bases, state.reads, strict=True):
        tally.begin_part()
        at, end = base + read.start, read.part.size
        async for block in log.blocks(state.place, read.part, read.start):
            tally.add(block, at=at)
            at += len(block)
            end -= _torn(block)
        day = date.fromordinal(tally.newest_day) if tally.newest_day else None
        before = newest[read.part.name]
        parts.append(ReadPart(read.part.name, read.part.head, end, max(filter(None, (day, before)), default=None)))
    return Counted(tally, tuple(parts), tuple(zip(bases, (read.part for read in state.reads), strict=True)))


async def relevance_of(means: LearningDependencies, state: SkillState) -> Relevance:
    """What is usually relevant of each query's results: known before the first event is judged by it."""
    relevance = Relevance(means.today().toordinal(), means.min_relevance)
    for read in state.reads:
        if read.start < read.part.size or still_counts(read, means.today()):
            async for block in means.experience.log.blocks(state.place, read.part):
                relevance.add(block)
    return relevance


async def lines_at(log: ExperienceLog, place: SkillPlace, counted: Counted, places: set[int]) -> dict[int, bytes]:
    """Lines by their place in the tally; neighbours share one read."""
    out: dict[int, bytes] = {}
    start, window = 0, b""
    for at in sorted(places):
        if b"\n" not in window[at - start :]:
            base, part = max((one for one in counted.bases if one[0] <= at), key=lambda one: one[0])
            end = min(part.size, at - base + _WINDOW_BYTES)
            start, window = at, b""
            async for block in log.blocks(place, LogPart(part.name, end, part.head), at - base):
                window += block
        out[at] = window[at - start :].split(b"\n", 1)[0]
    return out


def _bases(reads: tuple[ToRead, ...]) -> list[int]:
    bases: list[int] = []
    at = 0
    for read in reads:
        bases.append(at)
        at += read.part.size + 1
    return bases


def _torn(block: bytes) -> int:
    """Bytes of a last line that is cut off: it counts as read only once it is closed."""
    tail = block[block.rfind(b"\n") + 1 :]
    return len(tail) if tail.strip() and read_line(tail) is None else 0
