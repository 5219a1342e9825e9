"""One step in a process of its own: a compaction that is timed, or a restore that is compared.

    python benchmarks/quality/one_pass.py compact SESSION.json HOME OUT.json TARGET [MESSAGES]
    python benchmarks/quality/one_pass.py restore SESSION.json HOME OUT.json

Prints one JSON object. The vocabulary and all modules are loaded before the timed call, by a session of two messages.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path
from typing import Any

from palimpsest_mcp.core.palimpsest import Palimpsest

SESSION_ID = "quality"


async def compact(messages: list[Any], home: str, target: float) -> tuple[list[Any], dict[str, Any]]:
    """The shorter list, and what is printed."""
    async with Palimpsest.open(home) as palimpsest:
        tiny = [{"role": "user", "content": "warm up"}, {"role": "assistant", "content": "yes"}]
        await palimpsest.compact_messages(tiny, session_id="warm", force=True)
        started = time.perf_counter()
        result = await palimpsest.compact_messages(
            messages, session_id=SESSION_ID, target=target, keep_last=3, force=True
        )
        seconds = time.perf_counter() - started
    report = result.report
    counts = report.specifics
    return result.messages, {
        "seconds": seconds,
        "status": report.status,
        "batches": len(report.batches),
        "pointers": sum(one.mode == "pointer" for one in report.batches),
        "own": [counts.total, counts.shown, counts.elsewhere, counts.left_out],
    }


async def restore(messages: list[Any], home: str, shorter: list[Any]) -> dict[str, Any]:
    """How many of the replaced results come back byte for byte."""
    before, after = dict(_results(messages)), dict(_results(shorter))
    changed = [call for call, content in before.items() if after.get(call) != content]
    back: dict[str, Any] = {}
    async with Palimpsest.open(home) as palimpsest:
        for batch in await palimpsest.list_offloaded(SESSION_ID):
            for one in await palimpsest.restore_batch(SESSION_ID, batch.batch_id):
                back[one.item_id.rpartition("#")[0] or one.item_id] = one.content
        whole = await palimpsest.expand_messages(shorter, session_id=SESSION_ID)
    exact = sum(back.get(call) == before[call] for call in changed)
    return {"exact": exact, "changed": len(changed), "expanded_equal": whole == messages}


def _results(messages: list[Any]) -> list[tuple[str, Any]]:
    return [
        (block["tool_use_id"], block["content"])
        for message in messages
        if isinstance(message["content"], list)
        for block in message["content"]
        if block["type"] == "tool_result"
    ]


def main() -> None:
    phase, session, home, out = sys.argv[1:5]
    messages = json.loads(Path(session).read_bytes())["messages"]
    if phase == "compact":
        limit = int(sys.argv[6]) if len(sys.argv) > 6 else len(messages)
        after, found = asyncio.run(compact(messages[:limit], home, float(sys.argv[5])))
        Path(out).write_text(json.dumps(after, ensure_ascii=False), encoding="utf-8", errors="surrogatepass")
    else:
        found = asyncio.run(restore(messages, home, json.loads(Path(out).read_bytes())))
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main()
