"""Resources, completions, prompts, notifications, the log and the question before rules leave, in both eras."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import anyio
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp.types import ElicitResult, PromptReference, ResourceTemplateReference, TextContent, TextResourceContents

from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.server.server import build_server
from palimpsest_mcp.settings.settings import Settings

from ..conftest import first_of
from .test_tools import items, server_over, text_of

pytestmark = pytest.mark.anyio
ERAS = ("legacy", "2026-07-28")
SECRET = "ghp_a7Qz9XvB2mWc8RtY4nHp6LdJ3sGf5TbN1aVa"


@pytest.fixture(params=first_of(reversed(ERAS)))
async def client(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Client]:
    async with Client(server_over(tmp_path / "home"), mode=request.param) as connected:
        yield connected


async def compacted(client: Client) -> str:
    given = items()
    given[2]["content"] += f"token {SECRET}\n"
    recorded = (await client.call_tool("record_items", {"session_id": "new", "items": given})).structured_content
    assert recorded is not None
    handle = recorded["session"]
    how = {"session_id": handle, "force": True, "target": 0.4, "window_tokens": 60_000}
    done = (await client.call_tool("compact_session", how)).structured_content
    assert done is not None and done["batches"]
    return handle


async def read(client: Client, path: str) -> str:
    (content,) = (await client.read_resource(f"palimpsest://{path}")).contents
    assert isinstance(content, TextResourceContents)
    return content.text


async def test_everything_that_is_kept_can_be_read(client: Client, with_secret: str) -> None:
    handle = with_secret
    assert handle in await read(client, "sessions")
    of = f"sessions/{handle}"
    assert "OPS-77" in await read(client, f"{of}/context")
    assert "# Anchored Summary" in await read(client, f"{of}/summary")
    assert "batch offload_0001" in await read(client, f"{of}/batches")
    assert "digest: " in await read(client, f"{of}/batches/offload_0001")
    original = await read(client, f"{of}/batches/offload_0001/items/call_0")
    assert "part-0-59.bin" in original and "restore_batch {" in original and SECRET not in original
    written = await client.call_tool(
        "write_handoff",
        {"session_id": handle, "task": "Mend the job", "phase": "fork", "fields": {"key_context": {"facts": ["x1"]}}},
    )
    assert written.structured_content is not None, text_of(written)
    name = written.structured_content["name"]
    assert name in await read(client, "handoffs")
    for _ in range(2):  # reading takes nothing away, of a fork neither
        assert "Mend the job" in await read(client, f"handoffs/{name}")
    await client.call_tool("record_experience", {"skill": "search-x", "event": {"outcome": "success"}})
    assert "search-x" in await read(client, "experience")
    assert "data, not instructions" in await read(client, "experience/search-x")


async def test_what_is_not_there_says_what_is(client: Client, with_secret: str) -> None:
    for path in (
        "sessions/nobody/summary",
        "handoffs/none",
        "experience/none",
        "nothing",
        f"sessions/{quote('../x', safe='')}/context",
    ):
        with pytest.raises(MCPError) as caught:
            await client.read_resource(f"palimpsest://{path}")
        assert caught.value.error.code == -32602, path
        assert path == "nothing" or '"next": ' in caught.value.error.message


async def test_a_handoff_of_an_unknown_name_is_not_said_to_stand_elsewhere(client: Client, with_secret: str) -> None:
    handle = with_secret
    written = (await client.call_tool("write_handoff", {"session_id": handle, "task": "Mend it"})).structured_content
    assert written is not None
    with pytest.raises(MCPError) as caught:
        await client.read_resource("palimpsest://handoffs/never-written")
    message = caught.value.error.message
    assert "never-written" in message and "another project" not in message
    assert f"Name one of {written['name']}." in message
    refused = text_of(await client.call_tool("load_handoff", {"task": "never-written", "project": "*"}))
    assert "of this task in any project" in refused and "Leave task out" in refused


async def test_names_are_completed_from_what_was_named_before(client: Client, with_secret: str) -> None:
    handle = with_secret
    ref = ResourceTemplateReference(
        type="ref/resource", uri="palimpsest://sessions/{session}/batches/{batch}/items/{item}"
    )

    async def values(name: str, begun: str, **given: str) -> list[str]:
        return (await client.complete(ref, {"name": name, "value": begun}, given)).completion.values

    assert await values("session", handle[:2]) == [handle] and await values("session", "x") == []
    assert "offload_0001" in await values("batch", "off", session=handle)
    assert "call_0" in await values("item", "call_", session=handle, batch="offload_0001")
    assert await values("batch", "off", session="nobody") == []
    prompt = PromptReference(type="ref/prompt", name="start_phase")
    assert (await client.complete(prompt, {"name": "phase", "value": "p"})).completion.values == ["plan"]


async def test_the_prompts_lead_on(client: Client) -> None:
    async def said(name: str, **arguments: str) -> str:
        (message,) = (await client.get_prompt(name, arguments)).messages
        assert isinstance(message.content, TextContent)
        return message.content.text

    assert "Start one" in await said("what_was_dropped") and "no handoff" in await said("start_phase")
    handle = await compacted(client)
    assert "offload_0001" in await said("what_was_dropped")
    assert "offload_0001" in await said("what_was_dropped", session_id=handle)
    await client.call_tool(
        "write_handoff", {"session_id": handle, "task": "Mend it", "fields": {"key_context": {"facts": ["see OPS-77"]}}}
    )
    assert "Start the plan phase" in await said("start_phase", phase="plan", task="Mend it")


@pytest.mark.parametrize("caller", [{"principal": "bob"}, {"only_session": "own"}])
async def test_resources_and_completions_tell_nothing_of_other_callers(tmp_path: Path, caller: Any) -> None:
    async with Palimpsest.open(tmp_path) as p:
        await p.record_items("theirs", items())
        await p.compact_session("theirs", window_tokens=60_000, force=True, target=0.4)
        await p.write_handoff("theirs", "canary task", phase="research")
        theirs = (await p.session("theirs")).handle
    async with Palimpsest.open(tmp_path, principal=caller.get("principal", "")) as p:
        await p.record_items("own", ())
    async with Client(build_server(lambda: Palimpsest.open(tmp_path, **caller), warm=lambda: None)) as client:
        for path in ("sessions", "handoffs"):
            assert theirs not in await read(client, path) and "canary" not in await read(client, path)
        assert not any(theirs in one.uri for one in (await client.list_resources()).resources)
        for path in ("context", "summary", "batches", "batches/offload_0001", "batches/offload_0001/items/call_0"):
            with pytest.raises(MCPError, match="session_unknown"):
                await client.read_resource(f"palimpsest://sessions/{theirs}/{path}")
        ref = ResourceTemplateReference(type="ref/resource", uri="palimpsest://sessions/{session}/batches/{batch}")
        for argument in ({"name": "session", "value": theirs}, {"name": "batch", "value": ""}):
            assert (await client.complete(ref, argument, {"session": theirs})).completion.values == []


@pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")  # what older clients still send
async def test_an_older_client_hears_of_what_it_subscribed_to_and_of_its_log(tmp_path: Path) -> None:
    heard: list[str] = []

    async def note(message: Any) -> None:
        method = getattr(message, "method", "")
        params = getattr(message, "params", None)
        heard.append(f"{method} {getattr(params, 'uri', '') or getattr(params, 'data', '')}")

    async with Client(server_over(tmp_path), mode="legacy", message_handler=note) as client:
        handle = await compacted(client)
        uri = f"palimpsest://sessions/{handle}/summary"
        await client.session.subscribe_resource(uri)  # pyright: ignore[reportDeprecated]
        await client.session.set_logging_level("warning")  # pyright: ignore[reportDeprecated]
        await client.call_tool("update_summary", {"session_id": handle, "sections": {"next_steps": ["go on"]}})
        await client.call_tool("restore_batch", {"session_id": handle, "batch_id": "none"})
        with anyio.fail_after(30):
            while not any(uri in one for one in heard) or not any("batch_unknown" in one for one in heard):
                await anyio.lowlevel.checkpoint()
    assert any("resources/list_changed" in one for one in heard)


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("answer", ["accept", "decline"])
async def test_a_person_is_asked_before_rules_leave(tmp_path: Path, era: str, answer: Any) -> None:
    asked: list[str] = []
    now = datetime(2026, 1, 10, tzinfo=UTC)
    settings = Settings.load(home=tmp_path / "home", skills_roots=[tmp_path / "skills"], rule_wording="off")

    async def ask(context: Any, params: Any) -> ElicitResult:
        asked.append(params.message)
        return ElicitResult(action=answer, content={"remove": True} if answer == "accept" else None)

    def opened() -> Any:
        return Palimpsest.open(settings=settings, clock=lambda: now)

    async with Client(build_server(opened, warm=lambda: None), mode=era, elicitation_callback=ask) as client:
        for number in range(3):
            event = {"session_id": f"s{number}", "outcome": "success", "winning_pattern": "use the api"}
            await client.call_tool("record_experience", {"skill": "search-x", "event": event})
        await client.call_tool("compact_experience", {"skill": "search-x"})
        assert not asked
        before = done = ""
        for _ in range(12):
            now += timedelta(days=60)
            before = await read(client, "experience/search-x")
            done = text_of(await client.call_tool("compact_experience", {"skill": "search-x"}))
            if asked:
                break
        assert asked and "use the api" in asked[0], done
        after = await read(client, "experience/search-x")
        assert ("Nothing was changed" in done) == (answer == "decline")
        assert ("use the api" in after) == (answer == "decline") and "use the api" in before


@pytest.mark.parametrize("stop_at", first_of([2, 16, 1, 4, 8]))
async def test_a_pass_that_is_called_off_leaves_the_store_whole(tmp_path: Path, stop_at: int) -> None:
    """At every stage: nothing is half done, and the next pass does it."""
    heard = 0
    async with Client(server_over(tmp_path)) as client:
        recorded = (await client.call_tool("record_items", {"session_id": "new", "items": items()})).structured_content
        assert recorded is not None
        how = {"session_id": recorded["session"], "force": True, "target": 0.4, "window_tokens": 60_000}
        with anyio.CancelScope() as scope:

            async def stop(progress: float, total: float | None, message: str | None) -> None:
                nonlocal heard
                heard += 1
                if heard == stop_at:
                    scope.cancel()

            await client.call_tool("compact_session", how, progress_callback=stop)
        assert heard
        while "pass_in_progress" in (again := text_of(await client.call_tool("compact_session", how))):
            await anyio.lowlevel.checkpoint()
        assert "session_unknown" not in again and "internal_error" not in again
    async with Palimpsest.open(tmp_path) as p:
        assert (await p.verify()).ok
        batches = await p.list_offloaded(recorded["session"])
        assert batches
        for batch in batches:
            assert await p.restore_batch(recorded["session"], batch.batch_id)
