"""A pass over a million recorded tokens, by what was read of them before: nothing, by another process, by this one."""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from measuring import note_figure, plain_loop, run_process, table
from real_sessions import million_token_session

TARGET, PIECE = 0.3, 500
WAYS = {"nothing read": "none", "read ahead by another process": "kept", "read ahead by this process": "own"}


def warm_pass(repeats: int) -> str:
    """Guards against a pass that begins anew what somebody read already: digests of what was read ahead take less CPU,
    in a new process too, and have the same bytes."""
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in WAYS}
    own = [sys.executable, Path(__file__)]
    with tempfile.TemporaryDirectory(prefix="palimpsest-bench-") as folder:
        home = Path(folder) / "home"
        filled = json.loads(run_process([*own, home, "fill", million_token_session()]).output)
        filled["size"] = sum(path.stat().st_size for path in (home / "studies").iterdir())
        for _ in range(repeats):
            for name, way in WAYS.items():
                copy = Path(folder) / "copy"
                shutil.copytree(home, copy)
                if way != "kept":
                    shutil.rmtree(copy / "studies")
                found[name].append(json.loads(run_process([*own, copy, way]).output))
                shutil.rmtree(copy)
    rows: list[list[str]] = []
    for name, runs in found.items():
        cpu, loops = (min(run[what] for run in runs) for what in ("cpu", "loops"))
        rows.append(
            [name, f"{cpu:.1f}", f"{loops:.0f}", str(len({run["bytes"] for runs in found.values() for run in runs}))]
        )
        note_figure(f"warm pass: {name}", loops)
    head = ("what was read before", "CPU of the pass, s", "in plain loops", "different outputs of all runs")
    said = (
        "Reading {results:,} results ahead took {cpu:.1f} s of CPU; what is kept of it takes {size:,} bytes, {each:,} "
        "a result."
    )
    return table(head, rows) + "\n\n" + said.format(**filled, each=filled["size"] // max(1, filled["results"]))


def _items(messages: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    calls: dict[str, str] = {}
    for message in messages:
        blocks = message["content"]
        if isinstance(blocks, str):
            blocks = [{"type": "text", "text": blocks}]
        for block in blocks:
            match block.get("type"):
                case "tool_use":
                    calls[block["id"]] = block["name"]
                    call = {"tool_name": block["name"], "tool_use_id": block["id"]}
                    yield {"role": "assistant", "kind": "tool_call", **call, "args": block["input"]}
                case "tool_result":
                    called = {"tool_name": calls.get(block["tool_use_id"], ""), "tool_use_id": block["tool_use_id"]}
                    yield {"role": "tool", **called, "content": block.get("content") or ""}
                case "text":
                    yield {"role": message["role"], "content": block["text"]}
                case _:
                    pass


async def _read(palimpsest: Any) -> int:
    count = 0
    while palimpsest.may_read_ahead:
        count += await palimpsest.read_ahead()
    return count


async def _fill(home: Path, messages: list[dict[str, Any]]) -> dict[str, float]:
    from palimpsest_mcp import Palimpsest

    items = list(_items(messages))
    async with Palimpsest.open(home) as palimpsest:
        results, cpu = 0, 0.0
        for start in range(0, len(items), PIECE):
            await palimpsest.record_items("bench", items[start : start + PIECE])
            started = time.process_time()
            results += await _read(palimpsest)
            cpu += time.process_time() - started
    return {"results": results, "cpu": cpu}


async def _pass(home: Path, way: str) -> dict[str, Any]:
    from palimpsest_mcp import Palimpsest

    loop = math.inf
    async with Palimpsest.open(home) as palimpsest:
        await palimpsest.record_items("warm", [{"role": "user", "content": "warm up"}])
        await palimpsest.compact_session("warm", force=True)
        if way == "own":
            await _read_again(palimpsest)
        loop = min(plain_loop() for _ in range(5))
        started = time.process_time()
        await palimpsest.compact_session("bench", target=TARGET, force=True)
        cpu = time.process_time() - started
        loop = min(loop, *(plain_loop() for _ in range(5)))
        parts = [[one.batch_id, one.item_ids, one.digest] for one in await palimpsest.list_offloaded("bench")]
    shown = hashlib.sha256(json.dumps(parts).encode()).hexdigest()
    return {"cpu": cpu, "loops": cpu / loop, "bytes": shown}


async def _read_again(palimpsest: Any) -> None:
    """As if this process had recorded what another one did."""
    from palimpsest_mcp.models.events import SessionKey

    deps, key = palimpsest.deps, SessionKey("bench")
    page = await deps.store.ledger.read(key)
    for event in page.events:
        if item := getattr(event, "item", None):
            deps.note_unread(key, [item])
            if len(deps.unread) == deps.unread.maxlen:
                await _read(palimpsest)
    await _read(palimpsest)


if __name__ == "__main__":
    store, what = Path(sys.argv[1]), sys.argv[2]
    filling = what == "fill"
    work = _fill(store, json.loads(Path(sys.argv[3]).read_bytes())) if filling else _pass(store, what)
    print(json.dumps(asyncio.run(work)))
