"""What is in context now, why it stays, and pins."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ..errors import ItemUnknown
from ..ledger.fold import Fold
from ..ledger.identity import names_of
from ..models.advice import Advice, step
from ..models.events import Decision, Pinned, SessionInfo, Unpinned
from ..models.items import content_text
from ..models.plain_text import plain_line, shown
from ..models.plans import ContextItem, Verdict
from ..models.policies import Policy
from ..models.reports import ContextView, ItemView
from ..models.usage import NOT_APPLIED, Part, Usage
from ..policy.fullness import breakdown, stays
from ..policy.gates import gates
from ..policy.judging import judge
from ..ports.text import Redactor
from .dependencies import Dependencies
from .measure import Situation
from .offloaded import Offloaded
from .record import CITATION_INDEX
from .sessions import Sessions
from .surface import named_by_mark

PREVIEW_CHARACTERS = 100
EVIDENCE_CHARACTERS = 160
REDACTED_CHARACTERS = 2_000
"""How much of an item is masked to make its preview: masking comes before cutting, and a preview needs no more."""


async def pin(
    given: Dependencies, sessions: Sessions, info: SessionInfo, pinned: Sequence[str], unpinned: Sequence[str]
) -> None:
    """Pin and unpin items by id, or by the host's own id where that is no plain word.

    Raises:
        ItemUnknown: the context has no such item; nothing was changed.
    """

    def decide(fold: Fold) -> list[Decision]:
        on, off = (_ids(fold, info, names, given.redactor) for names in (pinned, unpinned))
        decisions: list[Decision] = []
        if new := tuple(name for name in on if name not in fold.decided.pinned):
            decisions.append(Pinned(item_ids=new, ts=given.now()))
        if old := tuple(name for name in off if name in fold.decided.pinned):
            decisions.append(Unpinned(item_ids=old, ts=given.now()))
        return decisions

    await sessions.decide(info, decide)


def _ids(fold: Fold, info: SessionInfo, names: Sequence[str], redactor: Redactor) -> list[str]:
    found: list[str] = []
    for name in names:
        known = [one for one in names_of(name) if (state := fold.states.get(one)) is not None and state.versions]
        known = known or named_by_mark(name, fold.states, str, redactor)
        if not known:
            raise ItemUnknown(
                f"The context of {info.handle} has no item {shown(name)}.",
                next=Advice("See its items: {}", step("show_context", session_id=info.handle)),
            )
        found.append(known[0])
    return found


async def show(
    given: Dependencies,
    offloaded: Offloaded,
    info: SessionInfo,
    situation: Situation,
    usage: Usage,
    policy: Policy,
) -> ContextView:
    """Every item in order with its size, its state and what protects it."""
    items = situation.view.items
    known = gates(items, policy, replaced=True) if policy.gates else {}
    judged = judge(items, policy, known_gates=known)
    verdicts = {one.item_id: one for one in judged}
    cited = situation.view.find(CITATION_INDEX)
    text = cited.item.content if cited is not None and isinstance(cited.item.content, str) else ""
    return ContextView(
        session_id=info.session_id,
        handle=info.handle,
        usage=msgspec.structs.replace(usage, parts=_parts(situation, judged)),
        items=tuple(_row(given, one, verdicts.get(one.item.id)) for one in items),
        batches=await offloaded.batches(info),
        citations=tuple(text.splitlines()),
    )


def parts(situation: Situation, policy: Policy) -> tuple[Part, ...]:
    """What fills the window, by why it stays: sums to what is used of it."""
    return _parts(situation, judge(situation.view.items, policy))


def _parts(situation: Situation, judged: Sequence[Verdict]) -> tuple[Part, ...]:
    used, ours = situation.usage.used.value, situation.view_used
    waits = {NOT_APPLIED: used - ours} if used is not None and ours is not None and used > ours else {}
    return breakdown(stays(judged), used, scale=situation.scale, beside=waits)


def _row(given: Dependencies, one: ContextItem, verdict: Verdict | None) -> ItemView:
    kept = verdict is not None and verdict.verdict != "free"
    gate = verdict.gate if verdict is not None else None
    return ItemView(
        item_id=one.item.id,
        kind=one.item.kind,
        role=one.item.role,
        tool_name=one.item.tool_name,
        tokens=one.tokens,
        state=one.state,
        batch_id=one.batch_id,
        protected=verdict.reason if kept and verdict is not None else "",
        pinned=one.pinned,
        preview=preview(given, one),
        gate=gate.name if gate else "",
        evidence=plain_line(given.redactor.redact(gate.evidence).text, EVIDENCE_CHARACTERS) if gate else "",
    )


def preview(given: Dependencies, one: ContextItem) -> str:
    """One redacted line of an item."""
    words = one.item.title or (one.item.action.target if one.item.action else "") or content_text(one.item.content)
    return plain_line(given.redactor.redact(words[:REDACTED_CHARACTERS]).text, PREVIEW_CHARACTERS)
