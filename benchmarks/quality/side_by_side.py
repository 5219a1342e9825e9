"""The peers that are installed, on the same sessions in the same run, scored by the code that scores us."""

from __future__ import annotations

from dataclasses import dataclass, field

from measuring import Skipped, table
from peer_runs import Row, output, peer_rows

from .sessions import Scores, Session

CHANGED = ("1000k",)
"""Sessions whose changed twin is given to the peers as well."""
LEAST_SAVED = 55.0


@dataclass
class Beside:
    """All peers of one run."""

    scores: dict[tuple[str, str], Scores] = field(default_factory=dict[tuple[str, str], Scores])
    """(peer, session) -> scores; a twin's session is named `…, changed`."""
    rows: list[list[str]] = field(default_factory=list[list[str]])
    missing: dict[str, str] = field(default_factory=dict[str, str])

    def run(self, session: Session, twin: Session) -> None:
        """Give a session, and where it is asked for its changed twin, to every peer."""
        try:
            rows, self.missing = peer_rows()
        except Skipped as reason:
            self.missing = {"all peers": str(reason)}
            return
        for name, row in rows.items():
            found = self._deps(name, row, session, tell=True)
            # Where a peer saves little, nothing is compared with what it keeps of the twin.
            if found is not None and session.name in CHANGED and found.saved >= LEAST_SAVED:
                self._deps(name, row, twin, tell=False)

    def _deps(self, name: str, row: Row, session: Session, *, tell: bool) -> Scores | None:
        try:
            made = output(row, session.file)
        except Skipped as reason:
            self.missing[f"{name}, {session.name}"] = str(reason)
            return None
        found = self.scores[name, session.name] = session.score(made.messages)
        if tell:
            self.rows.append(_cells(f"{name} {made.version}", session.name, found, made.seconds, made.peak_mb))
        return found

    def best(self, session: str, level: float) -> tuple[str, Scores] | None:
        """Of those that save at least so much, the one that keeps most planted strings in view."""
        fit = [(name, one) for (name, on), one in self.scores.items() if on == session and one.saved >= level]
        return max(fit, key=lambda found: found[1].planted["all"][1], default=None)

    def best_natural(self, session: str, level: float) -> tuple[str, Scores] | None:
        """The same for natural specifics, values changed."""
        twin = f"{session}, changed"
        fit = [(name, one) for (name, on), one in self.scores.items() if on == twin and one.saved >= level]
        return max(fit, key=lambda found: found[1].in_view, default=None)

    def text(self) -> str:
        """The table, and what could not run."""
        head = ("peer", "session", "saved %", "planted: shown / in view", "in view: salient / plain")
        head += ("natural macro: shown / in view", "context: line", "cut; invented", "call, s", "peak MB")
        notes = "".join(f"\n- {name}: {why}" for name, why in sorted(self.missing.items()))
        made = table(head, self.rows) if self.rows else ""
        return f"{made}\n\nNot run:\n{notes}".strip() if notes else made


def _cells(name: str, session: str, found: Scores, seconds: float, peak_mb: float) -> list[str]:
    shown, view = found.planted["all"]
    return [
        name,
        session,
        f"{found.saved:.1f}",
        f"{shown:.1f} / {view:.1f}",
        f"{found.planted['salient'][1]:.1f} / {found.planted['plain'][1]:.1f}",
        f"{found.shown:.1f} / {found.in_view:.1f}",
        f"{found.context:.1f}",
        f"{len(found.cut)}; {len(found.invented)}",
        f"{seconds:.2f}",
        f"{peak_mb:.0f}",
    ]
