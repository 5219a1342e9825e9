"""The text of `show_context`: one page of items, marked as data, and what was replaced."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ..models.advice import in_form
from ..models.nouns import counted
from ..models.plain_text import plain_line
from ..models.reports import BatchView, ContextView, ItemView
from ..models.usage import Usage
from ..policy.fullness import in_words
from .answers import PAGE_TOKENS
from .paging import cursor_at, offset_of

BATCHES_SHOWN = 5


def context_page(view: ContextView, cursor: str, *, detail: bool, count: Callable[[str], int]) -> str:
    """Items from the cursor on, within one page; `detail` adds a preview line to each and the citations.

    Raises:
        InvalidArgument: the cursor is none of ours.
    """
    start = min(offset_of(cursor), len(view.items))
    head = [f"session {view.handle}: {usage_line(view.usage)}", *_meaning(view.usage), *_replaced(view)]
    if detail and not start:
        head += [f"citation {plain_line(line, 300)}" for line in view.citations]
    rows = [_row(item, detail=detail) for item in view.items[start:]]
    end = start + _rows_that_fit(rows, PAGE_TOKENS - count("\n".join(head)) - 100, count)
    body = rows[: end - start]
    columns = "id | kind | tool | tokens | state" + (" with gate and a preview, which is data" if detail else "")
    title = f"items {start + 1}-{end} of {len(view.items)}: {columns}"
    lines = [*head, title if body else f"no items ({len(view.items)} in all)", *body]
    if end < len(view.items):
        lines.append(f"next_cursor: {cursor_at(end)}")
    return "\n".join(lines)


def usage_line(usage: Usage) -> str:
    """`131072 of 200000 tokens (65.5 %), zone compact: compact`, with the sources of both numbers."""
    used = "unknown" if usage.used.value is None else str(usage.used.value)
    window = "unknown" if usage.effective_window.value is None else str(usage.effective_window.value)
    share = "" if usage.ratio is None else f" ({usage.ratio:.1%})"
    return (
        f"{used} of {window} tokens{share}, zone {usage.zone}: {usage.action} "
        f"[used: {usage.used.source}; window: {usage.effective_window.source}; policy {plain_line(usage.policy, 60)}]"
    )


def _meaning(usage: Usage) -> Iterator[str]:
    """Which list these numbers are of, and what fills it."""
    yield " ".join(filter(None, (usage.meaning, in_form(usage.how_to_apply, "tool"))))
    if usage.parts:
        yield f"what fills it: {in_words(usage.parts, most=len(usage.parts))}"


def _replaced(view: ContextView) -> Iterator[str]:
    if not view.batches:
        return
    newest = view.batches[-BATCHES_SHOWN:]
    yield f"{counted(len(view.batches), 'batch')} offloaded; the newest: " + "; ".join(map(_batch, newest))
    yield f"see all: list_offloaded {view.handle}; read one: restore_batch {view.handle} {newest[-1].batch_id}"


def _batch(batch: BatchView) -> str:
    state = "" if batch.state == "replaced" else f" {batch.state}"
    return f"{batch.batch_id} {batch.original_tokens}>{batch.digest_tokens}{state}"


def _row(item: ItemView, *, detail: bool) -> str:
    state = f"replaced by {item.batch_id}" if item.state == "replaced" else item.state
    why = f"protected: {item.protected}" if item.protected and item.state == "live" else ""
    pinned = "pinned" if item.pinned and item.protected != "pinned" else ""
    state = ", ".join(filter(None, (state, why, pinned)))
    row = f"{plain_line(item.item_id)} | {plain_line(item.kind, 30)} | {plain_line(item.tool_name, 40) or '-'} | "
    gate = f", {item.gate}" if item.gate in ("forget", "verbatim") and not detail else ""
    why = f"\n    {item.gate}: {plain_line(item.evidence, 160)}" if detail and item.gate else ""
    preview = f"\n    {plain_line(item.preview, 160)}" if detail and item.preview else ""
    return f"{row}{item.tokens} | {state}{gate}{why}{preview}"


def _rows_that_fit(rows: list[str], budget: int, count: Callable[[str], int]) -> int:
    """How many rows, from the first on, stay within the budget; at least one, so that paging goes on."""
    spent = 0
    for number, row in enumerate(rows):
        spent += count(row) + 1
        if spent > budget:
            return max(1, number)
    return len(rows)
