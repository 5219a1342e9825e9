"""How the cost of one call grows with its session, and what a command costs from a cold start, in CPU."""

from __future__ import annotations

import asyncio
import json
import math
import os
import resource
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from measuring import cpu_of, note_figure, plain_loop, run_process, table

SIZES = (1_000, 10_000, 100_000)
PIECE = 10_000
PAGE = 500
READS = ("status", "list", "show", "restore")
ROWS = "\n".join(f"row {n} of the table is {n * 7} wide" for n in range(900))


def growth(repeats: int) -> str:
    """Guards against a call that becomes slower with its session: recording one item takes as long in any."""
    rows: list[list[str]] = []
    costs: dict[str, list[float]] = {}
    for size in SIZES:
        with tempfile.TemporaryDirectory(prefix="palimpsest-bench-") as home:
            own = [sys.executable, Path(__file__), home, str(size), str(repeats)]
            run_process([*own, "fill"])
            found: dict[str, float] = json.loads(run_process([*own, "use"]).output)
            found |= json.loads(run_process([*own, "page"]).output)
        for name, cost in found.items():
            costs.setdefault(name, []).append(cost)
        rows.append([f"{size:,}", *(f"{cost:.4g}" for cost in found.values())])
    steps = math.log(SIZES[-1] / SIZES[0])
    slopes = [f"{math.log(cost[-1] / cost[0]) / steps:.2f}" for cost in costs.values()]
    for name in ("first check", "record one", "check"):
        note_figure(f"growth: {name} at {SIZES[-1]:,}", costs[name][-1])
    head = ("items", *costs)
    return (
        table(head, [*rows, ["exponent", *slopes]]) + "\n\nCPU in plain loops (a million additions), least of all runs."
    )


def cold(repeats: int) -> str:
    """Guards against imports that creep into commands that only read: under 0.35 s."""
    with tempfile.TemporaryDirectory(prefix="palimpsest-bench-") as home:
        asyncio.run(_compacted(Path(home)))
        commands = {name: [sys.executable, "-m", "palimpsest_mcp", name, "--home", home] for name in READS}
        for name in ("list", "show", "restore"):
            commands[name][4:4] = ["s1", "offload_0001"] if name == "restore" else ["s1"]
        commands["bare Python"] = [sys.executable, "-c", "pass"]
        least = dict.fromkeys(commands, math.inf)
        loop = math.inf
        for _ in range(repeats + 1):  # the first one compiles
            loop = min(loop, plain_loop())
            for name, command in commands.items():
                least[name] = min(least[name], cpu_of(command))
    for name in READS:
        note_figure(f"cold: {name}", least[name] / loop)
    return table(
        ("command", "CPU, s", "in plain loops"),
        [[name, f"{cpu:.2f}", f"{cpu / loop:.1f}"] for name, cpu in least.items()],
    )


async def _compacted(home: Path) -> None:
    from palimpsest_mcp import Palimpsest

    items = [{"role": "tool", "tool_name": "Bash", "tool_use_id": f"c{n}", "content": ROWS} for n in range(6)]
    async with Palimpsest.open(home) as palimpsest:
        await palimpsest.record_items("s1", [{"role": "user", "content": "How wide is it?"}, *items])
        await palimpsest.compact_session("s1", force=True, keep_last=3)


def _item(number: int) -> dict[str, Any]:
    if number % 10 == 0:
        return {"role": "user" if number % 20 == 0 else "assistant", "content": f"Now look at file number {number}."}
    if number % 2:
        call = {"role": "assistant", "kind": "tool_call", "tool_name": "Read", "tool_use_id": f"c{number}"}
        return {**call, "args": {"path": f"/src/pkg/mod{number}.py"}}
    text = f"line {number}: def f{number}(x): return x + {number}\n" * 3
    return {"role": "tool", "tool_name": "Read", "tool_use_id": f"c{number - 1}", "content": text}


async def _fill(home: Path, size: int) -> None:
    from palimpsest_mcp import Palimpsest

    async with Palimpsest.open(home) as palimpsest:
        for start in range(0, size, PIECE):
            await palimpsest.record_items("s1", [_item(n) for n in range(start, min(size, start + PIECE))])


async def _use(home: Path, size: int, repeats: int) -> dict[str, float]:
    from palimpsest_mcp import Palimpsest

    new = iter(range(10 * size, 11 * size))
    loop = min(plain_loop() for _ in range(repeats))

    async def least(work: Callable[[], Awaitable[object]], times: int = repeats) -> float:
        found = math.inf
        for _ in range(times):
            started = time.process_time()
            await work()
            found = min(found, time.process_time() - started)
        return found / loop

    async with Palimpsest.open(home) as palimpsest:

        def check() -> Awaitable[object]:
            return palimpsest.check_context_ratio("s1", window_tokens=10**9)

        def record() -> Awaitable[object]:
            return palimpsest.record_items("s1", [{"role": "tool", "content": f"one more {next(new)}"}])

        opening = await least(check, 1)
        await record()  # the first one loads the vocabulary
        costs = {"first check": opening, "check": await least(check), "record one": await least(record, 4 * repeats)}
        costs["show a page"] = await least(lambda: palimpsest.show_context("s1", rows=slice(0, PAGE)), 1)
        costs["a page again"] = await least(lambda: palimpsest.show_context("s1", rows=slice(0, PAGE)))
        costs["show all rows"] = await least(lambda: palimpsest.show_context("s1"))
        costs["list"] = await least(lambda: palimpsest.list_offloaded("s1"))
    costs["peak MB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return costs


async def _page(home: Path) -> dict[str, float]:
    """What a process takes that only shows a page."""
    from palimpsest_mcp import Palimpsest

    async with Palimpsest.open(home) as palimpsest:
        await palimpsest.show_context("s1", rows=slice(0, PAGE))
    return {"peak MB of a page alone": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


if __name__ == "__main__":
    store, count, often, what = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    if what == "fill":
        asyncio.run(_fill(store, count))
    elif what == "page":
        print(json.dumps(asyncio.run(_page(store))))
    else:
        os.environ.setdefault("PALIMPSEST_AUTO", "off")
        print(json.dumps(asyncio.run(_use(store, count, often))))
