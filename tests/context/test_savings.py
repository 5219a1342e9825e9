"""What offloading saved, net of what came back."""

from __future__ import annotations

import pytest

from palimpsest_mcp.context.fold import Fold
from palimpsest_mcp.context.savings import savings
from palimpsest_mcp.models.events import Fetched, Replaced, ReplacedBatch, ReplacedItem, Seen
from palimpsest_mcp.models.items import Action, Item, Verb, content_sha256

LONG = "line of a file that was read\n" * 20


def result(row: int, text: str = LONG, *, verb: Verb = "read", target: str = "src/a.py") -> Item:
    return Item(
        id=f"r{row}",
        kind="tool_result",
        role="tool",
        content=text,
        sha256=content_sha256(text),
        size_bytes=len(text),
        tokens=100,
        position=(row, 0),
        action=Action(verb=verb, target=target),
    )


def write(row: int, target: str = "src/a.py") -> Item:
    return Item(
        id=f"w{row}",
        kind="tool_call",
        role="assistant",
        content=None,
        sha256="",
        position=(row, 0),
        action=Action(verb="write", target=target),
    )


def passed(*items: Item, last_row: int, reason: str = "forced") -> Replaced:
    stands = tuple(
        ReplacedItem(id=one.id, sha256=one.sha256, part_sha256="p" + one.id, part_tokens=10) for one in items
    )
    batch = ReplacedBatch(batch_id="offload_0001", items=stands, original_tokens=100 * len(items), digest_tokens=10)
    return Replaced(
        rev=1, n=90, w="w", pass_id="p", session_id="s", batches=(batch,), reason=reason, last_row=last_row, ts="t"
    )


def fold_of(*events: object) -> Fold:
    fold = Fold()
    for n, one in enumerate(events):
        fold.add([Seen(item=one, w="w", n=n, ts="t") if isinstance(one, Item) else one])  # type: ignore[list-item]
    return fold


def test_a_restore_takes_from_what_was_saved_and_counts_each_result_once() -> None:
    first, second = result(1), result(3, LONG + "b", target="src/b.py")
    fetched = [
        Fetched(batch_id="offload_0001", item_ids=("r1",), tokens=tokens, w="x", n=tokens, ts="t")
        for tokens in (30, 40)
    ]
    saved = savings(fold_of(first, second, passed(first, second, last_row=9), *fetched), result_overhead=0)
    assert (saved.results, saved.restored_results, saved.restored) == (2, 1, 70)
    assert saved.restores_per_hundred == 50.0
    assert saved.net == 200 - 10 - 70


@pytest.mark.parametrize(
    ("later", "counts"),
    [
        (result(12), True),  # the same bytes
        (result(12, LONG + "only a part of it"), True),  # the same file, nothing changed it
        (result(12, LONG, verb="run", target="cat src/a.py"), True),  # the same bytes by another way
        (result(5), False),  # came in before the pass
        (result(12, LONG + "b", target="src/b.py"), False),
        (result(12, LONG + "b", verb="search"), False),
    ],
)
def test_what_is_read_again_after_it_left_counts_against_the_savings(later: Item, counts: bool) -> None:
    saved = savings(fold_of(result(1), passed(result(1), last_row=9), later), result_overhead=4)
    assert saved.read_again_results == int(counts)
    assert saved.read_again == 104 * counts
    assert saved.net == 100 - 10 - 4 - 104 * counts


def test_a_file_that_was_changed_since_is_read_anew_and_not_again() -> None:
    saved = savings(
        fold_of(result(1), passed(result(1), last_row=9), write(10), result(12, LONG + "new")), result_overhead=0
    )
    assert saved.read_again_results == 0


def test_a_short_answer_that_repeats_is_no_second_reading() -> None:
    ok = result(1, "ok", verb="run", target="make")
    saved = savings(fold_of(ok, passed(ok, last_row=9), result(12, "ok", verb="run", target="make")), result_overhead=0)
    assert saved.read_again_results == 0


def test_what_an_older_version_did_not_write_down_is_unknown_and_not_nothing() -> None:
    saved = savings(fold_of(result(1), passed(result(1), last_row=-1), result(12)), result_overhead=0)
    assert saved.read_again is None and saved.read_again_results is None
    assert "not known" in saved.came_back
    assert savings(Fold(), result_overhead=0).restores_per_hundred is None


def test_a_result_that_was_replaced_at_birth_left_where_it_stands() -> None:
    saved = savings(fold_of(result(1), passed(result(1), last_row=-1, reason="at_birth"), result(2)), result_overhead=0)
    assert saved.read_again_results == 1
