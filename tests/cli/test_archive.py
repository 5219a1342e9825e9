"""`show`, `list`, `search`, `restore`, `pin` over a compacted session."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from palimpsest_mcp.core.palimpsest import Palimpsest

Program = Callable[..., Any]
Messages = list[dict[str, Any]]


def original(messages: Messages, call_id: str) -> str:
    contents: list[Any] = [message["content"] for message in messages if isinstance(message["content"], list)]
    return next(block["content"] for content in contents for block in content if block.get("tool_use_id") == call_id)


def test_every_dropped_item_comes_back_byte_for_byte(program: Program, compacted: str, messages: Messages) -> None:
    batches = program("list", compacted, "--json").json["batches"]
    names = [(batch["batch_id"], item) for batch in batches for item in batch["item_ids"]]
    assert len(names) > 5
    for batch, item in names:
        assert program("restore", compacted, batch, "--item", item, "--raw").out == original(messages, item).encode()


def test_the_whole_input_comes_back(program: Program, compacted: str, messages: Messages, tmp_path: Path) -> None:
    out = tmp_path / "whole.json"
    assert program("restore", compacted, "--all", "--out", out).status == 0
    assert json.loads(out.read_bytes()) == messages


def test_blocks_come_back_exactly_as_json(program: Program, tmp_path: Path, messages: Messages) -> None:
    blocks: list[dict[str, Any]] = [
        {"type": "text", "text": "first\x00 \udc80\u2028 " * 400, "cache": None},
        {"type": "text", "text": "second"},
    ]
    messages[2]["content"][0]["content"] = blocks
    file = tmp_path / "odd.json"
    file.write_text(json.dumps(messages), encoding="utf-8")
    handle = program("compact", file, "--force", "--target", "0.4", "--keep-last", "3", "--json").json["handle"]
    answer = program("restore", handle, "offload_0001", "--item", "toolu_0", "--json").json
    assert answer["items"][0]["content"] == blocks and answer["batch_id"] == "offload_0001"
    raw = program("restore", handle, "offload_0001", "--item", "toolu_0", "--raw").out
    assert raw == "\n".join(block["text"] for block in blocks).encode("utf-8", "surrogatepass")


def test_what_an_agent_fetched_in_a_shell_is_known_as_a_copy(program: Program, compacted: str, home: Path) -> None:
    batch = program("--json", "list", compacted).json["batches"][0]["batch_id"]
    printed = program("restore", compacted, batch).text.removesuffix("\n")

    async def record() -> None:
        async with Palimpsest.open(home) as p:
            await p.record_items(compacted, [{"role": "tool", "tool_use_id": "shell", "content": printed}])

    asyncio.run(record())
    rows = program("--json", "show", compacted).json["items"]
    assert next(row["protected"] for row in rows if row["item_id"] == "shell") == "restored"


def test_a_batch_of_several_needs_an_item_for_raw_bytes(program: Program, compacted: str) -> None:
    ran = program("restore", compacted, "offload_0001", "--raw", "--json")
    assert ran.status == 2
    ran = program("restore", compacted, "offload_0001", "--raw")
    assert ran.status == 22 and "toolu_0" in ran.err and ran.out == b""


def test_a_batch_is_shown_whole_without_what_acts_on_a_terminal(
    program: Program, tmp_path: Path, messages: Messages
) -> None:
    messages[2]["content"][0]["content"] += "\x1b[2J\u202eevil\x07"
    file = tmp_path / "odd.json"
    file.write_text(json.dumps(messages), encoding="utf-8")
    handle = program("compact", file, "--force", "--target", "0.4", "--keep-last", "3", "--json").json["handle"]
    ran = program("restore", handle, "offload_0001")
    assert "job 0 started" in ran.text and "job 1 started" in ran.text and "evil" in ran.text
    assert not set("\x1b\u202e\x07") & set(ran.text)
    assert "--raw" in ran.err


def test_a_word_is_found_and_the_hit_is_a_command_that_restores_it(program: Program, compacted: str) -> None:
    hit = program("search", "E4001", "--session", compacted).text.splitlines()[0]
    arguments = hit.removeprefix("palimpsest-mcp ").split()
    assert "ERROR E4001" in program(*arguments).text
    assert program("search", "E4001", "--json").json["hits"][0]["item_id"] == "toolu_1"
    assert "nothing found" in program("search", "nosuchword").text


def test_the_listing_has_a_row_a_batch_and_full_records_for_other_tools(
    program: Program, compacted: str, messages: Messages
) -> None:
    text = program("list", compacted).text
    batches = program("list", compacted, "--json").json["batches"]
    rows = [line for line in text.splitlines() if line.startswith("offload_")]
    assert len(rows) == len(batches)
    assert batches[0]["digest"].splitlines()[0] in program("list", compacted, "--full").text
    record = program("list", compacted, "--full", "--json").json["batches"][0]
    assert record["items"][0]["result"] == original(messages, record["items"][0]["id"])


def test_what_stays_says_why(program: Program, compacted: str) -> None:
    text = program("show", compacted, "--all").text
    assert "original_query" in text and "offload_0001" in text
    view = program("show", compacted, "--json").json
    assert {item["state"] for item in view["items"]} == {"live", "replaced"}


def test_a_pinned_item_stays_whole(program: Program, session_file: Path) -> None:
    plan = program("compact", session_file, "--window", "9000000", "--json").json
    assert program("pin", plan["handle"], "toolu_0").status == 0
    report = program("compact", session_file, "--force", "--target", "0.3", "--json").json
    assert "toolu_0" not in [item for batch in report["batches"] for item in batch["item_ids"]]
    assert report["protected"]["pinned"] >= 1
    assert program("pin", plan["handle"], "toolu_0", "--off", "--json").json["pinned"] is False


def test_unknown_names_say_where_to_look(program: Program, compacted: str) -> None:
    assert program("list", "nobody").status == 20
    ran = program("restore", compacted, "offload_0999", "--json")
    assert ran.status == 21 and ran.error["code"] == "batch_unknown"
    assert f" list {compacted}" in ran.error["next"]
    assert program("restore", compacted, "offload_0001", "--item", "nothing").status == 22
    assert program("pin", compacted, "nothing").status == 22
    assert program("search", "x", "--session", "nobody").status == 20
    assert program("restore", compacted).status == 2
    assert program("restore", compacted, "--all").status == 2


def test_undo_takes_the_newest_pass_back_and_then_there_is_none(program: Program, compacted: str) -> None:
    done = program("undo", compacted, "--json").json
    assert done["number"] == 1 and done["batch_ids"] and done["tokens"] > 0
    again = program("undo", compacted)
    assert again.status == 2 and "stands in its context" in again.err
    assert "reinstated" in program("list", compacted).text
