"""Properties of every message list, whether its calls are paired or not."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.hosts.detect import detect_form, parse_value, transcripts
from palimpsest_mcp.hosts.validity import new_problems

words = st.text(max_size=12)
call_ids: st.SearchStrategy[Any] = st.one_of(
    st.sampled_from(["a", "b", "c", "", "a#2", "call:a", "x" * 1500]), st.none(), st.integers(7, 9)
)


def blocks(kind: str, **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({"type": st.just(kind), **fields})


def messages(role: str, **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({"role": st.just(role), **fields})


texts = blocks("text", text=words)
images = blocks("image", source=st.just({"type": "base64", "media_type": "image/png", "data": "aGk="}))
inner = st.one_of(words, st.lists(st.one_of(texts, images), max_size=2), st.none())
results = blocks("tool_result", tool_use_id=call_ids, content=inner)
names = st.sampled_from(["Read", "Bash", "", "mcp__x__y"])
calls = blocks("tool_use", id=call_ids, name=names, input=st.fixed_dictionaries({"path": words}))
thoughts = blocks("thinking", thinking=words, signature=st.just("s"))
unknown = blocks("hologram", data=words)
users = messages("user", content=st.one_of(words, st.lists(st.one_of(texts, images, results), max_size=4)))
answers = messages(
    "assistant", content=st.one_of(words, st.lists(st.one_of(texts, calls, thoughts, unknown), max_size=4))
)
anthropic_lists: st.SearchStrategy[list[Any]] = st.lists(st.one_of(users, answers), max_size=10)

functions = st.fixed_dictionaries({"name": names, "arguments": st.just("{}")})
chat_calls = blocks("function", id=call_ids, function=functions)
chat_messages = st.one_of(
    messages("user", content=words),
    messages("assistant", content=st.none(), tool_calls=st.lists(chat_calls, max_size=3)),
    messages("tool", tool_call_id=call_ids, content=st.one_of(words, st.lists(texts, max_size=2))),
)
openai_lists: st.SearchStrategy[list[Any]] = st.lists(chat_messages, max_size=10)


@given(st.one_of(anthropic_lists, openai_lists))
def test_any_list_is_read_named_changed_and_put_back(given_list: list[Any]) -> None:
    before = copy.deepcopy(given_list)
    form = detect_form(given_list)
    reader = transcripts()[form]
    context = parse_value(given_list, form=form)
    ids = [item.id for item in context.items]
    assert len(set(ids)) == len(ids)
    assert parse_value(given_list, form=form) == context
    unchanged = reader.render(context, {item.id: item.content for item in context.items if item.content is not None})
    assert all(new is old for new, old in zip(unchanged, given_list, strict=True))

    told = [item for item in context.items if item.role == "tool"]
    shorter = reader.render(context, {item.id: f"digest of {n}" for n, item in enumerate(told)})
    assert given_list == before
    assert new_problems(given_list, shorter, form) == []
    again = reader.parse(shorter)
    assert [item.id for item in again.items] == ids
    assert [item.unit for item in again.items] == [item.unit for item in context.items]
    back = reader.render(again, {item.id: item.content for item in told if item.content is not None})
    assert reader.parse(back).items == context.items


@given(anthropic_lists)
def test_every_result_shares_a_unit_with_a_call_of_its_id_before_it_or_stands_alone(given_list: list[Any]) -> None:
    items = parse_value(given_list, form="anthropic").items
    for at, item in enumerate(items):
        if item.role == "tool":
            callers = [call for call in items[:at] if call.kind == "tool_call" and call.unit == item.unit]
            earlier = [call for call in items[:at] if call.kind == "tool_call" and call.call_id == item.call_id]
            assert len(callers) == (1 if earlier else 0)
            assert all(call.call_id == item.call_id for call in callers)


@given(anthropic_lists, st.integers(1, 4))
def test_what_is_appended_leaves_the_items_before_it_as_they_were(given_list: list[Any], more: int) -> None:
    head = parse_value(given_list[:-more], form="anthropic").items
    whole = parse_value(given_list, form="anthropic").items
    assert [item.id for item in whole[: len(head)]] == [item.id for item in head]
