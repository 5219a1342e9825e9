"""What the thin gateway adds to a request: idle, with digests standing, and the pass itself."""

from __future__ import annotations

import asyncio
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from measuring import note_figure, table

from palimpsest_mcp.core.palimpsest import Palimpsest

CALLS = 130
"""Of 6,600 characters each: 800 kB and more."""
IDLE_WINDOW, FULL_WINDOW = 2_000_000, 200_000


def gateway(repeats: int) -> str:
    """Guards against a gateway that a person feels: at most 25 ms for a request of 800 kB. The ratio is to reading the
    same request as JSON once, measured in turn with it."""
    return asyncio.run(_gateway(max(9, repeats)))


async def _gateway(repeats: int) -> str:
    body = _request()
    parse = _timed(lambda: json.loads(body), repeats)
    rows = [["reading it as JSON", f"{parse * 1000:.1f}", "1"]]
    with tempfile.TemporaryDirectory(prefix="palimpsest-bench-") as folder:
        async with Palimpsest.open(Path(folder) / "home") as facade:
            for name, window in (("idle", IDLE_WINDOW), ("with digests standing", FULL_WINDOW)):
                one = facade.gateway(window_tokens=window)
                began = time.perf_counter()
                done = await one.request("/v1/messages", {}, body)
                first = time.perf_counter() - began
                times: list[float] = []
                for _ in range(repeats):
                    began = time.perf_counter()
                    await one.request("/v1/messages", {}, body)
                    times.append(time.perf_counter() - began)
                seconds = statistics.median(times)
                note_figure(f"gateway: {name}", seconds / parse)
                rows.append([name, f"{seconds * 1000:.1f}", f"{seconds / parse:.1f}"])
                if done.session:
                    rows.append(["the pass at the trigger, once", f"{first * 1000:.0f}", f"{first / parse:.0f}"])
    return table((f"a request of {len(body) / 1000:.0f} kB", "ms", "times reading it"), rows)


def _timed(work: Callable[[], Any], repeats: int) -> float:
    times: list[float] = []
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def _request() -> bytes:
    rows: list[Any] = [{"role": "user", "content": "Run them all."}]
    for n in range(CALLS):
        call = {"type": "tool_use", "id": f"toolu_{n}", "name": "run", "input": {"job": n}}
        said = "\n".join(
            f"job-{n:02}-{at:03} wrote /data/{n}/part-{at:04}.csv in {n * 100 + at} ms" for at in range(130)
        )
        rows.append({"role": "assistant", "content": [call]})
        rows.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": call["id"], "content": said}]})
    return json.dumps({"model": "claude-sonnet-4-5", "messages": rows}).encode()
