"""Ten compactions of the longest shared session: no anchor is lost and none is invented.

What is expected is read from the raw tool inputs here, by code of its own.
"""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, cast

import pytest

from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.hosts.detect import parse_value
from palimpsest_mcp.memory.summary.fit import BUDGET_TOKENS
from palimpsest_mcp.memory.summary.harvest import harvest
from palimpsest_mcp.memory.summary.sections import to_markdown
from palimpsest_mcp.models.summaries import AnchoredSummary
from palimpsest_mcp.text.tokens.count import open_counter

from ..conftest import LONG, first_of

pytestmark = [pytest.mark.anyio, pytest.mark.shared]
Messages = list[dict[str, Any]]
ROUNDS = 10 if LONG else 3


def longest(shared: Path) -> Messages:
    with gzip.open(shared / "data" / "converted" / "pi-mono.jsonl.gz", "rt", encoding="utf-8") as lines:
        return max((json.loads(line)["messages"] for line in lines), key=lambda messages: len(json.dumps(messages)))


def blocks(messages: Messages, sort: str) -> list[dict[str, Any]]:
    lists: list[list[dict[str, Any]]] = [one["content"] for one in messages if isinstance(one["content"], list)]
    return [block for one in lists for block in one if block.get("type") == sort]


def raw_edits(messages: Messages) -> Counter[str]:
    """Path -> calls of an editing tool whose result is there and no error."""
    good = {block["tool_use_id"] for block in blocks(messages, "tool_result") if not block.get("is_error")}
    calls = [block for block in blocks(messages, "tool_use") if block["name"] in ("edit", "write")]
    return Counter(block["input"]["path"] for block in calls if block["id"] in good)


def raw_commits(messages: Messages) -> list[str]:
    runs = {b["id"] for b in blocks(messages, "tool_use") if "git commit" in str(b["input"].get("command", ""))}
    texts = [json.dumps(b["content"]) for b in blocks(messages, "tool_result") if b["tool_use_id"] in runs]
    return [found for text in texts for found in re.findall(r"\[refactor ([0-9a-f]{7,})\]", text)]


def tool_steps(summary: AnchoredSummary, path: str) -> int:
    file = summary.file(path)
    assert file is not None, f"{path} is lost"
    return sum(step.times for step in file.steps if step.verb in ("written", "created", "edited"))


STATED: dict[str, Any] = {
    "decisions_made": [{"decision": "Keep the old code beside the new", "rationale": "to compare while cleaning up"}],
    "blockers": ["Should the old renderer go in this branch?"],
    "technical_context": ["npm run check must pass before each commit"],
    "files_modified": {"docs/notes.md": ["why listeners persist"]},
}


@pytest.mark.long
async def test_many_rounds_lose_no_anchor_and_invent_none(shared: Path, tmp_path: Path) -> None:
    messages = longest(shared)
    count = open_counter("gpt-4o").count
    whole = AnchoredSummary()
    async with Palimpsest.open(tmp_path / "home") as p:
        for number in range(1, ROUNDS + 1):
            grown = messages[: len(messages) * number // ROUNDS]
            done = await p.compact_messages(
                grown, session_id="s", window_tokens=200_000, target=0.2, force=True, keep_last=3
            )
            assert done.report.batches, f"round {number} replaced nothing"
            if number == 1:
                await p.update_summary("s", STATED)
            kept = (tmp_path / "home" / "session" / "s" / "summary.md").read_text("utf-8")
            shown, whole = await p.summary("s"), await p.summary("s", full=True)
            assert shown.compression_count == number
            assert count(kept) < BUDGET_TOKENS and kept == to_markdown(shown)
            for path, edits in raw_edits(grown).items():
                assert tool_steps(shown, path) >= edits, f"round {number}: changes of {path} are lost"
                assert f"`{path}`" in kept
            commits = raw_commits(grown)
            assert [c for c in commits if not any(c in one for one in whole.key_artifacts)] == []
            assert [one.decision for one in shown.decisions_made][:1] == ["Keep the old code beside the new"]
            assert shown.open_blockers == ("Should the old renderer go in this branch?",)
            assert shown.technical_context[:1] == ("npm run check must pass before each commit",)
            assert shown.file("docs/notes.md") is not None
            check_counts(shown, whole)
    check_nothing_invented(whole, messages)


def check_counts(shown: AnchoredSummary, whole: AnchoredSummary) -> None:
    """Shown and left out add up to all there is."""
    assert len(shown.files_modified) + shown.left_out.get("files_modified", 0) == len(whole.files_modified)
    assert len(shown.key_artifacts) + shown.left_out.get("key_artifacts", 0) == len(whole.key_artifacts)
    assert len(shown.errors_encountered) + shown.left_out.get("errors_encountered", 0) == len(whole.errors_encountered)


def check_nothing_invented(whole: AnchoredSummary, messages: Messages) -> None:
    """Every path, name, error and quote stands in the session, but for what the agent stated here."""
    said = " ".join("\n".join(every_string(messages)).split())
    for file in whole.files_modified:
        if file.path != "docs/notes.md":
            for text in (file.path, file.folder, *(step.other for step in file.steps)):
                assert text in said, f"{text} is invented"
            for name in (name for step in file.steps for name in step.names):
                assert re.search(rf"(?<!\w){re.escape(name)}(?!\w)", said), f"{name} is invented"
    quotes = [one.error for one in whole.errors_encountered]
    quotes += [re.sub(r"^(?:edit|write) refused: ", "", one.where) for one in whole.errors_encountered]
    for quote in (*quotes, *whole.key_artifacts, whole.session_intent, whole.last_asked, whole.last_said):
        assert " ".join(quote.removesuffix("[…]").split()) in said, f"{quote} is invented"


def every_string(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    parts: Iterable[Any] = ()
    if isinstance(value, (dict, list)):
        parts = cast("dict[str, Any]", value).values() if isinstance(value, dict) else cast("list[Any]", value)
    return [text for part in parts for text in every_string(part)]


@pytest.mark.parametrize(
    "source", first_of(["pi-mono", "spotter", "deer-flow", "openhands-sdk", "intercode", "tau-bench"], kept=2)
)
async def test_every_file_that_an_editor_changed_is_in_the_summary(shared: Path, source: str) -> None:
    """Across all shared sessions that edit files; distractors are not in it."""
    editors = ("edit", "write", "Edit", "Write", "write_file", "str_replace", "str_replace_editor")
    with gzip.open(shared / "data" / "converted" / f"{source}.jsonl.gz", "rt", encoding="utf-8") as lines:
        sessions = [json.loads(line)["messages"] for line in lines]
    for messages in sessions:
        summary = harvest(parse_value(messages).items, str)
        good = {
            block["tool_use_id"]
            for block in blocks(messages, "tool_result")
            if not block.get("is_error")
            and "Ran into [Errno" not in str(block["content"])  # refused, and not marked so
        }
        calls = [block for block in blocks(messages, "tool_use") if block["name"] in editors and block["id"] in good]
        calls = [block for block in calls if block["input"].get("command") != "view"]
        paths = [block["input"].get("path") or block["input"].get("file_path") for block in calls]
        known = {one.path for one in summary.files_modified}
        assert known >= set(paths) and known.isdisjoint(f"{path}x" for path in paths)
        reads = [b["input"].get("file_path") for b in blocks(messages, "tool_use") if b["name"] == "Read"]
        named = " ".join(one.path for one in summary.files_modified)
        assert known.isdisjoint(path for path in reads if path and path not in named)
