"""One compaction in a process of its own, beside two baselines on the same messages; prints one JSON object.

    python benchmarks/compact_once.py FILE [LINE]

The vocabulary and all modules are loaded before, by a session of two messages, and the store is new: what is measured
is the call. A second call in the process would find its tokens counted already, so there is only one.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, cast

from measuring import plain_loop

from palimpsest_mcp.core.palimpsest import Palimpsest

TARGET = 0.3
KEPT_CHARACTERS = 400
"""What the truncating baseline leaves of each end of a result."""


def load(path: Path, line: int) -> list[dict[str, Any]]:
    if path.suffix == ".gz":
        with gzip.open(path, "rt", encoding="utf-8", newline="\n") as lines:
            return next(json.loads(text)["messages"] for number, text in enumerate(lines, start=1) if number == line)
    return json.loads(path.read_bytes())


def json_round_trip(messages: list[dict[str, Any]]) -> None:
    """What any program pays that reads and writes the session once."""
    json.loads(json.dumps(messages, ensure_ascii=False))


def head_and_tail(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What most agents do today: the middle of every result is thrown away."""
    return [{**message, "content": _truncated(message["content"])} for message in messages]


def _truncated(content: Any) -> Any:
    if not isinstance(content, list):
        return content
    blocks: list[Any] = []
    for block in cast("list[dict[str, Any]]", content):
        inner = block.get("content")
        if block.get("type") == "tool_result" and isinstance(inner, str) and len(inner) > 2 * KEPT_CHARACTERS:
            block = {**block, "content": inner[:KEPT_CHARACTERS] + "\n[…]\n" + inner[-KEPT_CHARACTERS:]}
        blocks.append(block)
    return blocks


def timed(work: Any, *arguments: Any) -> float:
    started = time.perf_counter()
    work(*arguments)
    return time.perf_counter() - started


async def measured(messages: list[dict[str, Any]]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="palimpsest-bench-") as home:
        async with Palimpsest.open(home) as palimpsest:
            tiny = [{"role": "user", "content": "warm up"}, {"role": "assistant", "content": "yes"}]
            await palimpsest.compact_messages(tiny, session_id="warm", force=True)
            baselines = {"json_s": timed(json_round_trip, messages), "truncate_s": timed(head_and_tail, messages)}
            loop = min(plain_loop() for _ in range(5))
            started, spent = time.perf_counter(), time.process_time()
            result = await palimpsest.compact_messages(messages, session_id="bench", target=TARGET, force=True)
            seconds, spent = time.perf_counter() - started, time.process_time() - spent
            loop = min(loop, *(plain_loop() for _ in range(5)))
            started = time.perf_counter()
            await palimpsest.summary(
                "bench"
            )  # read, harvested from the whole ledger, merged and fitted, as a pass does
            merge_s = time.perf_counter() - started
    report = result.report
    return {
        **baselines,
        "compact_s": seconds,
        "compact_loops": spent / loop,
        "beside_s": (report.probes.elapsed_s or 0.0) + merge_s,
        "status": report.status,
        "before": report.before.used.value,
        "after": report.after.used.value,
        "specifics": {"total": report.specifics.total, "shown": report.specifics.shown},
    }


def main() -> None:
    messages = load(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    sys.stdout.write(json.dumps(asyncio.run(measured(messages))))


if __name__ == "__main__":
    main()
