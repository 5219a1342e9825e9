"""The bundled sessions are what their script writes, valid for a provider, and long enough to be worth compacting."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
NAMES = ("coding_session.json", "research_session.json")


def bundled(name: str) -> str:
    return (files("palimpsest_mcp") / "demo" / name).read_text("utf-8")


def blocks_of(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def test_the_bundled_sessions_are_what_their_script_writes(tmp_path: Path) -> None:
    subprocess.run([sys.executable, CHECKOUT / "benchmarks" / "make_demo_sessions.py", tmp_path], check=True)
    for name in NAMES:
        assert (tmp_path / name).read_text("utf-8") == bundled(name), f"run benchmarks/make_demo_sessions.py: {name}"


@pytest.mark.parametrize("name", NAMES)
def test_every_call_is_answered_by_the_next_message(name: str) -> None:
    waiting: list[str] = []
    for message in json.loads(bundled(name)):
        answered = [block["tool_use_id"] for block in blocks_of(message) if block["type"] == "tool_result"]
        assert answered == waiting
        waiting = [block["id"] for block in blocks_of(message) if block["type"] == "tool_use"]
    assert waiting == []


@pytest.mark.parametrize("name", NAMES)
def test_most_of_a_session_is_old_tool_results(name: str) -> None:
    """So that a pass over it has something to show: 70 % of a window of 40,000 tokens down to 40 %."""
    messages = json.loads(bundled(name))
    results = [b["content"] for message in messages for b in blocks_of(message) if b["type"] == "tool_result"]
    assert len(results) >= 30
    assert sum(map(len, results[:-3])) > 0.65 * sum(len(json.dumps(message)) for message in messages)


def test_evidence_has_a_title_an_address_and_the_channel_it_was_asked_from() -> None:
    asked: dict[str, str] = {}
    seen = 0
    for message in json.loads(bundled("research_session.json")):
        for block in blocks_of(message):
            if block["type"] == "tool_use" and block["name"] == "run_channel":
                asked[block["id"]] = block["input"]["channel"]
            elif block["type"] == "tool_result" and block["tool_use_id"] in asked:
                evidence = json.loads(block["content"])
                assert evidence["title"] and evidence["url"].startswith("https://")
                assert evidence["source_channel"] == asked[block["tool_use_id"]]
                seen += 1
    assert seen == 30
