"""Answers in the words of Claude Code's hooks; an empty text says nothing."""

from __future__ import annotations

import json
from typing import Any

MOST_CHARACTERS = 9_900
"""Of an injected context, in UTF-16 units; the client puts more than 10,000 into a file and shows 2 KB of it."""


def hook_answer(event: str, **fields: Any) -> str:
    """The JSON of a hook's output."""
    return json.dumps({"hookSpecificOutput": {"hookEventName": event, **fields}}, ensure_ascii=True)


def context_answer(event: str, *texts: str) -> str:
    """Text to be injected into the model's context; empty where there is none."""
    said = "\n\n".join(filter(None, texts))
    return hook_answer(event, additionalContext=within(said, MOST_CHARACTERS)) if said else ""


def length(text: str) -> int:
    """Characters as the client counts them."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def within(text: str, most: int) -> str:
    """The text, whole lines of it where it is too long."""
    if length(text) <= most:
        return text
    lines = text.split("\n")
    while len(lines) > 1 and length("\n".join(lines)) > most - 2:
        lines.pop()
    kept = "\n".join(lines)
    return f"{kept}\n…" if length(kept) <= most - 2 else kept[: (most - 2) // 2] + "…"


__all__ = ["MOST_CHARACTERS", "context_answer", "hook_answer", "length", "within"]
