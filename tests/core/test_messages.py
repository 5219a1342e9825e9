"""The main job on message lists: shorter, valid, byte-stable, and undone exactly."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.errors import InvalidArgument, PassInProgress, SessionUnknown, WindowUnknown
from palimpsest_mcp.hosts.validity import check_messages
from palimpsest_mcp.models.events import SessionKey, SummarizationEvent

pytestmark = pytest.mark.anyio
Messages = list[dict[str, Any]]
MakeSession = Callable[..., Messages]


def results_of(messages: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        block["tool_use_id"]: block["content"]
        for message in messages
        if isinstance(message["content"], list)
        for block in cast("Messages", message["content"])
        if block["type"] == "tool_result"
    }


def everything_under(folder: Path) -> str:
    return "".join(file.read_text(errors="replace") for file in folder.rglob("*") if file.is_file())


async def test_older_results_become_digests_and_everything_else_is_the_same_object(
    p: Palimpsest, session: MakeSession
) -> None:
    messages = session()
    before = copy.deepcopy(messages)
    done = await p.compact_messages(messages, session_id="s1", target=0.4, force=True)
    assert done.report.status == "compacted"
    assert messages == before, "the input is never changed"
    assert check_messages(done.messages, "anthropic") == []
    changed = [call for call, content in results_of(done.messages).items() if content != results_of(messages)[call]]
    assert changed == sorted(changed) and changed[0] == "toolu_00_0000", "oldest first"
    for old, new in zip(messages, done.messages, strict=True):
        if old["role"] == "assistant" or isinstance(old["content"], str):
            assert new is old
    assert done.report.after.used.value is not None and done.report.before.used.value is not None
    assert done.report.after.used.value <= 0.4 * done.report.before.used.value
    newest = list(results_of(messages))[-3:]
    assert all(results_of(done.messages)[call] == results_of(messages)[call] for call in newest)


async def test_every_original_comes_back_byte_for_byte_in_another_process_view(
    tmp_path: Path, session: MakeSession
) -> None:
    messages = session()
    originals = results_of(messages)
    async with Palimpsest.open(tmp_path) as p:
        done = await p.compact_messages(messages, session_id="s1", target=0.3, force=True)
    async with Palimpsest.open(tmp_path) as other:
        batches = await other.list_offloaded("s1")
        assert [batch.batch_id for batch in batches] == [batch.batch_id for batch in done.report.batches]
        for batch in batches:
            assert batch.restorable and batch.state == "replaced"
            for item_id in batch.item_ids:
                one = await other.restore("s1", batch.batch_id, item_id)
                assert one.text == originals[item_id]
                assert one.data == originals[item_id].encode()
        assert await other.expand_messages(done.messages, session_id="s1") == messages
        assert await other.restore_all("s1") == messages
        assert (await other.verify()).findings == ()


async def test_compacting_again_leaves_what_was_compacted_byte_identical(tmp_path: Path, session: MakeSession) -> None:
    messages = session(20)
    async with Palimpsest.open(tmp_path) as p:
        first = await p.compact_messages(messages[:33], session_id="s1", target=0.5, force=True)
    async with Palimpsest.open(tmp_path) as p:
        from_compacted = await p.compact_messages(
            [*first.messages, *messages[33:]], session_id="s1", target=0.3, force=True
        )
        from_originals = await p.compact_messages(messages, session_id="s1", target=0.3, force=True)
    for old, new in zip(first.messages, from_compacted.messages, strict=False):
        if old not in messages:
            assert new == old
    assert from_compacted.messages == from_originals.messages
    assert from_originals.report.batches == ()


async def test_a_grown_session_is_restored_whole_after_two_passes(p: Palimpsest, session: MakeSession) -> None:
    messages = session(24)
    first = await p.compact_messages(messages[:29], session_id="s1", target=0.4, force=True)
    second = await p.compact_messages([*first.messages, *messages[29:]], session_id="s1", target=0.3, force=True)
    assert await p.expand_messages(second.messages, session_id="s1") == messages
    assert await p.restore_all("s1") == messages


async def test_a_dry_run_plans_and_changes_nothing(p: Palimpsest, session: MakeSession) -> None:
    messages = session()
    done = await p.compact_messages(messages, session_id="s1", target=0.4, force=True, dry_run=True)
    assert done.report.status == "planned" and done.report.plan_id and done.report.slots
    assert all(new is old for old, new in zip(messages, done.messages, strict=True))
    with pytest.raises(SessionUnknown):
        await p.list_offloaded("s1")


async def test_openai_lists_come_back_as_openai_lists(p: Palimpsest) -> None:
    messages: Messages = [{"role": "system", "content": "You fix things."}, {"role": "user", "content": "Fix it."}]
    for n in range(14):
        call = {"id": f"call_{n}", "type": "function", "function": {"name": "shell", "arguments": '{"cmd": "make"}'}}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        text = "\n".join(
            f"target {n}-{line}: built in {line}.{n} s, object id obj{n:03d}x{line:03d}" for line in range(70)
        )
        messages.append({"role": "tool", "tool_call_id": f"call_{n}", "content": text})
    done = await p.compact_messages(messages, session_id="o1", target=0.4, force=True)
    assert done.report.status == "compacted"
    assert check_messages(done.messages, "openai") == []
    assert [m["role"] for m in done.messages] == [m["role"] for m in messages]
    assert await p.expand_messages(done.messages, session_id="o1") == messages


async def test_images_are_named_in_the_digest_and_restored_as_image_blocks(p: Palimpsest, session: MakeSession) -> None:
    messages = session()
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo=" * 40}}
    content = [{"type": "text", "text": "the screen " * 300}, picture]
    messages[2]["content"][0]["content"] = content
    done = await p.compact_messages(messages, session_id="s1", target=0.3, force=True)
    part = results_of(done.messages)["toolu_00_0000"]
    assert part != content and "image/png" in json.dumps(part)
    batch = (await p.list_offloaded("s1"))[0]
    one = await p.restore("s1", batch.batch_id, "toolu_00_0000")
    assert one.blocks == content
    assert await p.expand_messages(done.messages, session_id="s1") == messages


async def test_a_short_session_is_left_alone_unless_forced(p: Palimpsest, session: MakeSession) -> None:
    messages = session(6)
    done = await p.compact_messages(messages, session_id="s1", window_tokens=60_000, target=0.2)
    assert done.report.status == "nothing_to_do" and done.report.reason
    assert done.messages == messages
    forced = await p.compact_messages(messages, session_id="s1", window_tokens=60_000, target=0.1, force=True)
    assert forced.report.batches


async def test_an_unknown_window_names_what_to_give(p: Palimpsest, session: MakeSession) -> None:
    with pytest.raises(WindowUnknown, match="window_tokens"):
        await p.compact_messages(session(), session_id="s1")


async def test_an_unknown_strategy_is_refused_by_naming_those_there_are(p: Palimpsest, session: MakeSession) -> None:
    with pytest.raises(InvalidArgument) as refused:
        await p.compact_messages(session(), force=True, strategy="magic")
    assert "sliding_window" in refused.value.next
    with pytest.raises(SessionUnknown):
        await p.expand_messages(session(), session_id="nobody")


async def test_a_second_pass_at_the_same_time_is_told_so_and_writes_nothing(
    p: Palimpsest, session: MakeSession
) -> None:
    messages = session()
    await p.compact_messages(messages, session_id="s1", window_tokens=10**6)
    key = SessionKey((await p.session("s1")).session_id)
    before = (await p.store.ledger.read(key)).events
    async with p.store.ledger.pass_lock(key):
        for others in (messages, session(7, seed=4)):
            with pytest.raises(PassInProgress):
                await p.compact_messages(others, session_id="s1", target=0.4, force=True)
    assert (await p.store.ledger.read(key)).events == before
    done = await p.compact_messages(messages, session_id="s1", target=0.4, force=True)
    assert done.report.status == "compacted"


async def test_listeners_hear_of_each_committed_pass_once(p: Palimpsest, session: MakeSession) -> None:
    heard: list[SummarizationEvent] = []
    end = p.subscribe(heard.append)
    done = await p.compact_messages(session(), session_id="s1", target=0.4, force=True)
    await p.compact_messages(done.messages, session_id="s1", window_tokens=10**6, dry_run=True)
    end()
    [event] = heard
    assert event.batch_ids == tuple(batch.batch_id for batch in done.report.batches)
    assert {item.id for item in event.replaced} == {i for batch in done.report.batches for i in batch.item_ids}
    assert not {item.id for item in event.replaced} & set(event.kept)


async def test_pinned_items_stay_whole(p: Palimpsest, session: MakeSession) -> None:
    messages = session()
    await p.compact_messages(messages, session_id="s1", window_tokens=10**6)
    await p.show_context("s1", pin=["toolu_00_0001"])
    done = await p.compact_messages(messages, session_id="s1", target=0.3, force=True)
    assert results_of(done.messages)["toolu_00_0001"] == results_of(messages)["toolu_00_0001"]
    shown = await p.show_context("s1", unpin=["toolu_00_0001"])
    row = next(row for row in shown.items if row.item_id == "toolu_00_0001")
    assert not row.pinned and row.state == "live"


async def test_pointers_take_the_place_of_digests_when_the_policy_says_so(tmp_path: Path, session: MakeSession) -> None:
    (tmp_path / "config.toml").write_text("[policy]\nprefer_compact_over_drop = false\n")
    async with Palimpsest.open(tmp_path) as p:
        messages = session()
        done = await p.compact_messages(messages, session_id="s1", target=0.4, force=True)
        assert {batch.mode for batch in done.report.batches} == {"pointer"}
        assert await p.expand_messages(done.messages, session_id="s1") == messages


async def test_a_reinstated_batch_stands_whole_again(p: Palimpsest, session: MakeSession) -> None:
    messages = session()
    done = await p.compact_messages(messages, session_id="s1", target=0.4, force=True)
    first = done.report.batches[0]
    await p.reinstate("s1", first.batch_id)
    again = await p.compact_messages(messages, session_id="s1", window_tokens=10**6, dry_run=True)
    for call in first.item_ids:
        assert results_of(again.messages)[call] == results_of(messages)[call]
    states = {batch.batch_id: batch.state for batch in await p.list_offloaded("s1")}
    assert states[first.batch_id] == "reinstated"


async def test_a_masked_store_gives_the_masked_text_back(tmp_path: Path, session: MakeSession) -> None:
    (tmp_path / "config.toml").write_text("redact_archive = true\n")
    messages = session()
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    body = messages[2]["content"][0]["content"]
    messages[2]["content"][0]["content"] = f"{body}\nexport GITHUB_TOKEN={secret}\n"
    async with Palimpsest.open(tmp_path) as p:
        done = await p.compact_messages(messages, session_id="s1", target=0.4, force=True)
        one = await p.restore("s1", done.report.batches[0].batch_id, "toolu_00_0000")
        assert secret not in one.text and "[redacted:" in one.text
    assert secret not in everything_under(tmp_path)


@pytest.mark.long
async def test_an_endless_session_stays_possible_by_digests_of_level_two(p: Palimpsest, session: MakeSession) -> None:
    messages = session(72, lines=12)
    window = 16_000
    shown: Messages = []
    for end in range(25, len(messages), 24):
        grown = [*shown, *messages[len(shown) : end]]
        done = await p.compact_messages(grown, session_id="s1", window_tokens=window, target=0.35, force=True)
        shown = done.messages
    batches = await p.list_offloaded("s1")
    second = [batch for batch in batches if batch.level == 2]
    assert second and {batch.state for batch in batches} == {"replaced", "superseded"}
    assert check_messages(shown, "anthropic") == []
    assert await p.expand_messages(shown, session_id="s1") == messages[: len(shown)]
    oldest = next(batch for batch in batches if batch.state == "superseded")
    one = await p.restore("s1", oldest.batch_id, oldest.item_ids[0])
    assert one.text == results_of(messages)[oldest.item_ids[0]]
    assert (await p.verify()).ok


@pytest.mark.long
async def test_a_session_of_nothing_but_digests_is_told_again_by_the_strategy_for_that(
    p: Palimpsest, session: MakeSession
) -> None:
    messages = session(30, lines=40)
    first = await p.compact_messages(messages, session_id="s1", target=0.3, force=True)
    again = await p.compact_messages(first.messages, session_id="s1", window_tokens=81_000, target=0.25, force=True)
    assert again.messages == first.messages and "strategy regenerative" in again.report.reason
    told = await p.compact_messages(
        first.messages, session_id="s1", window_tokens=81_000, target=0.25, strategy="regenerative", force=True
    )
    assert told.report.status == "compacted"
    assert check_messages(told.messages, "anthropic") == []
    assert await p.expand_messages(told.messages, session_id="s1") == messages
    assert (await p.verify()).ok


async def test_a_keep_last_under_the_floor_is_raised_and_said(p: Palimpsest, session: MakeSession) -> None:
    messages = session()
    done = await p.compact_messages(messages, session_id="s1", target=0.1, keep_last=1, force=True)
    assert any("raised to 3" in note for note in done.report.notes)
    newest = list(results_of(messages))[-3:]
    assert all(results_of(done.messages)[call] == results_of(messages)[call] for call in newest)


async def test_evidence_without_title_is_kept_as_a_plain_result_with_a_warning(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text('[policy]\nkind_by_tool = {run_channel = "evidence"}\n')
    messages: Messages = [{"role": "user", "content": "Look it up."}]
    for n in range(2):
        call = {"type": "tool_use", "id": f"c{n}", "name": "run_channel", "input": {"channel": "web"}}
        messages.append({"role": "assistant", "content": [call]})
        found = json.dumps([{"url": f"https://a.example/{n}", "text": "no title here"}])
        messages.append(
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"c{n}", "content": found}]}
        )
    async with Palimpsest.open(tmp_path) as p:
        done = await p.compact_messages(messages, session_id="s1", window_tokens=10**6, dry_run=True)
        assert any("plain tool result" in note and "2 times" in note for note in done.report.notes)


async def test_a_list_is_counted_with_the_tokenizer_of_the_model_that_the_caller_names(
    p: Palimpsest, session: MakeSession
) -> None:
    used = {
        model: (await p.compact_messages(session(), model=model, window_tokens=1_000_000)).report.before.used
        for model in ("gpt-5", "claude-sonnet-4-5", "")
    }
    exact, claude, unknown = (used[model].value or 0 for model in used)
    assert claude == pytest.approx(1.25 * exact, rel=0.01) and unknown == pytest.approx(1.55 * exact, rel=0.01)
    assert "o200k x 1)" in used["gpt-5"].source


async def test_what_only_the_list_tells_fills_the_window_for_whoever_asks_later(
    p: Palimpsest, session: MakeSession
) -> None:
    system = "Answer in one sentence. Name the file and the line. " * 150
    once = await p.compact_messages(session(), session_id="s", system=system, window_tokens=40_000)
    assert (await p.usage("s")).used == once.report.before.used
    assert once.report.before.used.value is not None
    bare = await p.compact_messages(session(), session_id="s", window_tokens=40_000)
    assert bare.report.before.used.value is not None
    assert once.report.before.used.value - bare.report.before.used.value > 1500  # the prompt, estimated
    assert (await p.usage("s")).used == bare.report.before.used  # a list that came without it holds none
    value: Any = {"messages": session(), "meta": {"model": "gpt-4o"}, "system": system}
    named = await p.compact_messages(value, session_id="t", window_tokens=40_000)
    later = await p.usage("t")
    assert (later.used, later.model) == (named.report.before.used, "gpt-4o")
