"""Compaction: in place by the module, and before and after the client's own."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from palimpsest_mcp.context.fold import Fold
from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.models.events import Applied, HostCompacted, PolicySet, SessionKey
from palimpsest_mcp.models.plans import Policy

from ...conftest import first_of
from .conftest import Open, log_of, long_session

pytestmark = pytest.mark.anyio
LIMIT = 10_000


async def test_older_results_become_digests_and_come_back_byte_for_byte(p: Palimpsest, client: Open) -> None:
    c = client()
    await long_session(c, 18, used=175_000)
    answer = await c.compact("auto")
    assert answer["apply"] and answer["status"] == "compacted" and answer["saved_tokens"] > 20_000
    assert set(answer["results"]) == {f"toolu_{n:03d}" for n in range(15)}
    for batch in await p.list_offloaded("main-session"):
        assert batch.reason == "token_budget_exceeded"  # the client is full; nobody forced it
        for item in batch.item_ids:
            restored = await p.restore("main-session", batch.batch_id, item)
            assert restored.text == log_of(int(item.removeprefix("toolu_")))


async def test_the_instructions_of_compact_keep_their_lines(p: Palimpsest, client: Open) -> None:
    c = client()
    await long_session(c, 18, used=175_000)
    answer = await c.compact("manual", instructions="keep every line about 10:07")
    assert answer["apply"] and answer["asked_for"].startswith('instructions "keep every line about 10:07"')
    assert answer["lines_kept"] == '15 of 15 with "10:07", 0 left out'
    assert all("10:07" in text or "07:00Z" in text for text in answer["results"].values())


async def test_a_pass_that_was_taken_back_is_put_back_in_the_running_client(p: Palimpsest, client: Open) -> None:
    c = client()
    await long_session(c, 18, used=20_000)
    c.apply((await c.compact("manual"))["results"])
    assert not json.loads(await c.hook("turn.complete", tokens=20_000))["compact"]
    await p.undo("main-session")
    assert json.loads(await c.hook("turn.complete", tokens=20_000))["compact"]
    answer = await c.compact("plugin")
    assert answer["apply"]
    c.apply(answer["results"])
    shown = {one["tool_use_id"]: one["text"] for row in c.rows for one in row["toolResults"]}
    assert all(shown[f"toolu_{n:03d}"] == log_of(n) for n in range(18))
    assert not json.loads(await c.hook("turn.complete", tokens=20_000))["compact"]


async def test_the_digests_in_the_transcript_are_known_as_ours(p: Palimpsest, client: Open) -> None:
    c = client()
    await long_session(c, 18, used=175_000)
    answer = await c.compact("auto")
    c.apply(answer["results"])
    await c.bash("toolu_next", "ls", "a.py", used=9_100)
    events = (await p.store.ledger.read(SessionKey("main-session"))).events
    assert {event.item_id for event in events if isinstance(event, Applied)} == set(answer["results"])
    view = await p.show_context("main-session")
    assert {one.item_id for one in view.items if one.state == "replaced"} == set(answer["results"])
    assert view.usage.used.value is not None and view.usage.used.value < 10_000


async def test_compacting_again_gives_the_stored_bytes_and_replaces_only_what_is_new(
    p: Palimpsest, client: Open
) -> None:
    c = client()
    await long_session(c, 18, used=175_000)
    first = await c.compact("auto")
    again = await c.compact("auto")
    assert again["results"] == first["results"] and again["batches"] == 0
    c.apply(first["results"])
    for n in range(18, 30):
        await c.bash(f"toolu_{n:03d}", f"./check.sh --step {n}", log_of(n), used=172_000)
    second = await c.compact("auto")
    assert second["apply"] and not set(second["results"]) & set(first["results"])
    shown = {one["tool_use_id"]: one["text"] for row in c.rows for one in row["toolResults"]}
    assert all(shown[name] == text for name, text in first["results"].items())


async def test_a_gain_too_small_leaves_a_full_context_to_the_client(p: Palimpsest, client: Open) -> None:
    """Else the client would ask again at its very next step."""
    c = client()
    await long_session(c, 18, used=175_000)
    answer: dict[str, Any] = {}
    for _ in range(6):
        answer = await c.compact("auto")
        if not answer["apply"]:
            break
        c.apply(answer["results"])
    assert not answer["apply"] and answer["results"] == {}
    assert answer["instructions"] == ""  # the client's PreCompact gets them
    assert "word for word" in await c.hook("PreCompact", trigger="auto")


async def test_a_result_that_only_the_client_has_is_recorded_first(p: Palimpsest, client: Open) -> None:
    c = client()
    await long_session(c, 18, used=175_000)
    c.rows.insert(
        -2,
        {
            "role": "user",
            "text": "",
            "toolUses": [],
            "toolResults": [{"tool_use_id": "toolu_unseen", "text": log_of(77), "isError": False}],
        },
    )
    await c.compact("manual")
    items = {one.item_id for one in (await p.show_context("main-session")).items}
    assert "toolu_unseen" in items


@pytest.mark.parametrize("told_by_hooks", first_of([True, False]))
async def test_parallel_results_whose_rows_come_late_may_leave_all_the_same(
    p: Palimpsest, client: Open, told_by_hooks: bool
) -> None:
    c = client()
    c.say("Why does the nightly job fail?")
    names = [f"toolu_{n:03d}" for n in range(6)]
    c.answer("", *((name, "Bash", {"command": f"./check.sh --step {name}"}) for name in names), used=9_000)
    for n, name in enumerate(names):
        said = json.dumps({"stdout": log_of(n, lines=120), "stderr": "", "interrupted": False, "isImage": False})
        if told_by_hooks:
            await c.hook("PostToolUse", tool_name="Bash", tool_use_id=name, tool_input="{}", tool_response=said)
        one = {"tool_use_id": name, "text": log_of(n, lines=120), "isError": False}
        c.rows.append({"role": "user", "text": "", "toolUses": [], "toolResults": [one]})
    answer = await c.compact("auto")
    assert answer["apply"] and set(answer["results"]) == set(names[:3])


async def test_without_a_transcript_the_clients_own_list_is_compacted(p: Palimpsest, client: Open) -> None:
    c = client()
    await long_session(c, 18, used=175_000)
    said = await p.host_event("session.compact", {"session_id": "other", "trigger": "manual", "messages": c.rows})
    answer = json.loads(said)
    assert answer["apply"] and 12 <= len(answer["results"]) <= 15, (
        "all but the newest three, as far as the target wants"
    )
    (batch,) = [one.batch_id for one in await p.list_offloaded("other") if "toolu_000" in one.item_ids]
    assert (await p.restore("other", batch, "toolu_000")).text == log_of(0)


async def test_the_module_need_not_know_the_session(p: Palimpsest, client: Open) -> None:
    c = client()
    await long_session(c, 18, used=175_000)
    answer = json.loads(await p.host_event("session.compact", {"trigger": "auto", "messages": c.rows}))
    assert answer["apply"] and 12 <= len(answer["results"]) <= 15, (
        "all but the newest three, as far as the target wants"
    )


async def test_a_picture_leaves_as_a_pointer_since_the_module_cannot_carry_it(p: Palimpsest, client: Open) -> None:
    c = client()
    await long_session(c, 18, used=175_000)
    c.answer("", ("toolu_png", "Read", {"file_path": "/work/a.png"}), used=175_000)
    picture = [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGVsbG8="}}]
    block = {"type": "tool_result", "tool_use_id": "toolu_png", "content": picture}
    c.write(type="user", message={"role": "user", "content": [block]})
    one = {"tool_use_id": "toolu_png", "text": "", "isError": False}
    c.rows.append({"role": "user", "text": "", "toolUses": [], "toolResults": [one]})
    answer = await c.compact("auto")
    assert re.fullmatch(
        r"\[notes only, .* · all of it: restore_batch \S+ offload_\d+\]\n\[item 1 Read .*\]",
        answer["results"]["toolu_png"],
    )
    (batch,) = [one for one in await p.list_offloaded("main-session") if "toolu_png" in one.item_ids]
    assert (await p.restore("main-session", batch.batch_id, "toolu_png")).content == picture


async def test_after_a_compaction_of_ours_the_next_start_names_what_can_be_restored(
    p: Palimpsest, client: Open
) -> None:
    c = client()
    await long_session(c, 18, used=175_000)
    await c.compact("auto")
    said = await c.context_of("SessionStart", source="compact")
    assert " · Bash ./check.sh --step 0" in said and "OPS-77" in said and len(said) < LIMIT


async def test_a_turns_end_asks_for_a_compaction_at_our_own_threshold(p: Palimpsest, client: Open) -> None:
    c = client()
    await long_session(c, 18, used=100_000)
    assert json.loads(await c.hook("turn.complete", tokens="200000", window="1000000"))["compact"] is False
    assert json.loads(await c.hook("turn.complete", tokens="800000", window="1000000"))["compact"] is True


async def test_with_auto_off_nothing_runs_on_its_own(
    tmp_path: Path, client: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PALIMPSEST_AUTO", "off")
    async with Palimpsest.open(tmp_path / "quiet", attached="claude-code") as p:
        c = client()
        c.p = p
        await long_session(c, 18, used=175_000)
        assert (await c.compact("auto"))["status"] == "off"
        assert json.loads(await c.hook("turn.complete", tokens="900000"))["compact"] is False
        for event in ("PreCompact", "UserPromptSubmit", "PostToolUseFailure", "SessionStart", "SessionEnd"):
            assert await c.hook(event, source="compact") == ""
        assert await p.sessions() == ()
        filled = await c.hook("PreToolUse", tool_name="mcp__p__show_context", tool_input={"session_id": "?"})
        assert json.loads(filled)["hookSpecificOutput"]["updatedInput"] == {"session_id": "main-session"}


# The client's own compaction


async def test_everything_is_archived_before_the_client_compacts(p: Palimpsest, client: Open) -> None:
    c = client()
    await long_session(c, 7)
    c.answer("The cause is **E4003** in part-3-7.")
    await c.hook("PreCompact", trigger="auto", custom_instructions="")
    kept = {item: batch.batch_id for batch in await p.list_offloaded("main-session") for item in batch.item_ids}
    for n in range(7):
        name = f"toolu_{n:03d}"
        assert (await p.restore("main-session", kept[name], name)).text == log_of(n)
    texts = [(await p.restore("main-session", kept[name], name)).text for name in kept if "." in name]
    assert texts == [
        "Why does the nightly job fail? Keep ticket OPS-77 in mind.",
        "The cause is **E4003** in part-3-7.",
    ]
    assert all(not batch.item_ids[3:] or "." in batch.item_ids[0] for batch in await p.list_offloaded("main-session"))


async def test_archiving_again_writes_no_second_copy(p: Palimpsest, client: Open) -> None:
    c = client()
    await long_session(c, 7)
    await c.hook("PreCompact", trigger="auto")
    before = await p.list_offloaded("main-session")
    await c.hook("PreCompact", trigger="auto")
    assert await p.list_offloaded("main-session") == before


async def test_instructions_are_plain_text_with_the_specifics_to_keep(p: Palimpsest, client: Open) -> None:
    c = client()
    await long_session(c, 7)
    said = await c.hook("PreCompact", trigger="manual")
    assert not said.startswith(("{", "[")) and "OPS-77" in said and "E4006" in said
    handle = (await p.session("main-session")).handle
    assert f"restore_batch {handle}" in said and len(said) <= 6_000


async def test_what_is_archived_before_a_compaction_is_whole_by_verify(p: Palimpsest, client: Open) -> None:
    c = client()
    await long_session(c, 7)
    await c.hook("PreCompact", trigger="auto")
    report = await p.verify()
    assert report.ok and report.findings == () and report.records > 2


@pytest.mark.long
async def test_the_catalogue_after_a_compaction_stays_under_the_clients_limit(p: Palimpsest, client: Open) -> None:
    c = client()
    c.say("Start.")
    for n in range(300):
        c.answer("", (f"toolu_{n:03d}", "Bash", {"command": f"./run {n} " + "x" * 300}))
        c.result(f"toolu_{n:03d}", f"result {n} " * 90)
    await c.hook("PreCompact", trigger="auto")
    said = await c.context_of("SessionStart", source="compact")
    assert 2_000 < len(said.encode("utf-16-le")) // 2 < LIMIT
    assert "earlier batches: list_offloaded" in said and "Bash ./run 299" in said


async def test_what_the_clients_summary_lost_is_named_once_with_its_batches(p: Palimpsest, client: Open) -> None:
    c = client()
    await long_session(c, 6)
    await c.hook("PreCompact", trigger="auto")
    summary = "<analysis>…</analysis><summary>OPS-77: the nightly job fails with E4003 (part-3-7).</summary>"
    told = await c.hook("PostCompact", trigger="auto", compact_summary=summary)
    handle = (await p.session("main-session")).handle
    assert told == f"3 batches of originals are kept: palimpsest-mcp list {handle}"
    c.summarised(summary)
    said = await c.context_of("UserPromptSubmit", prompt="go on")
    handle = (await p.session("main-session")).handle
    assert f"restore_batch {handle} offload_" in said and "E4005" in said and "Bash ./check.sh --step 5" in said
    assert "E4003" not in said
    assert await c.context_of("PostToolUseFailure") == "" and await c.context_of("UserPromptSubmit", prompt="on") == ""


async def test_the_clients_summary_and_its_losses_are_kept_with_exact_counts(p: Palimpsest, client: Open) -> None:
    c = client()
    await c.bash("toolu_1", "ls", "wrote /srv/a/one.bin with E4003\nwrote /srv/a/two.bin with E4004")
    await c.hook("PreCompact", trigger="auto")
    await c.hook("PostCompact", trigger="manual", compact_summary="Only /srv/a/one.bin and E4004 matter.")
    events = (await p.store.ledger.read(SessionKey("main-session"))).events
    (kept,) = [event for event in events if isinstance(event, HostCompacted)]
    assert (kept.trigger, kept.summary) == ("manual", "Only /srv/a/one.bin and E4004 matter.")
    assert (kept.total, kept.lost) == (4, 2) and set(kept.examples) == {"/srv/a/two.bin", "E4003"}
    assert kept.probes is not None


async def test_a_loss_is_told_by_another_process_too(p: Palimpsest, client: Open, tmp_path: Path) -> None:
    c = client()
    await long_session(c, 6)
    await c.hook("PreCompact", trigger="auto")
    await c.hook("PostCompact", trigger="auto", compact_summary="It failed.")
    async with Palimpsest.open(tmp_path / "home", attached="claude-code") as other:
        c.p = other
        assert "restore_batch" in await c.context_of("PostToolUseFailure")
    c.p = p
    assert await c.context_of("PostToolUseFailure") == ""


@pytest.mark.parametrize("event", ["UserPromptSubmit", "PostToolUse"])
async def test_a_loss_that_could_not_be_said_is_said_later(p: Palimpsest, client: Open, event: str) -> None:
    c = client()
    await long_session(c, 6)
    await c.hook("PreCompact", trigger="auto")
    await c.hook("PostCompact", trigger="auto", compact_summary="It failed.")
    key, ledger = SessionKey("main-session"), p.store.ledger
    rev = Fold((await ledger.read(key)).events).rev
    await ledger.decide(key, [PolicySet(policy={"name": 5})], after_rev=rev)
    if event == "PostToolUse":
        assert "restore_batch" not in await c.bash("toolu_a", "ls", "nothing")
    else:
        assert "restore_batch" not in await c.hook(event, prompt="on")
    await ledger.decide(key, [PolicySet(policy=msgspec.to_builtins(Policy(name="coding")))], after_rev=rev + 1)
    assert "restore_batch" in await c.context_of("PostToolUseFailure")


async def test_a_summary_that_lost_nothing_is_not_spoken_of(p: Palimpsest, client: Open) -> None:
    c = client()
    await c.bash("toolu_1", "ls", "wrote /srv/a/one.bin")
    await c.hook("PreCompact", trigger="auto")
    await c.hook("PostCompact", trigger="auto", compact_summary="It wrote /srv/a/one.bin.")
    assert await c.context_of("UserPromptSubmit", prompt="on") == ""


async def test_secrets_reach_neither_instructions_nor_catalogue_nor_losses(p: Palimpsest, client: Open) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2
    c = client()
    await c.bash(
        "toolu_1", f"curl -H 'Authorization: Bearer {secret[:36]}xyz9'", f"GITHUB_TOKEN={secret[:40]} in /srv/a.env"
    )
    said = [
        await c.hook("PreCompact", trigger="auto"),
        await c.context_of("SessionStart", source="compact"),
        await c.hook("PostCompact", trigger="auto", compact_summary="nothing"),
        await c.context_of("UserPromptSubmit", prompt="x"),
    ]
    assert "/srv/a.env" in said[3]
    assert not any(secret[:36] in text for text in said)
