"""Texts that are no summary: errors of an API or a program, refusals. One of these must never become a digest.

Erring on this side is cheap: a summary that is taken for an error leaves the extractive digest.
"""

from __future__ import annotations

import re

from .excuses import NO_SUMMARY, PLACEHOLDERS, WENT_WRONG

_MOST_WORDS, _FEW_WORDS = 40, 10
"""Of an excuse, and of one that may be the beginning of a summary. What says more is a summary of what failed."""
_EAST = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
"""Scripts in which a word is about two characters, without spaces."""
_BEGINS = tuple(sorted(NO_SUMMARY))
_BEGINS_TERSE = tuple(sorted(WENT_WRONG))
_REFUSAL = re.compile(
    r"(?:i'?m|i am|we are|we're) (?:very |so |really |truly )?(?:sorry|afraid|unable)\b"
    r"|sorry\b(?!-)|apologies\b|my apologies\b|unfortunately,? (?:i|we)\b|as an? (?:ai|large language|language)\b"
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
_OPENING = re.compile(r"[\s\"'`*#>_\u2026.\u26a0\ufe0f\u274c-]*(?:json\s+)?(?:[(\u3010](?=[^\W\d]))?")
_LABEL = re.compile(r"(?:(?:summary|result|note|status) ?: *)?(?:\[(?=[^\W\d])(?!redacted:))?", re.IGNORECASE)
"""What may stand before an excuse: a bracket around all of it, or the name of what is missing."""


def looks_like_a_failure(text: str) -> bool:
    """Whether a text is, or holds, an error message, a stack trace or a refusal; or is JSON. Linear in the text.

    A summary that tells of errors is none: it says more than the excuse, or begins otherwise.
    """
    start = text[_OPENING.match(text).end() :] if text else ""  # pyright: ignore[reportOptionalMemberAccess]  # it matches nothing too
    start = start[:2000].replace("\u2019", "'")
    first = start.split("\n", 1)[0]
    return bool(
        _JSON.match(start)
        or _REFUSAL.match(first)
        or _ERROR.match(first)
        or _ERROR_NAMES.search(text)
        or _TRACE.search(text)
        or _is_excuse(start, text)
    )


def _is_excuse(start: str, text: str) -> bool:
    """Whether a short text begins as one that stands where a summary should."""
    if len(text) > 2000:
        return False
    said = start.lower()
    said = said[_LABEL.match(said).end() :]  # pyright: ignore[reportOptionalMemberAccess]  # it matches nothing too
    most = _MOST_WORDS if said.startswith(_BEGINS) else _FEW_WORDS if said.startswith(_BEGINS_TERSE) else 0
    return 0 < len(_WORDS.findall(text)) + len(_EAST.findall(text)) // 2 <= most


def says_nothing(text: str) -> bool:
    """Whether a text is blank, or a placeholder for one: no word at all, or one of those that stand for none."""
    words = _WORDS.findall(text[:2000].lower())
    return not words or len(words) < 4 and "".join(words) in PLACEHOLDERS


__all__ = ["looks_like_a_failure", "says_nothing"]
