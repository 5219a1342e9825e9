"""The fold depends on the set of events only (L1), and says what the rules say."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from typing import Any

import msgspec
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from palimpsest_mcp.context.fold import Fold, FoldSums
from palimpsest_mcp.context.opened_fold import OpenedFold, keys_of
from palimpsest_mcp.context.state import RowSet, batch_id, batch_number
from palimpsest_mcp.context.view import View, settle_holders, standing_holders, view
from palimpsest_mcp.models.events import (
    Applied,
    Event,
    Fetched,
    Gone,
    Pinned,
    PolicySet,
    PurgedEvent,
    Reinstated,
    Replaced,
    ReplacedBatch,
    ReplacedItem,
    Reserved,
    Seen,
    Unpinned,
    Unshrinkable,
    UsageSeen,
)
from palimpsest_mcp.models.items import Item, content_sha256
from palimpsest_mcp.models.plans import ContextItem
from palimpsest_mcp.models.records import ClassCount, SpecificCounts


def item(name: str, text: str, row: int, *, kind: str = "tool_result", role: str = "tool") -> Item:
    return Item(
        id=name,
        kind=kind,
        role=role,
        position=(row, 0),
        content=text,
        sha256=content_sha256(text),
        tokens=len(text),
        unit=f"call:{name}",
    )


def seen(n: int, one: Item, *, writer: str = "w1", clock: int = 0) -> Seen:
    return Seen(w=writer, n=n, clock=clock or n, item=one)


def replaced(n: int, rev: int, number: int, *items: Item, level: int = 1, replaces: tuple[str, ...] = ()) -> Replaced:
    batch = ReplacedBatch(
        batch_id=batch_id(number),
        items=tuple(
            ReplacedItem(
                id=one.id, sha256=one.sha256, part_sha256=content_sha256(f"part {number} {one.id}"), part_tokens=3
            )
            for one in items
        ),
        original_tokens=100,
        digest_tokens=10,
        level=level,
        replaces=replaces,
    )
    return Replaced(w="w1", n=n, clock=n, rev=rev, pass_id=f"p{rev}", session_id="s", batches=(batch,))


def sums(shown: View) -> dict[str, object]:
    return {
        "count": shown.count,
        "tokens": shown.tokens,
        "whole": shown.whole_tokens,
        "calls": shown.tool_calls,
        "last": shown.last_row,
        "said": shown.assistant_messages,
        "waiting": shown.unapplied,
        "behind": [shown.tokens_since(row) for row in (-1, 0, 1, 2)],
    }


def summary(fold: Fold) -> object:
    """Everything that a fold says, comparable."""
    shown: View = view(fold)
    decided = fold.decided
    return (
        fold.rev,
        sums(shown),
        shown.items,
        shown.gone,
        {name: (batch.state, batch.rev) for name, batch in decided.batches.items()},
        sorted(decided.pinned),
        decided.policy,
        decided.last_number,
        sorted(fold.fetched.items()),
        msgspec.to_builtins(fold.usage),
        sorted((rev, sorted((e.w, e.n) for e in lost)) for rev, lost in fold.conflicts.items()),
    )


NAMES = ("a", "b", "c")
TEXTS = ("first text", "second, longer text", "[Old tool result content cleared]")


@st.composite
def histories(draw: st.DrawFn) -> list[Event]:
    """Any mixture of events, as several writers with stale knowledge might leave them."""
    events: list[Event] = []
    for n in range(1, draw(st.integers(1, 14)) + 1):
        writer = draw(st.sampled_from(("w1", "w2")))
        clock = draw(st.integers(1, 6))
        name = draw(st.sampled_from(NAMES))
        one = item(name, draw(st.sampled_from(TEXTS)), draw(st.integers(0, 3)))
        rev = draw(st.integers(1, 5))
        common: dict[str, Any] = {"w": writer, "n": n, "clock": clock}
        events.append(
            draw(
                st.sampled_from(
                    (
                        Seen(**common, item=one),
                        Gone(**common, item_ids=(name,), why="rewind"),
                        Applied(**common, item_id=name, batch_id="offload_0001", part_sha256="x"),
                        Fetched(**common, batch_id="offload_0001", item_ids=(name,), text_sha256=("h",), tokens=3),
                        UsageSeen(**common, used_tokens=clock * 100, model="m" if clock % 2 else ""),
                        Unshrinkable(**common, item_ids=(name,), digester="d"),
                        msgspec.structs.replace(replaced(n, rev, rev, one), **common),
                        Reserved(**common, rev=rev, pass_id="p", first=rev, count=2),
                        Pinned(**common, rev=rev, item_ids=(name,)),
                        Unpinned(**common, rev=rev, item_ids=(name,)),
                        Reinstated(**common, rev=rev, item_ids=(name,)),
                        PolicySet(**common, rev=rev, policy={"name": name}),
                        PurgedEvent(**common, rev=rev, batch_ids=("offload_0001",)),
                    )
                )
            )
        )
    return events


@given(histories(), st.randoms(use_true_random=False))
def test_any_order_repetition_and_split_of_events_folds_to_the_same(events: list[Event], chance: random.Random) -> None:
    shuffled = events + chance.choices(events, k=3)
    chance.shuffle(shuffled)
    cut = chance.randrange(len(shuffled) + 1)
    in_pieces = Fold(shuffled[:cut])
    view(in_pieces)
    in_pieces.add(shuffled[cut:])
    assert summary(in_pieces) == summary(Fold(events))


@given(st.permutations([(w, n) for w in ("w1", "w2") for n in range(1, 6)]), st.integers(0, 10))
def test_an_event_read_twice_is_one_event(order: list[tuple[str, int]], again: int) -> None:
    events = [Fetched(w=w, n=n, batch_id="offload_0001", item_ids=("a",), tokens=1) for w, n in order]
    fold = Fold([*events, *events[:again]])
    fold.add(events)
    assert len(fold.restored) == 10


@settings(max_examples=max(150, settings().max_examples))
@example(
    [Seen(w="w1", n=n, clock=1, item=item("a", TEXTS[n], 0)) for n in (0, 1)]
)  # of 40 drawn ones none may be like it
@given(histories())
def test_the_sums_of_a_view_are_those_of_its_items_whatever_came_and_in_which_pieces(events: list[Event]) -> None:
    fold = Fold()
    for event in events:
        fold.add([event])
        shown = view(fold, result_overhead=14)
        shown.tokens_since(1)
        rows = {one.item.position[0] for one in (*shown.items, *shown.gone) if one.item.role == "assistant"}
        assert sums(shown) == {
            "count": len(shown.items),
            "tokens": sum(one.tokens for one in shown.items),
            "whole": _whole(fold, shown),
            "calls": sum(one.item.role == "tool" for one in shown.items),
            "last": max((one.item.position[0] for one in shown.items), default=-1),
            "said": len(rows),
            "waiting": sum(not _is_applied(fold, one) for one in shown.items if one.state == "replaced"),
            "behind": [sum(one.tokens for one in shown.items if one.item.position[0] > row) for row in (-1, 0, 1, 2)],
        }


class Kept:
    """The events behind a checkpoint, by their keys; told to, it no longer finds them."""

    def __init__(self, events: Sequence[Event], *, trusted: bool = True) -> None:
        self.events, self.trusted, self.turn = list(events), trusted, nullcontext()
        self.whole_reads = self.found = 0

    def events_of(self, key: str) -> list[Event] | None:
        if not self.trusted:
            return None
        found = [event for event in self.events if key in keys_of(event)]
        self.found += len(found)
        return found

    def everything(self) -> list[Event]:
        self.whole_reads += 1
        return self.events


def numbered(events: Iterable[Event]) -> list[Event]:
    """Each writer's own numbers without a gap."""
    count: Counter[str] = Counter()
    found: list[Event] = []
    for event in events:
        count[event.w] += 1
        found.append(msgspec.structs.replace(event, n=count[event.w]))
    return found


@given(histories(), st.integers(0, 14), st.booleans())
def test_a_fold_that_begins_at_a_checkpoint_says_what_one_of_all_events_says(
    history: list[Event], at: int, trusted: bool
) -> None:
    events = numbered(history)
    written = Fold(events[:at]).sums()
    assume(written is not None)
    assert written is not None
    again = msgspec.json.decode(msgspec.json.encode(written), type=FoldSums)
    opened, whole = OpenedFold(again, Kept(events[:at], trusted=trusted)), Fold(events[:at])
    for event in (*events[at:], *events):
        opened.add([event])
        whole.add([event])
        assert sums_without_rows(view(opened, result_overhead=14)) == sums_without_rows(view(whole, result_overhead=14))
        assert (opened.rev, opened.policy, opened.last_pass_rev) == (whole.rev, whole.policy, whole.last_pass_rev)
        assert (opened.has_envelopes, opened.is_asked, opened.usage) == (
            whole.has_envelopes,
            whole.is_asked,
            whole.usage,
        )
        assert [opened.state(name) for name in (*NAMES, "d")] == [whole.state(name) for name in (*NAMES, "d")]
        assert opened.call_of("call:a") == whole.call_of("call:a")
    assert opened.sums() == whole.sums()
    assert summary(opened) == summary(whole)
    assert opened.is_whole


@given(histories(), st.integers(0, 14), st.integers(0, 14), st.integers(0, 14))
def test_a_fold_whose_events_were_read_apart_sums_what_one_of_all_events_sums(
    history: list[Event], at: int, more: int, others: int
) -> None:
    """Its own sums go on where just the same events were read; where others came meanwhile all is counted anew."""
    events = numbered(history)
    written = Fold(events[:at]).sums()
    assume(written is not None)
    assert written is not None
    kept = Kept(events[:at])
    opened = OpenedFold(written, kept)
    opened.add(events[at : at + more])
    kept.events = events[: at + more + others]
    opened.load(opened.read())
    opened.add(kept.events)  # news for a fold that had to read everything before these came
    whole = Fold(kept.events)
    assert opened.is_whole
    assert sums_without_rows(view(opened, result_overhead=14)) == sums_without_rows(view(whole, result_overhead=14))
    assert summary(opened) == summary(whole)


def test_what_others_wrote_while_a_fold_was_read_apart_is_in_its_sums() -> None:
    events: list[Event] = [seen(n, item(f"i{n}", "text", n)) for n in range(1, 5)]
    written = Fold(events[:2]).sums()
    assert written is not None
    kept = Kept(events[:2])
    opened = OpenedFold(written, kept)
    kept.events = events
    opened.load(opened.read())
    assert (view(opened).count, view(opened).last_row) == (4, 4)


def sums_without_rows(shown: View) -> dict[str, object]:
    """All but what a view asks its items for."""
    names = ("count", "tokens", "whole_tokens", "tool_calls", "last_row", "assistant_messages", "unapplied", "asked")
    return {name: getattr(shown, name) for name in names}


def test_what_came_after_a_checkpoint_is_summed_without_a_look_at_anything_before_it() -> None:
    events: list[Event] = [seen(n, item(f"i{n}", "text", n)) for n in range(1, 50)]
    written = Fold(events).sums()
    assert written is not None
    kept = Kept(events)
    opened = OpenedFold(written, kept)
    opened.add([seen(50, item("i50", "more", 50)), UsageSeen(w="w1", n=51, clock=51, used_tokens=7)])
    shown = view(opened)
    assert (shown.count, shown.last_row) == (50, 50)
    assert opened.sums() is not None and kept.whole_reads == 0
    assert len(opened.states) == 50
    assert kept.whole_reads == 1


def test_a_few_items_that_come_again_and_again_are_not_looked_up_for_ever() -> None:
    """Competing lists show and hide the same items: for each event, one more would have to be looked up."""
    events: list[Event] = [seen(n, item("i", f"text {n}", 7)) for n in range(1, 1_500)]
    written = Fold(events[:1_000]).sums()
    assert written is not None
    kept = Kept(events[:1_000])
    opened = OpenedFold(written, kept)
    for event in events[1_000:]:
        opened.add([event])
    assert opened.is_whole and kept.whole_reads == 1
    assert kept.found < 15_000, "reading everything would have cost less"
    assert sums_without_rows(view(opened)) == sums_without_rows(view(Fold(events)))


@given(st.lists(st.one_of(st.integers(-3, 70), st.sampled_from((1 << 24, 1 << 60))), max_size=40))
def test_a_set_of_rows_counts_each_once_and_is_read_back_as_it_was_written(rows: list[int]) -> None:
    found = RowSet()
    for row in rows:
        found.add(row)
    assert len(found) == len(set(rows))
    again = RowSet(*found.parts())
    again.add(5)
    assert len(again) == len({*rows, 5})


def _whole(fold: Fold, shown: View) -> int:
    stands = {one.item.id: one.tokens for one in shown.items if one.state == "replaced" and _is_applied(fold, one)}
    return sum(stands.get(one.item.id, one.item.tokens + (14 if one.item.role == "tool" else 0)) for one in shown.items)


def _is_applied(fold: Fold, one: ContextItem) -> bool:
    applied, stands = fold.states[one.item.id].applied, fold.decided.replacements[one.item.id].item
    return applied is not None and applied.part_sha256 == stands.part_sha256


def test_a_replaced_item_stands_as_its_part_and_only_for_the_very_bytes_it_was_made_from() -> None:
    first, other = item("a", "x" * 50, 0), item("a", "y" * 60, 0)
    fold = Fold([seen(1, first), replaced(2, 1, 1, first)])
    [shown] = view(fold).items
    assert (shown.state, shown.batch_id, shown.tokens, shown.level) == ("replaced", "offload_0001", 3, 1)
    fold.add([seen(3, other)])
    [shown] = view(fold).items
    assert (shown.state, shown.tokens) == ("live", 60)


def test_a_hosts_placeholder_never_stands_for_a_fuller_version() -> None:
    full, cleared = item("a", "the real output", 0), item("a", "[Old tool result content cleared]", 0)
    fold = Fold([seen(1, full), seen(2, cleared)])
    assert fold.states["a"].current.content == "the real output"


def test_claude_codes_words_about_a_result_that_was_too_long_are_a_placeholder() -> None:
    words = (
        "Error: result (160,000 characters across 4,325 lines) exceeds maximum allowed tokens. Output has been saved "
        "to /h/.claude/projects/-p/s/tool-results/mcp-raw-x-1.txt.\nFormat: Plain text\nUse offset and limit parameters"
    )
    fold = Fold([seen(1, item("a", "the real output", 0)), seen(2, item("a", words, 0))])
    assert fold.states["a"].current.content == "the real output"
    for other in ("Error: result (3) is wrong", "Error: no such host", "Errors: result (5 characters) exceeds nothing"):
        fold = Fold([seen(1, item("a", "first", 0)), seen(2, item("a", other, 0))])
        assert fold.states["a"].current.content == other


def test_the_lower_writer_wins_an_equal_revision_and_the_loser_is_reported() -> None:
    one = Pinned(w="w1", n=5, rev=1, item_ids=("a",))
    two = Pinned(w="w0", n=9, rev=1, item_ids=("b",))
    fold = Fold([one, two])
    assert fold.decided.pinned == {"b"}
    assert fold.conflicts == {1: [one]}


def test_a_level_two_digest_supersedes_the_batches_it_stands_for() -> None:
    one, two = item("a", "x" * 9, 0), item("b", "y" * 9, 1)
    fold = Fold(
        [
            seen(1, one),
            seen(2, two),
            replaced(3, 1, 1, one),
            replaced(4, 2, 2, two),
            replaced(5, 3, 3, one, two, level=2, replaces=("offload_0001", "offload_0002")),
        ]
    )
    states = {name: batch.state for name, batch in fold.decided.batches.items()}
    assert states == {"offload_0001": "superseded", "offload_0002": "superseded", "offload_0003": "replaced"}
    assert {one.level for one in view(fold).items} == {2}


def test_a_reinstated_batch_is_whole_again_and_protected_for_a_while() -> None:
    one = item("a", "x" * 9, 0)
    said = item("s", "hm", 1, kind="message", role="assistant")
    fold = Fold([seen(1, one), seen(2, said), replaced(3, 1, 1, one)])
    fold.add([Reinstated(w="w1", n=4, rev=2, item_ids=("a",), assistant_messages=1)])
    assert fold.decided.batches["offload_0001"].state == "reinstated"
    shown = view(fold).find("a")
    assert shown is not None and (shown.state, shown.restored_ago) == ("live", 0)


def test_what_a_holder_no_longer_shows_counts_as_left_out() -> None:
    counts = SpecificCounts(
        total=10, shown=4, elsewhere=5, left_out=1, holders={"offload_0003": 3, "q": 2},
        by_class={"url": ClassCount(total=10, shown=4, elsewhere=5, left_out=1)},
    )  # fmt: skip
    settled = settle_holders(counts, {"offload_0003": False, "q": True})
    assert (settled.shown, settled.elsewhere, settled.left_out) == (4, 2, 4)


def test_a_holder_stands_while_its_digest_or_its_item_does() -> None:
    one, two = item("a", "x" * 9, 0), item("b", "y" * 9, 1)
    fold = Fold([seen(1, one), seen(2, two), replaced(3, 1, 1, one)])
    assert standing_holders(fold, frozenset({"a", "b"})) == {"offload_0001": True, "b": True}
    fold.add([Reinstated(w="w1", n=4, rev=2, item_ids=("a",))])
    assert standing_holders(fold, frozenset({"a", "b"})) == {"offload_0001": False, "a": True, "b": True}


def test_a_fetched_copy_is_recognised_by_its_hash() -> None:
    copy = item("later", "the original text", 5)
    fetched = Fetched(w="w1", n=1, clock=1, batch_id="offload_0002", item_ids=("a",), text_sha256=(copy.sha256,))
    fold = Fold([fetched, seen(2, copy)])
    assert view(fold).items[0].copy_of == "offload_0002 a"


def test_usage_fields_keep_the_newest_known_value_each() -> None:
    fold = Fold(
        [
            UsageSeen(w="w1", n=1, clock=1, used_tokens=100, window_tokens=1000, model="claude-x"),
            UsageSeen(w="w1", n=2, clock=2, used_tokens=200),
        ]
    )
    known = fold.usage[""]
    assert known.used is not None and known.used.used_tokens == 200
    assert known.window is not None and known.window.window_tokens == 1000
    assert known.model is not None and known.model.model == "claude-x"


def test_an_unanswered_newest_call_opens_its_unit_and_later_words_close_it() -> None:
    call = item("c", "call", 0, kind="tool_call", role="assistant")
    call = msgspec.structs.replace(call, unit="u")
    fold = Fold([seen(1, call)])
    assert view(fold).items[0].call_open
    fold.add([seen(2, item("m", "never mind", 1, kind="message", role="user"))])
    assert not view(fold).items[0].call_open


@given(st.integers(1, 10**7))
def test_a_batch_id_reads_back_as_its_number(number: int) -> None:
    assert batch_number(batch_id(number)) == number


def test_other_names_are_no_batch_numbers() -> None:
    assert [batch_number(name) for name in ("", "offload_", "offload_x", "7", "offload_٣", "xoffload_1")] == [0] * 6


def test_of_what_was_purged_the_fold_holds_no_copy_wherever_it_was_seen_or_went_since() -> None:
    once, again, other = item("a", "a text that goes", 0), item("a", "what it was before", 0), item("b", "stays", 1)
    purge = PurgedEvent(w="w2", n=1, rev=1, batch_ids=(), item_ids=("a",), keys=(once.sha256,))
    for events in ([seen(1, once)], [seen(1, again), seen(2, once)], [seen(1, once), seen(2, again)]):
        fold = Fold([*events, seen(3, other), purge])
        assert "a text that goes" not in str(fold.states)
        assert fold.states["a"].versions[once.sha256].item.purged and fold.states["a"].present
        assert fold.states["b"].current == other
