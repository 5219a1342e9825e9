"""The Claude Agent SDK: its own conformance suite for session stores, and the real client that comes with it against a
Messages API on loopback."""

# The framework is in no environment of the developers; `make frameworks` runs this file.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import json
import os
import shutil
from collections.abc import AsyncGenerator, Callable, Generator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from palimpsest_mcp.hosts.claude_code.transcript import rows_of
from palimpsest_mcp.integrations.claude_agent_sdk import PalimpsestSession, PalimpsestSessionStore
from palimpsest_mcp.integrations.window import AgentWindow

from ..e2e.claude_code.fake_messages import FakeMessages, all_faults, bash, say
from ..fleet.cluster import Cluster
from ..fleet.conftest import made
from .material import STEPS, need, result, run_example
from .replay import Messages, Seam, replay_all

sdk = need("claude_agent_sdk")
pytestmark = pytest.mark.anyio
KEY = {"project_key": "p", "session_id": "11111111-1111-4111-8111-111111111111"}


def rows_from(messages: Messages, session_id: str = KEY["session_id"], model: str = "gpt-5", **more: Any) -> list[Any]:
    """A transcript's rows; the model decides in whose tokens they are counted."""
    found: list[Any] = []
    parent = None
    for at, message in enumerate(messages):
        row = {
            "type": message["role"],
            "uuid": f"00000000-0000-4000-8000-{at:012d}",
            "parentUuid": parent,
            "sessionId": session_id,
            "isSidechain": False,
            "message": {**message, "id": f"msg_{at}", "type": "message", "model": model}
            if message["role"] == "assistant"
            else message,
            "timestamp": "2026-11-24T10:00:00.000Z",
            "cwd": "/srv/app",
            **more,
        }
        parent = row["uuid"]
        found.append(row)
    return found


def long_run(steps: int = STEPS) -> Messages:
    found: Messages = [{"role": "user", "content": "Find out why."}]
    for n in range(steps):
        call = {"type": "tool_use", "id": f"toolu_{n}", "name": "Bash", "input": {"command": f"./check {n}"}}
        told = {"type": "tool_result", "tool_use_id": f"toolu_{n}", "content": result(n)}
        found += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [told]}]
    return found


async def test_the_vendors_conformance_suite_passes(make_window: Callable[..., AgentWindow]) -> None:
    testing = need("claude_agent_sdk.testing")
    window = make_window()
    await testing.run_session_store_conformance(lambda: PalimpsestSessionStore(sdk.InMemorySessionStore(), window))


async def test_it_passes_too_where_rows_are_in_our_own_store(
    make_window: Callable[..., AgentWindow], tmp_path: Path
) -> None:
    testing = need("claude_agent_sdk.testing")
    places = count()
    await testing.run_session_store_conformance(
        lambda: PalimpsestSession(window=make_window(home=tmp_path / str(next(places)))).store
    )


@pytest.fixture(scope="module")
def cluster() -> Generator[Cluster]:
    one = made()
    yield one
    one.stop()


async def test_a_session_is_resumed_on_another_machine_from_one_database_with_its_archive_and_experience(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make_window: Callable[..., AgentWindow]
) -> None:
    monkeypatch.setenv("PALIMPSEST_STORE", cluster.pooled)
    first, second = (
        PalimpsestSession(window=make_window(home=tmp_path / machine, window_tokens=60_000)).store
        for machine in ("first", "second")
    )
    rows = rows_from(long_run())
    title = {"type": "custom-title", "customTitle": "half a pair \ud83d", "sessionId": KEY["session_id"]}
    await first.append(KEY, rows[:20])
    await first.append(KEY, [*rows[18:], title])  # a batch that is sent again overlaps
    first.window.close()
    assert await second.whole(KEY) == [*rows, title]
    shorter = await second.load(KEY)
    assert shorter is not None and len(json.dumps(shorter)) < 0.6 * len(json.dumps(rows))
    assert [one["session_id"] for one in await second.list_sessions("p")] == [KEY["session_id"]]
    (hit, *_) = await second.window.aask(lambda p: p.search_offloaded("worker-003-031", session_id=KEY["session_id"]))
    restored = await second.window.aask(lambda p: p.restore(KEY["session_id"], hit.batch_id, hit.item_id))
    assert restored.text == result(3)
    await second.delete(KEY)
    assert await second.load(KEY) is None and await second.list_sessions("p") == []


async def test_a_resumed_session_holds_digests_and_the_store_all_rows(make_window: Callable[..., AgentWindow]) -> None:
    window = make_window(window_tokens=60_000)
    store = PalimpsestSession(window=window).store
    rows = rows_from(long_run())
    await store.append(KEY, rows[:20])
    await store.append(KEY, rows[20:])
    shorter = await store.load(KEY)
    assert shorter is not None and len(json.dumps(shorter)) < 0.6 * len(json.dumps(rows))
    assert [row["uuid"] for row in shorter] == [row["uuid"] for row in rows]
    assert await store.load(KEY) == shorter
    assert await store.whole(KEY) == rows
    (hit, *_) = await window.aask(lambda p: p.search_offloaded("worker-003-031", session_id=KEY["session_id"]))
    assert (await window.aask(lambda p: p.restore(hit.handle, hit.batch_id, hit.item_id))).text == result(3)


async def test_a_large_result_is_replaced_in_its_tools_own_shape(make_window: Callable[..., AgentWindow]) -> None:
    palimpsest = PalimpsestSession(window=make_window(above_tokens=1_000))
    given = {
        "hook_event_name": "PostToolUse",
        "session_id": KEY["session_id"],
        "tool_name": "Bash",
        "tool_use_id": "toolu_1",
        "tool_input": {"command": "./check 1"},
        "tool_response": {"stdout": result(1), "stderr": "", "interrupted": False, "isImage": False},
        "transcript_path": "",
        "cwd": "/srv/app",
    }
    said = await palimpsest.post_tool_use(given, "toolu_1", None)
    output = said["hookSpecificOutput"]["updatedToolOutput"]
    assert set(output) >= {"stdout", "stderr", "interrupted", "isImage"} and "restore_batch" in output["stdout"]
    small = {**given, "tool_use_id": "toolu_2", "tool_response": {**given["tool_response"], "stdout": "ok"}}
    assert await palimpsest.post_tool_use(small, "toolu_2", None) == {}


async def test_a_sub_agents_answer_says_where_what_it_read_is(make_window: Callable[..., AgentWindow]) -> None:
    window = make_window()
    palimpsest = PalimpsestSession(window=window)
    rows = rows_from(long_run(8), isSidechain=True, agentId="a1")
    await palimpsest.store.append({**KEY, "subpath": "subagents/agent-a1"}, rows)
    given = {
        "session_id": KEY["session_id"],
        "tool_name": "Agent",
        "tool_input": {"description": "Look at the job", "prompt": "Look"},
        "tool_response": {"status": "completed", "agentId": "a1", "content": [{"type": "text", "text": "It fails."}]},
    }
    said = await palimpsest.post_tool_use(given, "toolu_sub", None)
    first, more = said["hookSpecificOutput"]["updatedToolOutput"]["content"]
    child = await window.aask(lambda p: p.session(f"{KEY['session_id']}/agent-a1"))
    assert first["text"] == "It fails." and more["text"].startswith(f"[sub-agent {child.handle}")
    assert child.parent == KEY["session_id"]
    (hit, *_) = await window.aask(lambda p: p.search_offloaded("worker-003-031", session_id=KEY["session_id"]))
    assert hit.handle == child.handle


async def test_a_failure_of_ours_leaves_rows_and_results_as_they_were(
    make_window: Callable[..., AgentWindow], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "home").write_text("no folder")
    palimpsest = PalimpsestSession(sdk.InMemorySessionStore(), window=make_window(above_tokens=1_000))
    rows = rows_from(long_run())
    await palimpsest.store.append(KEY, rows)
    assert await palimpsest.store.load(KEY) == rows
    response = {"stdout": result(1), "stderr": "", "interrupted": False, "isImage": False}
    given = {"session_id": KEY["session_id"], "tool_name": "Bash", "tool_input": {}, "tool_response": response}
    assert await palimpsest.post_tool_use(given, "toolu_1", None) == {}
    assert "left as it came" in caplog.text


async def send(window: AgentWindow, session_id: str, rows: Any) -> Any:
    store = PalimpsestSession(window=window).store
    key = {"project_key": "p", "session_id": session_id}
    await store.append(key, list(rows))
    return await store.load(key)


def read(rows: Any) -> Messages:
    found = [{"role": row["message"]["role"], "content": row["message"]["content"]} for row in rows_of(rows)]
    return [one if isinstance(one["content"], list) else _blocks(one) for one in found]


def _blocks(message: dict[str, Any]) -> dict[str, Any]:
    return {**message, "content": [{"type": "text", "text": message["content"]}]}


SEAM = Seam(rows_from, send, read)


async def test_real_sessions_replayed(make_window: Callable[..., AgentWindow]) -> None:
    await replay_all(make_window, SEAM)


# The real client.


@pytest.fixture
def api() -> Generator[FakeMessages]:
    fake = FakeMessages()
    stop = fake.start()
    yield fake
    stop()


@pytest.fixture
def client(api: FakeMessages, tmp_path: Path) -> dict[str, Any]:
    """Options of the real client: a home of its own, and nothing but the fake API."""
    program = Path(sdk.__file__).parent / "_bundled" / "claude"
    if not program.exists() and not shutil.which("claude"):
        pytest.skip("this SDK brings no client, and none is installed")
    home, project = tmp_path / "user", tmp_path / "project"
    (home / ".claude").mkdir(parents=True)
    project.mkdir()
    (home / ".claude.json").write_text(json.dumps({"hasCompletedOnboarding": True}), "utf-8")
    environment = {
        "HOME": str(home),
        "CLAUDE_CONFIG_DIR": str(home / ".claude"),
        "ANTHROPIC_BASE_URL": api.url,
        "ANTHROPIC_API_KEY": "dummy",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "IS_SANDBOX": "1",
        "PATH": os.environ["PATH"],
    }
    return {"env": environment, "cwd": str(project), "permission_mode": "bypassPermissions", "setting_sources": []}


async def _said(prompt: str, options: Any) -> AsyncGenerator[Any]:
    async for message in sdk.query(prompt=prompt, options=options):
        yield message


async def test_the_real_client_sends_digests_and_resumes_shorter(
    make_window: Callable[..., AgentWindow], api: FakeMessages, client: dict[str, Any], tmp_path: Path
) -> None:
    for n in range(14):
        (tmp_path / "project" / f"log-{n}.txt").write_text(result(n), "utf-8")
    # At birth only the first is large enough; the other thirteen are what a resume shortens.
    (tmp_path / "project" / "log-0.txt").write_text(result(0, lines=200), "utf-8")
    window = make_window(above_tokens=5_000)
    palimpsest = PalimpsestSession(window=window)
    options = sdk.ClaudeAgentOptions(session_store=palimpsest.store, hooks=palimpsest.hooks(), **client)
    api.play(*[bash(f"cat log-{n}.txt", None) for n in range(14)], say("done", None))
    messages = [one async for one in _said("Read the logs.", options)]
    session_id = next(one.session_id for one in reversed(messages) if hasattr(one, "session_id"))
    last = next(one for one in reversed(api.requests) if len(one.results) == 14)
    shown = list(last.results.values())
    assert "restore_batch" in shown[0] and len(shown[0]) < 10_000
    assert shown[1].strip() == result(1)
    assert all_faults(api.requests) == []
    api.play(say("still here"))
    again = sdk.ClaudeAgentOptions(
        session_store=palimpsest.store, hooks=palimpsest.hooks(), resume=session_id, **client
    )
    async for _ in _said("Go on.", again):
        pass
    resumed = next(one for one in api.requests if len(one.results) == 14)
    assert len(resumed.text) < 0.6 * len(last.text)
    assert list(resumed.results) == list(last.results) and all_faults(api.requests) == []
    (hit, *_) = await window.aask(lambda p: p.search_offloaded("worker-003-031", session_id=session_id))
    assert (await window.aask(lambda p: p.restore(hit.handle, hit.batch_id, hit.item_id))).text.strip() == result(3)


async def test_the_example_of_the_docs_runs(api: FakeMessages, client: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "project" / "log.txt").write_text(result(0, lines=200), "utf-8")
    api.play(bash("cat log.txt"), say("done"))
    there = await run_example(
        "Claude Agent SDK", home=tmp_path / "home", client=client, my_store=sdk.InMemorySessionStore()
    )
    assert any("restore_batch" in text for one in api.requests for text in one.results.values())
    there["palimpsest"].window.close()
