"""Sessions replayed through an adapter, request by request, as a fake model would see them; and what is counted."""

from __future__ import annotations

import gzip
import json
import logging
import os
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from palimpsest_mcp.hosts.validity import check_messages
from palimpsest_mcp.integrations.window import AgentWindow
from palimpsest_mcp.text.tokens.count import open_counter

Messages = list[dict[str, Any]]
CACHED, WRITTEN = 0.1, 1.25
"""Price of a token that the cache has, and of one that is written into it, in input tokens."""
POINTS = int(os.environ.get("TEST_REPLAY_POINTS", "12"))
"""Requests of a session that are sent, evenly spread."""
log = logging.getLogger(__name__)
DEMO = Path(__file__).resolve().parents[2] / "src" / "palimpsest_mcp" / "demo"
REAL = (("deer-flow", 0), ("spotter", 1), ("pi-mono", 1), ("spotter", 0), ("pi-mono", 0))
"""Source, and which of its sessions, the longest first; the quickest first."""


def sessions() -> list[tuple[str, Messages]]:
    """Long real sessions where they are, as many as `TEST_REPLAY` says (one), else one that comes with the package."""
    data = Path(os.environ.get("TEST_SHARED", Path(__file__).resolve().parents[3] / "shared")) / "data" / "converted"
    if not data.is_dir():
        return [("coding_session", json.loads((DEMO / "coding_session.json").read_text("utf-8")))]
    found: list[tuple[str, Messages]] = []
    for source, which in REAL[: int(os.environ.get("TEST_REPLAY", "1"))]:
        with gzip.open(data / f"{source}.jsonl.gz", "rt", encoding="utf-8") as lines:
            every = [json.loads(line)["messages"] for line in lines]
        found.append((f"{source}-{which}", sorted(every, key=lambda one: -len(json.dumps(one)))[which]))
    return found


@dataclass
class Counted:
    """What a replay came to."""

    requests: int = 0
    passes: int = 0
    invalid: list[str] = field(default_factory=list[str])
    changed_prefixes: list[int] = field(default_factory=list[int])
    over: list[tuple[int, float]] = field(default_factory=list[tuple[int, float]])
    """Requests that were above 0.90 of the window, with their share."""
    above_trigger: int = 0
    """Requests above it: where what stays is mostly talk, a pass waits until it frees a tenth of the window."""
    billed: float = 0.0
    nothing: float = 0.0
    """What the same requests cost without us."""
    passes_cost: float = 0.0
    """What the cache that passes invalidate costs to write."""
    shrunk: int = 0
    """Tokens that the last request did without."""


def whole_turns(messages: Messages) -> Messages:
    """A session whose calls all have results and whose results all have calls, as a framework would have kept it;
    thinking and images are left out, which no two frameworks write alike."""
    asked = {block["id"] for one in messages for block in _blocks(one) if block["type"] == "tool_use"}
    told = {block["tool_use_id"] for one in messages for block in _blocks(one) if block["type"] == "tool_result"}
    found: Messages = []
    for one in messages:
        blocks = [
            block
            for block in _blocks(one)
            if (block["type"] == "text" and block["text"].strip())
            or (block["type"] == "tool_use" and block["id"] in told)
            or (block["type"] == "tool_result" and block["tool_use_id"] in asked and isinstance(block["content"], str))
        ]
        blocks = _results_as_text(one, asked, blocks)
        if not blocks or (not found and one["role"] == "assistant"):
            continue
        if found and found[-1]["role"] == one["role"]:
            found[-1]["content"] = _results_first([*found[-1]["content"], *blocks])
        else:
            found.append({"role": one["role"], "content": _results_first(blocks)})
    return found


def _results_as_text(message: dict[str, Any], asked: set[str], blocks: Messages) -> Messages:
    """Results of several blocks as one text, which every framework takes."""
    kept = {block["tool_use_id"] for block in blocks if block["type"] == "tool_result"}
    more = [
        {**block, "content": "\n".join(str(part.get("text", "[image]")) for part in _blocks(block))}
        for block in _blocks(message)
        if block["type"] == "tool_result"
        and block["tool_use_id"] in asked - kept
        and isinstance(block["content"], list)
    ]
    return [*more, *blocks]


def _results_first(blocks: Messages) -> Messages:
    return sorted(blocks, key=lambda block: block["type"] != "tool_result")


def _blocks(message: dict[str, Any]) -> Messages:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def tokens_of(messages: Messages) -> int:
    """Of a list, by our own counter."""
    return sum(COUNTER.count_content(message["content"]) for message in messages)


COUNTER = open_counter("gpt-5")


async def replay_all(
    make_window: Callable[..., AgentWindow],
    build: Callable[[Messages], Sequence[Any]],
    send: Callable[[AgentWindow, str, Sequence[Any]], Awaitable[Sequence[Any]]],
    read: Callable[[Sequence[Any]], Messages],
    *,
    native: bool = False,
) -> None:
    """Every session through an adapter's seam, and what must hold of each.

    Args:
        build: the framework's own messages of a list in Anthropic's form.
        send: the seam, for a session: what the model would be given.
        read: what is checked of messages of the framework: a list in Anthropic's form.
        native: the framework's own list is in a provider's form, and is compacted as it is.
    """
    for name, raw in sessions():
        messages = whole_turns(raw)
        window_tokens = tokens_of(messages) * 6 // 10
        window = make_window(window_tokens=window_tokens)
        counted = await _replayed(name, messages, window, window_tokens, build, send, read, native=native)
        log.info("%s: %d tokens in a window of %d: %s", name, tokens_of(messages), window_tokens, counted)
        assert counted.requests >= 6 and counted.passes, name
        assert counted.invalid == [], name
        assert counted.changed_prefixes == [], f"{name}: the prefix changed without a pass"
        assert counted.over == [], f"{name}: near the window's end"
        assert counted.shrunk > 0.2 * tokens_of(messages), name


async def _replayed(
    name: str,
    messages: Messages,
    window: AgentWindow,
    window_tokens: int,
    build: Callable[[Messages], Sequence[Any]],
    send: Callable[[AgentWindow, str, Sequence[Any]], Awaitable[Sequence[Any]]],
    read: Callable[[Sequence[Any]], Messages],
    *,
    native: bool,
) -> Counted:
    counted = Counted()
    passes: list[int] = []
    await window.aask(lambda p: _subscribed(p, passes))
    ends = [at + 1 for at, one in enumerate(messages) if one["role"] == "user"]
    step = max(1, len(ends) // POINTS)
    before: Messages = []
    before_nothing: Messages = []
    sent_last: Sequence[Any] = []
    for end in ends[step - 1 :: step]:
        known = len(passes)
        built = build(messages[:end])
        raw = read(built)
        sent_last = await send(window, name, built)
        sent = read(sent_last)
        passed = len(passes) > known
        kept = _common(before, sent)
        total = tokens_of(sent)
        counted.requests += 1
        as_it_came = set(check_messages(raw, "anthropic"))  # a result that was empty when it came stays empty
        counted.invalid += [f"{end}: {one}" for one in check_messages(sent, "anthropic") if one not in as_it_came]
        if not passed and kept < len(before):
            counted.changed_prefixes.append(end)
        counted.above_trigger += total > 0.72 * window_tokens  # 0.70 by the library's own count
        if total > 0.9 * window_tokens:
            counted.over.append((end, round(total / window_tokens, 2)))
        counted.billed += _bill(sent, kept)
        counted.nothing += _bill(raw, _common(before_nothing, raw))
        if passed:
            counted.passes_cost += (WRITTEN - CACHED) * total
        assert counted.billed <= counted.nothing + counted.passes_cost, f"{name}: request {end} cost more than nothing"
        counted.shrunk = tokens_of(raw) - total
        again = read(await send(window, name, built))
        assert again == sent, f"{name}: the same request twice gave other bytes at {end}"
        before, before_nothing = sent, raw
    ours = list(sent_last) if native else before
    restored = await window.aask(lambda p: p.expand_messages(ours, session_id=name))
    restored = read(restored) if native else restored
    assert len(restored) == len(before_nothing)
    for got, wanted in zip(restored, before_nothing, strict=True):
        assert got == wanted, f"{name}: not restorable"
    counted.passes = len(passes)
    return counted


async def _subscribed(p: Any, passes: list[int]) -> None:
    def passed(event: object) -> None:
        passes.append(1)

    p.subscribe(passed)


def _common(old: Messages, new: Messages) -> int:
    pairs = enumerate(zip(old, new, strict=False))
    return next((at for at, (one, other) in pairs if one != other), min(len(old), len(new)))


def _bill(messages: Messages, kept: int) -> float:
    return CACHED * tokens_of(messages[:kept]) + WRITTEN * tokens_of(messages[kept:])
