"""What a session shows of itself: its context and why, a row in a list of sessions, notices of a zone, status notes."""

from __future__ import annotations

import asyncio
import json
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

import msgspec

from ..context.fold import Fold
from ..context.gates import gates
from ..context.judge import judge
from ..context.meter import breakdown, stays
from ..context.plan import PREPARE, Candidates, candidates
from ..context.state import UsageFields
from ..context.view import View
from ..errors import PalimpsestError
from ..models.events import Decision, Pinned, SessionInfo, Unpinned, UsageSeen
from ..models.items import content_text, names_of
from ..models.plans import ContextItem, PassOptions, Policy, Verdict
from ..models.reports import NOT_APPLIED, Part, Usage
from ..models.text import plain_line
from ..models.views import Chooser, ContextView, ItemView, SessionRow
from ..ports.seams import Redactor
from .dependencies import Dependencies
from .measure import Measurement, measured, stored_policy
from .offloaded import Offloaded, no_item, saved_by
from .record import CITATION_INDEX
from .sessions import Sessions
from .surface import named_by_mark

# What is in context now, why it stays, and pins.


PREVIEW_CHARACTERS = 100
EVIDENCE_CHARACTERS = 160
REDACTED_CHARACTERS = 2_000
"""How much of an item is masked to make its preview: masking comes before cutting, and a preview needs no more."""


async def pin(
    deps: Dependencies, sessions: Sessions, info: SessionInfo, pinned: Sequence[str], unpinned: Sequence[str]
) -> None:
    """Pin and unpin items by id, or by the host's own id where that is no plain word.

    Raises:
        ItemUnknown: the context has no such item; nothing was changed.
    """

    def decide(fold: Fold) -> list[Decision]:
        on, off = (_ids(fold, info, names, deps.redactor) for names in (pinned, unpinned))
        decisions: list[Decision] = []
        if new := tuple(name for name in on if name not in fold.decided.pinned):
            decisions.append(Pinned(item_ids=new, ts=deps.now()))
        if old := tuple(name for name in off if name in fold.decided.pinned):
            decisions.append(Unpinned(item_ids=old, ts=deps.now()))
        return decisions

    await sessions.decide(info, decide)


def _ids(fold: Fold, info: SessionInfo, names: Sequence[str], redactor: Redactor) -> list[str]:
    found: list[str] = []
    for name in names:
        known = [one for one in names_of(name) if (state := fold.states.get(one)) is not None and state.versions]
        known = known or named_by_mark(name, fold.states, str, redactor)
        if not known:
            raise no_item(info.handle, name)
        found.append(known[0])
    return found


async def show(
    deps: Dependencies,
    offloaded: Offloaded,
    info: SessionInfo,
    measurement: Measurement,
    usage: Usage,
    policy: Policy,
    rows: slice | Chooser,
) -> ContextView:
    """Items in order, each with its size, its state and what protects it.

    Args:
        rows: which of them; what is said of one is masked, which is the longest part of it.
    """
    items = measurement.view.items
    known = gates(items, policy, replaced=True) if policy.gates else {}
    judged = judge(items, policy, known_gates=known)
    cited = measurement.view.find(CITATION_INDEX)
    text = cited.item.content if cited is not None and isinstance(cited.item.content, str) else ""
    return ContextView(
        session_id=info.session_id,
        handle=info.handle,
        usage=msgspec.structs.replace(usage, parts=_parts(measurement, judged)),
        item_count=len(items),
        items=_rows(deps, items, judged, rows),
        by_kind=_by_kind(measurement),
        batches=await offloaded.batches(info),
        citations=tuple(text.splitlines()),
    )


async def compacted_view(deps: Dependencies, sessions: Sessions, offloaded: Offloaded, info: SessionInfo) -> str:
    """The context as it stands, in the host's order: what a new conversation starts from."""
    fold, shown_now = await sessions.view(info, deps.counter_for(deps.model))
    replaced = fold.decided.replacements
    standing = {
        one.item.id: (replaced[one.item.id].batch.batch_id, replaced[one.item.id].item)
        for one in shown_now.items
        if one.state == "replaced"
    }
    digests = await offloaded.parts(info, standing)

    def told() -> str:
        return "\n\n".join(filter(None, (_told(deps, one, digests) for one in shown_now.items)))

    return await asyncio.to_thread(told)


def _told(deps: Dependencies, one: ContextItem, digests: Mapping[str, str]) -> str:
    """One item as a reader of the context sees it, masked; empty for what the next conversation has of its own."""
    item = one.item
    if one.state == "gone" or item.kind in ("thinking", "system_prompt") or item.role == "system":
        return ""
    name = deps.masked(item.tool_name)
    if item.kind == "tool_call":
        text = json.dumps(item.args, ensure_ascii=False) if item.args else content_text(item.content or "")
        return f"[call {name}] {deps.masked(text)}"
    who = f"result of {name}" if name and item.role == "tool" else "result" if item.role == "tool" else item.role
    if (digest := digests.get(item.id)) is not None:
        return f"[{who}]\n{digest}"
    if item.content is None:
        return f"[{who}: {preview(deps, one)} · {one.tokens:,} tokens that were never recorded]"
    return f"[{who}]\n{deps.masked(content_text(item.content))}"


def parts(measurement: Measurement, policy: Policy) -> tuple[Part, ...]:
    """What fills the window, by why it stays: sums to what is used of it."""
    return _parts(measurement, judge(measurement.view.items, policy))


def _parts(measurement: Measurement, judged: Sequence[Verdict]) -> tuple[Part, ...]:
    return _filled_by(measurement, stays(judged))


def _by_kind(measurement: Measurement) -> tuple[Part, ...]:
    entries = (
        ("digest" if one.state == "replaced" else "message" if one.item.kind in _SAID else one.item.kind, one.tokens)
        for one in measurement.view.items
    )
    return _filled_by(measurement, entries)


_SAID = ("message", "original_query")


def _filled_by(measurement: Measurement, entries: Iterable[tuple[str, int]]) -> tuple[Part, ...]:
    used, ours = measurement.usage.used.value, measurement.view_used
    waits = {NOT_APPLIED: used - ours} if used is not None and ours is not None and used > ours else {}
    return breakdown(entries, used, scale=measurement.scale, beside=waits)


def _rows(
    deps: Dependencies, items: Sequence[ContextItem], judged: Sequence[Verdict], rows: slice | Chooser
) -> tuple[ItemView, ...]:
    if isinstance(rows, slice):
        return tuple(_told_row(deps, *both) for both in zip(items[rows], judged[rows], strict=True))
    chosen = [one.item_id for one in rows(map(_bare_row, items, judged))]
    wanted = dict.fromkeys(chosen)
    both = {one.item.id: (one, verdict) for one, verdict in zip(items, judged, strict=True) if one.item.id in wanted}
    return tuple(_told_row(deps, *both[item_id]) for item_id in chosen)


def _told_row(deps: Dependencies, one: ContextItem, verdict: Verdict) -> ItemView:
    gate = verdict.gate
    evidence = plain_line(deps.masked(gate.evidence), EVIDENCE_CHARACTERS) if gate else ""
    return msgspec.structs.replace(_bare_row(one, verdict), preview=preview(deps, one), evidence=evidence)


def _bare_row(one: ContextItem, verdict: Verdict) -> ItemView:
    """Without what has to be masked."""
    return ItemView(
        item_id=one.item.id,
        kind=one.item.kind,
        role=one.item.role,
        tool_name=one.item.tool_name,
        tokens=one.tokens,
        state=one.state,
        batch_id=one.batch_id,
        protected=verdict.reason if verdict.verdict != "free" else "",
        pinned=one.pinned,
        gate=verdict.gate.name if verdict.gate else "",
    )


def preview(deps: Dependencies, one: ContextItem) -> str:
    """One redacted line of an item."""
    words = one.item.title or (one.item.action.target if one.item.action else "") or content_text(one.item.content)
    return plain_line(deps.masked(words[:REDACTED_CHARACTERS]), PREVIEW_CHARACTERS)


KEPT_ROWS = 1_000
"""Of sessions; one takes some 2 KB."""
TOGETHER = 20
"""Sessions that are opened at a time: a page of them."""


class SessionRows:
    """Sessions as rows. What a row was made of is known by a mark, where the store gives one: while that is the same,
    nothing is read again."""

    def __init__(self, deps: Dependencies, sessions: Sessions) -> None:
        self._deps, self._sessions = deps, sessions
        self._kept: OrderedDict[str, tuple[str, SessionRow]] = OrderedDict()

    async def of(self, infos: Iterable[SessionInfo]) -> tuple[SessionRow, ...]:
        """A row for each of these sessions, in their order; one that cannot be read has the reason in its row."""
        infos = tuple(infos)
        marks = await self._deps.store.ledger.marks([info.session_id for info in infos], self._deps.principal)
        rows: list[SessionRow] = []
        for start in range(0, len(infos), TOGETHER):
            part = infos[start : start + TOGETHER]
            asked = [info for info in part if self._known(info, marks.get(info.session_id, "")) is None]
            folds: Mapping[str, Fold] = {}
            with suppress(PalimpsestError):  # then each says what is the matter with it
                folds = await self._sessions.opened_together(asked)
            rows += [await self._of(one, marks.get(one.session_id, ""), folds.get(one.session_id)) for one in part]
        return tuple(rows)

    def _known(self, info: SessionInfo, mark: str) -> SessionRow | None:
        known, row = self._kept.get(info.session_id, ("", None))
        return row if mark and known == mark else None

    async def _of(self, info: SessionInfo, mark: str, fold: Fold | None) -> SessionRow:
        row = self._known(info, mark) or await _row(self._deps, self._sessions, info, fold)
        if mark and not row.note:
            self._kept[info.session_id] = mark, row
            self._kept.move_to_end(info.session_id)
            if len(self._kept) > KEPT_ROWS:
                self._kept.popitem(last=False)
        return row


async def _row(deps: Dependencies, sessions: Sessions, info: SessionInfo, fold: Fold | None) -> SessionRow:
    row = SessionRow(
        session_id=info.session_id,
        handle=info.handle,
        title="",
        host=info.host,
        project=info.project,
        source=info.source,
        path=info.path,
        created=info.created,
    )
    try:
        fold = fold if fold is not None else await sessions.opened(info)  # once: of a database each look is a trip
        measurement = await measured(deps, sessions, info, stored_policy(deps, fold), PassOptions(), fold=fold)
        saved = saved_by(deps, measurement.fold)
    except PalimpsestError as error:
        return msgspec.structs.replace(row, note=error.message)
    return msgspec.structs.replace(
        row,
        title=_title(deps, measurement.view),
        host=measurement.usage.host or info.host,
        usage=measurement.usage,
        items=measurement.view.count,
        batches=saved.batches,
        saved_tokens=saved.net,
        restores_per_hundred=saved.restores_per_hundred,
    )


def _title(deps: Dependencies, view: View) -> str:
    """The first request, masked; empty where there is none."""
    first = next((one for one in view.items if one.item.kind == "original_query"), None)
    return preview(deps, first) if first is not None else ""


# What an answer says beside the numbers: one notice a zone, and candidates where a zone asks to prepare.


HYSTERESIS = 0.05
"""A zone is noticed again only after the ratio fell so far below its start, or after a pass."""
KEPT = 16
NAME_CHARACTERS = 60


class Notices:
    """Remembers in the ledger which zone was noticed, and in memory what the candidates of a view are."""

    def __init__(self, deps: Dependencies, sessions: Sessions) -> None:
        self._deps = deps
        self._sessions = sessions
        self._found: dict[str, tuple[View, Policy, Candidates]] = {}

    async def usage(self, info: SessionInfo, measurement: Measurement, policy: Policy) -> Usage:
        """The situation's usage with what is to be said about it. Nothing is said where `PALIMPSEST_AUTO=off`."""
        usage = measurement.usage
        if not self._deps.automatic:
            return usage
        notice = await self.notice(info, measurement, policy)
        if not usage.action.startswith(PREPARE):
            return msgspec.structs.replace(usage, notice=notice)
        found = await self._candidates(info, measurement, policy)
        return msgspec.structs.replace(
            usage,
            notice=notice,
            candidates=tuple(
                f"{one.item.id}: {one.tokens:,} tokens, {plain_line(preview(self._deps, one), NAME_CHARACTERS)}"
                for one in found.items
            ),
            candidates_total=found.total,
            would_free_tokens=round(found.frees_tokens * measurement.scale),
        )

    async def notice(self, info: SessionInfo, measurement: Measurement, policy: Policy) -> str:
        """What is to be said of the zone, once; empty where that was done."""
        fold, usage = measurement.fold, measurement.usage
        starts = {zone.name: zone.start for zone in policy.zones}
        if usage.ratio is None or usage.zone not in starts:
            return ""
        rev = fold.last_pass_rev
        last = fold.usage.get("", UsageFields()).notice
        known = last is not None and last.notice_rev == rev and last.notice in starts
        noticed = starts[last.notice] if known and last is not None else 0.0
        here = starts[usage.zone]
        if here == noticed or (here < noticed and usage.ratio > noticed - HYSTERESIS):
            return ""
        event = UsageSeen(notice=usage.zone, notice_rev=rev, ts=self._deps.now())
        await self._deps.store.ledger.observe(self._sessions.key(info), [event], durable=False)
        return f"now in zone {usage.zone} ({usage.ratio:.1%}): {usage.action}" if here > noticed else ""

    async def _candidates(self, info: SessionInfo, measurement: Measurement, policy: Policy) -> Candidates:
        kept = self._found.get(info.session_id)
        if kept is not None and kept[0] is measurement.view and kept[1] == policy:
            return kept[2]
        await self._sessions.fold(info)  # every item is asked for
        scale = measurement.scale
        used, window = measurement.view_used, measurement.window_tokens
        found = await asyncio.to_thread(
            candidates,
            measurement.view.items,
            policy,
            used_tokens=None if used is None else round(used / scale),
            window_tokens=None if window is None else round(window / scale),
        )
        if len(self._found) >= KEPT:
            self._found.clear()
        self._found[info.session_id] = (measurement.view, policy, found)
        return found
