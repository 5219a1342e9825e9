"""Our own lines: what they say, and that nothing from a source can break out of them."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.digest.blocks import escaped
from palimpsest_mcp.digest.notation import header, item_note, lines_of, prose_lines, prose_note
from palimpsest_mcp.digest.records import plain
from palimpsest_mcp.models.items import Action
from palimpsest_mcp.models.records import DigestRequest, DigestSource, RecordCount, SpecificCounts

SOURCE = DigestSource(
    item_id="a",
    kind="tool_result",
    text="x",
    tokens=4200,
    tool_name="Bash",
    action=Action(verb="run", target="git log --stat"),
)
ROWS = {"row": RecordCount(shown=12, total=70), "error": RecordCount(shown=5, total=9)}


def counts(**fields: object) -> SpecificCounts:
    known: dict[str, object] = {"total": 92, "shown": 41, "left_out": 51, "records": ROWS, **fields}
    return SpecificCounts(**known)  # pyright: ignore[reportArgumentType]


def request(results: int = 3, budget: int = 900, **fields: object) -> DigestRequest:
    known: dict[str, object] = {"handle": "s7f3k", "batch_id": "offload_0007", **fields}
    return DigestRequest(sources=(SOURCE,) * results, budget_tokens=budget, ceiling_tokens=budget, **known)  # pyright: ignore[reportArgumentType]


def test_the_header_says_how_much_is_shown_of_how_much_and_how_the_rest_comes_back() -> None:
    assert header(request(), counts(), 610) == (
        "[3 results, 12,600 → 610 tokens · shows 12 of 70 rows, 5 of 9 errors, 41 of 92 specifics"
        " · all of it: restore_batch s7f3k offload_0007]"
    )


def test_where_the_budget_is_small_the_header_is_short() -> None:
    found = header(request(1, 300), counts(), 90)
    assert found == "[shows 12 of 70 rows, 5 of 9 errors · all of it: restore_batch s7f3k offload_0007]"
    assert header(request(2, 300), counts(), 90).startswith("[2 results · shows 12 of 70 rows, ")
    nothing = header(request(1, 300), counts(records={}), 90)
    assert nothing.startswith("[shows 41 of 92 specifics · "), "something is counted in every header"


def test_what_stands_elsewhere_and_what_was_masked_is_counted() -> None:
    found = header(request(), counts(holders={"offload_0003": 9, "offload_0007": 20}, redacted=8), 610)
    assert " specifics · 8 masked · all of it: " in found, "what another part of this batch shows is not elsewhere"
    found = header(request(), counts(holders={"offload_0003": 9}), 610)
    assert " specifics · 9 more in offload_0003 · all of it: " in found


def test_a_level_2_digest_names_those_that_it_stands_for() -> None:
    found = header(request(level=2, replaces=("offload_0001", "offload_0002")), counts(), 44)
    assert found.startswith("[level 2, stands for offload_0001, offload_0002 · 3 results, ")


def test_the_note_of_an_item_says_what_it_was_and_how_big() -> None:
    assert item_note(SOURCE, 2, "340 lines") == "[item 2 Bash git log --stat: 340 lines]"
    assert item_note(SOURCE, 2, "") == "[item 2 Bash git log --stat: 4,200 tokens]"
    assert item_note(SOURCE, 2, "340 lines", brief=True) == "[item 2: 340 lines]", "the call above it says the rest"
    failed = msgspec.structs.replace(SOURCE, is_error=True, redacted=3)
    assert item_note(failed, 2, "340 lines") == "[item 2 Bash git log --stat: 340 lines, error, 3 masked]"
    assert item_note(SOURCE, 2, "340 lines", brief=True, shape="70 rows a|b") == "[item 2: 340 lines; 70 rows a|b]"


@given(st.text(max_size=90), st.text(max_size=90))
def test_what_names_an_item_cannot_close_its_note_or_break_its_line(tool: str, title: str) -> None:
    source = DigestSource(item_id="a", kind="k", text="x", tokens=9, tool_name=tool, title=title)
    for note in (item_note(source, 1, ""), prose_note(tool, 2)):
        assert "\n" not in note and note.index("]") == len(note) - 1 and note.rindex("[") == 0
        assert len(note) < 140 and plain(note) == note


def test_a_long_path_keeps_its_end_and_a_long_command_its_beginning() -> None:
    path = DigestSource(item_id="a", kind="k", text="x", tokens=9, title="/very/long/" + "deep/" * 20 + "main.py")
    assert "/main.py" in item_note(path, 1, "")
    command = DigestSource(item_id="a", kind="k", text="x", tokens=9, title="git log --stat " + "--more " * 20)
    assert "git log --stat" in item_note(command, 1, "")


def test_a_command_is_named_by_what_it_does_and_not_by_where_it_ran() -> None:
    line = "cd /srv/harbour/berthing-mono && tail -30 packages/berthing-agent/src/core/agent-session.ts"
    command = msgspec.structs.replace(SOURCE, action=Action(verb="run", target=line))
    assert item_note(command, 3, "30 lines") == "[item 3 Bash tail -30 …/agent-session.ts: 30 lines]"
    alone = msgspec.structs.replace(SOURCE, action=Action(verb="run", target="cd /srv/harbour"))
    assert item_note(alone, 3, "") == "[item 3 Bash cd /srv/harbour: 4,200 tokens]"


def test_the_label_of_a_summary_says_how_many_lines_are_somebody_elses_wording() -> None:
    note = prose_note("haiku", 2, about="items 1 to 3")
    assert note == "[summary by haiku, items 1 to 3, wording not verified: 2 lines]"
    assert prose_lines(note) == 2
    assert prose_lines("[item 2 Bash: 3 lines]") == 0


@pytest.mark.parametrize(
    "ours",
    [
        header(request(), counts(), 610),
        header(request(1, 300), counts(), 90),
        header(request(level=2, replaces=("offload_0001",)), counts(), 44),
        item_note(SOURCE, 2, "340 lines"),
        prose_note("haiku", 2),
        "[9 of 9 rows] name|price",
        "[9,120 of 12,000 like] probe <1>",
        "[all 9 rows] state=up",
        "[columns left out: price]",
        "[names] foo_bar src/a.py",
        "[= item 1]",
        "[like item 1, but:]",
        "… piece …",
        "» quoted",
        " row",
    ],
)
def test_a_source_line_that_poses_as_ours_is_marked_as_data(ours: str) -> None:
    assert escaped(ours) == f"» {ours}"


@pytest.mark.parametrize(
    "line", ["[item]", "[12] see there", "[ERROR] disk full", "x » y", "items left out", "[x] done"]
)
def test_an_ordinary_line_is_left_as_it_is(line: str) -> None:
    assert escaped(line) == line


def test_the_errors_of_a_result_are_counted_where_not_all_are_shown() -> None:
    none, some = RecordCount(shown=0, total=28), RecordCount(shown=22, total=28)
    assert item_note(SOURCE, 2, "46 lines", errors=none).endswith("46 lines, 28 errors]")
    assert item_note(SOURCE, 2, "46 lines", errors=some).endswith("46 lines, 22 of 28 errors]")
    assert item_note(msgspec.structs.replace(SOURCE, is_error=True), 2, "46 lines").endswith("46 lines, error]")


def test_a_text_without_a_sign_to_read_says_so() -> None:
    assert lines_of("\0" * 4_096 + "\n") == "nothing to read in 4,097 characters"
    assert lines_of("one\ntwo\n") == "2 lines" and lines_of("one") == lines_of("") == ""


def test_a_digest_that_is_nothing_but_notes_says_so_and_one_with_a_line_of_its_source_does_not() -> None:
    request = DigestRequest(
        sources=(SOURCE,), budget_tokens=90, ceiling_tokens=90, handle="s7f3k", batch_id="offload_0007"
    )
    rows = {"row": RecordCount(shown=0, total=70)}
    assert header(request, counts(shown=0, records=rows), 0, shows=False).startswith(
        "[notes only, of 70 rows · all of it: "
    )
    assert header(request, counts(shown=0, records=rows), 0).startswith("[shows 0 of 70 rows · ")
    assert header(request, counts(total=0, shown=0, records={}), 0) == "[all of it: restore_batch s7f3k offload_0007]"
