"""Text from a log as it may stand in a digest: one line that is no heading, no footer, no pin, and calls nothing."""

from __future__ import annotations

import re

from ..models.plain_text import plain_line

MAX_CHARS = 300
_START = re.compile(r"^(?:\[pin(?:ned)?\]|[#>]+|[-*+](?=\s|$)|\s)+", re.IGNORECASE)
_FOOTER = re.compile(r"(?:—|--)\s*(?=seen\s*=)", re.IGNORECASE)
_TAG = re.compile(r"<(?=[a-zA-Z/!?])")
_ORDERS = re.compile(
    r"(?:ignore|disregard|forget|override)\s+(?:\w+\s+){0,3}(?:instructions?|rules?|prompts?|guidelines?|directives?)"
    r"|system\s+prompt|(?:curl|wget)\b[^|]*\|\s*(?:ba|z)?sh\b|rm\s+-rf\b|\bexfiltrat"
    r"|you\s+are\s+now\s+(?:a|an|in)\b|(?:send|post|upload|forward|e-?mail)\s+(?:\w+\s+){0,6}(?:to\s+)https?://"
    r"|忽略(?:之前|以上|所有|先前)?的?(?:所有)?(?:指令|规则|提示)",
    re.IGNORECASE,
)


def safe_line(text: str) -> str:
    """One plain line of at most 300 characters; empty where nothing is left."""
    line = _FOOTER.sub("- ", plain_line(text))
    line = _TAG.sub("‹", line.replace("![", "! [").replace("```", "'''"))
    return plain_line(_START.sub("", line), MAX_CHARS)


def in_backticks(text: str) -> str:
    """A template as the digest shows it."""
    return "`" + text.replace("`", "'") + "`"


def reads_like_orders(text: str) -> bool:
    """Whether a pattern is worded as an instruction to an agent or a command that does harm; never promoted by code."""
    return _ORDERS.search(text) is not None
