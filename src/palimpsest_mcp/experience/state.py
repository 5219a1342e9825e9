"""A skill's experience as it is now: side file, digest and log, and what of the log is new. And what stands before a
decision: rules of the side file, rules that only the digest has, and what people wrote.

The side file: what of the log was read, and where each rule comes from. And the snapshots before each change.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any, Literal

import msgspec

from ..ports.seams import Clock, Redactor
from .document import Document, RuleInFile, empty_document, read_document
from .events import Sighting, correction_of, day_of, identity_of, read_line
from .forms import form_of, key_hash, near_groups, quick_form, safe_line
from .models import LIVE_LOG, Experience, ExperienceLog, LogPart, Rule, RuleKind, RuleWriter, SkillPlace, Trigger
from .promotion import ACTIVE_DAYS, HOME, PENDING_DAYS, Standing, key_of_line, label_free
from .tally import WINDOW_DAYS, Cluster, Kind, Relevance, Tally, cause_of, is_untrusted

KEPT_SNAPSHOTS = 20


class ReadPart(msgspec.Struct, frozen=True):
    """How far a file of the log had been read at the last compaction."""

    name: str
    head: str
    size: int
    newest: date | None = None
    """Day of its newest event."""


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """`side.json` of a skill."""

    schema: int = 1
    skill: str = ""
    folder: str = ""
    compacted_at: str = ""
    damaged: int = 0
    """Damaged lines in what was read, each counted once."""
    parts: tuple[ReadPart, ...] = ()
    rules: tuple[Rule, ...] = ()


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """The digest before a change, and the rules that it was made of."""

    schema: int = 1
    at: str
    why: Literal["compact", "rollback"]
    digest: bytes | None
    rules: tuple[Rule, ...] = ()


class ToRead(msgspec.Struct, frozen=True):
    """A file of the log, and from where on it is new."""

    part: LogPart
    start: int
    newest: date | None
    """Of what is not new."""


def encode(value: Side | Snapshot) -> bytes:
    """Readable JSON; the same value gives the same bytes."""
    return msgspec.json.format(msgspec.json.encode(value), indent=1) + b"\n"


def decode_side(data: bytes | None) -> Side | None:
    """None where there is none, or it cannot be read: then everything is counted anew, and the digest's lines stay."""
    try:
        return None if data is None else msgspec.json.decode(data, type=Side)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None


def decode_snapshot(data: bytes | None) -> Snapshot | None:
    """None where it is not there or cannot be read."""
    try:
        return None if data is None else msgspec.json.decode(data, type=Snapshot)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None


def to_read(side: Side | None, parts: Sequence[LogPart]) -> list[ToRead]:
    """Each file with what of it is new. A file that was rotated is known by its first line."""
    known = list(side.parts) if side else []
    found: dict[str, ReadPart] = {}
    for same_name in (True, False):
        for part in parts:
            if part.name in found or not (part.head or same_name):
                continue
            match = next(
                (one for one in known if one.head == part.head and one.size <= part.size
                 and (one.name == part.name if same_name else one.name == LIVE_LOG)),
                None,
            )  # fmt: skip
            if match is not None:
                known.remove(match)
                found[part.name] = match
    return [
        ToRead(part, found[part.name].size, found[part.name].newest) if part.name in found else ToRead(part, 0, None)
        for part in parts
    ]


def still_counts(read: ToRead, today: date) -> bool:
    """Whether what was read before may hold events of the window."""
    return read.start > 0 and (read.newest is None or (today - read.newest).days <= WINDOW_DAYS)


# The events behind a rule: found again in the log by their normal forms.


SHOWN = 200
"""Newest events that are kept."""
_CACHED = 20_000


class Witnesses:
    """Collects the events that speak of a rule.

    Args:
        kind: of the rule.
        keys: hashes of its normal forms.
        today: ordinal of the day, UTC.
    """

    def __init__(self, kind: Kind, keys: Collection[str], today: int, *, relevance: Relevance) -> None:
        self.total = 0
        self.events: deque[dict[str, Any]] = deque(maxlen=SHOWN)
        self._kind: Kind = kind
        self._keys = frozenset(keys)
        self._today = today
        self._relevance = relevance
        self._known: dict[str, bool] = {}
        self._met: set[str] = set()

    def add(self, block: bytes) -> None:
        """Look through whole lines, in the order of the log."""
        for line in block.split(b"\n"):
            event = read_line(line) if line.strip() else None
            if event is None or not (said := self._said(event)):
                continue
            identity = identity_of(line, whole=True)
            if identity not in self._met:
                self._met.add(identity)
                self.total += 1
                self.events.append(self._row(event, identity_of(line), said))

    def _said(self, event: Sighting) -> str:
        """The text by which the event speaks of the rule; empty when it does not."""
        if self._kind == "query":
            texts = (event.good_query, event.bad_query)
        elif self._kind == "correction":
            texts = (said.text,) if (said := correction_of(event)) else ()
        else:
            texts = (event.winning_pattern, event.failure_mode)
        return next((text for text in texts if text and self._belongs(text)), "")

    def _belongs(self, text: str) -> bool:
        quick = quick_form(text)
        if quick not in self._known:
            if len(self._known) >= _CACHED:
                self._known.clear()
            self._known[quick] = key_hash(self._kind, form_of(text).key) in self._keys
        return self._known[quick]

    def _row(self, event: Sighting, event_id: str, said: str) -> dict[str, Any]:
        row: dict[str, Any] = {"event_id": event_id, "ts": event.ts, "session_id": event.session_id or ""}
        row |= {"outcome": event.outcome, "counts_as": self._counts_as(event, said), "text": said}
        return row | ({"user_feedback": event.feedback} if event.feedback else {})

    def _counts_as(self, event: Sighting, said: str) -> str:
        day = day_of(event.ts)
        if day is None or day < self._today - WINDOW_DAYS:
            return f"older than {WINDOW_DAYS} days"
        if is_untrusted(event):
            return "not counted: its text comes from a tool or the web"
        if cause := cause_of(event, event.feedback, self._relevance):
            return f"failure ({cause})"
        if said in (event.failure_mode, event.bad_query):
            return "failure"
        return {"success": "success", "partial": "seen"}.get(event.outcome, "failure")


# When a compaction is due. What is handed in is counted since the last one, so that each trigger resets with it.


NEW_EVENTS = 10
NEW_BYTES = 64 * 1024
ROTATE_BYTES = 1024 * 1024
"""A log above this becomes an archive."""
LARGE_BYTES = 64 * 1024
"""Above this a model may word the rules."""


def triggers_met(
    new_events: int, new_bytes: int, last_feedback: str, *, used_in_ended_session: bool
) -> tuple[Trigger, ...]:
    """The triggers that are met, in the seed's order.

    Args:
        last_feedback: explicit feedback of the last event, if that event is new.
        used_in_ended_session: a session ends in which the skill was used since the last compaction.
    """
    met: dict[Trigger, bool] = {
        "new_events": new_events >= NEW_EVENTS,
        "new_bytes": new_bytes > NEW_BYTES and new_events > 0,
        "user_feedback": bool(last_feedback),
        "session_end": used_in_ended_session,
    }
    return tuple(name for name, is_met in met.items() if is_met)


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


_BULLET = re.compile(r"^\s*[-*+]\s+(?:\[pin(?:ned)?\]\s*)?", re.IGNORECASE)
_FOOTER = re.compile(r"\s+(?:—|--)\s+seen=.*$")
_ID = re.compile(r"\bid=(r[0-9a-f]{3,64})\s*$")


def standing_of(document: Document, rules: Sequence[Rule], today: date) -> Standing:
    """Bring together what the side file and the digest say.

    Args:
        rules: of the side file.
    """
    by_id = {rule.id: rule for rule in rules}
    adopted = _adopted(document, rules, today)
    keys: set[str] = set()
    stances: dict[str, str] = {}
    texts: list[tuple[str, str]] = []
    for part in document.parts:
        if part.place in ("foreign", "last"):
            continue
        for line in part.hand:
            if not (text := bare_text(line)):
                continue
            kind, key = key_of_line(part.place, text)
            keys.add(key)
            texts.append((kind, label_free(text).strip("`")))
            if (match := _ID.search(line)) and match[1] in by_id:
                keys.update(by_id[match[1]].keys)
            if part.place == "active":
                stances[form_of(text).stance] = "a line written by hand"
    return Standing(
        rules=[*rules, *adopted],
        adopted=frozenset(rule.id for rule in adopted),
        hand_keys=frozenset(keys),
        hand_texts=texts,
        hand_stances=stances,
    )


def crosses_a_limit(rule: Rule, today: date) -> bool:
    """Whether time alone moves it to another section, or out."""
    age = (today - rule.last_verified).days
    if rule.kind == "correction":
        return False
    if rule.section in ("active", "queries"):
        return age > ACTIVE_DAYS
    return age > PENDING_DAYS


def bare_text(line: str) -> str:
    """A line of the digest without bullet, pin and footer."""
    return _FOOTER.sub("", _BULLET.sub("", line)).strip()


def _adopted(document: Document, rules: Sequence[Rule], today: date) -> list[Rule]:
    """Lines with a footer that the side file does not know: another program's, or ours after the side file was lost."""
    taken = {rule.id for rule in rules}
    known = {key for rule in rules for key in rule.keys}
    out: list[Rule] = []
    for written in document.rules:
        kind, key = key_of_line(written.section, written.text)
        if written.id in taken or key in known:
            continue
        rule = _rule(written, kind, key, _free_id(written.id or "r" + key[:4], key, taken), document, today)
        taken.add(rule.id)
        known.add(key)
        out.append(rule)
    return out


def _free_id(wanted: str, key: str, taken: set[str]) -> str:
    length = 4
    while wanted in taken and length < len(key):
        length += 1
        wanted = "r" + key[:length]
    return wanted


def _rule(written: RuleInFile, kind: str, key: str, rule_id: str, document: Document, today: date) -> Rule:
    fallback = document.last_compacted.date() if document.last_compacted else today
    day = written.last_verified or fallback
    failing = written.section == "failures"
    return Rule(
        id=rule_id,
        kind=msgspec.convert(kind, RuleKind),
        section=written.section,
        text=safe_line(written.text),
        seen=written.seen,
        success=0 if failing else written.seen if written.success is None else written.success,
        failed=written.seen if failing else 0,
        first_seen=day,
        last_seen=day,
        last_verified=day,
        keys=(key,),
    )


# Near-equal wordings are one pattern.


_MOST_NEAR = 2_000
"""Patterns of a kind that are compared, the most telling first: a log may have twenty thousand."""
_WORDINGS = 3
"""Of each that are compared."""


def one_pattern(clusters: Iterable[Cluster], standing: Standing) -> tuple[list[tuple[str, ...]], frozenset[str]]:
    """Key hashes that are one pattern each, standing rules included; and those that a hand-written line says."""
    groups: list[tuple[str, ...]] = []
    by_hand: set[str] = set()
    rules = {rule.id for rule in standing.rules}
    ranked = sorted(clusters, key=lambda one: (-one.success, -one.seen, one.key))
    for kind in HOME:
        keys: dict[str, tuple[str, ...]] = {}
        texts: dict[str, Sequence[str]] = {}
        for at, (its_kind, text) in enumerate(standing.hand_texts):
            if its_kind == kind:
                keys[f"hand {at}"], texts[f"hand {at}"] = (), (text,)
        for rule in standing.rules:
            if rule.kind == kind:
                keys[rule.id], texts[rule.id] = rule.keys, (label_free(rule.text).strip("`"), *rule.members)[:_WORDINGS]
        taken = {key for some in keys.values() for key in some}
        for cluster in [one for one in ranked if one.kind == kind and taken.isdisjoint(one.keys)][:_MOST_NEAR]:
            keys[cluster.key], texts[cluster.key] = cluster.keys, cluster.members[:_WORDINGS]
        for first, names in near_groups(texts.items()).items():
            if first.startswith("hand "):
                by_hand.update(key for name in names for key in keys[name])
                continue
            apart = [name for name in names if name != first and name in rules]  # two rules that stand stay two
            together = [key for name in names if name not in apart for key in keys[name]]
            groups += [
                tuple(dict.fromkeys(some)) for some in (together, *(keys[name] for name in apart)) if len(some) > 1
            ]
    return groups, frozenset(by_hand)


def patterns_of(tally: Tally, standing: Standing) -> tuple[Standing, list[Cluster], list[tuple[str, ...]]]:
    """What was counted with near-equal wordings as one pattern, what stands with what a hand-written line says nearly,
    and the key hashes that are one."""
    groups, by_hand = one_pattern(tally.clusters(rule.keys for rule in standing.rules if len(rule.keys) > 1), standing)
    told = msgspec.structs.replace(standing, hand_keys=standing.hand_keys | by_hand)
    return told, tally.clusters(groups), groups
