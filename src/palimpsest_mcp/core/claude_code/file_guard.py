"""Notes and digests never get into files: a call that would write one is refused, and told where the text is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, cast

from ...context.arguments import BEGIN, note_hashes
from ...context.fold import Fold
from ...hosts.actions import action_of
from ...models.events import SessionInfo
from ..sessions import Sessions

_WRITING = ("write", "edit", "run")
_BEFORE = ("old_string", "old_str", "old_text", "oldString", "oldText")
"""What an edit looks for: a note that did get into a file can be taken out again."""
_DIGEST = re.compile(r"\[[^\n]*all of it: restore_batch (\S+) (offload_\d{4,})\]")


async def refusal(sessions: Sessions, name: str, tool: str, tool_input: dict[str, Any]) -> str:
    """Why a call must not run, for the model; empty where it may.

    Only notes and digests of this session or its parents count: a text that merely looks like one is data (L7).
    """
    texts = [text for text in _written(tool_input) if BEGIN in text or "restore_batch" in text]
    if not texts or action_of(tool, tool_input).verb not in _WRITING:
        return ""
    if (info := await sessions.find_or_none(name)) is None:
        return ""
    for owner in await sessions.family(info):
        fold = await sessions.fold(owner)
        for text in texts:
            if batch := _stands_for(fold, owner, text):
                return (
                    "Refused by Palimpsest: this call would write a note or digest that stands for text which left the "
                    f"context; it is not that text. Get the text with restore_batch {owner.handle} {batch}, or read "
                    "the file, and call again with what is really meant."
                )
    return ""


def _written(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in cast("dict[str, Any]", value).items():
            if key not in _BEFORE:
                yield from _written(inner)
    elif isinstance(value, list):
        for inner in cast("list[Any]", value):
            yield from _written(inner)


def _stands_for(fold: Fold, owner: SessionInfo, text: str) -> str:
    """The batch of which a text holds a note or a digest's header; empty for none."""
    named = [batch for handle, batch in _DIGEST.findall(text) if handle == owner.handle]
    if known := next((batch for batch in named if batch in fold.decided.batches), ""):
        return known
    hashes = note_hashes(text)
    for stands in fold.decided.replacements.values() if hashes else ():
        part = stands.item.part
        if part is not None and any(f"sha256 {one}" in part for one in hashes):
            return stands.batch.batch_id
    return ""
