"""The redactor: every detector over the text, then marks in the place of what they found."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Protocol

from ..ports.text import Redacted
from .continuation import end_of
from .marks import MARK, Marker
from .matching import Find, Pattern, merged
from .views import views

_ROUNDS = 4  # a mark changes what stands beside its neighbours; the second round has hardly ever anything to do
_SEAM = 8192  # bytes on both sides of where two texts meet, in which a secret that runs over the seam begins and ends
_CONTENT = re.compile(rb"[^\W_]|[\x80-\xff]")


class Detector(Protocol):
    """Finds secrets of one sort in UTF-8 bytes."""

    def find(self, text: bytes, start: int, end: int) -> Iterator[Find]: ...


class RuleRedactor:
    """A `Redactor` made of detectors. It keeps no state, so threads may share one."""

    def __init__(
        self, marker: Marker, detectors: Sequence[Detector], *, allow: Sequence[Pattern] = (), rules: Sequence[str] = ()
    ) -> None:
        self._marker = marker
        self._detectors = tuple(detectors)
        self._allow = tuple(allow)
        self._rules = tuple(rules)

    @property
    def rules(self) -> tuple[str, ...]:
        """What is loaded, for `doctor`: rule files with their counts, then what else is looked for or switched off."""
        return self._rules

    def redact(self, text: str) -> Redacted:
        """The text with its secrets masked. Redact before truncating: half a secret may not look like one."""
        return self.redact_all([text])[0]

    def redact_all(self, texts: Sequence[str]) -> tuple[Redacted, ...]:
        """Texts that follow one another, each masked; a secret that runs from one into the next is masked in both."""
        raws = [text.encode("utf-8", "surrogatepass") for text in texts]
        counts: list[Counter[str]] = [Counter() for _ in texts]
        for _ in range(_ROUNDS):
            finds = self._finds_of_all(raws)
            if not any(finds):
                break
            for i, found in enumerate(finds):
                counts[i].update(find.kind for find, _ in found)
                raws[i] = _masked(raws[i], found)
        return tuple(
            Redacted(text=raw.decode("utf-8", "surrogatepass") if count else text, counts=dict(count))
            for text, raw, count in zip(texts, raws, counts, strict=True)
        )

    def final_check(self, data: bytes | str) -> dict[str, int]:
        """How many spans of bytes about to be written would still be masked, by kind; empty when they may be written."""
        text = data if isinstance(data, str) else data.decode("utf-8", "replace")
        return dict(Counter(find.kind for find in self._finds(text.encode("utf-8", "surrogatepass"))))

    def _finds_of_all(self, raws: Sequence[bytes]) -> list[list[tuple[Find, bytes]]]:
        """For each text its finds in order of place, each with its mark."""
        starts = [0, *accumulate(map(len, raws))]
        found = [
            find._replace(start=find.start + offset, end=find.end + offset)
            for raw, offset in zip(raws, starts, strict=False)
            for find in self._finds(raw)
        ]
        whole = raws[0] if len(raws) == 1 else b"".join(raws)
        if len(raws) > 1:
            found = merged(found + self._over_seams(whole, starts[1:-1]))
        out: list[list[tuple[Find, bytes]]] = [[] for _ in raws]
        for find in _outside_marks(found, whole):
            mark = self._marker.mark(find.kind, whole[find.start : find.end])
            for i in range(bisect_right(starts, find.start) - 1, len(raws)):
                left, right = max(find.start, starts[i]) - starts[i], min(find.end, starts[i + 1]) - starts[i]
                if left < right:
                    out[i].append((find._replace(start=left, end=right), mark))
                if find.end <= starts[i + 1]:
                    break
        return out

    def _over_seams(self, whole: bytes, seams: Sequence[int]) -> list[Find]:
        """Finds that begin in one text and end in another."""
        out: list[Find] = []
        windows: list[list[int]] = []
        for seam in seams:
            left, right = max(0, seam - _SEAM), min(len(whole), seam + _SEAM)
            if windows and left <= windows[-1][1]:
                windows[-1][1] = right
            else:
                windows.append([left, right])
        for left, right in windows:
            for find in self._finds(whole[left:right]):
                start, end = find.start + left, find.end + left
                if bisect_right(seams, start) < bisect_right(seams, end - 1):
                    out.append(find._replace(start=start, end=end))
        return out

    def _finds(self, raw: bytes) -> list[Find]:
        """Finds in order of place, disjoint, without what is allowed or a mark already."""
        found: list[Find] = []
        for view in views(raw):
            seen = [
                find
                for start, end in view.windows
                for detector in self._detectors
                for find in detector.find(view.text, start, end)
                if not any(p.fullmatch(raw[find.start : find.end]) for p in self._allow)
            ]
            found += (find._replace(end=end_of(view.text, find)) for find in merged(seen))
        return _outside_marks(merged(found), raw)


def _masked(raw: bytes, finds: Sequence[tuple[Find, bytes]]) -> bytes:
    out: list[bytes] = []
    done = 0
    for find, mark in finds:
        out += (raw[done : find.start], mark)
        done = find.end
    return b"".join((*out, raw[done:]))


def _outside_marks(finds: list[Find], raw: bytes) -> list[Find]:
    """The parts of the finds that no mark covers, without those that hold no letter or digit."""
    marks = [mark.span() for mark in MARK.finditer(raw)] if finds and b"[redacted:" in raw else []
    out: list[Find] = []
    place = 0
    for find in finds:
        while place < len(marks) and marks[place][1] <= find.start:
            place += 1
        start = find.start
        for left, right in marks[place:]:
            if left >= find.end:
                break
            out.append(find._replace(start=start, end=max(start, left)))
            start = right
        out.append(find._replace(start=min(start, find.end)))
    return [find for find in out if _CONTENT.search(raw, find.start, find.end)]
