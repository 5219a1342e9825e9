"""A pass's report for people."""

from __future__ import annotations

from typing import Any

from ..models.reports import Report
from ..models.usage import Usage
from ..policy.fullness import in_words
from .face import Face
from .numbers import fill, sources, tokens
from .out_file import free_name
from .screen import say, say_bar, say_fields, say_table
from .tables import Column

BATCHES_SHOWN = 30


def say_report(report: Report, face: Face, *, kept: bool = True) -> None:
    """Status, the window before and after, batches, what stayed and why, and how to get things back.

    Args:
        kept: whether the store will still be there for the commands that it names.
    """
    say_fields([("session", f"{report.session_id} (handle {report.handle})"), ("status", report.status)])
    say(f"         {report.reason}")
    _say_window(report)
    _say_batches(report, face)
    _say_plan(report)
    say_fields(_facts(report))
    for note in report.notes:
        say(f"note: {note}")
    _say_defects(report)
    if report.how_to_apply and report.status not in ("planned", "nothing_to_do", "failed"):
        say(f"apply: {face.worded(report.how_to_apply)}")
    if report.batches and kept:
        first = report.batches[0]
        item = "" if first.items == 1 else first.item_ids[0]
        given = {"session_id": report.handle, "batch_id": first.batch_id, "item_id": item}
        if report.status != "planned":
            say(f"restore: {face.command('restore_batch', **given)}")
            say(f"         {face.command('restore_all', session_id=report.handle, out=free_name(report.handle))}")


def _say_defects(report: Report) -> None:
    if not (count := len(report.defects)):
        return
    many = "1 defect" if count == 1 else f"{count} defects"
    say(f"defects: the list came with {many} that a provider may refuse; what is wrong goes out as it came")
    for defect in report.defects[:BATCHES_SHOWN]:
        say(f"  {defect}")
    if count > BATCHES_SHOWN:
        say(f"  … {count - BATCHES_SHOWN} more: --json has them all")


def _say_window(report: Report) -> None:
    after = fill(report.after) + _saved(report.before, report.after)
    say_bar("before ", report.before.ratio, fill(report.before), longest=len(after))
    if report.batches or report.after.used.value != report.before.used.value:
        word = "planned" if report.status == "planned" else "after  "
        say_bar(word, report.after.ratio, after)
    say(f"         {sources(report.before)}")
    say(f"         {report.meaning}")


def say_meaning(usage: Usage, face: Face) -> None:
    """Which list a usage is of, how the shorter one becomes real, and what fills it."""
    say(f"         {usage.meaning}")
    if usage.how_to_apply:
        say(f"apply: {face.worded(usage.how_to_apply)}")
    if usage.parts:
        say_fields([("filled by", in_words(usage.parts, most=len(usage.parts)))])


def _saved(before: Usage, after: Usage) -> str:
    if before.used.value is None or after.used.value is None:
        return ""
    return f", {tokens(before.used.value - after.used.value)} fewer"


def _say_batches(report: Report, face: Face) -> None:
    batches = report.batches
    rows = [
        (
            batch.batch_id,
            str(batch.items),
            tokens(batch.original_tokens),
            tokens(batch.digest_tokens),
            f"{batch.specifics.shown}/{batch.specifics.total}",
            str(batch.specifics.elsewhere),
            str(batch.specifics.left_out),
            batch.mode,
        )
        for batch in batches[:BATCHES_SHOWN]
    ]
    head = (
        Column("batch"),
        Column("items", "number"),
        Column("tokens", "number"),
        Column("digest", "number"),
        Column("specifics shown", "number"),
        Column("elsewhere", "number"),
        Column("left out", "number"),
        Column("form"),
    )
    say_table(head, rows)
    if len(batches) > BATCHES_SHOWN:
        say(
            f"… {len(batches) - BATCHES_SHOWN} more batches: {face.command('list_offloaded', session_id=report.handle)}"
        )


def _say_plan(report: Report) -> None:
    rows = [
        (str(number), str(len(slot["item_ids"])), tokens(slot["tokens"]), tokens(slot["budget_tokens"]), _names(slot))
        for number, slot in enumerate(report.slots, 1)
    ]
    say_table(
        (
            Column("batch", "number"),
            Column("items", "number"),
            Column("tokens", "number"),
            Column("at most", "number"),
            Column("would leave", "list"),
        ),
        rows[:BATCHES_SHOWN],
    )
    if len(rows) > BATCHES_SHOWN:
        say(f"… {len(rows) - BATCHES_SHOWN} more: --json has them all")


def _names(slot: dict[str, Any]) -> str:
    return ", ".join(slot["item_ids"])


def _facts(report: Report) -> list[tuple[str, str]]:
    counts, cache = report.specifics, report.cache
    turns = cache.break_even_turns if cache else None
    back = "never pays back" if turns is None else f"pays back after {turns:.1f} model requests"
    return [
        (
            "target",
            ""
            if report.target_ratio is None
            else f"{report.target_ratio:.0%} of {tokens(report.target_of)} ({tokens(report.target_tokens)})",
        ),
        ("policy", f"{report.policy}, strategy {report.strategy}"),
        (
            "specifics",
            f"{counts.total} in all: {counts.shown} shown, {counts.elsewhere} elsewhere in view, "
            f"{counts.left_out} left out (restorable)"
            if counts.total
            else "",
        ),
        ("masked", ", ".join(f"{number} {kind}" for kind, number in sorted(report.redaction.items()))),
        ("stayed", ", ".join(f"{one.items} {one.reason}" for one in report.stayed if one.items)),
        ("filled by", in_words(report.stayed, most=len(report.stayed))),
        ("compression", "" if report.compression is None else f"{report.compression:.1%} of the replaced items"),
        (
            "cache",
            f"rewrites {tokens(cache.invalidated_tokens)} cached tokens, {back} ({cache.prices})" if cache else "",
        ),
        ("probes", report.probes.line),
    ]
