"""Claude Code transcripts."""

from __future__ import annotations

from typing import Any

import pytest

from palimpsest_mcp.errors import FileWrongShape
from palimpsest_mcp.hosts.claude_code.transcript import ClaudeCodeTranscript
from palimpsest_mcp.hosts.validity import check_messages

READER = ClaudeCodeTranscript()
USAGE = {"input_tokens": 3, "cache_creation_input_tokens": 100, "cache_read_input_tokens": 1000, "output_tokens": 20}


class Rows:
    """Writes rows as the host does: each under the one before, unless said otherwise."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []

    def add(self, kind: str, uuid: str, *, under: str | None = None, **fields: Any) -> Rows:
        parent = under if under is not None else self.rows[-1]["uuid"] if self.rows else None
        row = {"type": kind, "uuid": uuid, "parentUuid": parent, "isSidechain": False, "sessionId": "s1", "cwd": "/p"}
        self.rows.append({**row, **fields})
        return self

    def user(self, uuid: str, content: Any, **fields: Any) -> Rows:
        return self.add("user", uuid, message={"role": "user", "content": content}, **fields)

    def told(self, uuid: str, call_id: str, content: Any = "out", **fields: Any) -> Rows:
        return self.user(uuid, [{"type": "tool_result", "tool_use_id": call_id, "content": content}], **fields)

    def answer(self, uuid: str, block: Any, message: str, usage: Any = USAGE, **fields: Any) -> Rows:
        told = {"role": "assistant", "id": message, "model": "claude-opus-5-5", "content": [block], "usage": usage}
        return self.add("assistant", uuid, message=told, **fields)


def call(call_id: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": "Bash", "input": {"command": "ls"}}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def test_rows_become_messages_with_session_project_model_and_usage() -> None:
    rows = Rows().user("u1", "fix it").answer("a1", text("ok"), "m1").answer("a2", call("c1"), "m1").told("u2", "c1")
    context = READER.parse(rows.rows)
    assert [message["role"] for message in context.messages] == ["user", "assistant", "user"]
    assert (context.session_id, context.project, context.model, context.host) == (
        "s1",
        "/p",
        "claude-opus-5-5",
        "claude-code",
    )
    assert context.usage is not None
    assert (context.usage.used_tokens, context.usage.row) == (1123, 2)
    assert [item.id for item in context.items] == ["u1.0", "a1.0", "call:c1", "c1"]
    assert [item.position for item in context.items] == [(0, 0), (1, 0), (2, 0), (3, 0)]
    assert [item.kind for item in context.items] == ["original_query", "message", "tool_call", "tool_result"]


def test_blocks_are_the_rows_own_objects() -> None:
    rows = Rows().user("u1", "q").answer("a1", call("c1"), "m1").rows
    assert READER.parse(rows).messages[1]["content"][0] is rows[1]["message"]["content"][0]


def test_results_written_between_the_rows_of_one_answer_come_after_it() -> None:
    rows = (
        Rows()
        .user("u1", "q")
        .answer("a1", call("c1"), "m1")
        .told("u2", "c1")
        .answer("a2", call("c2"), "m1", under="a1")
    )
    rows.told("u3", "c2", under="a2").answer("a3", text("done"), "m2")
    context = READER.parse(rows.rows)
    assert [len(message["content"]) for message in context.messages[1:]] == [2, 2, 1]
    assert check_messages(context.messages, "claude-code") == []
    assert {item.id: item.position[0] for item in context.items}["c1"] == 2


def test_bookkeeping_sidechains_and_notes_of_the_host_are_skipped() -> None:
    rows = Rows().add("progress", "p1").user("u0", "Caveat: local commands", isMeta=True).user("u1", "q")
    rows.user("x1", "sub-agent's task", isSidechain=True, agentId="a9", under="u1").answer(
        "a1", text("ok"), "m1", under="u1"
    )
    rows.add("attachment", "t1", attachment={"type": "date"})
    context = READER.parse([{"type": "summary", "summary": "A title", "leafUuid": "a1"}, *rows.rows])
    assert [item.id for item in context.items] == ["u1.0", "a1.0"]


def test_a_command_of_the_user_is_not_the_original_query() -> None:
    rows = (
        Rows()
        .user("u1", "<command-name>/clear</command-name>")
        .user("u2", "fix the bug")
        .answer("a1", text("ok"), "m1")
    )
    assert [item.kind for item in READER.parse(rows.rows).items] == ["message", "original_query", "message"]


def test_a_sub_agents_own_file_is_a_session_of_its_own() -> None:
    rows = (
        Rows()
        .user("u1", "task", isSidechain=True, agentId="a9")
        .answer("a1", text("ok"), "m1", isSidechain=True, agentId="a9")
    )
    context = READER.parse(rows.rows)
    assert context.session_id == "s1.a9"
    assert len(context.items) == 2


def boundary(rows: Rows, uuid: str, **metadata: Any) -> Rows:
    return rows.add(
        "system", uuid, under="", subtype="compact_boundary", compactMetadata={"trigger": "auto", **metadata}
    )


def test_what_stood_before_a_compaction_is_gone() -> None:
    rows = boundary(Rows().user("u1", "old").answer("a1", text("old"), "m1"), "b1")
    rows.user("u2", "This session is being continued", isCompactSummary=True).answer("a2", text("on"), "m2")
    context = READER.parse(rows.rows)
    assert context.gone_why == "host_compaction"
    assert [item.id for item in context.items] == ["u2.0", "a2.0"]
    assert context.items[0].kind == "original_query"


def test_rounds_that_the_host_preserved_follow_its_summary() -> None:
    rows = Rows().user("u1", "old").answer("a1", call("c1"), "m1").told("u2", "c1").answer("a2", text("last"), "m2")
    boundary(rows, "b1", preservedMessages={"anchorUuid": "u3", "uuids": ["a1", "u2", "a2"]})
    rows.user("u3", "Summary", isCompactSummary=True).user("u4", "go on", under="a2")
    context = READER.parse(rows.rows)
    assert [item.id for item in context.items] == ["u3.0", "call:c1", "c1", "a2.0", "u4.0"]


def test_an_old_client_writes_a_summary_without_a_boundary() -> None:
    rows = Rows().user("u1", "old").user("u2", "Summary", isCompactSummary=True, under="").user("u3", "go on")
    context = READER.parse(rows.rows)
    assert context.gone_why == "host_compaction"
    assert [item.id for item in context.items] == ["u2.0", "u3.0"]


def test_after_a_rewind_only_the_newest_branch_counts() -> None:
    rows = (
        Rows().user("u1", "q").answer("a1", text("one"), "m1").user("u2", "wrong way").answer("a2", text("two"), "m2")
    )
    rows.user("u3", "right way", under="a1").answer("a3", text("three"), "m3")
    assert [item.id for item in READER.parse(rows.rows).items] == ["u1.0", "a1.0", "u3.0", "a3.0"]


def test_parallel_results_that_hang_beside_the_branch_count() -> None:
    rows = Rows().user("u1", "q").answer("a1", call("c1"), "m1").answer("a2", call("c2"), "m1")
    rows.told("u2", "c1", under="a1").told("u3", "c2", under="a2").answer("a3", text("done"), "m2", under="u3")
    assert [item.id for item in READER.parse(rows.rows).items] == ["u1.0", "call:c1", "call:c2", "c1", "c2", "a3.0"]


def test_answers_without_a_message_id_keep_their_parallel_results() -> None:
    rows = Rows().user("u1", "q").answer("a1", call("c1"), "").answer("a2", call("c2"), "")
    rows.told("u2", "c1", under="a1").told("u3", "c2", under="a2")
    assert {item.id for item in READER.parse(rows.rows).items} == {"u1.0", "call:c1", "call:c2", "c1", "c2"}


def test_rows_without_uuids_are_read_in_their_order() -> None:
    rows = [{"type": "user", "message": {"role": "user", "content": words}} for words in ("q", "more")]
    assert [item.content for item in READER.parse(rows).items] == ["q", "more"]


def test_rows_with_a_missing_parent_all_count() -> None:
    rows = (
        Rows()
        .user("u1", "q")
        .answer("a1", text("one"), "m1")
        .user("u2", "more", under="lost")
        .answer("a2", text("x"), "m2")
    )
    assert len(READER.parse(rows.rows).items) == 4


def test_a_row_that_stands_twice_counts_once() -> None:
    rows = Rows().user("u1", "q").answer("a1", call("c1"), "m1").told("u2", "c1").rows
    assert [item.id for item in READER.parse([*rows, rows[2]]).items] == ["u1.0", "call:c1", "c1"]


@pytest.mark.parametrize(
    "usage",
    [
        None,
        {},
        {"input_tokens": None, "output_tokens": 5},
        {"input_tokens": 5, "cache_read_input_tokens": None, "output_tokens": 5},
        {"input_tokens": "5", "output_tokens": 5},
        {"input_tokens": 0, "output_tokens": 0},
    ],
)
def test_usage_that_says_nothing_is_unknown_and_never_zero(usage: Any) -> None:
    assert READER.parse(Rows().user("u1", "q").answer("a1", text("x"), "m1", usage=usage).rows).usage is None


def test_an_answer_without_numbers_leaves_the_newest_known_ones_with_their_row() -> None:
    rows = (
        Rows()
        .user("u1", "q")
        .answer("a1", text("x"), "m1")
        .answer("a2", text("API Error"), "m2", usage={"input_tokens": 0})
    )
    usage = READER.parse(rows.rows).usage
    assert usage is not None
    assert (usage.used_tokens, usage.row) == (1123, 1)


def test_rendering_gives_a_message_list_with_one_content_changed() -> None:
    rows = Rows().user("u1", "q").answer("a1", call("c1"), "m1").told("u2", "c1", [text("long")]).rows
    context = READER.parse(rows)
    rendered = READER.render(context, {"c1": "digest"})
    assert rendered[0] == {"role": "user", "content": "q"}
    assert rendered[1] is context.messages[1]
    assert rendered[2]["content"][0]["content"] == [text("digest")]
    assert rows[2]["message"]["content"][0]["content"] == [text("long")]


def test_a_transcript_of_bookkeeping_alone_has_no_items() -> None:
    assert READER.parse([{"type": "summary", "summary": "t", "leafUuid": "x"}]).messages == ()


def test_a_message_list_is_no_transcript() -> None:
    assert not READER.fits([{"role": "user", "content": "q"}])
    assert not READER.fits([{"type": "reasoning", "id": "r"}])
    assert not READER.fits({"messages": []})
    assert READER.fits(
        [{"type": "mode", "sessionId": "s"}, {"type": "user", "message": {"role": "user", "content": "q"}}]
    )


@pytest.mark.parametrize(
    ("rows", "where"),
    [
        ({"type": "user"}, "$"),
        (["x"], "rows[0]"),
        ([{"type": "user", "message": "q"}], "rows[0].message"),
        ([{"type": "user", "message": {"content": 5}}], "rows[0].message.content"),
        ([{"type": "user", "message": {"content": [5]}}], "rows[0].message.content[0]"),
    ],
)
def test_a_wrong_shape_is_named_by_its_row(rows: Any, where: str) -> None:
    with pytest.raises(FileWrongShape) as caught:
        READER.parse(rows)
    assert caught.value.where == where


def test_what_a_preserved_round_reported_is_no_longer_the_contexts_size() -> None:
    """Its numbers are from before the compaction."""
    rows = Rows().user("u1", "old").answer("a1", call("c1"), "m1").told("u2", "c1")
    boundary(rows, "b1", preservedMessages={"anchorUuid": "u3", "uuids": ["a1", "u2"]})
    rows.user("u3", "Summary", isCompactSummary=True)
    context = READER.parse(rows.rows)
    assert "c1" in [item.id for item in context.items] and context.usage is None
    assert READER.parse(rows.answer("a3", text("on"), "m3", under="u2").rows).usage is not None
