"""Things a session made that are not files: commits, pull requests, presented files, evidence."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ..models.items import Item
from .calls import Call, strings
from .quoting import Mask, one_line

MAX_ARTIFACT = 200
MAX_PRINTED = 5_000
"""Characters at the end of a result in which the link to what was just made is looked for."""
_COMMIT = re.compile(r"^\[\S+(?: \(root-commit\))? [0-9a-f]{7,40}\] .+$", re.MULTILINE)
_MADE_URL = re.compile(r"https?://[^\s\"'<>]+/(?:pull|pulls|merge_requests|issues|releases/tag|commit)/[\w.-]+")
_MAKES = re.compile(r"\bgit (?:-\S+ \S+ )*(?:commit|merge|cherry-pick|revert|rebase)\b")
_ASKS = re.compile(r"\b(?:gh|glab|hub) (?:pr|mr|issue|release) create\b|\bpull-request\b")
_PRESENTS = ("present_files", "present_file")


def artifacts_of(items: Sequence[Item], calls: Sequence[Call], mask: Mask) -> tuple[str, ...]:
    """Commits (the line with branch, hash and subject that git prints), links to what was opened, files that were
    presented, evidence with its address; each once, in order."""
    found = [*_from_calls(calls, mask), *_evidence(items, mask)]
    return tuple(dict.fromkeys(text for text in found if text))


def _from_calls(calls: Sequence[Call], mask: Mask) -> Iterator[str]:
    for call in calls:
        if call.failed:
            continue
        if call.tool in _PRESENTS:
            yield from (f"presented {one_line(mask(text), MAX_ARTIFACT)}" for text in strings(call.args) if "/" in text)
        elif call.action.verb == "run":
            target = call.action.target
            if _MAKES.search(target):
                yield from (one_line(mask(line), MAX_ARTIFACT) for line in _COMMIT.findall(call.text))
            if _ASKS.search(target):
                yield from (one_line(mask(url), MAX_ARTIFACT) for url in _MADE_URL.findall(call.text[-MAX_PRINTED:]))


def _evidence(items: Sequence[Item], mask: Mask) -> Iterator[str]:
    for item in items:
        if item.kind == "evidence" and item.url:
            yield one_line(mask(f"{item.title}: {item.url}" if item.title else item.url), MAX_ARTIFACT)
