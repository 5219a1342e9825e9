"""Print a plan: the item's note, its lines in source order under their headings, the ledger last."""

from __future__ import annotations

from ..models.digests import DigestLine, DigestSource
from .entries import entry_lines, flat_lines
from .manifest import count_note, escaped, item_note
from .plans import Plan


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


__all__ = ["body_lines", "line_count", "note_line"]
