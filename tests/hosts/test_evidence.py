"""Evidence in transcripts: kept as such only with title, URL and the channel that was asked (seed 000, Quality Bar)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from palimpsest_mcp.hosts.anthropic import AnthropicMessages
from palimpsest_mcp.hosts.openai import OpenAIMessages
from palimpsest_mcp.models.items import Item

TOOLS = {"run_channel": "evidence"}
GOOD = {"title": "Paper", "url": "https://e.org/1", "source_channel": "arxiv"}


def evidence(content: Any, channel: str = "arxiv", **beside: Any) -> Item:
    asked = {"type": "tool_use", "id": "c", "name": "run_channel", "input": {"channel": channel, "query": "q"}}
    told = {"type": "tool_result", "tool_use_id": "c", "content": content, **beside}
    messages = [{"role": "assistant", "content": [asked]}, {"role": "user", "content": [told]}]
    return AnthropicMessages(TOOLS).parse(messages).items[1]


@pytest.mark.parametrize(
    "content",
    [
        json.dumps(GOOD),
        json.dumps([GOOD, GOOD]),
        json.dumps({"results": [GOOD]}),
        [{"type": "text", "text": json.dumps(GOOD)}],
        [
            {
                "type": "search_result",
                "title": "Paper",
                "source": "https://e.org/1",
                "source_channel": "arxiv",
                "content": [],
            }
        ],
        GOOD,
    ],
)
def test_whole_evidence_keeps_its_kind_and_gives_its_fields(content: Any) -> None:
    item = evidence(content)
    assert (item.kind, item.title, item.url, item.source_channel) == ("evidence", "Paper", "https://e.org/1", "arxiv")
    assert item.warnings == ()


def test_fields_beside_the_content_count() -> None:
    assert evidence("plain words", title="Paper", url="https://e.org/1").kind == "evidence"


@pytest.mark.parametrize(
    ("content", "field"),
    [
        ("plain words", "title"),
        ("", "title"),
        ("[]", "title"),
        ("{broken", "title"),
        ("[" * 5000, "title"),
        ({**GOOD, "title": "  "}, "title"),
        ({**GOOD, "url": ""}, "url"),
        ({"results": [GOOD, {"title": "No link"}]}, "url"),
        ({**GOOD, "source_channel": "github"}, "source_channel"),
        ({**GOOD, "title": 5}, "title"),
    ],
)
def test_evidence_that_lacks_a_field_is_a_plain_result_with_a_warning(content: Any, field: str) -> None:
    item = evidence(content)
    assert item.kind == "tool_result"
    assert len(item.warnings) == 1
    assert field in item.warnings[0]


def test_a_channel_that_nobody_named_is_no_difference() -> None:
    assert evidence(GOOD, channel="").kind == "evidence"
    assert evidence({"title": "Paper", "url": "u"}).kind == "evidence"


def test_openai_results_are_judged_alike() -> None:
    asked = {"id": "c", "type": "function", "function": {"name": "run_channel", "arguments": '{"channel": "github"}'}}
    messages = [
        {"role": "assistant", "content": None, "tool_calls": [asked]},
        {"role": "tool", "tool_call_id": "c", "content": json.dumps(GOOD)},
    ]
    item = OpenAIMessages(TOOLS).parse(messages).items[1]
    assert item.kind == "tool_result"
    assert "source_channel" in item.warnings[0]
