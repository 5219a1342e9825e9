"""Stand-in until the learned prior is there."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from .records import Record

_PRIOR = {
    "error": 0.4,
    "status": 0.4,
    "url": 0.2,
    "path": 0.2,
    "issue": 0.27,
    "uuid": 0.05,
    "hash": 0.05,
    "date": 0.05,
    "host": 0.2,
    "version": 0.08,
    "money": 0.2,
    "score": 0.15,
    "quantity": 0.08,
    "number": 0.19,
    "integer": 0.09,
    "id": 0.27,
    "constant": 0.16,
    "name": 0.31,
    "handle": 0.26,
    "email": 0.2,
    "command": 0.2,
}
_KIND = {
    "outcome": 4,
    "error": 2.5,
    "claim": 2.0,
    "heading": 0.5,
    "row": 0.6,
    "field": 0.8,
    "definition": 1.0,
    "change": 0.8,
    "hit": 0.5,
    "entry": 0.3,
    "frame": 0.4,
    "line": 0.4,
    "noise": 0.02,
}
_NAME = re.compile(
    r"(?<![\w/.-])/?(?:[\w.@-]+/)+[\w.@-]+|[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+|\b[a-z]\w*_\w+\b|\b[a-z]+[A-Z]\w+\b|\b[A-Z][a-z]+[A-Z]\w+\b|\b[A-Z]{2,}[A-Z0-9_]*\d\w*\b|\b[\w-]+\.(?:py|ts|tsx|js|ex|go|rs|java|md|json|toml|yaml|yml|sh|css|html|sql)\b"
)


class Need:
    def __init__(self, form: str, focus: Sequence[str] = ()) -> None:
        self._focus = frozenset(focus)

    def value(self, cls: str, text: str) -> float:
        return _PRIOR.get(cls, 0.2)

    def names(self, lines: Sequence[str]) -> list[tuple[str, float]]:
        c = Counter(m.group().rstrip(".") for l in lines for m in _NAME.finditer(l) if 4 <= m.end() - m.start() <= 80)
        return [(n, 0.25 + 0.05 * min(4, k)) for n, k in sorted(c.items(), key=lambda x: (-x[1], x[0]))[:400]]

    def gain(self, record: Record, unseen: float, times: int) -> float:
        return _KIND[record.kind] * record.worth / (1 + 0.3 * times) + unseen
