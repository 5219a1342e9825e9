"""Thinking that newer models bind to what stood before it: no list that we give back is refused.

The check is the documented one, of the Messages API that the end-to-end tests speak to. A loop is played against it as
an agent would: a request, an answer with thinking and a call, its result, and so on.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from palimpsest_mcp.context.policies import STRATEGIES
from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.errors import InvalidArgument
from palimpsest_mcp.text.tokens.windows import binds_thinking

from ..conftest import LONG, first_of
from ..e2e.claude_code.fake_messages import Block, drops_block, refused_thinking, signed

pytestmark = pytest.mark.anyio
Messages = list[dict[str, Any]]
BOUND, FREE = "claude-opus-5-5", "claude-opus-5"


def request(messages: Messages, **options: Any) -> dict[str, Any]:
    return {"model": BOUND, "system": "Work.", "tools": [], "messages": messages, **options}


def step(messages: Messages, n: int, *, text: bool = False) -> Messages:
    """One more request, answered with thinking and a call (or a text), and the call's result."""
    call: Block = {"type": "tool_use", "id": f"toolu_{n:03}", "name": "Bash", "input": {"command": f"./check {n}"}}
    said: Block = {"type": "text", "text": f"Step {n} is done."}
    thought: Block = {"type": "thinking", "thinking": f"On with step {n}.", "signature": ""}
    answer = signed(request(messages), [thought, said if text else call])
    grown = [*messages, {"role": "assistant", "content": answer}]
    if text:
        return [*grown, {"role": "user", "content": f"And step {n + 1}?"}]
    body = "\n".join(
        f"2026-11-20T10:{line:02}:00Z job-{n:03}-{line:03} wrote /data/{n}/{line}.csv" for line in range(60)
    )
    return [*grown, {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call["id"], "content": body}]}]


def conversation(steps: range, start: Messages | None = None) -> Messages:
    messages = start or [{"role": "user", "content": "Find the failing job."}]
    for n in steps:
        messages = step(messages, n, text=n % 7 == 6)
    return messages


def thinking_of(messages: Sequence[Any]) -> list[str]:
    blocks = [one for message in messages if isinstance(message["content"], list) for one in message["content"]]
    return [one["thinking"] for one in blocks if one["type"] == "thinking"]


def test_which_models_bind_thinking_is_known_by_version() -> None:
    bound = ("claude-fable-5-1", "claude-fable-5-2", "anthropic/claude-opus-5.5", "claude-sonnet-5-5-20260928[1m]")
    assert all(binds_thinking(name) for name in (*bound, "claude-haiku-6", "us.anthropic.claude-opus-5-5-v1:0"))
    free = (
        "claude-opus-5",
        "claude-opus-5-20260724",
        "claude-fable-5",
        "claude-sonnet-4-6",
        "claude-3-7-sonnet",
        "gpt-5",
    )
    assert not any(binds_thinking(name) is not False for name in free)
    assert binds_thinking("") is None and binds_thinking("glm-5") is None


def test_the_check_refuses_what_stands_behind_a_change() -> None:
    messages = conversation(range(3))
    assert refused_thinking(request(messages)) == []
    messages[2] = {"role": "user", "content": [{**messages[2]["content"][0], "content": "less"}]}
    assert refused_thinking(request(messages)) == ["messages.3.content.0", "messages.5.content.0"]


# What is not known to be free is held to be bound: the same of every strategy, which `make torture` asks.
@pytest.mark.parametrize(
    "strategy, model",
    first_of([*product(STRATEGIES, [BOUND]), *product(list(STRATEGIES)[: None if LONG else 1], [""])]),
)
async def test_no_list_of_any_strategy_is_refused_while_a_loop_goes_on(
    p: Palimpsest, strategy: str, model: str
) -> None:
    how: dict[str, Any] = {"session_id": "s", "strategy": strategy, "model": model, "force": True, "keep_last": 3}
    messages = conversation(range(24))
    for start in (24, 32, 40) if LONG else (24, 32):
        done = await p.compact_messages(messages, target=0.5, **how)
        assert refused_thinking(request(done.messages)) == [] and done.request_options == {}
        messages = done.messages
        for n in range(start, start + 8):
            assert refused_thinking(request(messages)) == []
            messages = step(messages, n, text=n % 7 == 6)
        assert len(thinking_of(messages)) >= 8, "what is written after a pass stays"


@pytest.mark.long
async def test_a_caller_who_keeps_the_whole_list_is_not_refused_either(p: Palimpsest) -> None:
    messages = conversation(range(30))
    done = await p.compact_messages(messages, session_id="s", model=BOUND, window_tokens=20_000)
    for n in range(30, 40):
        done = await p.compact_messages(messages, session_id="s", model=BOUND, window_tokens=20_000)
        assert refused_thinking(request(done.messages)) == []
        messages = [*messages, *step(done.messages, n)[len(done.messages) :]]
    assert done.report.thinking.dropped


async def test_the_report_says_how_many_left_and_the_archive_has_them(p: Palimpsest) -> None:
    messages = conversation(range(20))
    done = await p.compact_messages(messages, session_id="s", model=BOUND, target=0.5, force=True, keep_last=3)
    told = done.report.thinking
    assert told.dropped == 19 and told.kept == 1 and told.dropped_tokens > 0
    assert len(thinking_of(done.messages)) == 1
    assert told.said in done.report.notes and "claude-opus-5-5 refuses them" in told.said
    assert await p.restore_all("s") == messages


async def test_what_dropped_thinking_frees_goes_to_digests_and_is_counted(p: Palimpsest) -> None:
    messages = conversation(range(20))
    blocks: list[Block] = [one for row in messages if not isinstance(row["content"], str) for one in row["content"]]
    for block in blocks:
        if block["type"] == "thinking":
            block["thinking"] = "Which of the jobs was it, and what did it write last? " * 30
    how: dict[str, Any] = {"target": 0.3, "force": True, "keep_last": 3}
    done = await p.compact_messages(messages, session_id="s", model=BOUND, **how)
    assert (target := done.report.target_tokens) and (after := done.report.after.used.value)
    assert done.report.status == "compacted" and 0.9 * target < after <= target
    again = await p.compact_messages(done.messages, session_id="other", model=BOUND, dry_run=True, **how)
    assert again.report.before.used.value == pytest.approx(after, rel=0.01), "the list is as large as the report says"
    parts = {one.reason: one.tokens for one in done.report.stayed}
    assert sum(parts.values()) == after and parts["thinking"] < 1_000
    planned = await p.compact_messages(messages, session_id="third", model=BOUND, dry_run=True, **how)
    assert (said := planned.report.after.used.value) and 0.9 * target < said <= target
    assert sum(one.tokens for one in planned.report.stayed) == said


async def test_drop_block_keeps_the_thinking_and_says_what_the_request_needs(p: Palimpsest) -> None:
    messages = conversation(range(20))
    how: dict[str, Any] = {"session_id": "s", "model": BOUND, "target": 0.5, "force": True, "keep_last": 3}
    done = await p.compact_messages(messages, thinking="drop_block", **how)
    assert thinking_of(done.messages) == thinking_of(messages)
    assert done.report.thinking.invalid == 19 and "request_options" in done.report.thinking.said
    assert done.request_options["betas"] == ["thinking-binding-controls-2026-08-01"]
    assert drops_block(request(done.messages, **done.request_options))
    later = await p.compact_messages(done.messages, thinking="drop_block", session_id="s", model=BOUND)
    assert later.request_options == done.request_options, "the API keeps nothing between requests"


async def test_older_models_keep_their_thinking(p: Palimpsest) -> None:
    messages = conversation(range(20))
    done = await p.compact_messages(messages, session_id="s", model=FREE, target=0.5, force=True, keep_last=3)
    assert thinking_of(done.messages) == thinking_of(messages)
    assert done.report.thinking.kept == 20 and not done.report.thinking.said


async def test_an_answer_of_thinking_alone_leaves_no_empty_message(p: Palimpsest) -> None:
    messages = conversation(range(16))
    alone = signed(request(messages), [{"type": "thinking", "thinking": "Hm.", "signature": ""}])
    messages = conversation(range(16, 20), [*messages, {"role": "assistant", "content": alone}])
    done = await p.compact_messages(messages, session_id="s", model=BOUND, target=0.5, force=True, keep_last=3)
    assert len(done.messages) == len(messages) - 1
    assert all(message["content"] for message in done.messages)
    assert (await p.compact_messages(done.messages, session_id="s", model=BOUND)).messages == done.messages


async def test_after_a_step_back_nothing_is_refused(p: Palimpsest) -> None:
    whole = conversation(range(20))
    done = await p.compact_messages(whole, session_id="s", model=BOUND, target=0.5, force=True, keep_last=3)
    news = conversation(range(20, 23), done.messages)[len(done.messages) :]
    await p.undo("s")
    for mine in ([*whole, *news], [*done.messages, *news]):
        back = await p.compact_messages(mine, session_id="s", model=BOUND, window_tokens=1_000_000)
        assert refused_thinking(request(back.messages)) == []
        later = conversation(range(23, 26), back.messages)
        again = await p.compact_messages(later, session_id="s", model=BOUND, window_tokens=1_000_000)
        assert refused_thinking(request(again.messages)) == []


async def test_another_way_is_named_with_the_ways_that_there_are(p: Palimpsest) -> None:
    with pytest.raises(InvalidArgument, match="drop, drop_block, keep"):
        await p.compact_messages(conversation(range(4)), thinking="lose", force=True)


async def test_a_file_is_compacted_alike(p: Palimpsest, tmp_path: Path) -> None:
    file = tmp_path / "session.json"
    file.write_text(json.dumps({"model": BOUND, "system": "Work.", "messages": conversation(range(20))}))
    done = await p.compact_file(file, target=0.5, force=True, keep_last=3)
    assert done.report.thinking.dropped == 19 and refused_thinking(request(done.value["messages"])) == []


async def test_who_would_rather_have_no_pass_than_lose_thinking_gets_none(tmp_path: Path) -> None:
    messages = conversation(range(16))
    async with Palimpsest.open(tmp_path / "home") as p:
        kept = await p.compact_messages(messages, session_id="s", force=True, model=BOUND, thinking="refuse")
        assert (kept.report.status, kept.messages) == ("nothing_to_do", messages)
        assert "thinking blocks behind the first result that would leave" in kept.report.reason
        assert await p.list_offloaded("s") == ()
        free = await p.compact_messages(messages, session_id="t", force=True, model=FREE, thinking="refuse")
        assert free.report.batches
        assert thinking_of(free.messages) == thinking_of(messages)
        again = await p.compact_messages(messages, session_id="t", model=BOUND, thinking="refuse", force=True)
        assert again.messages == messages
        assert "the list is as it came" in again.report.thinking.said
