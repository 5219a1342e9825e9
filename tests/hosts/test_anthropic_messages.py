"""Anthropic-style lists."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from anthropic.types import TextBlock, ToolUseBlock

from palimpsest_mcp.errors import FileWrongShape, InvalidArgument
from palimpsest_mcp.hosts.anthropic import AnthropicMessages
from palimpsest_mcp.models.items import Item
from palimpsest_mcp.ports.seams import HostContext

READER = AnthropicMessages({"run_clarify": "clarify_result"})


def user(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def call(call_id: Any, name: str = "Read", **args: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": args}


def result(call_id: Any, content: Any = "out", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **more}


def by_id(context: HostContext) -> dict[str, Item]:
    return {item.id: item for item in context.items}


def test_every_block_becomes_one_item_in_order() -> None:
    context = READER.parse(
        [
            {"role": "user", "content": "fix the bug"},
            assistant(
                {"type": "thinking", "thinking": "hm", "signature": "s"}, text("I look"), call("c1", file_path="a.py")
            ),
            user(result("c1"), text("and hurry")),
        ]
    )
    assert [(item.kind, item.role, item.position) for item in context.items] == [
        ("original_query", "user", (0, 0)),
        ("thinking", "assistant", (1, 0)),
        ("message", "assistant", (1, 1)),
        ("tool_call", "assistant", (1, 2)),
        ("tool_result", "tool", (2, 0)),
        ("message", "user", (2, 1)),
    ]


def test_a_result_knows_its_call() -> None:
    item = by_id(
        READER.parse([user(text("q")), assistant(call("c1", file_path="a.py")), user(result("c1", is_error=True))])
    )["c1"]
    assert (item.tool_name, item.args, item.call_id, item.is_error) == ("Read", {"file_path": "a.py"}, "c1", True)
    assert item.action is not None
    assert (item.action.verb, item.action.target) == ("read", "a.py")
    assert item.unit == "call:c1"


def test_the_kind_of_a_result_follows_the_policys_tools() -> None:
    items = by_id(READER.parse([assistant(call("c1", "run_clarify")), user(result("c1"))]))
    assert items["c1"].kind == "clarify_result"


def test_the_kind_that_a_log_writes_beside_a_block_counts() -> None:
    items = by_id(
        READER.parse([assistant(call("c1")), user(result("c1", kind="rubrics"), result("c2", kind="original_query"))])
    )
    assert items["c1"].kind == "rubrics"
    assert items["c2"].kind == "tool_result"


def test_an_object_around_the_messages_gives_system_model_and_session() -> None:
    context = READER.parse(
        {
            "session_id": "s9",
            "system": [text("be kind"), text("be brief")],
            "meta": {"models": ["claude-opus-4-5"]},
            "messages": [],
        }
    )
    assert (context.system_text, context.model, context.session_id) == ("be kind\nbe brief", "claude-opus-4-5", "s9")
    assert context.items == ()


def test_a_system_message_in_the_list_is_a_system_prompt() -> None:
    assert READER.parse([{"role": "system", "content": "rules"}]).items[0].kind == "system_prompt"


def test_the_blocks_that_only_the_provider_reads_are_kept_whole() -> None:
    search = {"type": "server_tool_use", "id": "srv1", "name": "web_search", "input": {"query": "x"}}
    found = {
        "type": "web_search_tool_result",
        "tool_use_id": "srv1",
        "content": [{"type": "web_search_result", "url": "u"}],
    }
    unknown = {"type": "hologram", "data": {"x": [1.10, None]}}
    context = READER.parse([user(text("q")), assistant(search, found, unknown)])
    call_item, result_item, other = context.items[1:]
    assert (call_item.kind, result_item.kind, other.kind) == ("tool_call", "host_block", "host_block")
    assert result_item.unit == call_item.unit
    assert other.content is unknown
    assert context.open_units == frozenset()


def test_a_result_of_an_mcp_connector_is_a_tool_result() -> None:
    ask: dict[str, Any] = {"type": "mcp_tool_use", "id": "m1", "name": "echo", "server_name": "s", "input": {}}
    context = READER.parse([assistant(ask, {"type": "mcp_tool_result", "tool_use_id": "m1", "content": [text("hi")]})])
    assert context.items[1].kind == "tool_result"
    assert context.items[1].unit == "call:m1"
    assert READER.render(context, {"m1": "digest"})[0]["content"][1]["content"] == [text("digest")]


def test_images_and_documents_are_items_of_their_own_and_come_back_as_blocks() -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
    document = {
        "type": "document",
        "title": "Spec",
        "source": {"type": "text", "media_type": "text/plain", "data": "t"},
    }
    messages = [user(text("look"), image, document)]
    context = READER.parse(messages)
    assert [item.kind for item in context.items] == ["original_query", "image", "document"]
    shorter = READER.render(context, {context.items[1].id: "[an image]"})
    assert shorter[0]["content"] == [text("look"), text("[an image]"), document]
    again = READER.parse(shorter)
    assert READER.render(again, {again.items[1].id: image}) == messages


def test_a_result_with_text_image_and_search_results_keeps_its_blocks() -> None:
    blocks = [
        text("a"),
        {"type": "image", "source": {"type": "url", "url": "u"}},
        {"type": "search_result", "title": "t"},
    ]
    item = READER.parse([assistant(call("c")), user(result("c", blocks))]).items[1]
    assert item.content is blocks


def test_rendering_nothing_gives_the_very_same_objects() -> None:
    messages = [user(text("q")), assistant(call("c")), user(result("c"))]
    rendered = READER.render(READER.parse(messages), {})
    assert all(new is old for new, old in zip(rendered, messages, strict=True))


def test_rendering_changes_one_block_and_never_the_input() -> None:
    messages = [user(text("q")), assistant(call("a"), call("b")), user(result("a"), result("b"), text("go"))]
    before = copy.deepcopy(messages)
    rendered = READER.render(READER.parse(messages), {"a": "digest"})
    assert messages == before
    assert rendered[0] is messages[0]
    assert rendered[1] is messages[1]
    assert rendered[2]["content"][0] == result("a", "digest")
    assert rendered[2]["content"][1] is messages[2]["content"][1]
    assert rendered[2]["content"][2] is messages[2]["content"][2]


def test_two_results_of_one_message_can_change_at_once() -> None:
    messages = [assistant(call("a"), call("b")), user(result("a"), result("b"))]
    rendered = READER.render(READER.parse(messages), {"a": "1", "b": "2"})
    assert [block["content"] for block in rendered[1]["content"]] == ["1", "2"]


def test_a_string_in_the_place_of_blocks_becomes_one_text_block_and_a_string_stays_one() -> None:
    messages = [
        assistant(call("a"), call("b")),
        user(result("a", [text("x"), text("y")]), result("b", "z", is_error=True)),
    ]
    rendered = READER.render(READER.parse(messages), {"a": "digest", "b": "digest"})
    assert rendered[1]["content"] == [result("a", [text("digest")]), result("b", "digest", is_error=True)]


def test_a_result_without_content_reads_as_empty_and_can_be_given_one() -> None:
    messages = [assistant(call("a")), user({"type": "tool_result", "tool_use_id": "a"})]
    context = READER.parse(messages)
    assert context.items[1].content == ""
    assert READER.render(context, {"a": ""})[1] is messages[1]
    assert READER.render(context, {"a": "x"})[1]["content"][0]["content"] == "x"


def test_new_text_drops_citations_that_point_into_the_old() -> None:
    cited = {
        "type": "text",
        "text": "as said",
        "citations": [{"start_char_index": 0}],
        "cache_control": {"type": "ephemeral"},
    }
    context = READER.parse([user(text("q")), assistant(cited)])
    rendered = READER.render(context, {context.items[1].id: "short"})
    assert rendered[1]["content"] == [{"type": "text", "text": "short", "cache_control": {"type": "ephemeral"}}]


@pytest.mark.parametrize("kind", ["tool_use", "thinking", "redacted_thinking", "web_search_tool_result"])
def test_calls_thinking_and_provider_blocks_cannot_be_replaced(kind: str) -> None:
    context = READER.parse([assistant({"type": kind, "id": "x", "name": "n", "input": {}})])
    with pytest.raises(InvalidArgument):
        READER.render(context, {context.items[0].id: "digest"})


def test_their_own_content_is_no_change() -> None:
    messages = [assistant(call("x"))]
    context = READER.parse(messages)
    assert READER.render(context, {context.items[0].id: dict(messages[0]["content"][0])})[0] is messages[0]


def test_ids_stay_when_contents_change() -> None:
    messages = [
        assistant(call(""), call(None), call("r"), call("r")),
        user(result(""), result(None), result("r"), result("r")),
    ]
    context = READER.parse(messages)
    results = [item.id for item in context.items if item.role == "tool"]
    again = READER.parse(READER.render(context, dict.fromkeys(results, "digest")))
    assert [item.id for item in again.items] == [item.id for item in context.items]
    assert [item.unit for item in again.items] == [item.unit for item in context.items]


def test_blocks_of_the_providers_own_library_are_read_too() -> None:
    said = TextBlock(type="text", text="I look", citations=None)
    asked = ToolUseBlock(type="tool_use", id="c1", name="Read", input={"file_path": "a.py"})
    messages = [user(text("q")), {"role": "assistant", "content": [said, asked]}, user(result("c1", "long"))]
    context = READER.parse(messages)
    assert [item.kind for item in context.items] == ["original_query", "message", "tool_call", "tool_result"]
    rendered = READER.render(context, {"c1": "short"})
    assert rendered[1] is messages[1]
    assert rendered[2]["content"][0]["content"] == "short"


@pytest.mark.parametrize(
    ("value", "where"),
    [
        ("text", "$"),
        (None, "$"),
        ({"messages": 5}, "messages"),
        ({"model": "m"}, "$"),
        (["hi"], "messages[0]"),
        ([user(), 7], "messages[1]"),
        ([{"content": "x"}], "messages[0].role"),
        ([{"role": "robot", "content": "x"}], "messages[0].role"),
        ([{"role": ["user"], "content": "x"}], "messages[0].role"),
        ([{"role": "user"}], "messages[0].content"),
        ([{"role": "user", "content": {"a": 1}}], "messages[0].content"),
        ([user(text("a"), "loose")], "messages[0].content[1]"),
        ([user(text("a")), user(result("c", 42))], "messages[1].content[0].content"),
        ([user(result("c", {"base64": "@@"}))], "messages[0]"),
    ],
)
def test_a_wrong_shape_is_named_by_its_path(value: Any, where: str) -> None:
    with pytest.raises(FileWrongShape) as caught:
        READER.parse(value)
    assert caught.value.where == where
    assert caught.value.next


def test_a_text_block_whose_text_is_no_string_is_kept_whole() -> None:
    block = {"type": "text", "text": 5}
    assert READER.parse([assistant(block)]).items[0].content is block


def test_a_half_surrogate_pair_stays_in_the_content() -> None:
    item = READER.parse([assistant(call("c")), user(result("c", "cut \ud83d"))]).items[1]
    assert item.content == "cut \ud83d"
    assert item.size_bytes == 7
