"""A session of a working day: thirty calls of Bash, Read and our own tools, some at once, until the window is full."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass

from palimpsest_mcp import Palimpsest

from . import material
from .driver import OUR_TOOLS, Client, Run
from .fake_messages import Reply, Request, Turn, calls, say

NAMED_BATCH = re.compile(r"restore_batch (\S+) (offload_\d+)")
"""How a digest says where its original is."""
BIG = 26
"""Calls whose results fill the window."""


def reading(client: Client, *numbers: int) -> Turn:
    """One answer of the model that reads files, by Read and by Bash in turns."""
    wanted = [(number, material.write(client.project, number)) for number in numbers]
    several = [
        ("Read", {"file_path": str(path)}) if number % 2 else ("Bash", {"command": f"cat {path.name}"})
        for number, path in wanted
    ]
    return calls(*several, used=None)


def working_day(client: Client, *ending: Turn) -> list[Turn]:
    """Four parallel calls, then one after the other with pairs between, and our own tools among them."""
    singles = [reading(client, number) for number in range(6, BIG - 2, 1) if number % 5]
    pairs = [reading(client, number, number + 1) for number in (30, 32)]
    ours = calls(
        (f"{OUR_TOOLS}__show_context", {"session_id": "this"}),
        (f"{OUR_TOOLS}__check_context_ratio", {"session_id": "this"}),
        used=None,
    )
    first = reading(client, 0, 1, 2, 3)
    return [first, reading(client, 4, 5), *singles[:6], ours, *pairs, *singles[6:], reading(client, 40, 41), *ending]


def restore_first(request: Request) -> Reply:
    """The model asks for the original of the first digest that it sees."""
    for text in request.results.values():
        if found := NAMED_BATCH.search(text):
            batch = {"session_id": found[1], "batch_id": found[2]}
            return calls((f"{OUR_TOOLS}__restore_batch", batch), used=None)
    return say("there is no digest", used=None)


@dataclass(frozen=True)
class Results:
    """What the tools answered, and what became of it."""

    originals: dict[str, str]
    """Every result as the client first sent it."""
    digested: dict[str, str]
    """Those that stand otherwise in the last request that has them."""

    @property
    def saved_chars(self) -> int:
        return sum(len(self.originals[one]) - len(text) for one, text in self.digested.items())


def results_of(requests: Sequence[Request], last: Request) -> Results:
    originals: dict[str, str] = {}
    for request in (*requests, last):
        for call_id, text in request.results.items():
            originals.setdefault(call_id, text)
    digested = {one: text for one, text in last.results.items() if text != originals[one]}
    return Results(originals, digested)


def after_compaction(run: Run) -> Request:
    """The first request whose results are not what they were."""
    seen: dict[str, str] = {}
    for request in run.requests:
        if any(seen.get(one, text) != text for one, text in request.results.items()):
            return request
        seen |= request.results
    raise AssertionError(f"nothing was compacted; the client said {run.said!r} and {run.stderr!r}")


def archived(client: Client, session_id: str) -> dict[str, bytes]:
    """The exact bytes of every archived item, by the id of its call, read in this process from the files."""

    async def read() -> dict[str, bytes]:
        found: dict[str, bytes] = {}
        async with Palimpsest.open(client.store) as palimpsest:
            for batch in await palimpsest.list_offloaded(session_id):
                for item in batch.item_ids:
                    restored = await palimpsest.restore(session_id, batch.batch_id, item)
                    found[item.rpartition("/")[2]] = restored.data
        return found

    return asyncio.run(read())


def damage(client: Client) -> list[str]:
    """What `verify` finds in the user's store, asked in this process."""

    async def look() -> list[str]:
        async with Palimpsest.open(client.store) as palimpsest:
            report = await palimpsest.verify()
        return [] if report.ok else [f"{one.where}: {one.what}" for one in report.findings] or ["not ok"]

    return asyncio.run(look())
