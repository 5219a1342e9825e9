"""Values that nobody ever wrote, near to ones that somebody did: they must be answered "no"."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from .answering import stands_whole
from .asking import Original, Probe

A_TYPE = 3
"""So many a type: each takes a search through all that stays."""


def distractors(probes: Sequence[Probe], originals: Sequence[Original]) -> Iterator[Probe]:
    """Probes whose first value was changed at its end, or lost its end; only such as stand in no original."""
    made: Counter[str] = Counter()
    texts = [original.text for original in originals]
    for one in probes:
        if made[one.type] >= A_TYPE:
            continue
        wrong = _near(one.expected[0], cut=made[one.type] % 2 == 1)
        # Most texts do not hold it at all, and that is seen much sooner.
        if wrong and not any(wrong in text and stands_whole(text, wrong) for text in texts):
            made[one.type] += 1
            yield Probe(type=one.type, question=one.question, expected=(wrong,), item_id=one.item_id)


def _near(value: str, *, cut: bool) -> str:
    """`main.py` -> `main.pz`, `4711` -> `4712`; cut: `main.p`, which stands in every text that has `main.py`."""
    if len(value) < 5 or not (value[-1].isascii() and value[-1].isalnum()):
        return ""
    if cut:
        return value[:-1] if value[-2].isalnum() else ""
    last = value[-1]
    return value[:-1] + ("0" if last == "9" else "a" if last in "zZ" else chr(ord(last) + 1))


__all__ = ["distractors"]
