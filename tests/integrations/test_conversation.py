"""Messages of a framework as a list, and what changed in it back in their place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.integrations.conversation import (
    Block,
    Part,
    call_block,
    listed,
    plain,
    result_block,
    text_block,
    unlisted,
    whole_block,
)

Message = tuple[str, tuple[Any, ...]]
"""A framework of the tests: a role, and blocks."""


class Form:
    def parts(self, message: Message) -> Iterable[Part]:
        role: Any = message[0]
        for at, block in enumerate(message[1]):
            yield Part("user" if block["type"] == "tool_result" else role, at, block)

    def put(self, message: Message, changed: Mapping[Any, Block | None]) -> Message:
        blocks = [changed.get(at, block) for at, block in enumerate(message[1])]
        return message[0], tuple(block for block in blocks if block is not None)


IDS = st.integers(0, 10**6).map(lambda n: f"call_{n}")


def thought(text: str) -> Block:
    return {"type": "thinking", "thinking": text, "signature": "s"}


BLOCKS: st.SearchStrategy[Block] = st.one_of(
    st.text(min_size=1).map(text_block),
    st.builds(call_block, IDS, st.just("look"), st.dictionaries(st.text(), st.text())),
    st.builds(result_block, IDS, st.text()),
    st.text().map(thought),
    st.builds(whole_block, st.just("image"), st.binary()),
)
ROLES = st.sampled_from(["user", "assistant"])
MESSAGES: st.SearchStrategy[list[Message]] = st.lists(st.tuples(ROLES, st.lists(BLOCKS, max_size=4).map(tuple)))


@given(MESSAGES)
def test_what_did_not_change_is_the_very_same_object(messages: list[Message]) -> None:
    before = listed(messages, Form())
    after = unlisted(before, before.messages, Form())
    assert all(one is other for one, other in zip(after, messages, strict=True))


@given(MESSAGES, st.data())
def test_only_what_changed_in_the_list_changes_in_the_messages(messages: list[Message], data: st.DataObject) -> None:
    """Results and arguments change, thinking goes; everything else stays where it is."""
    before = listed(messages, Form())
    after: list[dict[str, Any]] = []
    for message in before.messages:
        blocks: list[Block] = []
        for block in message["content"]:
            kind, changes = block["type"], data.draw(st.booleans())
            if kind == "thinking" and changes:
                continue
            if kind == "tool_result" and changes:
                block = {**block, "content": "digest"}
            if kind == "tool_use" and changes:
                block = {**block, "input": {"note": "n"}}
            blocks.append(block)
        if blocks:
            after.append({**message, "content": blocks})
    wanted = [block for message in after for block in message["content"]]
    got = unlisted(before, after, Form())
    assert [block for message in got for block in message[1]] == wanted
    assert [message[0] for message in got] == [message[0] for message in messages]


def test_a_list_that_does_not_fit_is_refused() -> None:
    before = listed([("user", (text_block("a"), text_block("b")))], Form())
    for wrong in ([], [{"role": "user", "content": [text_block("a")]}], [*before.messages, *before.messages]):
        with pytest.raises(ValueError, match="compacted list"):
            unlisted(before, wrong, Form())


def test_one_message_of_two_roles_becomes_two_of_the_list() -> None:
    message = ("user", (result_block("a", "told"), {"type": "text", "text": "and"}))
    answer = ("assistant", (call_block("a", "look", {}), text_block("I look.")))
    assert [one["role"] for one in listed([answer, message], Form()).messages] == ["assistant", "user"]


def test_any_value_becomes_json() -> None:
    class Odd:
        def __str__(self) -> str:
            return "odd"

    assert plain({1: (b"a", Odd(), None)}) == {"1": [{"base64": "YQ=="}, "odd", None]}
    assert whole_block("x", "a" * 3_000)["characters"] == 3_002
    assert call_block("a", "run", "ls", signed=True)["signature"]
