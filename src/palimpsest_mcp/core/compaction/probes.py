"""Asks the probes of a pass, or of a session as it stands: what was there, what stays, and the verdict."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import msgspec

from ...context.fold import Fold
from ...context.gates import forgettable
from ...context.scene import Scene
from ...context.view import View
from ...digest.notation import expanded, with_columns
from ...digest.verdict import without_prose
from ...memory.probes.answers import Original, Probe, Searched, Stays
from ...memory.probes.grade import PASS, Asked, Graded, ask, concerned, grade, report, untrusted, worst
from ...memory.probes.questions import Texts
from ...memory.summary.sections import to_markdown
from ...models.events import SessionInfo
from ...models.items import Item, content_text
from ...models.llm import JudgeQuestion
from ...models.plans import ContextItem, Policy
from ...models.probes import JudgedProbes, ProbeReport
from ...models.records import OffloadRecord
from ...ports.seams import Judge, Redactor
from ..batch import original_text
from ..dependencies import Dependencies
from ..sessions import Sessions
from ..summary import KeptSummaries
from .pointers import DIGESTER

# A model's opinion on probes, where the settings ask for one: told beside the verdict by code, never in its place.


MOST = 12
"""Probes that are judged: the critical ones first, one an item."""
ORIGINAL_CHARS, PASSAGE_CHARS = 400, 3_000


async def second_opinion(
    judge: Judge,
    redactor: Redactor,
    report: ProbeReport,
    probes: Sequence[Probe],
    originals: Sequence[Original],
    passages: Mapping[str, str],
    summary: str,
) -> ProbeReport:
    """The report with what the judge says of items that are no longer there as they were; secrets masked."""
    texts = {one.item.id: one.text for one in originals}
    changed = [one for one in probes if passages.get(one.item_id, "") != texts[one.item_id]]
    chosen = {one.item_id: one for one in sorted(changed, key=lambda one: one.critical)}
    asked = sorted(chosen.values(), key=lambda one: not one.critical)[:MOST]
    if not asked:
        return report

    def shown(text: str, most: int) -> str:
        return redactor.redact(text).text[:most]

    questions = [
        JudgeQuestion(
            question=one.question,
            original=shown(_lines_of(texts[one.item_id], one.expected), ORIGINAL_CHARS),
            passage=shown("\n\n".join(filter(None, (passages.get(one.item_id, ""), summary))), PASSAGE_CHARS),
        )
        for one in asked
    ]
    said = await judge.judge(questions)
    if said.failure:
        note = f"no second opinion by {judge.author}: {said.failure}"
        return msgspec.structs.replace(report, notes=(*report.notes, note))
    judged = JudgedProbes(author=judge.author, asked=len(questions), answered=sum(said.answered))
    note = f"second opinion by {judge.author}: {judged.answered} of {judged.asked} answered; the verdict is code's"
    return msgspec.structs.replace(report, judged=judged, notes=(*report.notes, note))


def _lines_of(text: str, expected: Sequence[str]) -> str:
    """The lines in which the expected values stand."""
    found = [line.strip() for line in text.split("\n") if any(value in line for value in expected)]
    return "\n".join(found) or "\n".join(expected)


SUMMARY = "summary"
"""Name of the passage that the anchored summary is; no item has it, since items' ids hold no such word alone."""
WARN_S, RED_S = 2.0, 5.0
"""Seconds for all rounds of a pass: above the first a note, above the second a red flag (seed 003)."""


@dataclass(frozen=True, kw_only=True)
class Leaving:
    """One item for which a part stands, or is to stand."""

    batch_id: str
    part: str
    text: str
    """Of the original, redacted."""
    shown: str = ""
    """What the host shows in its place, where that is not the part."""
    pointer: bool = False
    """It was to be no digest: nothing is asked of it."""


@dataclass(frozen=True, kw_only=True)
class Round:
    """What came of asking once."""

    graded: Graded
    batch_of: Mapping[str, str]

    @property
    def weak(self) -> set[str]:
        """Batches with a failed probe."""
        return concerned(self.graded, self.batch_of)

    @property
    def untrusted(self) -> set[str]:
        """Batches that must not be used as they are."""
        return untrusted(self.graded, self.batch_of)

    @property
    def worst(self) -> set[str]:
        """The fewest batches without which the rest would pass."""
        return worst(self.graded, self.batch_of, PASS)


class Prober:
    """The probes of one agent's context."""

    def __init__(
        self,
        deps: Dependencies,
        items: Sequence[ContextItem],
        *,
        forgotten: Collection[str] = (),
        parts: Mapping[str, str] | None = None,
        summary: str = "",
        damaged: Collection[str] = (),
    ) -> None:
        """Take the context as it was.

        Args:
            forgotten: ids of items that leave as pointers because that is wanted: nothing is asked of them.
            parts: item id -> digest part that stands for it since an earlier pass.
            summary: what stands for what is gone: the anchored summary, or a host's own.
            damaged: ids of items whose records cannot be read: each counts as a miss.
        """
        self._deps = deps
        self._items = items
        self._forgotten = frozenset(forgotten)
        self._parts = parts or {}
        self._summary = summary
        self._damaged = frozenset(damaged)
        self._texts: dict[str, str] = {}
        self._read = Texts()
        self._stays: Searched | None = None
        self._asked: tuple[Asked, Sequence[Original], Mapping[str, str]] | None = None
        """Questions, originals and passages of the last round."""
        self.elapsed_s = 0.0

    async def ask(self, leaving: Mapping[str, Leaving]) -> Round:
        """Ask everything, with these items replaced by their parts."""
        started = self._deps.clock()
        graded = await asyncio.to_thread(self._graded, leaving)
        self.elapsed_s += max(0.0, (self._deps.clock() - started).total_seconds())
        return Round(graded=graded, batch_of={name: one.batch_id for name, one in leaving.items()})

    def told(self, last: Round, *, retries: int = 0, kept_raw: int = 0) -> ProbeReport:
        """The report of the last round, with what it took to come there."""
        found = report(last.graded, last.batch_of, self._deps.masked)
        notes = list(found.notes)
        if self.elapsed_s > WARN_S:
            grave = "red flag: " if self.elapsed_s > RED_S else ""
            notes.append(f"{grave}probes took {self.elapsed_s:.1f} s, over {WARN_S:g} s")
        return msgspec.structs.replace(
            found, retries=retries, kept_raw=kept_raw, elapsed_s=round(self.elapsed_s, 3), notes=tuple(notes)
        )

    async def judged(self, told: ProbeReport) -> ProbeReport:
        """The same with a second opinion, where the settings ask for one."""
        if self._deps.judge is None or self._asked is None:
            return told
        asked, originals, passages = self._asked
        return await second_opinion(
            self._deps.judge, self._deps.redactor, told, asked.probes, originals, passages, self._summary
        )

    def _graded(self, leaving: Mapping[str, Leaving]) -> Graded:
        originals: list[Original] = []
        passages: dict[str, str] = {SUMMARY: self._summary} if self._summary else {}
        kept: dict[str, str] = {}
        for entry in self._items:
            item = entry.item
            if item.kind == "thinking":
                continue
            gone = leaving.get(item.id)
            if gone is not None:
                originals.append(self._original(item, gone.text, leaves=True, pointer=gone.pointer))
                passages[item.id] = gone.shown or expanded(without_prose(gone.part))
            elif entry.state == "replaced":
                passages[item.id] = expanded(without_prose(self._parts.get(item.id, "")))
            else:
                text = self._text(item)
                originals.append(self._original(item, text))
                if entry.state != "gone":
                    passages[item.id] = kept[item.id] = text
        damaged = [entry.item for entry in self._items if entry.item.id in self._damaged]
        staying = self._staying(leaving)
        asked = ask(originals, Stays(kept, self._read.stood, staying), damaged, self._read)
        self._asked = asked, originals, passages
        return grade(asked, Stays(passages, self._read.stood, staying))

    def _staying(self, leaving: Collection[str]) -> Searched:
        """Items that stay as they are in the first round: from one round to the next most of them do."""
        if self._stays is None:
            kept = (entry.item for entry in self._items if entry.state not in ("replaced", "gone"))
            stay = [item for item in kept if item.kind != "thinking" and item.id not in leaving]
            self._stays = Searched({item.id: self._text(item) for item in stay})
        return self._stays

    def _original(self, item: Item, text: str, *, leaves: bool = False, pointer: bool = False) -> Original:
        forgotten = leaves and (pointer or item.id in self._forgotten)
        return Original(item=item, text=text, leaves=leaves, forgotten=forgotten)

    def _text(self, item: Item) -> str:
        if item.id not in self._texts:
            self._texts[item.id] = _call_text(item) if item.kind == "tool_call" else content_text(item.content)
        return self._texts[item.id]


def leaving_of(
    record: OffloadRecord, texts: Sequence[str], stands: Mapping[str, str] | None = None, *, pointer: bool = False
) -> dict[str, Leaving]:
    """The items of a record with their parts; `texts` are their redacted originals, in order."""
    shown = stands or {}
    parts = with_columns([record.part(item) for item in record.items])
    return {
        item.id: Leaving(batch_id=record.batch_id, part=part, text=text, shown=shown.get(item.id, ""), pointer=pointer)
        for item, part, text in zip(record.items, parts, texts, strict=True)
    }


def redacted_texts(deps: Dependencies, record: OffloadRecord) -> list[str]:
    """The originals of a record as their digest was made from them."""
    return [one.text for one in deps.redactor.redact_all([original_text(item) for item in record.items])]


def _call_text(item: Item) -> str:
    """A call as a model reads it: the tool and every string of its arguments, unescaped."""
    return "\n".join([item.tool_name, *_strings(item.args)])


def _strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for part in cast("dict[str, Any]", value).values() for text in _strings(part)]
    if isinstance(value, list):
        return [text for part in cast("list[Any]", value) for text in _strings(part)]
    return [] if value is None else [str(value)]


# The probes of a session as it stands: also of one whose host compacted it, or that was compacted long ago.


async def probe_session(
    deps: Dependencies, sessions: Sessions, summaries: KeptSummaries, info: SessionInfo, policy: Policy
) -> ProbeReport:
    """Ask what the session's originals hold, and answer from what stays: kept items, digests, the anchored summary.

    Items that left the host's list (a compaction of its own, a rewind) are asked for too: what nothing answers any
    more shows here, and so does a record that cannot be read. Nothing is written.
    """
    fold = await sessions.fold(info)
    counter = deps.counter_for(deps.model)
    _, shown = await sessions.view(info, counter)
    summary = await summaries.current(info)
    records: dict[str, OffloadRecord] = {}
    for owner in await sessions.family(info):
        async for record in deps.store.archive.records(sessions.key(owner)):
            records.setdefault(record.batch_id, record)
    leaving = await asyncio.to_thread(_leaving, deps, fold, shown, records)
    items = (*shown.items, *shown.gone)
    probing = Prober(
        deps,
        sorted(items, key=lambda one: (one.item.position, one.item.id)),
        summary=to_markdown(summary),
        forgotten=await asyncio.to_thread(_forgotten, shown, policy, leaving, records),
        damaged=_damaged(fold, shown, records),
    )
    return await probing.judged(probing.told(await probing.ask(leaving)))


def _leaving(deps: Dependencies, fold: Fold, shown: View, records: dict[str, OffloadRecord]) -> dict[str, Leaving]:
    """Every item that a digest stands for, its original from the archive."""
    here = {one.item.id for one in shown.items}
    names = {stands.batch.batch_id for name, stands in fold.decided.replacements.items() if name in here}
    found: dict[str, Leaving] = {}
    for batch in sorted(names & records.keys()):
        found |= leaving_of(records[batch], redacted_texts(deps, records[batch]))
    return {
        name: one
        for name, one in found.items()
        if name in here and fold.decided.replacements[name].batch.batch_id == one.batch_id
    }


def _damaged(fold: Fold, shown: View, records: dict[str, OffloadRecord]) -> set[str]:
    """Items that a digest stands for, and whose record is missing or cannot be read."""
    replaced = fold.decided.replacements
    stands = {one.item.id: replaced[one.item.id] for one in shown.items if one.item.id in replaced}
    return {name for name, by in stands.items() if by.batch.batch_id not in records}


def _forgotten(
    shown: View, policy: Policy, leaving: dict[str, Leaving], records: dict[str, OffloadRecord]
) -> frozenset[str]:
    """What left as a pointer because that was wanted: by the forget gate, or by the policy of its pass."""
    gated = forgettable(Scene(shown.items, policy)) if policy.gates else {}
    made = {name: records[one.batch_id] for name, one in leaving.items()}
    wanted = {
        name
        for name, record in made.items()
        if record.digester == DIGESTER or record.policy.get("prefer_compact_over_drop") is False
    }
    return frozenset(wanted | (gated.keys() & leaving.keys()))
