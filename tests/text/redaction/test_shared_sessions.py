"""Real sessions of others: what a digest must keep comes through."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from palimpsest_mcp.text.redaction.redactor import RuleRedactor

pytestmark = pytest.mark.shared

# In one session people's telephone numbers are written `+687 27.55.48`: no versions.
KEPT = {
    "uuid": re.compile(r"\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b"),
    "hash": re.compile(r"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{12,}\b"),
    "version": re.compile(r"(?<!\+\d{3} )\bv?\d+\.\d+\.\d+(?:[-+][\w.]+)?\b"),
    "path": re.compile(r"(?<![\w:/])(?:/[\w.-]+){2,}"),
}


def tool_results(folder: Path) -> Iterator[str]:
    for source in sorted((folder / "data" / "converted").glob("*.jsonl.gz")):
        with gzip.open(source, "rt", encoding="utf-8") as lines:
            for line, _ in zip(lines, range(12), strict=False):
                for message in json.loads(line)["messages"]:
                    yield from texts(message["content"])


def texts(content: Any) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    for block in cast("list[dict[str, Any]]", content if isinstance(content, list) else []):
        if block.get("type") == "tool_result":
            yield from texts(block.get("content"))
        elif isinstance(block.get("text"), str):
            yield block["text"]


def test_no_hash_uuid_version_or_path_of_a_real_session_is_lost(redactor: RuleRedactor, shared: Path) -> None:
    lost: list[tuple[str, str]] = []
    seen = 0
    for text in tool_results(shared):
        redacted = redactor.redact(text).text
        for name, pattern in KEPT.items():
            before = pattern.findall(text)
            seen += len(before)
            if redacted is not text:
                left = pattern.findall(redacted)
                lost += [(name, one) for one in set(before) if left.count(one) < before.count(one)]
    assert seen > 1000 and lost == []


def test_what_is_masked_in_real_sessions_is_personal(redactor: RuleRedactor, shared: Path) -> None:
    """These sessions hold no key: a mark of another kind is a mistake to look at."""
    kinds = {kind for text in tool_results(shared) for kind in redactor.redact(text).counts}
    assert kinds <= {"email", "phone", "birth-date", "signature"}
