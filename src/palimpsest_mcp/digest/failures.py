"""Texts that are no summary: errors of an API or a program, refusals. One of these must never become a digest.

Erring on this side is cheap: a summary that is taken for an error leaves the extractive digest.
"""

from __future__ import annotations

import re

_REFUSAL = re.compile(
    r"(?:i'?m|i am|we are|we're) (?:very |so |really |truly )?(?:sorry|afraid|unable)\b"
    r"|sorry\b|apologies\b|my apologies\b|unfortunately,? (?:i|we)\b|as an? (?:ai|large language|language)\b"
    r"|no (?:summary|content|output|text) (?:is |was )?(?:available|provided|possible)"
    r"|(?:i|we) (?:can ?not|can'?t|could ?n[o']?t|won'?t|will not|do ?n[o']t|must|(?:am|are) not able to)"
    r" (?:\w+ ){0,2}?(?:help|assist|provide|summari[sz]e|comply|access|process|fulfill?|complete|generate|create"
    r"|produce|continue|write|answer|respond|discuss|share|see|read|view|open|decline|refuse|engage|follow|do that"
    r"|do this|have)\b",
    re.IGNORECASE,
)
_ERROR = re.compile(
    r"(?:api |http |server |request |internal |fatal |unexpected |connection |network |rate limit |timeout |syntax )*"
    r"(?:error|exception|failure)\b\s*(?:[.!:({\[]|\d|$)|[\w.]{1,80}(?:error|exception): "
    r"|(?:http(?:/\d(?:\.\d)?)?\s+)?[45]\d\d\b(?:\s+[\w-]+){0,4}\s*$"
    r"|(?:request )?timed? ?out\b|too many requests\b|rate limit(?:ed| exceeded)\b|overloaded\b"
    r"|(?:internal server|service unavailable|bad gateway|gateway timeout|unauthori[sz]ed|forbidden)\b"
    r"|(?:prompt|input|request) (?:is )?too (?:long|large)\b|<!doctype html|<html\b",
    re.IGNORECASE,
)
_JSON = re.compile(r"[{\[]\s*(?:[\"'{\[\]}]|$)")
_ERROR_NAMES = re.compile(
    r"\b(?:overloaded_error|rate_limit_error|invalid_request_error|authentication_error|permission_error|not_found_error"
    r"|api_error|timeout_error|billing_error|request_too_large|context_length_exceeded|insufficient_quota)\b"
)
_TRACE = re.compile(
    r"^\s*(?:Traceback \(most recent call last\)|File \"[^\"\n]{1,300}\", line \d"
    r"|at [^\n]{1,300}:\d{1,9}(?::\d{1,9})?\)?$|Caused by: "
    r"|goroutine \d+ \[|thread '[^'\n]{1,100}' panicked|stack backtrace:|panic: )",
    re.MULTILINE,
)
_WORDS = re.compile(r"[^\W_]+")
_PLACEHOLDERS = frozenset(
    ("na", "nan", "nil", "none", "null", "undefined", "todo", "tbd", "tba", "empty", "blank", "placeholder", "unknown")
)
_OPENING = re.compile(r"[\s\"'`*#>_-]*(?:json\s+)?")


def looks_like_a_failure(text: str) -> bool:
    """Whether a text is, or holds, an error message, a stack trace or a refusal; or is JSON. Linear in the text."""
    start = text[_OPENING.match(text).end() :] if text else ""  # pyright: ignore[reportOptionalMemberAccess]  # it matches nothing too
    start = start[:2000].replace("\u2019", "'")
    first = start.split("\n", 1)[0]
    return bool(
        _JSON.match(start)
        or _REFUSAL.match(first)
        or _ERROR.match(first)
        or _ERROR_NAMES.search(text)
        or _TRACE.search(text)
    )


def says_nothing(text: str) -> bool:
    """Whether a text is blank, or a placeholder for one: no word at all, or one of those that stand for none."""
    words = _WORDS.findall(text.lower())
    return not words or len(words) < 3 and "".join(words) in _PLACEHOLDERS


__all__ = ["looks_like_a_failure", "says_nothing"]
