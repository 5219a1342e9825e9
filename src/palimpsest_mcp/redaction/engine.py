"""The redactor: every detector over one text, then marks in the place of what they found."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Protocol

from ..ports.text import Redacted
from .marks import MARK, Marker
from .matching import Find, Pattern, merged
from .views import views

_ROUNDS = 4


class Detector(Protocol):
    """Finds secrets of one sort in UTF-8 bytes."""

    def find(self, text: bytes, start: int, end: int) -> Iterator[Find]: ...


class RuleRedactor:
    """A `Redactor` made of detectors. Stateless, so any number of threads may share one."""

    def __init__(
        self, marker: Marker, detectors: Sequence[Detector], *, allow: Sequence[Pattern] = (), rules: Sequence[str] = ()
    ) -> None:
        self._marker = marker
        self._detectors = tuple(detectors)
        self._allow = tuple(allow)
        self._rules = tuple(rules)

    @property
    def rules(self) -> tuple[str, ...]:
        """What is loaded, for `doctor`."""
        return self._rules

    def redact(self, text: str) -> Redacted:
        """The text with its secrets masked, and how many by kind."""
        raw = text.encode("utf-8", "surrogatepass")
        counts: Counter[str] = Counter()
        for _ in range(_ROUNDS):
            finds = self._finds(raw)
            if not finds:
                break
            counts.update(find.kind for find in finds)
            raw = self._masked(raw, finds)
        return Redacted(text=raw.decode("utf-8", "surrogatepass") if counts else text, counts=dict(counts))

    def redact_all(self, texts: Sequence[str]) -> tuple[Redacted, ...]:
        """Texts that follow one another, each masked."""
        return tuple(self.redact(text) for text in texts)

    def final_check(self, data: bytes | str) -> dict[str, int]:
        """Counts by kind of what would still be masked in bytes about to be written; empty when they may be."""
        text = data if isinstance(data, str) else data.decode("utf-8", "replace")
        return dict(Counter(find.kind for find in self._finds(text.encode("utf-8", "surrogatepass"))))

    def _finds(self, raw: bytes) -> list[Find]:
        found = [
            find
            for view in views(raw)
            for start, end in view.windows
            for detector in self._detectors
            for find in detector.find(view.text, start, end)
        ]
        found = [find for find in found if not any(p.fullmatch(raw[find.start : find.end]) for p in self._allow)]
        return _outside_marks(merged(found), raw) if found else []

    def _masked(self, raw: bytes, finds: Sequence[Find]) -> bytes:
        out: list[bytes] = []
        done = 0
        for find in finds:
            out += (raw[done : find.start], self._marker.mark(find.kind, raw[find.start : find.end]))
            done = find.end
        return b"".join((*out, raw[done:]))


def _outside_marks(finds: list[Find], raw: bytes) -> list[Find]:
    """The finds without what is a mark already; a find inside one is gone."""
    out: list[Find] = []
    marks = [mark.span() for mark in MARK.finditer(raw)]
    for find in finds:
        start = find.start
        for left, right in marks:
            if right <= start or left >= find.end:
                continue
            if start < left:
                out.append(find._replace(start=start, end=left))
            start = right
        if start < find.end:
            out.append(find._replace(start=start))
    return [find for find in out if re.search(rb"[^\W_]", raw[find.start : find.end])]
