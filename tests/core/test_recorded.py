"""Sessions that a program records item by item, as over MCP."""

from __future__ import annotations

import base64
import errno
import json
import re
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from palimpsest_mcp.context.fold import Fold
from palimpsest_mcp.context.opened_fold import OpenedFold
from palimpsest_mcp.core import sessions
from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.errors import (
    InvalidArgument,
    InvalidItem,
    ItemUnknown,
    NotRestorable,
    SessionUnknown,
    StoreUnusable,
)
from palimpsest_mcp.models.views import ItemView
from palimpsest_mcp.store import DiskStore
from palimpsest_mcp.store.real_disk import RealDisk

pytestmark = pytest.mark.anyio
Raw = dict[str, Any]


def result(n: int, lines: int = 50) -> Raw:
    text = "\n".join(f"row {n}-{line}: account ACC{n:03d}{line:03d} has {line * 17 + n} EUR" for line in range(lines))
    return {"role": "tool", "tool_name": "query", "tool_use_id": f"call_{n}", "content": text}


def talk(count: int) -> list[Raw]:
    items: list[Raw] = [{"role": "user", "content": "Audit the accounts."}]
    for n in range(count):
        items.append({"role": "assistant", "kind": "tool_call", "tool_name": "query", "tool_use_id": f"call_{n}"})
        items.append(result(n))
    return items


def evidence(n: int, url: str, **more: Any) -> Raw:
    return {
        "kind": "evidence",
        "title": f"Finding {n}",
        "url": url,
        "content": f"Release 2.{n}.0 cut latency by {n}.5 % (issue #{n}01). " * 40,
        "source_channel": "web",
        **more,
    }


async def test_a_recorded_session_is_measured_compacted_and_restored(p: Palimpsest) -> None:
    written = await p.record_items("new", talk(14))
    assert written.handle.startswith("s") and len(written.item_ids) == 29
    usage = await p.check_context_ratio(written.handle, window_tokens=written.tokens + 1)
    assert usage.ratio is not None and usage.ratio > 0.9
    report = await p.compact_session(written.session_id, target=0.4)
    assert report.status == "compacted" and report.after.ratio is not None and report.after.ratio <= 0.4
    assert "unchanged" in report.how_to_apply
    one = await p.restore(written.handle, report.batches[0].batch_id, "call_0")
    assert one.text == result(0)["content"]


async def test_recording_a_named_item_again_changes_nothing(p: Palimpsest) -> None:
    first = await p.record_items("s", [result(1)])
    again = await p.record_items("s", [result(1)])
    assert again.item_ids == first.item_ids and again.tokens == 0
    changed = await p.record_items("s", [{**result(1), "content": "another"}])
    assert changed.item_ids == ("call_1#2",)


async def test_the_trigger_is_crossed_by_the_very_call_that_does_it(p: Palimpsest) -> None:
    await p.check_context_ratio("s", window_tokens=9_000)
    crossed = [(await p.record_items("s", [result(n)])).crossed_trigger for n in range(6)]
    assert crossed.count(True) == 1


async def test_auto_runs_the_pass_at_the_trigger(p: Palimpsest) -> None:
    await p.check_context_ratio("s", window_tokens=24_000)
    report = None
    for item in talk(16):
        report = (await p.record_items("s", [item], auto=True)).report or report
    assert report is not None and report.status == "compacted"


@pytest.mark.parametrize(
    ("item", "field"),
    [
        ({"role": "robot", "content": "x"}, "role"),
        ({"role": "user", "content": 7}, "content"),
        ({"role": "user", "content": {"base64": "%%"}}, "content"),
        ({"role": "user", "text": "x"}, "text"),
        ({"role": "user", "content": "x", "tokens": -1}, "tokens"),
        ({"role": "user", "content": "x", "args": "y"}, "args"),
        ({"kind": "evidence", "content": "x", "url": "https://a.example"}, "title"),
        ({"kind": "evidence", "content": "x", "title": "t"}, "url"),
        (evidence(1, "https://a.example", args={"channel": "github"}), "source_channel"),
        ("not an object", ""),
    ],
)
async def test_a_wrong_item_is_refused_by_field_and_nothing_is_written(p: Palimpsest, item: Any, field: str) -> None:
    await p.record_items("s", [result(0)])
    for name in ("s", "a new one"):
        with pytest.raises(InvalidItem) as refusal:
            await p.record_items(name, [result(1), item])
        assert (refusal.value.index, refusal.value.field) == (1, field)
        assert "tool_use_id" in refusal.value.next, "the error shows a correct example"
    assert len((await p.show_context("s")).items) == 1
    assert [one.session_id for one in await p.sessions()] == ["s"]


async def test_urls_of_evidence_enter_the_citation_index_once_and_keep_their_numbers(p: Palimpsest) -> None:
    await p.record_items("s", [evidence(1, "https://a.example/x"), evidence(2, "https://b.example/y")])
    await p.record_items("s", [evidence(3, "https://A.example/x/?utm_source=z"), evidence(4, "https://c.example")])
    shown = await p.show_context("s")
    assert shown.citations == ("[1] https://a.example/x", "[2] https://b.example/y", "[3] https://c.example")
    index = [row for row in shown.items if row.kind == "citation_index"]
    assert [row.protected for row in index] == ["never_kind"]


async def test_evidence_leaves_and_its_urls_still_resolve(p: Palimpsest) -> None:
    urls = [f"https://source{n}.example/report" for n in range(14)]
    await p.record_items("s", [{"role": "user", "content": "Which release was fastest?"}])
    await p.record_items("s", [evidence(n, url) for n, url in enumerate(urls)])
    report = await p.compact_session("s", force=True, target=0.3)
    assert report.batches
    shown = await p.show_context("s")
    assert [line.split(" ")[1] for line in shown.citations] == urls


async def test_where_an_items_size_is_unknown_its_zero_is_said_to_be_no_count(p: Palimpsest) -> None:
    sized = await p.record_items("s", [{"role": "tool", "title": "a big page", "tokens": 5_000}])
    unsized = await p.record_items("s", [{"role": "tool", "title": "another"}])
    assert not any("unknown" in warning for warning in sized.warnings)
    assert any("its size is unknown" in warning and "not restorable" in warning for warning in unsized.warnings)


async def test_an_item_without_content_is_counted_and_never_replaced(p: Palimpsest) -> None:
    written = await p.record_items("s", [{"role": "tool", "title": "a big page", "tokens": 5_000}, *talk(14)])
    assert any("not restorable" in warning for warning in written.warnings)
    report = await p.compact_session("s", force=True, target=0.2)
    assert written.item_ids[0] not in {item for batch in report.batches for item in batch.item_ids}


async def test_numbers_that_were_told_are_kept_for_the_session(p: Palimpsest) -> None:
    await p.record_items("s", talk(3))
    await p.check_context_ratio("s", used_tokens=70_000, window_tokens=100_000)
    usage = await p.check_context_ratio("s")
    assert (usage.ratio, usage.used.source, usage.zone) == (0.7, "argument", "compact")
    await p.record_items("s", [result(9)])
    later = await p.check_context_ratio("s")
    assert later.used.value is not None and later.used.value > 70_000
    assert later.used.source == "argument + estimate"


async def test_without_numbers_the_window_is_unknown_and_not_zero(p: Palimpsest) -> None:
    await p.record_items("s", talk(2))
    usage = await p.check_context_ratio("s")
    assert usage.window.value is None and usage.ratio is None and usage.zone == "unknown"


async def test_unknown_names_are_told_with_the_next_step(p: Palimpsest) -> None:
    with pytest.raises(SessionUnknown, match="record_items"):
        await p.check_context_ratio("nobody")
    with pytest.raises(InvalidArgument):
        await p.check_context_ratio("s", window_tokens=0)
    await p.record_items("s", talk(2))
    with pytest.raises(ItemUnknown):
        await p.show_context("s", pin=["nothing"])


async def test_a_restored_item_is_not_taken_again_at_once(p: Palimpsest) -> None:
    await p.record_items("s", talk(16))
    report = await p.compact_session("s", force=True, target=0.5)
    batch = report.batches[0].batch_id
    fetched = await p.restore("s", batch, "call_0")
    await p.record_items("s", [{"role": "tool", "tool_use_id": "fetch_1", "content": fetched.text}, *talk(20)[33:]])
    shown = await p.show_context("s")
    row = next(row for row in shown.items if row.item_id == "fetch_1")
    assert row.protected
    later: list[Raw] = [{"role": "assistant", "content": f"thought {n}"} for n in range(8)]
    await p.record_items("s", [*later, *talk(24)[41:]])
    again = await p.compact_session("s", force=True, target=0.2)
    assert "fetch_1" not in {item for one in again.batches for item in one.item_ids}, "never archived twice"
    (note,) = [note for note in again.notes if "fetched copy became a pointer" in note]
    before, after = (int(one.replace(",", "")) for one in re.findall(r"([\d,]+) tokens became ([\d,]+)", note)[0])
    assert before > after > 0


async def test_titles_alone_cannot_be_restored(p: Palimpsest) -> None:
    with pytest.raises((NotRestorable, SessionUnknown)):
        await p.restore_all("s")
    await p.record_items("s", talk(2))
    with pytest.raises(NotRestorable, match="batch by batch"):
        await p.restore_all("s")


async def test_search_finds_what_was_dropped_and_not_what_was_not(p: Palimpsest) -> None:
    await p.record_items("s", talk(16))
    await p.record_items("t", [{"role": "user", "content": "另一个会话"}])
    report = await p.compact_session("s", force=True, target=0.3)
    hits = await p.search_offloaded("ACC003007")
    assert [hit.item_id for hit in hits] == ["call_3"] and "ACC003007" in hits[0].snippet
    assert hits[0].batch_id in {batch.batch_id for batch in report.batches}
    assert await p.search_offloaded("ACC015007", session_id="s") == ()
    with pytest.raises(InvalidArgument):
        await p.search_offloaded("  ")


async def test_a_long_session_lets_the_folds_of_others_go_and_they_are_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "KEPT_ITEMS", 8)
    async with Palimpsest.open(tmp_path) as palimpsest:
        for name in ("one", "two"):
            await palimpsest.record_items(name, talk(2))
        kept = palimpsest._sessions._folds  # pyright: ignore[reportPrivateUsage]
        assert list(kept) == ["two"]
        assert len((await palimpsest.show_context("one")).items) == 5
        assert list(kept) == ["one"]


async def test_a_long_session_opens_at_its_checkpoint_and_answers_as_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "CHECKPOINT_EVENTS", 20)
    async with Palimpsest.open(tmp_path) as p:
        for n in range(8):
            await p.record_items("s", [{**one, "tool_use_id": f"call_{n}"} for one in talk(1)[1:]])
            await p.record_items("s", [{"role": "user", "content": f"Go on with {n}."}])
        await p.compact_session("s", force=True, target=0.5)
        for n in range(8, 20):
            await p.record_items("s", [{**one, "tool_use_id": f"call_{n}"} for one in talk(1)[1:]])
        before = await p.check_context_ratio("s", window_tokens=100_000)
        known = (await p.show_context("s")).items
    session = tmp_path / "session" / "s"
    assert (session / "checkpoint" / "about.json").is_file()
    read: list[Fold] = []
    load = OpenedFold.load

    def noted(fold: OpenedFold, whole: Fold | None = None) -> None:
        read.append(fold)
        load(fold, whole)

    monkeypatch.setattr(OpenedFold, "load", noted)
    async with Palimpsest.open(tmp_path) as p:
        assert await p.check_context_ratio("s") == before
        again = await p.record_items("s", [result(0)])
        assert again.item_ids == ("call_0",) and again.tokens == 0
        new = await p.record_items("s", [{"role": "user", "content": "And now?"}])
        assert new.tokens > 0
        assert read == []
    monkeypatch.undo()
    async with Palimpsest.open(tmp_path) as p:
        shown = (await p.show_context("s")).items
        assert [(one.item_id, one.tokens, one.state) for one in shown[: len(known)]] == [
            (one.item_id, one.tokens, one.state) for one in known
        ]
        assert (await p.verify()).findings == ()


@pytest.mark.parametrize("for_once", [True, False])
async def test_a_segment_that_the_disk_does_not_give_back_is_missed_behind_a_checkpoint_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, for_once: bool
) -> None:
    monkeypatch.setattr(sessions, "CHECKPOINT_EVENTS", 10)
    items: Sequence[ItemView] = ()
    for n in range(2):  # a segment each
        async with Palimpsest.open(tmp_path) as p:
            await p.record_items(
                "s", [{**one, "tool_use_id": f"call_{n}_{k}"} for k in range(8) for one in (result(k),)]
            )
            await p.show_context("s", pin=[f"call_{n}_0"])
            items = (await p.show_context("s")).items
    assert (tmp_path / "session" / "s" / "checkpoint" / "about.json").is_file()
    lost = sorted((tmp_path / "session" / "s" / "ledger").iterdir())[0]

    class Refusing(RealDisk):
        refused = 0

        def open(self, path: str) -> int:
            if path == str(lost) and not (for_once and self.refused):
                self.refused += 1
                raise OSError(errno.EIO, "it cannot be read")
            return super().open(path)

    disk = Refusing()
    async with Palimpsest.open(tmp_path, store=DiskStore(tmp_path, disk=disk)) as p:
        with pytest.raises(StoreUnusable):
            await p.check_context_ratio("s")
        if for_once:
            assert (await p.show_context("s")).items[: len(items)] == items
            assert await p.show_context("s", pin=["call_1_1"])
            return
        assert 0 < len((await p.show_context("s")).items) <= len(items) - 7
        with pytest.raises(StoreUnusable):
            await p.show_context("s", pin=["call_1_1"])
        assert [one for one in (await p.verify()).findings if one.severity == "damage"]


async def test_verify_tells_a_checkpoint_that_adds_up_to_something_else_and_repair_takes_it_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "CHECKPOINT_EVENTS", 10)
    async with Palimpsest.open(tmp_path) as p:
        await p.record_items("s", talk(10))
        await p.check_context_ratio("s")
    about = tmp_path / "session" / "s" / "checkpoint" / "about.json"
    line = json.loads(about.read_bytes())
    sums = json.loads(base64.b64decode(line["sums"]))
    sums["tallies"][""]["tokens"] += 1
    line["sums"] = base64.b64encode(json.dumps(sums).encode()).decode()
    head = json.dumps({name: value for name, value in line.items() if name != "_c"}).encode()[:-1]
    about.write_bytes(b'%s,"_c":"%08x"}\n' % (head, zlib.crc32(head)))
    async with Palimpsest.open(tmp_path) as p:
        (found,) = (await p.verify()).findings
        assert "adds up to something else" in found.what and found.severity == "damage"
        await p.repair(dry_run=False)
        assert (await p.verify()).findings == ()
