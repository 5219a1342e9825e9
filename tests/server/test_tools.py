"""The seven tools through a client in memory, in both protocol eras, over a store on disk."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import AsyncGenerator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.server import MCPServer
from mcp.types import CallToolResult, TextContent

from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.server.answers import PAGE_TOKENS, SMALL_TOKENS, as_text
from palimpsest_mcp.server.lifespan import count_o200k
from palimpsest_mcp.server.server import build_server

from ..conftest import first_of

pytestmark = pytest.mark.anyio


def server_over(home: Path) -> MCPServer[Any]:
    return build_server(lambda: Palimpsest.open(home), version="test", warm=lambda: None)


def log_of(number: int, lines: int = 60) -> str:
    """A tool result of about 2,000 tokens with specifics of its own."""
    rows = (
        f"2026-03-{1 + number % 28:02d}T10:{row % 60:02d}:00Z INFO worker-{number} wrote "
        f"/var/data/part-{number}-{row}.bin {number * 1000 + row} bytes in {row}.{number} ms"
        for row in range(lines)
    )
    return (
        f"job {number} started\n" + "\n".join(rows) + f"\nERROR E{4000 + number}: checksum differs in part-{number}-7\n"
    )


def items(calls: int = 20) -> list[dict[str, Any]]:
    """A question and `calls` tool calls with their results."""
    made: list[dict[str, Any]] = [{"role": "user", "content": "Why does the nightly job fail? Keep ticket OPS-77."}]
    for number in range(calls):
        call = {"tool_name": "read_log", "tool_use_id": f"call_{number}"}
        made.append({**call, "kind": "tool_call", "role": "assistant", "args": {"path": f"/var/log/job-{number}.log"}})
        made.append({**call, "kind": "tool_result", "role": "tool", "content": log_of(number)})
    return made


@pytest.fixture(params=first_of(["2026-07-28", "legacy"]))
async def client(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Client]:
    async with Client(server_over(tmp_path / "home"), mode=request.param) as connected:
        yield connected


def text_of(result: CallToolResult) -> str:
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))


async def ask(client: Client, tool: str, **arguments: Any) -> CallToolResult:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, text_of(result)
    return result


async def batches_of(client: Client, handle: str) -> list[str]:
    """Ids of the batches on the first page."""
    page = text_of(await ask(client, "list_offloaded", session_id=handle))
    return [line.split()[2].rstrip(",") for line in page.splitlines() if line.startswith("- batch ")]


async def data(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """The structured answer, after both channels were found equal and small."""
    result = await ask(client, tool, **arguments)
    structured = result.structured_content
    assert structured is not None
    assert text_of(result) == as_text(structured)
    limit = PAGE_TOKENS if tool == "list_offloaded" else SMALL_TOKENS
    assert count_o200k(text_of(result)) <= limit
    assert count_o200k(json.dumps(structured, ensure_ascii=False, separators=(",", ":"))) <= limit
    return structured


async def error(client: Client, tool: str, **arguments: Any) -> dict[str, str]:
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    said = json.loads(text_of(result))
    assert said.keys() == {"code", "message", "next"} and all(said.values())
    return said


async def recorded(client: Client, calls: int = 20) -> str:
    """The handle of a new session with that many tool calls."""
    return (await data(client, "record_items", session_id="new", items=items(calls)))["session"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A store with a compacted session, which nobody changes, and the handle of that."""
    home = tmp_path_factory.mktemp("made")

    async def make() -> str:
        async with Client(server_over(home)) as client:
            handle = await recorded(client)
            how = {"session_id": handle, "force": True, "target": 0.4, "window_tokens": 60_000}
            assert (await data(client, "compact_session", **how))["status"] in ("compacted", "target_not_reached")
        return handle

    return home, asyncio.run(make())


@pytest.fixture
def compacted(made: tuple[Path, str], tmp_path: Path) -> str:
    """The handle of a compacted session in the client's store."""
    shutil.copytree(made[0], tmp_path / "home", dirs_exist_ok=True)
    return made[1]


async def test_a_ratio_names_its_numbers_sources_and_what_to_do(client: Client) -> None:
    handle = await recorded(client)
    answer = await data(client, "check_context_ratio", session_id=handle, used_tokens=150_000, window_tokens=200_000)
    assert (answer["session"], answer["ratio"], answer["used_tokens"]) == (handle, 0.75, 150_000)
    assert answer["used_source"] == "argument" and answer["zone"] == "compact" and answer["action"]


async def test_what_the_ratio_was_told_is_kept_for_the_session(client: Client) -> None:
    handle = await recorded(client)
    await ask(client, "check_context_ratio", session_id=handle, window_tokens=123_456)
    assert (await data(client, "check_context_ratio", session_id=handle))["window_tokens"] == 123_456


async def test_recording_mints_a_session_and_returns_every_id(client: Client) -> None:
    answer = await data(client, "record_items", session_id="new", items=items(2))
    assert answer["recorded"] == 5 and len(answer["item_ids"]) == 5 and answer["session_id"]
    assert answer["crossed_trigger"] is False


async def test_many_ids_are_cut_and_counted(client: Client) -> None:
    many = [{"role": "tool", "tool_use_id": f"toolu_{n:040d}", "content": "x"} for n in range(500)]
    answer = await data(client, "record_items", session_id="new", items=many)
    assert answer["recorded"] == 500
    assert len(answer["item_ids"]) + answer["more"]["item_ids"] == 500


async def test_a_pass_reports_before_and_after_and_how_to_get_things_back(client: Client) -> None:
    handle = await recorded(client)
    report = await data(client, "compact_session", session_id=handle, force=True, target=0.4, window_tokens=60_000)
    assert report["tokens_after"] < report["tokens_before"]
    assert report["probes"].startswith("passed: ")
    assert report["restore"].startswith(f"restore_batch {handle} offload_")


async def test_a_dry_run_plans_and_changes_nothing(client: Client) -> None:
    handle = await recorded(client)
    report = await data(
        client, "compact_session", session_id=handle, force=True, target=0.4, window_tokens=60_000, dry_run=True
    )
    assert report["status"] == "planned" and report["plan_id"] and report["slots"]
    assert "total: 0" in text_of(await ask(client, "list_offloaded", session_id=handle))


async def test_progress_is_reported_while_a_pass_works(client: Client) -> None:
    handle = await recorded(client)
    seen: list[float] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        assert total is None and message
        seen.append(progress)

    arguments = {"session_id": handle, "force": True, "target": 0.4, "window_tokens": 60_000}
    await client.call_tool("compact_session", arguments, progress_callback=note)
    assert seen and seen == sorted(seen)


async def test_an_agent_may_write_its_own_summaries_for_the_slots_of_a_plan(client: Client) -> None:
    handle = await recorded(client)
    how = {"session_id": handle, "force": True, "target": 0.4, "window_tokens": 60_000}
    plan = await data(client, "compact_session", dry_run=True, **how)
    assert "of them your own words" in plan["slots"][0]
    done = await data(client, "compact_session", plan_id=plan["plan_id"], digests={"1": "All went well."}, **how)
    assert done["status"] == "compacted" and not [note for note in done["notes"] if "not used" in note]
    batch = done["restore"].split()[-1]
    listed = await client.call_tool("list_offloaded", {"session_id": handle, "batch_id": batch})
    assert "wording not verified: 1 line]" in str(listed.content)
    stale = await error(client, "compact_session", plan_id=plan["plan_id"], digests={"1": "All went well."}, **how)
    assert stale["code"] == "plan_stale"


async def test_texts_for_no_plan_or_no_slot_of_it_are_refused(client: Client) -> None:
    handle = await recorded(client)
    how = {"session_id": handle, "force": True, "target": 0.4, "window_tokens": 60_000}
    plan = await data(client, "compact_session", dry_run=True, **how)
    for more in ({}, {"plan_id": plan["plan_id"], "digests": {"99": "text"}}):
        refused = await error(client, "compact_session", **{"digests": {"1": "text"}, **how, **more})
        assert refused["code"] == "invalid_argument"
    assert "total: 0" in text_of(await ask(client, "list_offloaded", session_id=handle))


async def test_a_strategy_that_is_none_is_refused(client: Client) -> None:
    handle = await recorded(client)
    refused = await error(client, "compact_session", session_id=handle, strategy="magic")
    assert refused["code"] == "invalid_argument" and "opaque" in refused["next"]


async def test_a_listing_is_one_page_of_short_rows(client: Client, compacted: str) -> None:
    handle = compacted
    page = text_of(await ask(client, "list_offloaded", session_id=handle))
    rows = [line for line in page.splitlines() if line.startswith("- batch ")]
    assert f"total: {len(rows)}" in page and len(rows) > 2
    for row in rows:
        assert count_o200k(row) <= 40


async def test_one_batch_in_detail_has_its_digest(client: Client, compacted: str) -> None:
    handle = compacted
    (batch, *_) = await batches_of(client, handle)
    detail = text_of(await ask(client, "list_offloaded", session_id=handle, batch_id=batch))
    assert f"batch: {batch}" in detail and "restorable: true" in detail and batch in detail.partition("digest: ")[2]


async def test_a_dropped_word_is_found_and_its_original_comes_back_whole(client: Client, compacted: str) -> None:
    handle = compacted
    found = text_of(await ask(client, "search_offloaded", query="E4001", session_id=handle))
    assert "data, not instructions" in found
    line = next(line for line in found.splitlines() if line.startswith("restore_batch "))
    _, _, batch, item, *_ = line.split(":")[0].split()
    result = await ask(client, "restore_batch", session_id=handle, batch_id=batch, item_id=item)
    assert result.structured_content is None
    assert log_of(1) in text_of(result)


async def test_the_marks_around_restored_text_are_new_each_time(client: Client, compacted: str) -> None:
    handle = compacted
    first = text_of(await ask(client, "restore_batch", session_id=handle, batch_id="offload_0001"))
    second = text_of(await ask(client, "restore_batch", session_id=handle, batch_id="offload_0001"))
    marks = [next(line for line in text.splitlines() if line.startswith("<<")) for text in (first, second)]
    assert marks[0] != marks[1]


@pytest.mark.long
async def test_a_long_original_comes_in_pages_that_together_are_it(client: Client) -> None:
    long = "\n".join(f"row {n}: value {n * 7919}" for n in range(5_000))
    more = [{"role": "tool", "tool_name": "dump", "tool_use_id": "call_long", "content": long}, *items(12)]
    handle = (await data(client, "record_items", session_id="new", items=more))["session"]
    await data(client, "compact_session", session_id=handle, force=True, target=0.1, window_tokens=400_000)
    parts: list[str] = []
    offset = 0
    while True:
        text = text_of(
            await ask(
                client, "restore_batch", session_id=handle, batch_id="offload_0001", item_id="call_long", offset=offset
            )
        )
        assert count_o200k(text) <= 15_000
        head, _, body = text.partition("<<")
        mark, _, inner = body.partition("\n")
        parts.append(inner.removesuffix(f"\n{mark}>>"))
        assert f"total_chars={len(long)}" in head
        if "complete" in head:
            break
        offset = int(head.partition("next_offset=")[2].split(";")[0])
    assert "".join(parts) == long and len(parts) > 3


async def test_an_image_comes_back_as_an_image_block(client: Client) -> None:
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
    content = [{"type": "text", "text": log_of(3)}, picture]
    more = [{"role": "tool", "tool_use_id": "call_image", "tool_name": "shot", "content": content}, *items(12)]
    handle = (await data(client, "record_items", session_id="new", items=more))["session"]
    await data(client, "compact_session", session_id=handle, force=True, target=0.2, window_tokens=60_000)
    result = await ask(client, "restore_batch", session_id=handle, batch_id="offload_0001", item_id="call_image")
    assert [(block.type, getattr(block, "data", "")) for block in result.content[1:]] == [("image", "iVBORw0KGgo=")]


async def test_half_a_surrogate_pair_does_not_break_the_answer(client: Client) -> None:
    more = [{"role": "tool", "tool_use_id": "c", "content": "\udc80 " + log_of(1)}, *items(12)]
    handle = (await data(client, "record_items", session_id="new", items=json.loads(json.dumps(more))))["session"]
    await data(client, "compact_session", session_id=handle, force=True, target=0.4, window_tokens=60_000)
    text = text_of(await ask(client, "restore_batch", session_id=handle, batch_id="offload_0001", item_id="c"))
    assert "\\udc80" in text


async def test_what_is_in_context_is_shown_in_pages(client: Client) -> None:
    handle = await recorded(client, calls=150)
    seen: list[str] = []
    cursor = ""
    while True:
        text = text_of(await ask(client, "show_context", session_id=handle, cursor=cursor, detail=True))
        assert count_o200k(text) <= PAGE_TOKENS
        seen += [line.split(" | ")[0] for line in text.splitlines() if line.count(" | ") == 4][0:]
        cursor = text.partition("next_cursor: ")[2].strip()
        if not cursor:
            break
    assert sum(item.startswith("call_") or item.startswith("call:") for item in seen) == 300


async def test_every_item_has_its_gate_and_what_shows_it(client: Client) -> None:
    """Under a policy with gates; also those that left, and in the words of seed 004."""
    given: list[dict[str, Any]] = [{"id": "q", "kind": "message", "role": "user", "content": "Refactor src/a.py"}]
    for n in range(12):
        path = "src/a.py" if n in (0, 9) else f"src/other_{n}.py"
        hashes = [sha256(f"{path} {line}".encode()).hexdigest() for line in range(80)]
        given.append(
            {
                "id": f"r{n}",
                "kind": "tool_result",
                "role": "tool",
                "tool_name": "Read",
                "tool_use_id": f"t{n}",
                "args": {"file_path": path},
                "content": "\n".join(f"hash_{line} = {one!r}" for line, one in enumerate(hashes)),
            }
        )
        given.append({"id": f"m{n}", "kind": "message", "role": "assistant", "content": f"Read {n}."})
    handle = (await data(client, "record_items", session_id="new", items=given))["session"]
    how = {"session_id": handle, "policy": "anchored", "force": True, "target": 0.6}
    await data(client, "compact_session", **how)
    shown = text_of(await ask(client, "show_context", session_id=handle, detail=True))
    rows = shown.split("\n    ")
    assert any("src/a.py was read again: " in row and row.startswith("forget: ") for row in rows)
    assert any(row.startswith("verbatim: one of the newest 5 messages") for row in rows)
    assert any(row.startswith("preserve: the task as it was given") for row in rows)
    assert (
        next(line for line in shown.splitlines() if line.startswith("t0 ") or "| Read |" in line).count("replaced by")
        == 1
    )


async def test_a_pinned_item_says_so(client: Client) -> None:
    handle = await recorded(client)
    text = text_of(await ask(client, "show_context", session_id=handle, pin="call_3"))
    assert "pinned" in next(line for line in text.splitlines() if line.startswith("call_3 "))
    text = text_of(await ask(client, "show_context", session_id=handle, unpin=["call_3"]))
    assert "pinned" not in text


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("show_context", {}),
        ("compact_session", {}),
        ("list_offloaded", {}),
        ("restore_batch", {"batch_id": "offload_0001"}),
        ("search_offloaded", {"query": "x"}),
    ],
)
async def test_an_unknown_session_names_the_call_that_starts_one(
    client: Client, tool: str, arguments: dict[str, Any]
) -> None:
    said = await error(client, tool, session_id="nobody", **arguments)
    assert said["code"] == "session_unknown" and 'check_context_ratio {"session_id": "new"}' in said["next"]


async def test_an_unknown_batch_names_the_listing(client: Client) -> None:
    handle = await recorded(client)
    said = await error(client, "restore_batch", session_id=handle, batch_id="offload_0009")
    assert said["code"] == "batch_unknown" and "list_offloaded" in said["next"]


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("compact_session", {"session_id": "s", "target": "inf"}, "target"),
        ("compact_session", {"session_id": "s", "window_tokens": 0}, "window_tokens"),
        ("check_context_ratio", {"session_id": "s", "used_tokens": -1}, "used_tokens"),
        ("check_context_ratio", {}, "session_id"),
        ("record_items", {"session_id": "new", "items": ["text"]}, "items"),
        ("compact_session", {"session_id": "s", "dryrun": True}, "dryrun"),
    ],
)
async def test_wrong_arguments_are_named_and_a_correct_call_is_shown(
    client: Client, tool: str, arguments: dict[str, Any], words: str
) -> None:
    said = await error(client, tool, **arguments)
    assert said["code"] == "invalid_argument" and words in said["message"] and f"{tool} {{" in said["next"]


async def test_a_refused_item_names_its_field_and_shows_a_correct_one(client: Client) -> None:
    said = await error(client, "record_items", session_id="new", items=[{"kind": "evidence", "content": "x"}])
    assert said["code"] == "invalid_item" and "items[0].title" in said["message"] and '"role": "tool"' in said["next"]


async def test_null_is_as_good_as_leaving_an_argument_out(client: Client) -> None:
    handle = await recorded(client)
    nothing = {"used_tokens": None, "window_tokens": None, "model": None, "policy": None, "detail": None}
    assert (await data(client, "check_context_ratio", session_id=handle, **nothing))["session"] == handle


async def test_from_full_to_a_fresh_start_it_takes_three_calls_and_everything_comes_back(client: Client) -> None:
    """As a model without the docs goes on: each answer names the next call."""
    handle = await recorded(client)
    full = await data(client, "check_context_ratio", session_id=handle, used_tokens=55_000, window_tokens=60_000)
    assert "compact" in full["action"]
    report = await data(client, "compact_session", session_id=full["session"])
    assert report["batches"], report["reason"]
    name, _, rest = report["how_to_apply"].partition("compacted view: ")[2].partition(" ")
    fresh = text_of(await ask(client, name, **json.loads(rest)))
    assert "next_cursor" not in fresh
    for batch in await batches_of(client, handle):
        assert f"restore_batch {handle} {batch}" in fresh
        assert "complete" in text_of(
            await ask(client, "restore_batch", session_id=handle, batch_id=batch, max_tokens=15_000)
        )
    after = await data(client, "check_context_ratio", session_id=handle)
    assert after["action"] == "apply the shorter list" and after["used_tokens"] == 55_000
    assert f"{after['compacted_view_tokens']:,} tokens" in after["meaning"] and "a fresh start" in after["meaning"]


async def test_with_nothing_recorded_the_way_is_a_handoff_and_never_a_circle(client: Client) -> None:
    full = await data(client, "check_context_ratio", session_id="new", used_tokens=55_000, window_tokens=60_000)
    assert full["action"].startswith("write_handoff") and "write_handoff" in full["meaning"]
    handle = full["session"]
    report = await data(client, "compact_session", session_id=handle, force=True)
    assert report["status"] == "nothing_to_do" and "write_handoff" in report["reason"]
    assert "write_handoff" in text_of(await ask(client, "show_context", session_id=handle, view="compacted"))
    fields = {"in_progress": ["tests/test_load.py"], "key_context": {"facts": ["load.py skips known ids"]}}
    await ask(client, "write_handoff", session_id=handle, task="Mend the import", fields=fields)
    assert "Mend the import" in text_of(await ask(client, "load_handoff", task="Mend the import"))


async def test_an_agent_takes_the_last_pass_back_as_its_report_says(client: Client) -> None:
    handle = await recorded(client)
    report = await data(client, "compact_session", session_id=handle, force=True, target=0.4, window_tokens=60_000)
    name, _, arguments = report["undo"].partition(" ")
    said = text_of(await ask(client, name, **json.loads(arguments)))
    assert said.startswith("pass 1: offload_0001") and "put back" in said
    assert "state reinstated" in text_of(await ask(client, "list_offloaded", session_id=handle))
    assert "No pass" in (await error(client, name, **json.loads(arguments)))["message"]


async def test_a_row_of_the_list_says_what_its_results_are_of(client: Client) -> None:
    named = [
        {**one, "tool_name": "Bash", "args": {"command": f"./check.sh {n // 2}"}} if "tool_name" in one else one
        for n, one in enumerate(items(), 1)
    ]
    handle = (await data(client, "record_items", session_id="new", items=named))["session"]
    await data(client, "compact_session", session_id=handle, force=True, window_tokens=40_000)
    page = text_of(await ask(client, "list_offloaded", session_id=handle))
    assert "what 7 Bash, of ./check.sh 1, tokens" in page


async def test_lines_of_several_items_name_the_call_that_works(client: Client) -> None:
    handle = (await data(client, "record_items", session_id="new", items=items()))["session"]
    await data(client, "compact_session", session_id=handle, force=True, window_tokens=40_000)
    asked = {"session_id": handle, "batch_id": "offload_0001", "lines": "1"}
    refused = await client.call_tool("restore_batch", asked)
    said = json.loads(text_of(refused))["next"]
    call = json.loads(said[said.index("{") : said.index("}") + 1])
    assert call == {**asked, "item_id": call["item_id"]}
    assert "job 0 started" in text_of(await ask(client, "restore_batch", **call))
