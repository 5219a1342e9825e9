"""The peers that are installed, on the same sessions in the same run, scored by the code that scores us."""

from __future__ import annotations

from dataclasses import dataclass, field

from measuring import Skipped, table
from peer_runs import Row, output, peer_rows

from .sessions import Scores, Session

LEAST_SAVED = 55.0
"""Of a session, from which a peer is given its changed twin, too: nothing is compared with one that saves little."""


@dataclass
class Beside:
    """All peers of one run."""

    scores: dict[tuple[str, str], Scores] = field(default_factory=dict[tuple[str, str], Scores])
    """(peer, session) -> scores; a twin's session is named `…, changed`."""
    rows: list[list[str]] = field(default_factory=list[list[str]])
    missing: dict[str, str] = field(default_factory=dict[str, str])

    def run(self, session: Session, twin: Session) -> None:
        """Give a session, and where it saves enough its changed twin, to every peer."""
        try:
            rows, missing = peer_rows()
        except Skipped as reason:
            self.missing["all peers"] = str(reason)
            return
        self.missing |= missing
        for name, row in rows.items():
            plain = self._score(name, row, session)
            if plain is None:
                continue
            other = self._score(name, row, twin) if plain.saved >= LEAST_SAVED else None
            cells = [f"{other.strict:.1f}", f"{other.bare:.1f}"] if other else ["", ""]
            told = f"{len(plain.cut)}; {len(plain.invented)}"
            self.rows.append([name, session.name, f"{plain.saved:.1f}", *cells, f"{plain.planted:.1f}", told])

    def _score(self, name: str, row: Row, session: Session) -> Scores | None:
        try:
            made = output(row, session.file)
        except Skipped as reason:
            self.missing[f"{name}, {session.name}"] = str(reason)
            return None
        found = self.scores[name, session.name] = session.score(made.messages)
        return found

    def best(self, session: str, saved: float, figure: str) -> str:
        """Of those that save at least so much, the best by a figure of `Scores`; empty where none saves it."""
        fit = [(getattr(one, figure), name) for (name, on), one in self.scores.items() if on == session]
        fit = [one for one in fit if self.scores[one[1], session].saved >= saved]
        return "{:.1f} {}".format(*max(fit)) if fit else ""

    def text(self) -> str:
        """The table, and what could not run."""
        head = ("peer", "session", "saved %", "in context %", "bare %", "planted %", "cut; invented")
        notes = "".join(f"\n- {name}: {why}" for name, why in sorted(self.missing.items()))
        made = table(head, self.rows) if self.rows else ""
        return f"{made}\n\nNot run:\n{notes}".strip() if notes else made
