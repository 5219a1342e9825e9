"""Re-reads and newest versions: what a later call says again, and what stays whole while there is room."""

from __future__ import annotations

from typing import Any

from palimpsest_mcp.context.gates import newest_versions, repeated
from palimpsest_mcp.context.plan import plan
from palimpsest_mcp.models.items import Action, Item, Verb, content_sha256
from palimpsest_mcp.models.plans import ContextItem, Policy

POLICY = Policy(min_tool_calls=0, keep_last_k_tool_results=3)


def text(name: str) -> str:
    return "\n".join(f"line {line} of {name}" for line in range(40))


def call(n: int, verb: Verb, target: str, result: str, **args: Any) -> list[ContextItem]:
    """A call and its result, as messages 2n and 2n+1."""
    action, unit = Action(verb=verb, target=target), f"call:t{n}"
    whole = {"path": target, **args}
    block = {"type": "tool_use", "id": f"t{n}", "name": verb, "input": whole}
    fields: dict[str, Any] = {"unit": unit, "tool_name": verb, "call_id": f"t{n}", "args": whole, "action": action}
    asked = Item(id=unit, kind="tool_call", role="assistant", position=(2 * n, 0), content=block, sha256="c", **fields)
    told = Item(
        id=f"t{n}", kind="tool_result", role="tool", position=(2 * n + 1, 0), content=result,
        sha256=content_sha256(result), size_bytes=len(result), **fields,
    )  # fmt: skip
    return [ContextItem(item=asked, tokens=50), ContextItem(item=told, tokens=1_000)]


def session(*calls: list[ContextItem]) -> list[ContextItem]:
    return [one for pair in calls for one in pair]


def words(items: list[ContextItem]) -> dict[str, str]:
    return {name: one.words for name, one in repeated(items, POLICY).items()}


def test_a_read_that_was_read_again_names_the_later_call() -> None:
    items = session(call(0, "read", "a.py", text("a")), call(1, "read", "a.py", text("a") + "\nmore"))
    assert words(items) == {"t0": "read again later (t1)"}


def test_a_read_that_was_read_again_with_changes_says_so() -> None:
    lines = text("a").split("\n")
    later = "\n".join(["another first line", *lines[1:]])
    items = session(call(0, "read", "a.py", "\n".join(lines)), call(1, "read", "a.py", later))
    assert words(items) == {"t0": "read again later, some lines differ (t1)"}
    assert repeated(items, POLICY)["t0"].lacks == {lines[0].strip()}


def test_a_read_of_another_part_stays() -> None:
    items = session(
        call(0, "read", "a.py", text("a"), offset=1),
        call(1, "read", "a.py", text("b"), offset=90),
        call(2, "edit", "a.py", "ok"),
    )
    assert words(items) == {}


def test_a_read_of_a_file_that_was_written_since_names_the_call_that_wrote_it() -> None:
    items = session(call(0, "read", "a.py", text("a")), call(1, "write", "a.py", "ok"))
    assert words(items) == {"t0": "changed since, and written anew later (t1)"}


def test_the_newest_read_of_a_file_that_was_only_edited_since_stays_what_it_is() -> None:
    items = session(call(0, "read", "a.py", text("a")), call(1, "edit", "a.py", "ok"))
    assert words(items) == {}


def test_equal_results_become_pointers_to_the_newest() -> None:
    items = session(*(call(n, "run", f"./check {n}", text("same")) for n in range(3)))
    assert words(items) == {
        "t0": "the same result came later, of run check 2 (t2)",
        "t1": "the same result came later, of run check 2 (t2)",
    }


def test_a_result_that_the_same_call_gave_again_says_so() -> None:
    items = session(*(call(n, "run", "./check", text("same")) for n in range(2)))
    assert words(items) == {"t0": "the same result came later, of the same call (t1)"}


def test_a_newest_version_is_the_last_read_or_write_with_the_edits_after_it() -> None:
    items = session(
        call(0, "read", "a.py", text("a")),
        call(1, "edit", "a.py", "ok"),
        call(2, "write", "b.py", "ok"),
        call(3, "edit", "b.py", "ok"),
    )
    assert newest_versions(items, POLICY) == (frozenset({"call:t2", "call:t3"}), frozenset({"t0", "call:t1"}))


def test_the_newest_version_of_files_in_work_stays_while_the_target_is_met_without_it() -> None:
    items = session(
        *(call(n, "run", f"./check {n}", text(str(n))) for n in range(5)),
        call(5, "read", "a.py", text("a")),
        *(call(n, "run", f"./check {n}", text(str(n))) for n in range(6, 10)),
    )

    def leaving(target: float) -> set[str]:
        found = plan(items, POLICY, window_tokens=10_500, target=target, force=True)
        return {name for slot in found.slots for name in slot.item_ids}

    assert leaving(0.58) == {"t0", "t1", "t2", "t3", "t4", "t6"}, "a later result leaves in its place"
    assert "t5" in leaving(0.35)
    off = Policy(min_tool_calls=0, keep_last_k_tool_results=3, keep_files=0)
    assert newest_versions(items, off) == ()


def test_repeats_leave_first_and_as_pointers() -> None:
    items = session(
        call(0, "run", "./other", text("other")),
        *(call(n, "run", f"./check {n}", text("same")) for n in (1, 2)),
        *(call(n, "run", f"./late {n}", text(f"late {n}")) for n in range(3, 6)),
    )
    found = plan(items, POLICY, window_tokens=6_300, target=0.9, force=True)
    assert [slot.item_ids for slot in found.slots] == [("t1",)]
    assert found.slots[0].repeated and found.slots[0].pointer


def again(same: int, others: int) -> list[ContextItem]:
    """Other results, and then one call that gave the same each time."""
    return session(
        *(call(n, "run", f"./other {n}", text(f"other {n}")) for n in range(others)),
        *(call(others + n, "run", "./check", text("same")) for n in range(same)),
    )


def whole(items: list[ContextItem], target: float, **how: Any) -> set[str]:
    """Results that stay as they are."""
    found = plan(items, POLICY, window_tokens=10_500, target=target, force=True, **how)
    gone = {name for slot in found.slots for name in slot.item_ids}
    return {one.item.id for one in items if one.item.kind == "tool_result"} - gone


def test_of_newest_results_with_the_same_bytes_the_last_stands_for_all_where_the_target_is_missed_otherwise() -> None:
    items = again(8, 2)
    assert whole(items, 0.45) == {"t7", "t8", "t9"}, "three of them fit the target"
    assert whole(items, 0.40) == {"t0", "t1", "t9"}, "the newest three that differ"
    found = plan(items, POLICY, window_tokens=10_500, target=0.40, force=True)
    assert all(slot.repeated for slot in found.slots) and found.predicted_tokens <= found.target_tokens
    assert any("of the same bytes only the last stays whole" in note for note in found.notes)


def test_the_newest_three_stay_whatever_their_bytes_where_that_would_not_meet_the_target_either() -> None:
    assert whole(again(10, 0), 0.05) == {"t7", "t8", "t9"}


def test_the_newest_three_stay_whatever_their_bytes_where_keep_last_was_given() -> None:
    assert whole(again(8, 2), 0.40, keep_last=3) == {"t7", "t8", "t9"}
