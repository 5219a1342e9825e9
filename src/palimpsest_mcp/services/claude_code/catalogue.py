"""What can be restored, in lines for a model: batch, what its items are, how big."""

from __future__ import annotations

from collections.abc import Sequence

from ...models.items import content_text
from ...models.plain_text import plain_line
from ...models.records import ArchivedItem, OffloadRecord
from ...ports.text import Redactor
from .answers import length

_NAME = 60
_READ = 2_000
"""Characters of a message that are masked to name it: masking comes before cutting."""
_NAMED_ITEMS = 4


def title_of(record: OffloadRecord, redactor: Redactor) -> str:
    """What a batch holds, in a few redacted words."""
    names = [_name(item, redactor) for item in record.items[:_NAMED_ITEMS]]
    rest = len(record.items) - _NAMED_ITEMS
    return "; ".join(names) + (f"; {rest} more" if rest > 0 else "")


def catalogue(handle: str, records: Sequence[OffloadRecord], redactor: Redactor, *, room: int) -> str:
    """A line a batch, the newest batches where there is no room for all, and how many are not named.

    Args:
        room: characters as the client counts them.
    """
    if not records:
        return ""
    first = (
        f"Palimpsest keeps the originals of what left this context. Read one: restore_batch {handle} BATCH "
        f'(item_id for one item). Find one: search_offloaded {handle} "words".'
    )
    lines: list[str] = []
    used = length(first) + 80
    for record in reversed(records):
        line = f"{record.batch_id} · {title_of(record, redactor)} · {record.original_token_count:,} tokens"
        if used + length(line) + 1 > room:
            break
        used += length(line) + 1
        lines.append(line)
    rest = len(records) - len(lines)
    earlier = [f"{rest} earlier batches: list_offloaded {handle}"] if rest else []
    return "\n".join([first, *earlier, *reversed(lines)])


def _name(item: ArchivedItem, redactor: Redactor) -> str:
    """`Bash pytest -q`, `Read src/app.py`, or a message's first words."""
    target = item.action.target if item.action is not None else ""
    words = item.title or target or item.url
    if item.role == "tool":
        name = f"{item.tool_name.rsplit('__', 1)[-1] or item.kind} {_masked(words, redactor)}".strip()
    else:
        who = {"user": "user", "assistant": "assistant"}.get(item.role, item.role)
        name = f"{who}: {_masked(content_text(item.result), redactor)}"
    return plain_line(name, _NAME)


def _masked(text: str, redactor: Redactor) -> str:
    return redactor.redact(text[:_READ]).text


__all__ = ["catalogue", "title_of"]
