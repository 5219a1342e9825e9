"""What is in context now, why it stays, and pins."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import ItemUnknown
from ..ledger.fold import Fold
from ..ledger.identity import names_of
from ..models.events import Decision, Pinned, SessionInfo, Unpinned
from ..models.items import content_text
from ..models.plain_text import plain_line
from ..models.plans import ContextItem, Verdict
from ..models.policies import Policy
from ..models.reports import ContextView, ItemView
from ..models.usage import Usage
from ..policy.gates import gates
from ..policy.judging import judge
from .dependencies import Dependencies
from .measure import Situation
from .offloaded import Offloaded
from .record import CITATION_INDEX
from .sessions import Sessions

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
        on, off = _ids(fold, info, pinned), _ids(fold, info, unpinned)
        decisions: list[Decision] = []
        if new := tuple(name for name in on if name not in fold.decided.pinned):
            decisions.append(Pinned(item_ids=new, ts=given.now()))
        if old := tuple(name for name in off if name in fold.decided.pinned):
            decisions.append(Unpinned(item_ids=old, ts=given.now()))
        return decisions

    await sessions.decide(info, decide)


def _ids(fold: Fold, info: SessionInfo, names: Sequence[str]) -> list[str]:
    found: list[str] = []
    for name in names:
        known = [one for one in names_of(name) if (state := fold.states.get(one)) is not None and state.versions]
        if not known:
            raise ItemUnknown("The context has no such item.", next=f"See its items: show_context {info.handle}.")
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
    verdicts = {one.item_id: one for one in judge(items, policy, known_gates=known)}
    cited = situation.view.find(CITATION_INDEX)
    text = cited.item.content if cited is not None and isinstance(cited.item.content, str) else ""
    return ContextView(
        session_id=info.session_id,
        handle=info.handle,
        usage=usage,
        items=tuple(_row(given, one, verdicts.get(one.item.id)) for one in items),
        batches=await offloaded.batches(info),
        citations=tuple(text.splitlines()),
    )


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
