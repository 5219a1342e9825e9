"""A list that comes in with defects: each is named in the report, none is added, and originals come back exactly."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.hosts.validity import check_messages
from palimpsest_mcp.ports.seams import Form

from ..conftest import first_of
from .conftest import make_session

Messages = list[dict[str, Any]]
HOW: dict[str, Any] = {"session_id": "s", "force": True, "target": 0.35, "keep_last": 3}


def chat_session(results: int = 14) -> Messages:
    """The same as an OpenAI-style list, with two calls in every third turn."""
    messages: Messages = [{"role": "system", "content": "You fix things."}, {"role": "user", "content": "Fix it."}]
    n = 0
    while n < results:
        ids = [f"call_{m}" for m in range(n, n + (2 if n % 3 == 0 else 1))]
        call = {"type": "function", "function": {"name": "shell", "arguments": '{"cmd": "make"}'}}
        messages.append({"role": "assistant", "content": None, "tool_calls": [{"id": name, **call} for name in ids]})
        for name in ids:
            rows = (f"target {name}-{row}: built in {row}.{n} s, object obj{name}x{row:03d}" for row in range(50))
            messages.append({"role": "tool", "tool_call_id": name, "content": "\n".join(rows)})
        n += len(ids)
    return [*messages, {"role": "user", "content": "What did you find?"}]


def orphan(messages: Messages) -> None:
    messages.insert(9, {"role": "tool", "tool_call_id": "nobody", "content": f"alone {messages[3]['content']}"})


def null_id(messages: Messages) -> None:
    messages[6]["tool_call_id"] = None


def null_pair(messages: Messages) -> None:
    messages[5]["tool_calls"][0]["id"] = messages[6]["tool_call_id"] = None


def unanswered(messages: Messages) -> None:
    del messages[4]


def split(messages: Messages) -> None:
    messages.insert(4, {"role": "user", "content": "wait, which one is this?"})


def twice(messages: Messages) -> None:
    messages.insert(5, {**messages[4], "content": f"again {messages[4]['content']}"})


BREAKS: list[Callable[[Messages], None]] = [orphan, null_id, null_pair, unanswered, split, twice]


def named(messages: list[Any], form: Form) -> list[str]:
    return sorted(map(str, check_messages(messages, form)))


@pytest.mark.anyio
@pytest.mark.parametrize("make_break", first_of(BREAKS, kept=2), ids=lambda one: one.__name__)
async def test_a_defect_is_named_and_the_list_is_no_worse(
    tmp_path: Path, make_break: Callable[[Messages], None]
) -> None:
    messages = chat_session()
    assert not named(messages, "openai")
    make_break(messages)
    came = copy.deepcopy(messages)
    wrong = named(messages, "openai")
    async with Palimpsest.open(tmp_path) as p:
        done = await p.compact_messages(messages, **HOW)
        assert done.report.status in ("compacted", "partial", "target_not_reached")
        assert done.report.batches
        assert sorted(map(str, done.report.defects)) == wrong
        assert {"message", "what"} <= done.report.to_json()["defects"][0].keys()
        assert messages == came
        assert named(done.messages, "openai") == wrong
        assert await p.expand_messages(done.messages, session_id="s") == came
        assert await p.restore_all("s") == came
    same = [new is old for old, new in zip(messages, done.messages, strict=True) if old["role"] != "tool"]
    assert all(same)


@pytest.mark.anyio
async def test_a_list_without_a_defect_says_nothing_of_any(tmp_path: Path) -> None:
    async with Palimpsest.open(tmp_path) as p:
        for n, messages in enumerate((chat_session(6), make_session(6))):
            done = await p.compact_messages(messages, session_id=f"s{n}", force=True, target=0.35)
            assert done.report.defects == ()


def _shuffled(messages: Messages, breaks: list[tuple[int, int]]) -> Messages:
    """What a program that cuts and joins lists may do to one."""
    for kind, at in breaks:
        at %= len(messages)
        message = copy.deepcopy(messages[at])
        content: Any = message["content"]
        if kind == 0:
            del messages[at]
        elif kind == 1:
            messages.insert((at * 7) % len(messages), message)
        elif kind == 2:
            messages.insert(at, {"role": "user", "content": "meanwhile"})
        elif kind == 3 and "tool_call_id" in message:
            messages[at] = {**message, "tool_call_id": None}
        elif kind == 3 and message.get("tool_calls"):
            message["tool_calls"][0]["id"] = None
            messages[at] = message
        else:
            for block in cast("list[dict[str, Any]]", content) if isinstance(content, list) else ():
                block |= {key: None for key in ("id", "tool_use_id") if key in block}
            messages[at] = message
        if not messages:
            break
    return messages or [{"role": "user", "content": "nothing is left"}]


@given(openai=st.booleans(), breaks=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 40)), min_size=1, max_size=6))
@settings(max_examples=min(25, settings().max_examples), deadline=None)
def test_however_a_list_is_broken_it_goes_out_no_worse_and_comes_back_whole(
    tmp_path_factory: pytest.TempPathFactory, openai: bool, breaks: list[tuple[int, int]]
) -> None:
    form: Form = "openai" if openai else "anthropic"
    messages = _shuffled(chat_session(8) if openai else make_session(8, lines=30), breaks)

    async def run() -> None:
        async with Palimpsest.open(tmp_path_factory.mktemp("broken")) as p:
            done = await p.compact_messages(messages, **HOW, form=form)
            assert done.report.status != "failed", done.report.reason
            assert sorted(map(str, done.report.defects)) == named(messages, form)
            assert named(done.messages, form) == named(messages, form)
            assert json.dumps(await p.restore_all("s")) == json.dumps(messages)
            assert json.dumps(await p.expand_messages(done.messages, session_id="s")) == json.dumps(messages)

    anyio.run(run)
