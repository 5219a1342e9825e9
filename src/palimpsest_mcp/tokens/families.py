"""Model families: by which factor their own tokenizer counts more than o200k does."""

from __future__ import annotations

import re

import msgspec


class Family(msgspec.Struct, frozen=True):
    """One tokenizer, as far as the factor goes."""

    name: str
    percent: int
    """Tokens of this family for 100 o200k tokens, typical of mixed agent sessions."""
    source: str


OPENAI = Family("openai", 100, "o200k is the tokenizer itself")
CLAUDE_TO_4_6 = Family("claude to 4.6", 125, "measured on 743 provider-reported calls of Opus 4.5 and Sonnet 4.5")
CLAUDE_FROM_4_7 = Family("claude from 4.7", 155, "84 provider-counted requests of others, probes, field reports")
UNKNOWN = Family("unknown", 155, "the highest known: compacting early costs less than a refused request")

_CLAUDE = re.compile(r"claude")
_VERSION = re.compile(r"(?<!\d)(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)")
_OPENAI = re.compile(r"(?:^|/)(?:gpt-|chatgpt-|o[1-9](?:-|$)|codex-|openai)")


def family_of(model: str) -> Family:
    """The family of a model id, whatever prefix a gateway or cloud puts before it.

    Claude ids carry their version behind or before the tier (`claude-opus-4-6`, `claude-3-5-haiku-20241022`,
    `claude-opus-4.7`); eight-digit dates are no version. Without a version it is `UNKNOWN`.
    """
    name = model.lower()
    found = _CLAUDE.search(name)
    if found is None:
        return OPENAI if _OPENAI.search(name) else UNKNOWN
    version = claude_version(name[found.end() :])
    if version is None:
        return UNKNOWN
    return CLAUDE_FROM_4_7 if version >= (4, 7) else CLAUDE_TO_4_6


def claude_version(rest: str) -> tuple[int, int] | None:
    """Major and minor number in what follows `claude` in a model id; a missing minor is 0."""
    found = _VERSION.search(rest)
    return (int(found[1]), int(found[2] or 0)) if found else None
