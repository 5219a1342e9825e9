"""`summary SESSION`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from palimpsest_mcp.memory.summary.sections import from_markdown

Program = Callable[..., Any]


def test_the_summary_is_printed_as_it_is_kept(program: Program, compacted: str, home: Any) -> None:
    ran = program("summary", compacted)
    assert ran.status == 0 and "## Session Intent\nWhy does the nightly job fail? Ticket OPS-77." in ran.text
    (kept,) = home.glob("session/*/summary.md")
    assert ran.text == kept.read_text("utf-8")
    assert from_markdown(ran.text).compression_count == 1


def test_json_and_full_say_the_same_and_more(program: Program, compacted: str) -> None:
    ran = program("summary", compacted, "--json", "--full")
    assert ran.json["session"] == compacted and ran.json["compression_count"] == 1
    assert ran.json["session_intent"].startswith("Why does") and ran.json["left_out"] == {}


def test_an_unknown_session_is_an_error(program: Program) -> None:
    assert program("summary", "nobody", "--json").error["code"] == "session_unknown"
