"""Sessions replayed through an adapter, request by request, as a fake model would see them; and what is counted."""

from __future__ import annotations

import gzip
import json
import logging
import os
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

from palimpsest_mcp.context.arguments import left_tokens
from palimpsest_mcp.context.fit import BRIEF_TOKENS
from palimpsest_mcp.context.judge import judge
from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.core.sessions import Sessions
from palimpsest_mcp.hosts.validity import check_messages
from palimpsest_mcp.integrations.window import AgentWindow
from palimpsest_mcp.models.plans import ContextItem
from palimpsest_mcp.text.tokens.count import open_counter

Messages = list[dict[str, Any]]
CACHED, WRITTEN = 0.1, 1.25
"""Price of a token that the cache has, and of one that is written into it, in input tokens."""
TRIGGER = 0.7
"""Share of the window."""
POINTS = int(os.environ.get("TEST_REPLAY_POINTS", "12"))
"""Requests of a session that are sent, evenly spread."""
log = logging.getLogger(__name__)
DEMO = Path(__file__).resolve().parents[2] / "src" / "palimpsest_mcp" / "demo"
REAL = (("deer-flow", 0), ("spotter", 1), ("pi-mono", 1), ("spotter", 0), ("pi-mono", 0))
"""Source, and which of its sessions, the longest first; the quickest first."""


class Seam(NamedTuple):
    """How a framework is asked for its next request, by one adapter."""

    build: Callable[[Messages], Sequence[Any]]
    """The framework's own messages of a list in Anthropic's form."""
    send: Callable[[AgentWindow, str, Sequence[Any]], Awaitable[Sequence[Any]]]
    """For a session: what the model would be given."""
    read: Callable[[Sequence[Any]], Messages]
    """What is checked of messages of the framework: a list in Anthropic's form."""
    native: bool = False
    """The framework's own list is in a provider's form, and is compacted, counted and compared as it is: the same
    arguments take a percent or two more as OpenAI's JSON in a text."""


def sessions(most: int = 1) -> list[tuple[str, Messages]]:
    """The first of the long real sessions where they are, else one that comes with the package."""
    data = Path(os.environ.get("TEST_SHARED", Path(__file__).resolve().parents[3] / "shared")) / "data" / "converted"
    if not data.is_dir():
        return [("coding_session", json.loads((DEMO / "coding_session.json").read_text("utf-8")))]
    found: list[tuple[str, Messages]] = []
    for source, which in REAL[:most]:
        with gzip.open(data / f"{source}.jsonl.gz", "rt", encoding="utf-8") as lines:
            every = [json.loads(line)["messages"] for line in lines]
        found.append((f"{source}-{which}", sorted(every, key=lambda one: -len(json.dumps(one)))[which]))
    return found


@dataclass
class Counted:
    """What a replay came to. A bill is in input tokens, those of answers left out."""

    window_tokens: int
    requests: int = 0
    passes: int = 0
    invalid: list[str] = field(default_factory=list[str])
    changed_prefixes: list[int] = field(default_factory=list[int])
    """Requests that did not begin as the one before, without a pass between them."""
    changed_again: list[int] = field(default_factory=list[int])
    """Requests that were other bytes when they were sent a second time: where a pass ran or was due, and the last."""
    largest: float = 0.0
    """Share of the window."""
    above_trigger: int = 0
    """Requests at or above it."""
    beyond_reach: int = 0
    """Of these, requests of which what may not be touched is above it alone."""
    billed: float = 0.0
    nothing: float = 0.0
    """What the same requests cost without us."""
    passes_cost: float = 0.0
    """What passes themselves cost: what the cache had of the request before and has to be written again."""
    costliest_pass: float = 0.0
    most_above: float = 0.0
    """The most that was billed above `nothing`, of the session so far, at any request."""
    beyond_a_pass: list[int] = field(default_factory=list[int])
    """Requests at which more was billed above `nothing` than the costliest pass until then cost, while doing nothing
    was possible: the list as it came was within the window."""
    most_above_within: float = 0.0
    """The same as `most_above`, while that was so."""
    impossible: int = 0
    """Requests at which it was not so: the list as it came was beyond the window."""
    shrunk: int = 0
    """Tokens that the last request did without."""
    restored: bool = False
    """All of the last request, equal to what came."""


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
    """Of a list, by our own counter, with what every result takes beside its text."""
    return sum(_sizes(messages))


COUNTER = open_counter("gpt-5")


@lru_cache(4_000)
def _tokens(told: str) -> int:
    """Of a message of any form."""
    message: dict[str, Any] = json.loads(told)
    content: str | Messages | None = message.get("content", message.get("output"))
    results = sum(one["type"] == "tool_result" for one in content or () if not isinstance(one, str))
    results += message.get("role") == "tool" or message.get("type") == "function_call_output"
    calls = [message] if message.get("type") == "function_call" else message.get("tool_calls", [])
    return COUNTER.count_content(content) + COUNTER.count_content(calls) + results * COUNTER.per_result_overhead


async def replay_all(make_window: Callable[..., AgentWindow], seam: Seam) -> None:
    """As many sessions as `TEST_REPLAY` says (one) through an adapter's seam, and what must hold of each."""
    for name, raw in sessions(int(os.environ.get("TEST_REPLAY", "1"))):
        messages = whole_turns(raw)
        window_tokens = window_of(messages)
        counted = await replayed(name, messages, make_window(window_tokens=window_tokens), window_tokens, seam)
        log.info("%s: %d tokens: %s", name, tokens_of(messages), counted)
        assert counted.requests >= 6 and counted.passes, name
        assert counted.invalid == [], name
        assert counted.changed_prefixes == [], f"{name}: the prefix changed without a pass"
        assert counted.changed_again == [], f"{name}: the same request twice gave other bytes"
        assert counted.largest <= 0.9, f"{name}: near the window's end"
        assert counted.billed <= counted.nothing + counted.passes_cost, f"{name}: more than nothing and its passes"
        assert counted.shrunk > 0.2 * tokens_of(messages), name
        assert counted.restored, name


def window_of(messages: Messages) -> int:
    """A window that a session does not fit into."""
    return tokens_of(messages) * 6 // 10


async def replayed(
    name: str, messages: Messages, window: AgentWindow, window_tokens: int, seam: Seam, *, points: int = POINTS
) -> Counted:
    """One session through an adapter's seam.

    Args:
        window: of so many tokens.
        points: requests that are sent, evenly spread; where a pass ran or was due, and the last, twice.
    """
    counted = Counted(window_tokens)
    passes: list[int] = []
    await window.aask(lambda p: _subscribed(p, passes))
    ends = [at + 1 for at, one in enumerate(messages) if one["role"] == "user"]
    step = max(1, len(ends) // points)
    before: Messages = []
    before_nothing: Messages = []
    sent_last: Sequence[Any] = []
    asked = ends[step - 1 :: step]
    for end in asked:
        known = len(passes)
        built = seam.build(messages[:end])
        sent_last = await seam.send(window, name, built)
        raw, sent = (list(one) if seam.native else seam.read(one) for one in (built, sent_last))
        passed = len(passes) > known
        kept = _common(before, sent)
        sizes, raw_sizes = _sizes(sent), _sizes(raw)
        total = sum(sizes)
        counted.requests += 1
        form = "openai" if seam.native else "anthropic"
        as_it_came, defects = (check_messages(one, form) for one in (raw, sent))
        counted.invalid += [f"{end}: {one}" for one in defects if one not in as_it_came]  # an empty result stays empty
        if not passed and kept < len(before):
            counted.changed_prefixes.append(end)
        if total >= TRIGGER * window_tokens:
            counted.above_trigger += 1
            counted.beyond_reach += await window.aask(partial(_held, name)) >= TRIGGER * window_tokens
        counted.largest = max(counted.largest, total / window_tokens)
        counted.billed += _bill(sizes, kept)
        counted.nothing += _bill(raw_sizes, _common(before_nothing, raw))
        if passed:
            cost = (WRITTEN - CACHED) * sum(sizes[kept : len(before)])
            counted.passes_cost += cost
            counted.costliest_pass = max(counted.costliest_pass, cost)
        above = counted.billed - counted.nothing
        counted.most_above = max(counted.most_above, above)
        if sum(raw_sizes) > window_tokens:
            counted.impossible += 1
        else:
            counted.most_above_within = max(counted.most_above_within, above)
            if above > counted.costliest_pass:
                counted.beyond_a_pass.append(end)
        counted.shrunk = sum(raw_sizes) - total
        # Between passes the next request shows that this one stayed; where one ran or was due, only the same one does.
        twice = passed or end == asked[-1] or total >= TRIGGER * window_tokens
        if twice:
            again = await seam.send(window, name, built)
            if (list(again) if seam.native else seam.read(again)) != sent:
                counted.changed_again.append(end)
        before, before_nothing = sent, raw
    counted.restored = await window.aask(lambda p: p.expand_messages(before, session_id=name)) == before_nothing
    counted.passes = len(passes)
    return counted


async def _held(name: str, p: Palimpsest) -> int:
    """Tokens of what no pass may touch: talk, calls and what notes left of them, the newest results, the smallest ones,
    and beside each result what it takes whatever its text is."""
    sessions, policy = Sessions(p.deps), p.deps.policy_named(None)
    _, view = await sessions.view(await sessions.find(name), COUNTER)
    verdicts = judge(view.items, policy, keep_last=policy.floor_tool_results, brief_tokens=BRIEF_TOKENS)
    free = {one.item_id for one in verdicts if one.verdict != "protected" or one.reason == "already_replaced"}

    def least(one: ContextItem) -> int:
        if one.item.id not in free:
            return one.tokens
        if one.item.role == "tool":
            return COUNTER.per_result_overhead
        return left_tokens(one.item, one.tokens) if one.state == "live" else one.tokens

    return sum(map(least, view.items))


async def _subscribed(p: Any, passes: list[int]) -> None:
    def passed(event: object) -> None:
        passes.append(1)

    p.subscribe(passed)


def _common(old: Messages, new: Messages) -> int:
    pairs = enumerate(zip(old, new, strict=False))
    return next((at for at, (one, other) in pairs if one != other), min(len(old), len(new)))


def _sizes(messages: Messages) -> list[int]:
    return [_tokens(json.dumps(message)) for message in messages]


def _bill(sizes: list[int], kept: int) -> float:
    return CACHED * sum(sizes[:kept]) + WRITTEN * sum(sizes[kept:])
