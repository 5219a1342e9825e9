"""Print a plan: the item's note, its lines in source order under their headings, the ledger last."""

from __future__ import annotations

from collections.abc import Sequence

from ..models.records import DigestLine, DigestSource
from ..ports.text import Registry
from .ledger_lines import BETWEEN, LED, NEAR, entry_groups, entry_lines, flat_lines
from .lines import Survey
from .manifest import count_note, escaped, item_note
from .plan import Plan
from .verify import PartCheck, check_part


def body_lines(plan: Plan) -> list[DigestLine]:
    """Everything of a part that is shown, without its notes at the top."""
    lines: list[DigestLine] = []
    reduced = plan.survey.reduced
    headed: set[int] = set()
    for index in sorted(plan.picked):
        unit = reduced.units[index]
        if unit.table >= 0 and unit.table not in headed:
            headed.add(unit.table)
            table = reduced.tables[unit.table]
            if table.rows:
                lines.append(DigestLine("note", count_note(f"×{table.rows} rows")))
            lines += [DigestLine("row", escaped(text)) for text in table.lines]
        if unit.note:
            lines.append(DigestLine("note", count_note(unit.note)))
        if unit.text and unit.table >= 0 and reduced.tables[unit.table].inline:
            lines[-1] = DigestLine("row", f"{lines[-1].text}\t{unit.text}")
        elif unit.text:  # else the heading is all of it
            lines.append(DigestLine(unit.kind, escaped(unit.text)))
    ledger = (
        flat_lines(plan.survey, plan.entries, plan.keys)
        if plan.flat
        else entry_lines(plan.survey, plan.entries, plan.labels, plan.keys, in_rows=plan.in_rows)
    )
    lines += [DigestLine("entry", text) for text in ledger]
    return lines


def note_line(source: DigestSource, number: int, *, brief: bool) -> DigestLine:
    """The note that names the item and its size."""
    return DigestLine("note", item_note(source, number, line_count(source), brief=brief))


def line_count(source: DigestSource) -> int:
    """Lines of the original text, a last newline not counted."""
    return source.text.count("\n") + (0 if source.text.endswith("\n") or not source.text else 1)


# Ledger lines that break a rule: what breaks it goes, the values stay.


def mended(survey: Survey, lines: Sequence[DigestLine], check: PartCheck, registry: Registry) -> list[DigestLine]:
    """The lines of a part; of those of the ledger that may not stand each group by itself, without its key or word
    where it may not stand beside that."""
    found: list[DigestLine] = []
    for number, line in enumerate(lines):
        if number in check.bad_lines and line.kind == "entry":
            found += _without_what_breaks(survey, line.text, registry)
        else:
            found.append(line)
    return found


def _without_what_breaks(survey: Survey, text: str, registry: Registry) -> list[DigestLine]:
    pieces = _pieces(text)
    bad = check_part(survey, [DigestLine("entry", whole) for whole, _ in pieces], registry).bad_lines
    kept = [bare if number in bad else whole for number, (whole, bare) in enumerate(pieces)]
    if text.startswith(" "):
        return [DigestLine("entry", one) for one in kept]
    led = found.group() if (found := LED.match(text)) else ""
    return [DigestLine("entry", led + BETWEEN.join(one.removeprefix(led) for one in kept))]


def _pieces(text: str) -> list[tuple[str, str]]:
    """Each group of a ledger line as a line of its own, and the same without its key or word."""
    led = found.group() if (found := LED.match(text)) else ""
    pieces: list[tuple[str, str]] = []
    for group in entry_groups(text):
        values = text[group.start : group.end]
        if group.together:
            values = values.removeprefix(NEAR).removeprefix(" ")
            pieces.append((f" {group.key}{NEAR}{values}" if group.key else f" {values}", f" {values}"))
        else:
            key = f"{group.key}=" if group.key else ""
            pieces.append((f"{led}{key}{values}", f"{led}{values}"))
    return pieces
