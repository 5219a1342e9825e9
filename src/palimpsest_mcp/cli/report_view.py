"""A pass's report for people."""

from __future__ import annotations

from typing import Any

from ..models.reports import BatchReport, Report
from ..models.usage import Usage
from .numbers import fill, sources, tokens
from .screen import say, say_bar, say_fields, say_table

BATCHES_SHOWN = 30


def say_report(report: Report) -> None:
    """Status, the window before and after, batches, what stayed and why, and how to get things back."""
    say_fields([("session", f"{report.session_id} (handle {report.handle})"), ("status", report.status)])
    say(f"         {report.reason}")
    _say_window(report)
    _say_batches(report.batches)
    _say_plan(report)
    say_fields(_facts(report))
    for note in report.notes:
        say(f"note: {note}")
    if report.how_to_apply and report.status not in ("planned", "nothing_to_do", "failed"):
        say(f"apply: {report.how_to_apply}")
    if report.batches:
        first = report.batches[0]
        item = "" if first.items == 1 else f" --item {first.item_ids[0]}"
        say(f"restore: palimpsest-mcp restore {report.handle} {first.batch_id}{item}")
        say(f"         palimpsest-mcp restore {report.handle} --all --out FILE")


def _say_window(report: Report) -> None:
    say_bar("before ", report.before.ratio, fill(report.before))
    if report.batches or report.after.used.value != report.before.used.value:
        word = "planned" if report.status == "planned" else "after  "
        say_bar(word, report.after.ratio, fill(report.after) + _saved(report.before, report.after))
    say(f"         {sources(report.before)}")


def _saved(before: Usage, after: Usage) -> str:
    if before.used.value is None or after.used.value is None:
        return ""
    return f", {tokens(before.used.value - after.used.value)} fewer"


def _say_batches(batches: tuple[BatchReport, ...]) -> None:
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
    head = ("batch", "items", "tokens", "digest", "specifics shown", "elsewhere", "left out", "form")
    say_table(head, rows, numbers=range(1, 7))
    if len(batches) > BATCHES_SHOWN:
        say(f"… {len(batches) - BATCHES_SHOWN} more batches: --json or `palimpsest-mcp list` has them all")


def _say_plan(report: Report) -> None:
    rows = [
        (str(number), str(len(slot["item_ids"])), tokens(slot["tokens"]), tokens(slot["budget_tokens"]), _names(slot))
        for number, slot in enumerate(report.slots, 1)
    ]
    say_table(("batch", "items", "tokens", "at most", "would leave"), rows[:BATCHES_SHOWN], numbers=range(4))
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
            "" if report.target_ratio is None else f"{report.target_ratio:.0%} ({tokens(report.target_tokens)})",
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
        ("stayed", ", ".join(f"{number} {reason}" for reason, number in report.protected.items())),
        ("compression", "" if report.compression is None else f"{report.compression:.1%} of the replaced items"),
        (
            "cache",
            f"rewrites {tokens(cache.invalidated_tokens)} cached tokens, {back} ({cache.prices})" if cache else "",
        ),
        ("probes", report.probes.line),
    ]
