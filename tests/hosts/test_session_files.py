"""Session files: bytes in, one session out, or an error that names the next step."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from typing import Any

import pytest

from palimpsest_mcp.core.importer import parsed
from palimpsest_mcp.errors import FileEmpty, FileNotJson, FileWrongShape, InputError, InvalidArgument, LineNeeded
from palimpsest_mcp.hosts.detect import detect_form, parse_value, read_session, rewrap
from palimpsest_mcp.models.advice import in_form
from palimpsest_mcp.ports.seams import HostContext

CHAT = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]
ROW = {"type": "user", "uuid": "u1", "sessionId": "s", "message": {"role": "user", "content": "q"}}


def open_session(data: bytes, *, kinds: Mapping[str, str] | None = None, **options: Any) -> HostContext:
    return parsed(read_session(data, **options), kinds or {})


def lines(*values: Any) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


FORMS: list[tuple[Any, str]] = [
    (CHAT, "anthropic"),
    ([], "anthropic"),
    ({"system": "s", "messages": CHAT}, "anthropic"),
    ([{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "x"}]}], "anthropic"),
    ([{"role": "system", "content": "s"}, *CHAT], "openai"),
    ([{"role": "tool", "tool_call_id": "c", "content": "x"}], "openai"),
    ([*CHAT, {"role": "assistant", "content": None, "tool_calls": []}], "openai"),
    ([{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "u"}}]}], "openai"),
    ([{"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}], "openai"),
    ({"input": CHAT}, "anthropic"),
    ([ROW], "claude-code"),
]


@pytest.mark.parametrize(("value", "form"), FORMS)
def test_the_form_is_known_by_its_marks(value: Any, form: str) -> None:
    assert detect_form(value) == form


def test_one_json_value_may_span_lines() -> None:
    assert len(open_session(json.dumps(CHAT, indent=2).encode()).items) == 2


def test_messages_may_stand_one_a_line() -> None:
    assert len(open_session(lines(*CHAT)).items) == 2


def test_rows_of_a_transcript_are_recognised() -> None:
    context = open_session(lines(ROW))
    assert (context.form, context.session_id) == ("claude-code", "s")


def test_gzip_is_recognised_whatever_the_files_name() -> None:
    assert len(open_session(gzip.compress(json.dumps(CHAT).encode())).items) == 2


def test_a_file_of_one_session_needs_no_line() -> None:
    found = read_session(lines({"messages": CHAT}))
    assert (found.line, found.value) == (1, {"messages": CHAT})


def test_a_file_of_several_sessions_needs_one_named() -> None:
    data = lines({"messages": CHAT}, {"messages": CHAT[:1]}, CHAT)
    with pytest.raises(LineNeeded) as caught:
        open_session(data)
    assert "--line 3" in in_form(caught.value.next, "command")
    assert len(open_session(data, line=2).items) == 1
    assert len(open_session(data, line=3).items) == 2


def test_lines_count_as_an_editor_counts_them() -> None:
    data = lines({"messages": CHAT}) + b"\r\n" + lines({"messages": CHAT[:1]})
    assert len(open_session(data, line=3).items) == 1
    with pytest.raises(InvalidArgument):
        open_session(data, line=2)


@pytest.mark.parametrize("line", [0, -1, 9])
def test_a_line_that_is_not_there_is_refused(line: int) -> None:
    with pytest.raises(InvalidArgument):
        open_session(lines({"messages": CHAT}), line=line)


def test_a_line_is_refused_where_the_file_is_one_session() -> None:
    with pytest.raises(InvalidArgument):
        open_session(lines(ROW), line=1)


def test_a_broken_line_elsewhere_does_not_matter_to_the_one_that_is_asked_for() -> None:
    data = lines({"messages": CHAT}, {"messages": CHAT}) + b'{"messages": ['
    assert len(open_session(data, line=2).items) == 2
    with pytest.raises(FileNotJson) as caught:
        open_session(data, line=3)
    assert "truncated" in caught.value.message
    assert caught.value.line == 3


def test_a_torn_row_of_a_transcript_costs_itself_and_is_told() -> None:
    context = open_session(lines(ROW) + b'{"type": "assist' + b"\n" + lines({**ROW, "uuid": "u2"}) + b'{"type"')
    assert [item.id for item in context.items] == ["u1.0", "u2.0"]
    assert context.warnings == (
        "line 2 is no whole row and was left out",
        "line 4 is no whole row and was left out",
    )


def test_a_torn_line_of_plain_messages_is_an_error() -> None:
    with pytest.raises(FileNotJson) as caught:
        open_session(lines(*CHAT) + b'{"role": "user", "content": "cut')
    assert caught.value.line == 3
    assert "truncated" in caught.value.message


def test_separators_that_are_no_newlines_do_not_split_lines() -> None:
    said = "a\u2028b\u2029c\x85d"
    data = json.dumps([{"role": "user", "content": said}], ensure_ascii=False).encode() + b"\r\n"
    assert open_session(data).items[0].content == said


def test_what_json_allows_beyond_the_common_is_kept_as_it_came() -> None:
    said = b'{"role":"user","content":"half \\ud83d nul \\u0000"}'
    numbers = b'{"type":"x","n":[NaN,-Infinity,1.10,123456789012345678901234567890]}'
    context = open_session(b"\xef\xbb\xbf[" + said + b',{"role":"assistant","content":[' + numbers + b"]}]")
    assert context.items[0].content == "half \ud83d nul \0"
    kept = json.dumps(context.items[1].content)
    assert kept == '{"type": "x", "n": [NaN, -Infinity, 1.1, 123456789012345678901234567890]}'


def test_of_duplicate_keys_the_last_one_counts() -> None:
    assert open_session(b'[{"role":"user","content":"a","content":"b"}]').items[0].content == "b"


def test_kinds_follow_the_policys_tools() -> None:
    messages: list[Any] = [
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "run_clarify", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "x"}]},
    ]
    context = open_session(lines({"messages": messages}), kinds={"run_clarify": "clarify_result"})
    assert context.items[1].kind == "clarify_result"


def test_a_form_can_be_named() -> None:
    assert open_session(json.dumps(CHAT).encode(), form="openai").form == "openai"
    with pytest.raises(InvalidArgument):
        open_session(json.dumps(CHAT).encode(), form="yaml")
    with pytest.raises(FileWrongShape):
        open_session(json.dumps([{"role": "tool", "content": "x"}]).encode(), form="anthropic")


def test_messages_go_back_into_the_object_they_came_in() -> None:
    assert rewrap({"system": "s", "messages": CHAT}, CHAT[:1]) == {"system": "s", "messages": CHAT[:1]}
    assert rewrap({"input": CHAT}, CHAT[:1]) == {"input": CHAT[:1]}
    assert rewrap(CHAT, CHAT[:1]) == CHAT[:1]


def test_eight_megabytes_in_one_line_are_read_and_more_is_more_than_any_window_holds() -> None:
    words, image = "x" * 8_000_000, {"type": "base64", "media_type": "image/png", "data": "aaaa" * 3_000_000}
    blocks = [{"type": "text", "text": words}, {"type": "image", "source": image}]
    context = open_session(json.dumps([{"role": "user", "content": blocks}]).encode())
    assert sum(item.size_bytes for item in context.items) >= 8_000_000
    with pytest.raises(FileWrongShape, match="8,000,001 characters"):
        open_session(json.dumps([{"role": "user", "content": words + "x"}]).encode())


DEEP = "[" * 10_000 + "]" * 10_000


@pytest.mark.parametrize(
    ("data", "error", "words"),
    [
        (b"", FileEmpty, "empty"),
        (b" \r\n\t\n", FileEmpty, "empty"),
        (b"\xef\xbb\xbf", FileEmpty, "empty"),
        (gzip.compress(b"", mtime=0), FileEmpty, "empty"),
        (b"hello", FileNotJson, "byte 0"),
        (b'[{"role": "user"', FileNotJson, "truncated"),
        (b'[{"role": "us', FileNotJson, "truncated"),
        (b'[{"role": "user", "content": "\\', FileNotJson, "truncated"),
        (b'[\n{"role": "user",\n oops}]', FileNotJson, "line 3"),
        (b'[{"role": "user", "content": "a\xff"}]', FileNotJson, "Byte 31 is not UTF-8"),
        (b'[{"role": "user", "content": "a\0"}]', FileNotJson, "0x00"),
        ("[]".encode("utf-16"), FileNotJson, "UTF-16"),
        (gzip.compress(b"[]" * 9000, mtime=0)[:30], FileNotJson, "truncated"),
        (b"\x1f\x8bnot gzip at all", FileNotJson, "damaged"),
        (b"[" + b"9" * 5000 + b"]", FileNotJson, "digits"),
        (DEEP.encode(), FileWrongShape, "deep"),
        (f'[{{"role": "user", "content": {DEEP}}}]'.encode(), FileWrongShape, "deep"),
        (('[{"role": "user", "content": ' + "[" * 300 + "]" * 300 + "}]").encode(), FileWrongShape, "deep"),
        (b"{}", FileWrongShape, "messages"),
        (b'{"messages": null}', FileWrongShape, "messages"),
        (b"null", FileWrongShape, "null"),
        (b"42", FileWrongShape, "number"),
        (b'"text"', FileWrongShape, "string"),
        (b"[1, 2]", FileWrongShape, "messages[0]"),
        (b'{"a": 1}\n{"a": 2}\n', FileWrongShape, "messages"),
    ],
)
def test_bad_input_is_an_error_of_its_class_with_a_next_step(data: bytes, error: type[InputError], words: str) -> None:
    with pytest.raises(error) as caught:
        open_session(data)
    assert words in caught.value.message
    assert caught.value.next.endswith(".")


def test_a_callers_list_that_is_too_deep_or_goes_round_is_refused() -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(FileWrongShape):
        parse_value([{"role": "user", "content": [{"type": "x", "y": loop}]}])
