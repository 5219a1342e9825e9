"""Lines of the wire: every request is a message or gets an error that can be matched to it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCRequest

from palimpsest_mcp.server.transport import Refusal, as_line, read_line

DEEP = 100_000
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text()
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(), inner, max_size=3))
)


@pytest.mark.parametrize(
    ("line", "id", "code"),
    [
        ("{]", None, -32700),
        ('{"jsonrpc": "2.0", "id": 3, "method": "tools/list"', 3, -32700),
        ('{"jsonrpc": "2.0", "id": 3, "method": "tools/list",}', 3, -32700),
        ('{"params": {"id": 9, "x": [,]}, "id": "seven", "method": 1', "seven", -32700),
        ("[" * DEEP, None, -32700),
        ('{"id": 7, "method": "tools/call", "params": ' + '{"id":' * DEEP + "1" + "}" * DEEP + "}", 7, -32700),
        ('{"method": "tools/call", "params": ' + "[" * DEEP + "]" * DEEP + ', "jsonrpc": "2.0", "id": 8}', 8, -32700),
        ("[]", None, -32600),
        ('[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]', None, -32600),
        ("7", None, -32600),
        ("{}", None, -32600),
        ('{"jsonrpc": "2.0", "id": 4}', 4, -32600),
        ('{"jsonrpc": "2.0", "id": 4, "method": 7}', 4, -32600),
        ('{"id": 5, "method": "ping"}', 5, -32600),
        ('{"jsonrpc": "1.0", "id": "a", "method": "ping"}', "a", -32600),
        ('{"jsonrpc": "2.0", "id": null, "method": "ping"}', None, -32600),
        ('{"jsonrpc": "2.0", "id": true, "method": "ping"}', None, -32600),
        ('{"jsonrpc": "2.0", "id": {"a": 1}, "method": "ping"}', None, -32600),
        ('{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}', 1.5, -32600),
        ('{"jsonrpc": "2.0", "id": 6, "method": "ping", "params": [1]}', 6, -32602),
        ('{"jsonrpc": "2.0", "id": 6, "method": "ping", "params": "x"}', 6, -32602),
    ],
)
def test_what_is_no_request_is_answered_by_its_id_where_that_can_be_read(line: str, id: Any, code: int) -> None:
    found = read_line(line)
    assert isinstance(found, Refusal)
    assert (found.error.code, found.error.message[-1]) == (code, ".")
    assert found.id == id and type(found.id) is type(id)
    sent = json.loads(as_line(found.as_message()))
    assert sent["jsonrpc"] == "2.0" and "id" in sent and set(sent["error"]) == {"code", "message"}


@pytest.mark.parametrize(
    "line",
    [
        "",
        " \r",
        '{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": [1]}',
        '{"jsonrpc": "2.0", "id": 3, "result": "no object"}',
        '{"jsonrpc": "2.0", "id": null, "error": 7}',
    ],
)
def test_blank_lines_notifications_and_answers_are_answered_by_nothing(line: str) -> None:
    assert read_line(line) is None


@pytest.mark.parametrize("depth", [10, 150, 250, 500, 900])
def test_a_request_that_is_nested_less_deeply_arrives_whole(depth: int) -> None:
    line = '{"jsonrpc": "2.0", "id": 1, "method": "m", "params": {"a": ' + "[" * depth + "]" * depth + "}}"
    found = read_line(line)
    assert isinstance(found, SessionMessage) and isinstance(found.message, JSONRPCRequest)


@given(st.text())
def test_no_line_raises_and_none_but_a_blank_one_goes_unanswered_for_not_being_json(line: str) -> None:
    found = read_line(line)
    assert found is None if not line.strip() else isinstance(found, (Refusal, SessionMessage))


@given(
    st.one_of(st.integers(), st.text()), st.dictionaries(st.sampled_from(["jsonrpc", "params", "x"]), VALUES), VALUES
)
def test_whatever_is_wrong_with_a_request_its_id_comes_back(id: str | int, rest: dict[str, Any], method: Any) -> None:
    found = read_line(json.dumps({**rest, "method": method, "id": id}))
    if isinstance(found, Refusal):
        assert found.id == id
    else:
        assert isinstance(found, SessionMessage) and isinstance(found.message, JSONRPCRequest)
        assert found.message.id == id


def test_a_line_of_megabytes_that_was_cut_in_a_string_is_read_in_linear_time() -> None:
    found = read_line('{"id": 3, "params": "' + '\\"' * 2_000_000)
    assert isinstance(found, Refusal) and found.id == 3


@given(st.integers(min_value=-(10**15), max_value=10**15), st.integers(min_value=1, max_value=60))
def test_of_a_line_that_was_cut_the_id_comes_back_where_it_stands_whole(id: int, cut: int) -> None:
    head = json.dumps({"jsonrpc": "2.0", "id": id, "method": "tools/call"})[:-1]
    tail = ', "params": {"name": "show_context", "arguments": {"id": 4711}'
    found = read_line(head + tail[:cut])
    assert isinstance(found, Refusal) and found.error.code == -32700 and found.id == id
