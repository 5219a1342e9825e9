"""Results as hooks hand them over; the pairs of response and row were written down from client 2.1.328."""

from __future__ import annotations

from typing import Any

import pytest

from palimpsest_mcp.hosts.claude_code.results import ToolResult, result_of, spill_folder
from palimpsest_mcp.hosts.hook_call import is_binary

BASH = {"stdout": "", "stderr": "", "interrupted": False, "isImage": False, "noOutputExpected": False}


def read(content: str, start: int = 1, **more: Any) -> dict[str, Any]:
    lines = content.count("\n") + 1
    file = {"filePath": "/p/a.txt", "content": content, "numLines": lines, "startLine": start, "totalLines": 5, **more}
    return {"type": "text", "file": file}


def known(tool: str, response: Any) -> ToolResult:
    found = result_of(tool, response)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("tool", "response", "row"),
    [
        ("Read", read("a\n\n  b\nc\n"), "1\ta\n2\t\n3\t  b\n4\tc\n5\t"),
        ("Read", read("\n  b", start=2), "2\t\n3\t  b"),
        ("Read", read("a\nb"), "1\ta\n2\tb"),
        ("Bash", BASH | {"stdout": "  x\n\ny  \n\nerr\nz"}, "  x\n\ny  \n\nerr\nz"),
        ("Bash", BASH | {"stdout": "DIG-B\n\n  two \nlast line\n"}, "DIG-B\n\n  two \nlast line"),
        ("mcp__raw__echo", "plain", "plain"),
        ("mcp__raw__echo", [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "a\nb"),
    ],
)
def test_a_result_is_known_as_the_transcript_will_show_it(tool: str, response: Any, row: str) -> None:
    assert known(tool, response).wire == row


def test_a_replacement_has_the_tools_own_shape() -> None:
    assert known("Bash", BASH | {"stdout": "long", "stderr": "e"}).with_text("short") == {
        "stdout": "short",
        "stderr": "e",
        "interrupted": False,
        "isImage": False,
    }
    told = known("Read", read("a\nb\nc")).with_text("one\ntwo")
    assert told["type"] == "text"
    assert told["file"] == {
        "filePath": "/p/a.txt",
        "content": "one\ntwo",
        "numLines": 2,
        "startLine": 1,
        "totalLines": 5,
    }
    assert known("mcp__x__y", "long").with_text("short") == "short"
    assert known("mcp__x__y", [{"type": "text", "text": "long"}]).with_text("short") == [
        {"type": "text", "text": "short"}
    ]


@pytest.mark.parametrize(
    ("tool", "response"),
    [
        ("Bash", BASH | {"stdout": "data:image/png", "isImage": True}),
        ("Bash", BASH | {"stdout": "half", "interrupted": True}),
        ("Bash", "a string"),
        ("Bash", BASH | {"stdout": "\x0e\ufffdn\ufffd\ufffdTb\ufffd\ufffd[" * 400}),
        ("Read", {"type": "image", "file": {"base64": "iVBORw0KGgo=", "type": "image/png", "originalSize": 70}}),
        ("Read", {"type": "text", "file": {}}),
        ("mcp__x__y", [{"type": "text", "text": "see"}, {"type": "image", "data": "iVBO", "mimeType": "image/png"}]),
        ("mcp__x__y", [{"type": "text", "text": "see", "annotations": {"audience": ["user"]}}]),
        ("mcp__x__y", []),
        ("mcp__x__y", {"a": 1}),
        ("Grep", {"mode": "content", "content": "x"}),
        ("Task", [{"type": "text", "text": "a sub-agent's answer"}]),
    ],
)
def test_what_is_no_text_of_a_known_tool_is_left_alone(tool: str, response: Any) -> None:
    assert result_of(tool, response) is None


def test_the_file_that_holds_a_spilled_result_is_named() -> None:
    folder = "/h/.claude/projects/-p/943376d7/tool-results"
    words = (
        f"Error: result (160,000 characters across 4,325 lines) exceeds maximum allowed tokens. Output has been saved "
        f"to {folder}/mcp-raw-text_only-1795306404915-c24b4k.txt.\nFormat: Plain text\nUse offset and limit parameters"
    )
    assert known("mcp__raw__x", words).spilled_to == f"{folder}/mcp-raw-text_only-1795306404915-c24b4k.txt"
    assert known("mcp__raw__x", "Error: no such host").spilled_to == ""
    assert spill_folder("/h/.claude/projects/-p/943376d7.jsonl") == folder
    persisted = BASH | {"stdout": "1\n2", "persistedOutputPath": f"{folder}/b7.txt", "persistedOutputSize": 43_897}
    assert known("Bash", persisted).spilled_to == f"{folder}/b7.txt"


def test_text_with_a_few_odd_characters_is_text() -> None:
    assert not is_binary("\x1b[31mred\x1b[0m and one \ufffd in a hundred and more characters of ordinary output " * 3)
    assert not is_binary("")
    assert is_binary("\x00\x01\x02")
