"""A whole pass, killed anywhere: the context is as before or compacted, never in between, and nothing is lost."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from palimpsest_mcp.core.palimpsest import Palimpsest

pytestmark = [pytest.mark.anyio, pytest.mark.crash]

SECONDS = float(os.environ.get("TEST_CRASH_SECONDS", "3"))

WORKER = """
import asyncio, json, sys
from palimpsest_mcp.core.palimpsest import Palimpsest

async def main():
    messages = json.load(open(sys.argv[2]))
    async with Palimpsest.open(sys.argv[1]) as p:
        print("ready", flush=True)
        for n in range(1, 100):
            grown = messages[: 20 + 4 * n]
            done = await p.compact_messages(grown, session_id="s", target=0.3, force=True)
            print("done", len(grown), done.report.status, flush=True)
            if len(grown) == len(messages):
                return

asyncio.run(main())
"""


def long_session(results: int) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Keep going."}]
    for n in range(results):
        call = f"toolu_{n:04d}"
        messages.append(
            {"role": "assistant", "content": [{"type": "tool_use", "id": call, "name": "Bash", "input": {"n": n}}]}
        )
        body = "\n".join(f"{n}-{line} wrote /var/data/{n:03d}/{line:04d}.bin in {line}.{n} ms" for line in range(40))
        messages.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": call, "content": body}]})
    return messages


async def test_a_pass_that_is_killed_loses_nothing_and_the_next_one_goes_on(tmp_path: Path) -> None:
    """Real processes and kill -9 at moments drawn from a seed that a failure prints."""
    seed = int(os.environ.get("TEST_CRASH_SEED", "20261120"))
    chance = random.Random(seed)
    messages = long_session(60)
    (tmp_path / "messages.json").write_text(json.dumps(messages))
    home = tmp_path / "home"
    end = time.monotonic() + SECONDS
    kills = rounds = 0
    while time.monotonic() < end or not kills:
        rounds += 1
        acknowledged = await asyncio.to_thread(
            _run_and_kill, home, tmp_path / "messages.json", chance.uniform(0.0, 0.5)
        )
        kills += acknowledged >= 0
        async with Palimpsest.open(home) as p:
            report = await p.verify()
            assert report.ok, (seed, rounds, report.findings)
            if acknowledged > 0:
                assert await p.restore_all("s") == messages[: len(await p.restore_all("s"))], (seed, rounds)
                assert len(await p.restore_all("s")) >= acknowledged, (seed, rounds)
            for info in await p.sessions():
                for batch in await p.list_offloaded(info.session_id):
                    for item_id in batch.item_ids:
                        one = await p.restore(info.session_id, batch.batch_id, item_id)
                        n = int(item_id.rsplit("_", 1)[1])
                        assert one.text == messages[2 + 2 * n]["content"][0]["content"], (seed, rounds, item_id)
    async with Palimpsest.open(home) as p:
        done = await p.compact_messages(messages, session_id="s", target=0.3, force=True)
        assert await p.expand_messages(done.messages, session_id="s") == messages


def _run_and_kill(home: Path, session: Path, after_s: float) -> int:
    """Messages of the last pass that was acknowledged; -1 when the worker ended by itself."""
    worker = subprocess.Popen(
        [sys.executable, "-c", WORKER, str(home), str(session)], stdout=subprocess.PIPE, text=True
    )
    assert worker.stdout is not None
    assert worker.stdout.readline() == "ready\n"
    try:
        worker.wait(after_s)
    except subprocess.TimeoutExpired:
        worker.send_signal(signal.SIGKILL)
    rest = worker.stdout.read()
    worker.stdout.close()
    if worker.wait() == 0:
        return -1
    done = [line.split() for line in rest.splitlines() if line.startswith("done ")]
    return int(done[-1][1]) if done else 0
