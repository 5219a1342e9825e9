"""Stand-in."""

from __future__ import annotations

from ..records import Reader, Reading, Record


def _read(lines):
    recs = []
    head = -1
    for n, l in enumerate(lines):
        t = l.strip()
        if not t:
            continue
        if t.startswith("#"):
            head = len(recs)
            recs.append(Record(t, kind="heading", at=n))
            continue
        recs.append(Record(t, at=n, under=head))
    return Reading(recs)


PROSE = Reader("prose", lambda lines, start: len(lines), _read)
