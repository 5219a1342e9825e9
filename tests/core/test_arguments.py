"""Arguments of old calls: out of the context, in the archive, and back byte for byte."""

from __future__ import annotations

import asyncio
import copy
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.context.arguments import BEGIN
from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.hosts.validity import check_messages

from ..conftest import first_of

pytestmark = pytest.mark.anyio
Messages = list[dict[str, Any]]


def source(n: int, lines: int = 120) -> str:
    return f"class Importer{n}:\n" + "".join(
        f"    def step_{n}_{line}(self) -> int:\n        return {n * line}\n" for line in range(lines)
    )


def written(calls: int = 12, lines: int = 120) -> Messages:
    """A session that writes a file a turn; the results say no more than that it went well."""
    messages: Messages = [{"role": "user", "content": "Write the importers."}]
    for n in range(calls):
        args = {"file_path": f"/src/importer_{n}.py", "content": source(n, lines)}
        use = {"type": "tool_use", "id": f"toolu_{n}", "name": "Write", "input": args}
        result = {"type": "tool_result", "tool_use_id": f"toolu_{n}", "content": "File created successfully"}
        messages += [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
    return [*messages, {"role": "user", "content": "Go on."}]


def in_openai_form(messages: Messages) -> Messages:
    found: Messages = []
    for message in messages:
        content: Any = message["content"]
        block: Any = None if isinstance(content, str) else content[0]
        if block is None:
            found.append(message)
        elif block["type"] == "tool_use":
            function: dict[str, Any] = {"name": block["name"], "arguments": json.dumps(block["input"])}
            call: dict[str, Any] = {"id": block["id"], "type": "function", "function": function}
            found.append({"role": "assistant", "content": None, "tool_calls": [call]})
        else:
            found.append({"role": "tool", "tool_call_id": block["tool_use_id"], "content": block["content"]})
    return found


def in_responses_form(messages: Messages) -> Messages:
    found: Messages = []
    for message in in_openai_form(messages):
        if "tool_calls" in message:
            call = message["tool_calls"][0]
            found.append({"type": "function_call", "call_id": call["id"], **call["function"]})
        elif message["role"] == "tool":
            output = {"type": "function_call_output", "call_id": message["tool_call_id"], "output": message["content"]}
            found.append(output)
        else:
            found.append(message)
    return found


FORMS: dict[str, Callable[[Messages], Messages]] = {
    "anthropic": lambda m: m,
    "chat": in_openai_form,
    "responses": in_responses_form,
}


@pytest.mark.parametrize("form", first_of(sorted(FORMS)))
async def test_long_arguments_give_way_and_every_call_keeps_its_keys_id_and_result(p: Palimpsest, form: str) -> None:
    messages = FORMS[form](written())
    before = copy.deepcopy(messages)
    done = await p.compact_messages(messages, session_id="s1", target=0.3, force=True)
    assert messages == before
    assert done.report.status == "compacted"
    assert done.report.after.ratio is not None and done.report.after.ratio <= 0.3
    assert check_messages(done.messages, "anthropic" if form == "anthropic" else "openai") == []
    text = json.dumps(done.messages)
    assert "Importer11" in text and "step_11_60" in text, "the newest calls stay whole"
    assert "step_0_60" not in text and "/src/importer_0.py" in text
    assert text.count("toolu_0") == json.dumps(messages).count("toolu_0")


@pytest.mark.parametrize("form", first_of(sorted(FORMS)))
async def test_a_compacted_list_expands_to_what_it_was(p: Palimpsest, form: str) -> None:
    messages = FORMS[form](written())
    done = await p.compact_messages(messages, session_id="s1", target=0.3, force=True)
    assert json.dumps(await p.expand_messages(done.messages, session_id="s1")) == json.dumps(messages)
    assert json.dumps(await p.restore_all("s1")) == json.dumps(messages)


@pytest.mark.parametrize("form", first_of(sorted(FORMS)))
async def test_a_second_pass_over_the_shorter_list_changes_no_byte(p: Palimpsest, form: str) -> None:
    messages = FORMS[form](written())
    done = await p.compact_messages(messages, session_id="s1", target=0.3, force=True)
    tokens = done.report.before.used.value
    again = await p.compact_messages(done.messages, session_id="s1", target=0.3, window_tokens=tokens)
    assert json.dumps(again.messages) == json.dumps(done.messages)
    assert json.dumps(await p.restore_all("s1")) == json.dumps(messages)


async def test_the_longer_list_gets_the_same_notes_again(p: Palimpsest) -> None:
    messages = written()
    done = await p.compact_messages(messages, session_id="s1", target=0.3, force=True)
    longer = [*messages, {"role": "assistant", "content": "Done."}]
    again = await p.compact_messages(longer, session_id="s1", window_tokens=1_000_000)
    assert json.dumps(again.messages[: len(messages)]) == json.dumps(done.messages)


async def test_arguments_are_listed_found_and_restored_like_results(tmp_path: Path) -> None:
    async with Palimpsest.open(tmp_path) as p:
        await p.compact_messages(written(), session_id="s1", target=0.3, force=True)
    async with Palimpsest.open(tmp_path) as p:
        (first, *_) = await p.list_offloaded("s1")
        assert first.kinds == {"Write": first.kinds["Write"]} and first.restorable
        assert first.item_ids[0] == "call:toolu_0"
        one = await p.restore("s1", first.batch_id, "toolu_0")
        assert one.text == f"Write\nfile_path: /src/importer_0.py\ncontent:\n{source(0)}"
        assert json.loads(one.data)["input"]["content"] == source(0)
        (hit, *_) = await p.search_offloaded("step_0_77", session_id="s1")
        assert (hit.batch_id, hit.item_id) == (first.batch_id, "call:toolu_0")
        assert (await p.verify()).findings == ()


async def test_a_note_names_size_beginning_and_batch_and_the_summary_names_what_was_written(p: Palimpsest) -> None:
    done = await p.compact_messages(written(), session_id="s1", target=0.3, force=True)
    args = done.messages[1]["content"][0]["input"]
    assert args["file_path"] == "/src/importer_0.py"
    assert args["content"].startswith(BEGIN) and "\n" not in args["content"]
    assert "begins “class Importer0:”" in args["content"]
    assert f"restore_batch {done.handle} {done.report.batches[0].batch_id}" in args["content"]
    summary = await p.summary_markdown("s1")
    assert "importer_0.py" in summary and "Importer0" in summary


async def test_reinstated_arguments_stand_in_their_call_again(p: Palimpsest) -> None:
    messages = written()
    done = await p.compact_messages(messages, session_id="s1", target=0.3, force=True)
    await p.reinstate("s1", done.report.batches[0].batch_id)
    again = await p.compact_messages(messages, session_id="s1", window_tokens=1_000_000)
    assert again.messages[1] == messages[1]


async def test_a_secret_in_the_first_line_is_masked_in_the_note_and_whole_in_the_restore(p: Palimpsest) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    messages = written()
    messages[1]["content"][0]["input"]["content"] = f"TOKEN = '{secret}'\n" + source(0)
    done = await p.compact_messages(messages, session_id="s1", target=0.3, force=True)
    assert secret not in json.dumps(done.messages)
    batch = done.report.batches[0].batch_id
    assert secret in (await p.restore("s1", batch, "toolu_0")).text


async def test_short_arguments_and_calls_of_the_newest_results_stay(p: Palimpsest) -> None:
    done = await p.compact_messages(written(lines=4), session_id="s1", target=0.3, force=True)
    assert BEGIN not in json.dumps(done.messages)
    done = await p.compact_messages(written(4), session_id="s2", target=0.3, force=True)
    assert [BEGIN in json.dumps(message) for message in done.messages[1:8:2]] == [True, False, False, False]


async def test_a_purged_call_shows_nothing_of_its_arguments(p: Palimpsest) -> None:
    messages = written()
    done = await p.compact_messages(messages, session_id="s1", target=0.3, force=True)
    await p.purge(matching="Importer0", dry_run=False)
    again = await p.compact_messages(messages, session_id="s1", window_tokens=1_000_000)
    args = again.messages[1]["content"][0]["input"]
    assert args == {"file_path": "/src/importer_0.py", "content": "[purged]"}
    assert done.report.status == "compacted"


TEXTS = st.text(alphabet=st.sampled_from('ab\n"\\é\u2028 x🙂'), min_size=0, max_size=40)


@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=5, max_size=8), st.sampled_from(sorted(FORMS)))
def test_any_arguments_come_back_as_they_were(calls: list[tuple[str, str]], form: str) -> None:
    messages = written(0)[:1]
    for n, (old, new) in enumerate(calls):
        args = {"path": f"f{n}", "edits": [{"old": old * 80, "new": new * 90 + f" {n}"}], "n": n / 10}
        use = {"type": "tool_use", "id": f"t{n}", "name": "edit", "input": args}
        messages.append({"role": "assistant", "content": [use]})
        messages.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"t{n}", "content": "ok"}]})
    given_ = FORMS[form](messages)

    async def there_and_back() -> None:
        with tempfile.TemporaryDirectory() as home:
            async with Palimpsest.open(home) as p:
                done = await p.compact_messages(given_, session_id="s", target=0.2, force=True)
                expanded = await p.expand_messages(done.messages, session_id="s")
                assert json.dumps(expanded) == json.dumps(given_)

    asyncio.run(there_and_back())


async def test_shorter_arguments_leave_only_where_the_target_is_out_of_reach_without_them(tmp_path: Path) -> None:
    short, long = written(calls=40, lines=11), written(calls=40, lines=14)
    softer = "arguments of calls from 200 tokens on left, not from 400, toward the target"
    async with Palimpsest.open(tmp_path / "home") as p:
        without = await p.compact_messages(long, session_id="long", force=True, target=0.5)
        assert without.report.status == "compacted"
        assert softer not in without.report.notes
        only = await p.compact_messages(short, session_id="short", force=True, target=0.5)
        assert only.report.status == "compacted"
        assert softer in only.report.notes
        assert await p.expand_messages(only.messages, session_id="short") == short


async def test_arguments_of_a_call_that_never_got_a_result_leave_and_those_of_an_open_one_stay(tmp_path: Path) -> None:
    """Somebody stopped the agent; the client writes no result, and the user goes on."""
    messages = written()
    for n in (2, 4):
        use = {"type": "tool_use", "id": f"stopped_{n}", "name": "Write", "input": {"content": source(90 + n)}}
        messages[2 * n] = {"role": "user", "content": [*messages[2 * n]["content"], {"type": "text", "text": "Stop."}]}
        messages.insert(2 * n + 1, {"role": "assistant", "content": [use]})
        messages.insert(2 * n + 2, {"role": "user", "content": "No, go on."})
    last = {"type": "tool_use", "id": "open", "name": "Write", "input": {"content": source(99)}}
    messages += [{"role": "assistant", "content": [last]}]
    async with Palimpsest.open(tmp_path / "home") as p:
        done = await p.compact_messages(messages, session_id="s", force=True, target=0.3)
        calls: dict[str, Any] = {
            one["id"]: one["input"]
            for m in done.messages
            for one in m["content"]
            if isinstance(one, dict) and one["type"] == "tool_use"
        }
        assert calls["stopped_2"]["content"].startswith(BEGIN)
        assert calls["stopped_4"]["content"].startswith(BEGIN)
        assert calls["open"] == last["input"]
        assert await p.expand_messages(done.messages, session_id="s") == messages
