"""Compacts every shared session, and restores every original in a new process; any difference ends it with 1.

    python benchmarks/sweep.py [--only NAME] [--every 3] [--target 0.3]

What is checked: the shorter list is valid for a provider (roles, order, every call paired as it was), what was not
replaced is untouched, and in a process that has only the store: the whole input again, equal; every batch, item by
item; and a clean `verify`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from typing import Any, cast

from measuring import Skipped
from real_sessions import RealSession, sessions

from palimpsest_mcp.context.arguments import BEGIN, LEAST_ENTRY, LEFT_OUT
from palimpsest_mcp.core.palimpsest import Palimpsest


def chosen(only: str, every: int) -> Iterator[RealSession]:
    """Of every so many sessions of a file the one in the middle, at least one of each file; all for 1."""
    for _, of_file in groupby(sessions(only), key=lambda session: session.file):
        several = list(of_file)
        yield from several[every // 2 :: every] or several[-1:]


async def compacted(home: str, only: str, every: int, target: float) -> tuple[Counter[str], list[str]]:
    """Compact all; how they ended, and what was wrong."""
    ended: Counter[str] = Counter()
    wrong: list[str] = []
    async with Palimpsest.open(home) as palimpsest:
        for session in chosen(only, every):
            result = await palimpsest.compact_messages(
                session.messages,
                session_id=session.name,
                target=target,
                force=True,
                system=session.system,
                thinking="drop_block",  # the list keeps it, so that every block but results and notes can be compared
            )
            ended[result.report.status] += 1
            wrong += [f"{session.name}: {fault}" for fault in faults(session, result.messages)]
            expanded = await palimpsest.expand_messages(result.messages, session_id=session.name)
            if expanded != session.messages:
                wrong.append(f"{session.name}: expanded messages differ from the input")
    return ended, wrong


def faults(session: RealSession, shorter: list[Any]) -> list[str]:
    """What a provider would refuse, or what was changed that is no tool result and no long string of a call."""
    found: list[str] = []
    if [message["role"] for message in shorter] != [message["role"] for message in session.messages]:
        return ["other roles or another number of messages"]
    for number, (before, after) in enumerate(zip(session.messages, shorter, strict=True)):
        old, new = blocks(before), blocks(after)
        if [named(block) for block in old] != [named(block) for block in new]:
            found.append(f"message {number}: other blocks, or calls without their results")
        found += [
            f"message {number}: a {one['type']} block was changed"
            for one, other in zip(old, new, strict=False)
            if one["type"] != "tool_result" and not same(one, other)
        ]
    return found


def same(before: Any, after: Any) -> bool:
    """Whether a block is what it was, or has a note in the place of a long string of it; in an older list of what is to
    be done entries behind the note are left out."""
    if isinstance(before, dict) and isinstance(after, dict):
        old, new = cast("dict[str, Any]", before), cast("dict[str, Any]", after)
        return list(old) == list(new) and all(same(old[key], new[key]) for key in old)
    if isinstance(before, list) and isinstance(after, list):
        rows, others = cast("list[Any]", before), cast("list[Any]", after)
        return len(rows) == len(others) and all(map(same, rows, others))
    if isinstance(before, str) and isinstance(after, str) and after.startswith(BEGIN):
        return len(before) >= LEAST_ENTRY
    return after in (before, LEFT_OUT)


def blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message["content"]
    text = isinstance(content, str)
    return [{"type": "text", "text": content}] if text else cast("list[dict[str, Any]]", content)


def named(block: dict[str, Any]) -> tuple[Any, ...]:
    return block["type"], block.get("id"), block.get("tool_use_id")


async def restored(home: str, only: str, every: int) -> tuple[int, list[str]]:
    """In a new process: how many originals came back, and what was wrong."""
    originals = 0
    wrong: list[str] = []
    async with Palimpsest.open(home) as palimpsest:
        for session in chosen(only, every):
            if await palimpsest.restore_all(session.name) != session.messages:
                wrong.append(f"{session.name}: the whole input did not come back")
            contents = [
                block.get("content") if block["type"] == "tool_result" else block
                for message in session.messages
                for block in blocks(message)
                if block["type"] in ("tool_result", "tool_use")
            ]
            for batch in await palimpsest.list_offloaded(session.name):
                for one in await palimpsest.restore_batch(session.name, batch.batch_id):
                    originals += 1
                    if one.content not in contents:
                        wrong.append(f"{session.name} {batch.batch_id} {one.item_id}: not an original")
        report = await palimpsest.verify()
        wrong += [f"verify: {finding.where}: {finding.what}" for finding in report.findings]
    return originals, wrong


def main() -> int:
    parser = argparse.ArgumentParser(description="Compact every shared session, restore every original.")
    parser.add_argument("--only", default="", help="files whose name begins so")
    parser.add_argument("--every", type=int, default=1, help="one of so many sessions of each file")
    parser.add_argument("--target", type=float, default=0.3)
    parser.add_argument("--restore-from", metavar="HOME", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.restore_from:
        print(json.dumps(asyncio.run(restored(options.restore_from, options.only, options.every))))
        return 0
    started = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="palimpsest-sweep-") as home:
        try:
            ended, wrong = asyncio.run(compacted(home, options.only, options.every, options.target))
        except Skipped as reason:
            print(f"skipped: {reason}")
            return 0
        command = [sys.executable, __file__, "--restore-from", home, "--only", options.only]
        command += ["--every", str(options.every)]
        answer = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True)
        originals, more = json.loads(answer.stdout)
    for line in (wrong + more)[:50]:
        print(line)
    said = ", ".join(f"{number} {status}" for status, number in ended.most_common())
    print(f"{ended.total()} sessions: {said}; {originals} originals restored in a new process")
    print(f"{len(wrong) + len(more)} faults, {time.perf_counter() - started:.0f} s")
    return 1 if wrong or more else 0


if __name__ == "__main__":
    sys.exit(main())
