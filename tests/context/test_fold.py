"""The fold depends on the set of events only (L1), and says what the rules say."""

from __future__ import annotations

import random
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.context.fold import Fold, batch_id, batch_number
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


def summary(fold: Fold) -> object:
    """Everything that a fold says, comparable."""
    shown: View = view(fold)
    decided = fold.decided
    return (
        fold.rev,
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
