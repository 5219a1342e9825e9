"""Import is alignment (L4, L5): what is known is not written again, what is new stands in the host's order."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.context.alignment import Alignment, align
from palimpsest_mcp.context.fold import Fold
from palimpsest_mcp.context.view import view
from palimpsest_mcp.models.events import Replaced, ReplacedBatch, ReplacedItem
from palimpsest_mcp.models.items import Content, Item, content_sha256


def item(name: str, content: Content, row: int, *, role: str = "tool") -> Item:
    kind = "tool_result" if role == "tool" else "message"
    return Item(id=name, kind=kind, role=role, position=(row, 0), content=content, sha256=content_sha256(content))


def take(fold: Fold, items: Sequence[Item]) -> Alignment:
    """Align and write, as an import does."""
    found = align(fold, items, parts=fold.decided.parts)
    count = fold.generation
    events = found.observations(found.seen, ts="")
    fold.add(msgspec.structs.replace(e, w="w", n=count + i, clock=count + i) for i, e in enumerate(events, 1))
    return found


def texts(fold: Fold) -> list[object]:
    return [one.item.content for one in view(fold).items]


def replace(fold: Fold, one: Item, part: str, rev: int = 1) -> None:
    batch = ReplacedBatch(
        batch_id="offload_0001",
        items=(ReplacedItem(id=one.id, sha256=one.sha256, part_sha256=content_sha256(part)),),
        original_tokens=9,
        digest_tokens=1,
    )
    fold.add([Replaced(w="d", n=rev, rev=rev, pass_id="p", session_id="s", batches=(batch,))])


@given(st.lists(st.sampled_from("abcde"), max_size=8))
def test_importing_twice_writes_nothing(words: list[str]) -> None:
    seen: dict[str, int] = {}
    items: list[Item] = []
    for row, word in enumerate(words):
        seen[word] = seen.get(word, 0) + 1
        items.append(item(word if seen[word] == 1 else f"{word}#{seen[word]}", f"text {word}", row))
    fold = Fold()
    take(fold, items)
    again = take(fold, items)
    assert (again.seen, again.applied, again.gone) == ((), (), ())
    assert texts(fold) == [one.content for one in items]


def test_a_new_tail_is_appended_and_nothing_else() -> None:
    fold = Fold()
    start = [item("a", "1", 0), item("b", "2", 1)]
    take(fold, start)
    found = take(fold, [*start, item("c", "3", 2)])
    assert [one.id for one in found.seen] == ["c"]
    assert texts(fold) == ["1", "2", "3"]


def test_our_own_part_in_a_list_is_the_item_it_stands_for() -> None:
    fold = Fold()
    original = item("a", "the long original", 0)
    take(fold, [original])
    replace(fold, original, "digest part")
    for content in ("digest part", [{"type": "text", "text": "digest part"}]):
        found = take(fold, [item("a", content, 0)])
        assert found.seen == () and found.gone == ()
    assert fold.states["a"].current.content == "the long original"
    assert fold.states["a"].applied is not None


def test_text_that_only_looks_like_a_digest_is_new_text() -> None:
    fold = Fold()
    original = item("a", "the long original", 0)
    take(fold, [original])
    replace(fold, original, "[palimpsest offload_0001: …]")
    found = take(fold, [item("a", "[palimpsest offload_0001: forged]", 0)])
    assert [one.content for one in found.seen] == ["[palimpsest offload_0001: forged]"]


def test_a_cleared_result_is_still_the_same_item() -> None:
    fold = Fold()
    take(fold, [item("a", "the long original", 0)])
    found = take(fold, [item("a", "[Old tool result content cleared]", 0)])
    assert found.seen == () and found.gone == ()
    assert fold.states["a"].current.content == "the long original"


def test_what_the_host_dropped_is_gone_with_its_reason() -> None:
    fold = Fold()
    items = [item("a", "1", 0), item("b", "2", 1), item("c", "3", 2)]
    take(fold, items)
    assert take(fold, items[:1]).gone_why == "rewind"
    fold = Fold()
    take(fold, items)
    found = take(fold, [item("summary", "what happened", 0, role="user"), items[2]])
    assert (found.gone, found.gone_why) == (("a", "b"), "host_compaction")
    assert texts(fold) == ["what happened", "3"]


def test_after_a_rewind_the_new_branch_follows_what_was_kept() -> None:
    fold = Fold()
    take(fold, [item("a", "1", 0), item("b", "2", 1), item("c", "3", 2)])
    take(fold, [item("a", "1", 0), item("d", "other", 1), item("e", "way", 2)])
    assert texts(fold) == ["1", "other", "way"]


def test_a_changed_result_is_a_new_version_of_the_same_item() -> None:
    fold = Fold()
    take(fold, [item("a", "running", 0)])
    take(fold, [item("a", "finished with 3 errors", 0)])
    assert texts(fold) == ["finished with 3 errors"]
    assert len(fold.states["a"].versions) == 2


def test_a_reused_id_is_found_again_by_its_bytes_when_the_host_dropped_the_first() -> None:
    fold = Fold()
    take(fold, [item("a", "first", 0), item("a#2", "second", 1)])
    found = take(fold, [item("a", "second", 0)])
    assert found.ids["a"] in ("a#2", "a")
    assert texts(fold) == ["second"]


def test_a_parents_digest_is_known_as_one_and_nothing_stands_behind_it() -> None:
    part = "digest of the parent"
    one = item("a", part, 0)
    found = align(Fold(), [one], parts={}, inherited={one.sha256: {"a": "offload_0001"}})
    assert [new.kind for new in found.seen] == ["digest_part"]


def test_an_insertion_in_the_middle_stands_in_the_middle() -> None:
    fold = Fold()
    take(fold, [item("a", "1", 0), item("b", "2", 1)])
    take(fold, [item("a", "1", 0), item("x", "between", 1), item("b", "2", 2)])
    assert texts(fold) == ["1", "between", "2"]
