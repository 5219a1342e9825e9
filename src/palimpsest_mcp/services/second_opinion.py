"""A model's opinion on probes, where the settings ask for one: told beside the verdict by code, never in its place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from ..models.asking import JudgeQuestion
from ..models.probes import JudgedProbes, ProbeReport
from ..ports.asking import Judge
from ..ports.text import Redactor
from ..probes.asking import Original, Probe

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


__all__ = ["second_opinion"]
