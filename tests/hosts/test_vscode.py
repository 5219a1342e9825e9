"""Chat sessions of VS Code in the form that its sources describe (`objectMutationLog.ts`, `conversation.ts`)."""

from __future__ import annotations

import copy
import json
from itertools import accumulate
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.hosts.recorded import RecordedSession, rows_in
from palimpsest_mcp.hosts.vscode import VSCODE, read, replayed

Row = dict[str, Any]
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=2), inner, max_size=4),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.sampled_from("abc"), VALUES, max_size=3)


def lines(rows: list[Row]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def holders(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[tuple[Any, ...], Any, bool]]:
    """Every object and list in a value: its path, itself, whether it is a list."""
    if not isinstance(value, (dict, list)):
        return []
    holder, is_list = cast("Any", value), isinstance(value, list)
    entries = enumerate(holder) if is_list else holder.items()
    return [(path, holder, is_list), *(one for key, inner in entries for one in holders(inner, (*path, key)))]


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[Row], list[Any]]:
    """A log, and the object after each of its lines as plain assignments make it."""
    state: Any = draw(OBJECTS)
    rows: list[Row] = [{"kind": 0, "v": copy.deepcopy(state)}]
    states = [copy.deepcopy(state)]
    for _ in range(draw(st.integers(0, 12))):
        path, holder, is_list = draw(st.sampled_from(holders(state)))
        value = draw(VALUES)
        match draw(st.sampled_from(["set", "delete", "push", "whole"])):
            case "set" if not is_list:
                key = draw(st.sampled_from("abcd"))
                holder[key] = copy.deepcopy(value)
                rows.append({"kind": 1, "k": [*path, key], "v": value})
            case "set" if holder:
                at = draw(st.integers(0, len(holder) - 1))
                holder[at] = copy.deepcopy(value)
                rows.append({"kind": 1, "k": [*path, at], "v": value})
            case "delete" if not is_list and holder:
                key = draw(st.sampled_from(sorted(holder)))
                del holder[key]
                rows.append({"kind": 3, "k": [*path, key]})
            case "push" if is_list and path:
                added, end = draw(st.lists(VALUES, max_size=3)), draw(st.none() | st.integers(0, len(holder)))
                if end is not None:
                    del holder[end:]
                holder.extend(copy.deepcopy(added))
                cut = {} if end is None else {"i": end}
                rows.append({"kind": 2, "k": list(path), **({"v": added} if added else {}), **cut})
            case "whole":
                state = draw(OBJECTS)
                rows.append({"kind": 0, "v": copy.deepcopy(state)})
            case _:
                continue
        states.append(copy.deepcopy(state))
    return rows, states


@given(histories())
def test_a_log_gives_the_object_that_the_same_changes_give_directly(history: tuple[list[Row], list[Any]]) -> None:
    rows, states = history
    assert replayed(rows_in(lines(rows))) == states[-1]


@given(histories(), st.data())
def test_a_log_cut_anywhere_gives_the_object_after_its_last_whole_line(
    history: tuple[list[Row], list[Any]], data: st.DataObject
) -> None:
    rows, states = history
    whole = lines(rows)
    cut = data.draw(st.integers(0, len(whole)))
    ends = [end - 1 for end in accumulate(len(lines([row])) for row in rows)]
    count = sum(end <= cut for end in ends)
    assert replayed(rows_in(whole[:cut])) == (states[count - 1] if count else None)


def test_a_line_that_is_too_deep_to_be_a_session_is_passed_over() -> None:
    deep = b'{"kind": 1, "k": ["requests"], "v": ' + b"[" * 10_000 + b"]" * 10_000 + b"}\n"
    assert replayed(rows_in(lines([{"kind": 0, "v": {"requests": []}}]) + deep)) == {"requests": []}


@given(st.lists(st.dictionaries(st.sampled_from(["kind", "k", "v", "i", "requests"]), VALUES), max_size=6), OBJECTS)
def test_no_line_breaks_the_reading(rows: list[Row], whole: Row) -> None:
    replayed([{"kind": 0, "v": whole}, *rows])
    read(lines([{"kind": 0, "v": {**whole, "sessionId": "s", "requests": rows}}, *rows]))


@pytest.mark.parametrize(
    "row",
    [
        {"kind": 4, "k": ["requests"], "v": []},
        {"kind": "1", "k": ["requests"], "v": []},
        {"kind": 1, "k": ["requests", 7, "result"], "v": 1},
        {"kind": 1, "k": ["requests", -1], "v": 1},
        {"kind": 1, "k": ["requests", True], "v": 1},
        {"kind": 1, "k": [], "v": 1},
        {"kind": 1, "v": 1},
        {"kind": 2, "k": ["sessionId"], "v": [1]},
        {"kind": 2, "k": ["requests"], "i": 1_000_000_000},
        {"kind": 3, "k": ["nothing"]},
        {"note": "of a later version"},
    ],
)
def test_a_line_of_an_unknown_kind_or_of_a_place_that_is_not_there_changes_nothing(row: Row) -> None:
    whole = {"sessionId": "s", "requests": [{"requestId": "r"}]}
    assert replayed([{"kind": 0, "v": copy.deepcopy(whole)}, row]) == whole


def session(*requests: Row, **more: Any) -> RecordedSession:
    found = read(lines([{"kind": 0, "v": {"version": 3, "sessionId": "s1", "requests": list(requests), **more}}]))
    assert found is not None
    return found


def round_of(name: str, response: str, *calls: str) -> Row:
    told = [{"id": call, "name": "read_file", "arguments": f'{{"filePath": "/{call}"}}'} for call in calls]
    return {"id": name, "response": response, "toolInputRetry": 0, "toolCalls": told}


def request(text: str, *rounds: Row, **metadata: Any) -> Row:
    calls = [call["id"] for one in rounds for call in one["toolCalls"]]
    results = {call: {"$mid": 20, "content": [{"$mid": 21, "value": f"of {call}"}]} for call in calls}
    told = {"toolCallRounds": list(rounds), "toolCallResults": results, **metadata}
    return {"requestId": text, "message": {"text": text, "parts": []}, "response": [], "result": {"metadata": told}}


def test_a_turn_is_its_question_each_answer_with_its_calls_and_their_results() -> None:
    found = session(request("Why?", round_of("r1", "I look.", "c1", "c2"), round_of("r2", "Because.")))
    (stretch,) = found.stretches
    asked, answer, first, second, last = stretch.messages
    assert asked == {"role": "user", "content": "Why?"}
    assert [call["function"]["arguments"] for call in answer["tool_calls"]] == [
        '{"filePath": "/c1"}',
        '{"filePath": "/c2"}',
    ]
    assert (first["tool_call_id"], first["content"]) == ("c1", "of c1")
    assert (second["tool_call_id"], second["content"]) == ("c2", "of c2")
    assert last == {"role": "assistant", "content": "Because."}


def test_model_and_tokens_are_those_of_the_newest_turn_that_says_them() -> None:
    found = session(
        {**request("a", promptTokens=10, outputTokens=2, resolvedModel="gpt-5"), "modelId": "copilot/auto"},
        {**request("b", promptTokens=100, outputTokens=20), "modelId": "copilot/claude-sonnet-4.6"},
        {"requestId": "c", "message": {"text": "c"}, "modelId": "copilot/auto", "response": []},
    )
    assert (found.model, found.used_tokens) == ("claude-sonnet-4.6", 120)


TREE: Row = {
    "type": 1,
    "ctor": 2,
    "children": [
        {"type": 1, "ctor": 1, "children": [{"type": 2, "text": "one"}]},
        {"type": 2, "text": "two", "lineBreakBefore": True},
        {"type": 1, "ctor": 3, "children": [], "props": {"src": "x"}},
        {"type": 3},
    ],
}


@pytest.mark.parametrize(
    ("parts", "content"),
    [
        ([{"value": "a\r\nb\t"}], "a\r\nb\t"),
        ([], ""),
        ([{"value": "a"}, {"value": "b"}], [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]),
        ([{"$mid": 23, "value": {"node": TREE}}], "one\ntwo<image>"),
        ([{"$mid": 24, "mimeType": "image/png", "data": {"0": 137}}], "[image/png: not recorded]"),
        ([cast("Row", {})], "[a part that is no text: not recorded]"),
    ],
)
def test_a_result_is_the_words_that_the_model_was_given(parts: list[Row], content: Any) -> None:
    asked = request("q", round_of("r", "", "c"))
    asked["result"]["metadata"]["toolCallResults"]["c"]["content"] = parts
    assert session(asked).stretches[0].messages[2]["content"] == content


def test_a_summary_ends_a_stretch_behind_the_round_that_it_covers_even_when_a_later_turn_tells_it() -> None:
    found = session(
        request("one", round_of("r1", "", "c1"), round_of("r2", "", "c2"), round_of("r3", "", "c3")),
        request(
            "two",
            round_of("r4", "", "c4"),
            round_of("r5", "done"),
            summaries=[{"toolCallRoundId": "r2", "text": "One."}, {"toolCallRoundId": "r4", "text": "Two."}],
        ),
        request("three", round_of("r6", "x"), summary={"toolCallRoundId": "gone", "text": "No round has it."}),
    )
    first, second, going_on = found.stretches
    assert (first.summary, second.summary, going_on.summary) == ("One.", "Two.", "")
    assert [one.get("tool_call_id") for one in first.messages if one["role"] == "tool"] == ["c1", "c2"]
    assert second.messages[0] == {"role": "user", "content": "One."}
    assert [one.get("tool_call_id") for one in second.messages if one["role"] == "tool"] == ["c3", "c4"]
    assert [one["content"] for one in going_on.messages] == ["Two.", "done", "three", "x"]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({}, []),
        ({"modelState": {"value": 0}}, []),
        ({"modelState": {"value": 4}}, []),
        ({"modelState": {"value": 2, "completedAt": 1}}, ["So far. Yes."]),
        ({"isCanceled": True}, ["So far. Yes."]),
        ({"result": {"errorDetails": {"message": "x"}}}, ["So far. Yes."]),
    ],
)
def test_what_a_turn_says_is_read_when_it_has_ended(more: Row, said: list[str]) -> None:
    parts = [{"value": "So far. "}, {"kind": "thinking", "value": "hm"}, {"kind": "markdownContent", "content": "Yes."}]
    (stretch,) = session({"requestId": "r", "message": {"text": "q"}, "response": parts, **more}).stretches
    assert [one["content"] for one in stretch.messages[1:]] == said


def test_of_an_agent_without_rounds_the_calls_are_read_that_the_chat_shows_with_their_output() -> None:
    details = {"input": "{}", "isError": True}
    shown = {"kind": "toolInvocationSerialized", "toolCallId": "c1", "toolId": "mcp_db_query", "resultDetails": details}
    output = [{"type": "embed", "isText": True, "value": "7 rows"}]
    image = [{"type": "embed", "isText": False, "mimeType": "image/png", "value": "aGk="}]
    parts = [
        {"value": "I ask. "},
        {**shown, "resultDetails": {**details, "output": output}},
        {**shown, "toolCallId": "c2", "resultDetails": {**details, "output": image}},
        {**shown, "toolCallId": "c3", "resultDetails": [{"path": "/a"}]},
        "Seven.",
    ]
    (stretch,) = session({"requestId": "r", "message": "q", "response": parts, "result": {}}).stretches
    said, result, silent, other, last = stretch.messages[1:]
    assert said["content"] == "I ask. " and said["tool_calls"][0]["function"]["name"] == "mcp_db_query"
    assert (result["content"], result["status"]) == ("7 rows", "error")
    assert silent["content"] is None and other["content"] == "[image/png: not recorded]"
    assert last == {"role": "assistant", "content": "Seven."}


@pytest.mark.parametrize(
    "data", [b"", b"{}", b"[]", b'{"kind": 0, "v": {}}', b'{"kind": 0}', b"\x00\xff", b'{"requests": 1}']
)
def test_a_file_that_is_no_session_is_none(data: bytes) -> None:
    assert read(data) is None


def test_a_session_in_one_object_is_read_as_the_same_in_a_log() -> None:
    whole = {"version": 3, "sessionId": "s1", "requests": [request("Why?", round_of("r", "So."))]}
    assert read(json.dumps(whole).encode()) == read(lines([{"kind": 0, "v": whole}]))


@pytest.mark.parametrize(
    ("told", "project"),
    [
        ({"folder": "file:///home/me/a%20b"}, "/home/me/a b"),
        ({"folder": "file:///c%3A/Users/me"}, "c:/Users/me"),
        ({"workspace": "file:///home/me/all.code-workspace"}, "/home/me"),
        ({"folder": "vscode-remote://ssh-remote%2Bbox/home/me"}, ""),
        ({"folder": "file://[half"}, ""),
        ([], ""),
        (None, ""),
    ],
)
def test_the_project_is_the_folder_that_is_open(tmp_path: Path, told: Any, project: str) -> None:
    file = tmp_path / "ab12" / "chatSessions" / "s1.jsonl"
    file.parent.mkdir(parents=True)
    if told is not None:
        (tmp_path / "ab12" / "workspace.json").write_text(json.dumps(told), "utf-8")
    assert VSCODE.project is not None and VSCODE.project(file) == project


def test_the_folder_is_where_vs_code_itself_looks_for_its_own(tmp_path: Path) -> None:
    assert VSCODE.folder({"VSCODE_PORTABLE": "/usb/data", "VSCODE_APPDATA": "/x"}, tmp_path) == Path("/usb/data")
    assert VSCODE.folder({"VSCODE_APPDATA": "/x"}, tmp_path) == Path("/x")
