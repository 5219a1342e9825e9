"""Texts that hosts put in the place of a result they cleared or cut: never a fuller version of it (L4)."""

from __future__ import annotations

from ..models.items import Content, content_text

MARKERS = (
    "[Old tool result content cleared]",
    "[cleared]",
    "[cleared to save context]",
    "<persisted-output>",
    "[Tool result omitted]",
    "[tool output truncated]",
)
"""First words of known placeholders (Claude Code, Anthropic context editing, LangChain), compared without case."""
MAX_CHARACTERS = 4_000
"""A longer text is a result that happens to begin like one. Claude Code's preview of a spilled result has 2 KB."""

_TOO_LONG = ("error: result (", "exceeds maximum allowed tokens", 200)
"""Claude Code's words in the place of an MCP result that it put into a file: how they begin, and what soon follows."""
_LOWERED = tuple(marker.lower() for marker in MARKERS)


def is_placeholder(content: Content | None) -> bool:
    """Whether a host's text only stands for a result."""
    if content is None:
        return True
    if isinstance(content, str) and (len(content) > MAX_CHARACTERS or content[:1] not in "[<E \n"):
        return False
    text = content_text(content)
    if len(text) > MAX_CHARACTERS:
        return False
    text = text.lstrip().lower()
    begins, follows, within = _TOO_LONG
    return text.startswith(_LOWERED) or (text.startswith(begins) and follows in text[:within])
