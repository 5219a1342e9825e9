"""What a replayed session would be billed, with passes and without, and how many passes a session needs.

Billed tokens = input + 1.25 x written to the cache + 0.1 x read from it + 5 x output. Every recorded call is replayed
with the messages that stood before it: what is the same as in the call before, from the start, is read from the cache,
the rest is written to it. Tokens are estimated for the model that answered.
"""

from __future__ import annotations

import asyncio
import json
import math
import statistics
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import cache

from measuring import table
from real_sessions import RealSession, renamed, sessions

from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.text.tokens.count import open_counter

from .arms import Arm, floors
from .replay import Message, replaced, results_of

WRITE, READ, OUTPUT = 1.25, 0.10, 5.0
NONE = "no compaction"
OWN = "window = its size"
WINDOW = 200_000
TRIGGER = 0.7
TARGET = 0.4
"""Of the policy `research`."""
KEPT = 3
MODEL = "claude-opus-4-5"
LONG = 20_000
"""Sessions under this many tokens never meet a window that a model has, and are not asked for passes."""

ENOUGH = 25
"""A replay that only counts passes ends after this many."""

Compactor = Callable[[list[Message]], Awaitable[tuple[list[Message], bool]]]
"""A list over the trigger -> the list to go on with, and whether anything was replaced."""


@dataclass
class Bill:
    """A whole replay."""

    costs: list[float] = field(default_factory=list[float])
    """Of each call, in input tokens."""
    passes: list[int] = field(default_factory=list[int])
    """At which calls a pass ran."""
    tries: int = 0
    """Calls at which one was asked for."""
    largest: int = 0
    """Tokens of the largest prompt."""

    @property
    def total(self) -> float:
        return sum(self.costs)


@cache
def _counted(text: str) -> int:
    return open_counter(MODEL).count(text)


def size_of(message: Message) -> int:
    """Tokens of a message, near enough: text, arguments and results, with what wraps a result."""
    content = message["content"]
    if isinstance(content, str):
        return _counted(content)
    total = 0
    for block in content:
        inner = block.get("text") or block.get("thinking") or block.get("content") or block.get("input") or ""
        total += _counted(inner if isinstance(inner, str) else json.dumps(inner, ensure_ascii=False))
        total += 14 if block["type"] == "tool_result" else 0
    return total


async def replay(
    messages: Sequence[Message],
    calls: Sequence[tuple[int, int]],
    window: int,
    compactor: Compactor | None,
    base: int = 0,
    *,
    most: int = 0,
) -> Bill:
    """Walk through the calls.

    Args:
        calls: for each, how many messages stood before it, and how many tokens it answered.
        base: tokens of system prompt and tools, before all messages.
        most: passes after which the replay ends; 0 goes to the end.
    """
    bill = Bill()
    now: list[Message] = []
    taken = 0
    before: list[Message] = []
    for number, (upto, output) in enumerate(calls):
        now = now + list(messages[taken:upto])
        taken = upto
        size = base + sum(map(size_of, now))
        if compactor is not None and size >= TRIGGER * window:
            bill.tries += 1
            now, real = await compactor(now)
            if real:
                bill.passes.append(number)
                size = base + sum(map(size_of, now))
        same = 0
        while same < min(len(now), len(before)) and (now[same] is before[same] or now[same] == before[same]):
            same += 1
        cached = (base if before else 0) + sum(map(size_of, now[:same]))
        bill.costs.append(READ * cached + WRITE * (size - cached) + OUTPUT * output)
        bill.largest = max(bill.largest, size)
        before = now
        if most and len(bill.passes) >= most:
            break
    return bill


def by_library(palimpsest: Palimpsest, window: int, base: int) -> Compactor:
    """The library under the policy `research`, at its own trigger."""

    async def run(now: list[Message]) -> tuple[list[Message], bool]:
        done = await palimpsest.compact_messages(
            now,
            session_id="replay",
            window_tokens=window,
            used_tokens=base + sum(map(size_of, now)),
            policy="research",
            model=MODEL,
        )
        return (done.messages, True) if done.report.batches else (now, False)

    return run


def by_floor(arm: Arm, share: float) -> Compactor:
    """A floor that takes every result but the newest three, each once."""
    done: dict[str, str] = {}

    async def run(now: list[Message]) -> tuple[list[Message], bool]:
        results = results_of(now)
        old = [one for one in list(results)[:-KEPT] if one not in done]
        for one in old:
            done[one] = arm([results[one]], [int(share * _counted(results[one]) / 1.25)])[0]
        return replaced(now, {one: done.get(one, text) for one, text in results.items()}), bool(old)

    return run


async def bills(session: RealSession, window: int = WINDOW) -> dict[str, Bill]:
    """Arm -> bill of one session with recorded calls."""
    usage = [one for one in session.meta["usage"] if one["context"]]
    calls = [(one["message_index"], one["output"]) for one in usage]
    first = usage[0]
    base = max(0, first["context"] - sum(map(size_of, session.messages[: first["message_index"]])))
    found = {NONE: await replay(session.messages, calls, window, None, base)}
    with tempfile.TemporaryDirectory(prefix="palimpsest-bill-") as home:
        async with Palimpsest.open(home) as palimpsest:
            ours = by_library(palimpsest, window, base)
            found["palimpsest, research"] = await replay(session.messages, calls, window, ours, base)
    for name, arm in floors().items():
        found[name] = await replay(session.messages, calls, window, by_floor(arm, 0.2), base)
    return found


def recorded_bill(session: RealSession) -> Bill:
    """What the provider's own numbers come to: a model compacted, which read the prompt and wrote a summary."""
    bill = Bill()
    before = 0
    summaries = [_counted(one["summary"]) for one in session.meta["compactions"]]
    for number, one in enumerate(call for call in session.meta["usage"] if call["context"]):
        size = one["context"]
        cost = OUTPUT * one["output"]
        if size < 0.7 * before and summaries:
            cost += READ * before + OUTPUT * summaries.pop(0) + WRITE * size
            bill.passes.append(number)
        else:
            cost += READ * min(size, before) + WRITE * max(0, size - before)
        bill.costs.append(cost)
        bill.largest = max(bill.largest, size)
        before = size
    return bill


def break_even(without: Bill, with_: Bill) -> int | None:
    """Calls after the first pass until what was paid is no more than without passes; None where it never is."""
    if not with_.passes:
        return None
    ahead = 0.0
    for number in range(with_.passes[0], len(with_.costs)):
        ahead += without.costs[number] - with_.costs[number]
        if ahead >= 0:
            return number - with_.passes[0] + 1
    return None


async def passes(messages: Sequence[Message], window: int) -> Bill:
    """A replay in which every message of the assistant is a call."""
    calls = [(at, 0) for at, one in enumerate(messages) if one["role"] == "assistant" and at]
    with tempfile.TemporaryDirectory(prefix="palimpsest-bill-") as home:
        async with Palimpsest.open(home) as palimpsest:
            return await replay(messages, calls, window, by_library(palimpsest, window, 0), most=ENOUGH)


def long_sessions() -> dict[str, list[Message]]:
    """Sessions that are long by themselves, and chains of the short ones of a source."""
    found: dict[str, list[Message]] = {}
    chains: dict[str, list[Message]] = {}
    for number, session in enumerate(sessions()):
        source = session.name.split(":")[0]
        if sum(map(size_of, session.messages)) >= LONG:
            found[session.name] = session.messages
        elif source in ("tau-bench", "deer-flow"):
            chains.setdefault(source, []).extend(renamed(one, number) for one in session.messages)
    return found | {f"{name}, all short ones in a row": chain for name, chain in chains.items()}


def even_passes(size: int, window: int) -> int:
    """How many passes a session of this size meets if each ends exactly at the target."""
    over = size - TRIGGER * window
    return max(1, math.ceil(over / ((TRIGGER - TARGET) * window) - 1e-3)) if over >= 0 else 0


@dataclass(frozen=True)
class Billed:
    """What the page takes."""

    first: dict[str, Bill]
    """Arm -> bill of the longest session."""
    medians: dict[str, float]
    """How the window was chosen -> passes of the median session."""
    even: dict[str, float]
    """The same, if every pass ended exactly at the target."""


async def _billing() -> tuple[str, Billed]:
    rows: list[list[str]] = []
    overview: dict[str, Bill] = {}
    for session in sessions("pi-mono"):
        made = await bills(session)
        if session.meta["compactions"]:
            made["as recorded, a model's summaries"] = recorded_bill(session)
        overview = overview or made
        plain = made[NONE]
        for name, bill in made.items():
            turns = break_even(plain, bill)
            rows.append(
                [
                    f"{session.name}, {name}",
                    f"{bill.total / 1e6:.2f} M",
                    f"{100 * (bill.total / plain.total - 1):+.1f} %",
                    str(len(bill.passes)),
                    "never" if bill.passes and turns is None else "" if turns is None else str(turns),
                    f"{bill.largest:,}",
                ]
            )
    head = ("session, arm", "billed", "against none", "passes", "paid back after calls", "largest prompt")
    text = f"Window {WINDOW:,}, trigger {TRIGGER:.0%}, {MODEL}:\n\n" + table(head, rows)
    counted: list[list[str]] = []
    totals: dict[str, list[int]] = {}
    bounds: dict[str, list[int]] = {}
    for name, messages in long_sessions().items():
        size = sum(map(size_of, messages))
        cells = [name, f"{size:,}"]
        for label, window in ((OWN, size), ("half of it", size // 2), ("200k", WINDOW)):
            bill = await passes(messages, window) if size >= TRIGGER * window else Bill()
            totals.setdefault(label, []).append(len(bill.passes))
            even = even_passes(size, window)
            bounds.setdefault(label, []).append(even)
            more = " and more" if len(bill.passes) >= ENOUGH else ""
            cells.append(f"{len(bill.passes)}{more} ({even})")
        counted.append(cells)
    middle = {label: statistics.median(found) for label, found in totals.items()}
    lowest = {label: statistics.median(found) for label, found in bounds.items()}
    medians = ["**median**", "", *(f"**{middle[label]:g} ({lowest[label]:g})**" for label in middle)]
    text += (
        "\n\nPasses under `research` until the session ends, by the window that is given (in brackets: if each ended "
    )
    text += "exactly at its target):\n\n"
    text += table(("session", "tokens", OWN, "half of it", "200,000"), [*counted, medians])
    return text, Billed(overview, middle, lowest)


def billing() -> tuple[str, Billed]:
    """The tables, and what the page takes of them."""
    return asyncio.run(_billing())
