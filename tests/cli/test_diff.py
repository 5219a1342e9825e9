"""`diff` and the map of `show`: every line of a digest once, and cells and tokens that sum to the whole."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.cli.diff import side_by_side
from palimpsest_mcp.cli.window_map import cells
from palimpsest_mcp.core.quotes import quotes
from palimpsest_mcp.models.looks import Beside

from .conftest import Program

LINES = st.lists(st.text(st.sampled_from("abc 12|"), max_size=12), max_size=14)


def beside(original: str, digest: str) -> Beside:
    return Beside(
        session_id="s",
        handle="sabcd",
        item_id="i",
        kind="tool_result",
        role="tool",
        tool_name="read",
        title="",
        ts="",
        state="replaced",
        batch_id="offload_0001",
        original_tokens=0,
        digest_tokens=0,
        original=original,
        original_lines=original.count("\n") + 1,
        digest=digest,
        quotes=quotes(digest, original),
    )


@given(original=LINES, digest=LINES)
def test_every_line_of_both_sides_comes_exactly_once(original: list[str], digest: list[str]) -> None:
    one = beside("\n".join(original), "\n".join(digest))
    rows = list(side_by_side(one, every=True))
    assert sorted(right for _, right, _ in rows if right) == sorted(line for line in digest if line)
    shown = [left[6:] for left, _, _ in rows if left]
    assert shown == (one.original.split("\n") if one.original else [])


def test_a_run_that_was_left_out_is_counted() -> None:
    original = "\n".join(["first"] + [f"row {number}" for number in range(20)] + ["last"])
    rows = list(side_by_side(beside(original, "[head]\nfirst\nlast"), every=False))
    assert [(left.strip(), right) for left, right, _ in rows] == [
        ("", "[head]"),
        ("1 first", "first"),
        ("⋯ 20 lines left out", ""),
        ("22 last", "last"),
    ]


@given(sizes=st.lists(st.integers(0, 10**7), max_size=9), room=st.integers(20, 200))
def test_the_cells_of_a_bar_are_its_whole_width(sizes: list[int], room: int) -> None:
    found = cells(sizes, room)
    assert sum(found) == (room if sum(sizes) else 0)
    assert all(abs(cell - size * room / sum(sizes)) < 1 for cell, size in zip(found, sizes, strict=True) if sum(sizes))


def test_the_map_sums_to_the_window_and_names_the_ten_largest(program: Program, compacted: str) -> None:
    found = program("show", compacted, "--json").json
    text = program("show", compacted).text
    rows = re.findall(r"^[█▒▚░▓▆▅▄▃]  .*?  +([\d,]+) +[\d.]+%$", text, re.MULTILINE)
    used = found["usage"]["used"]["value"]
    window = found["usage"]["effective_window"]["value"] or used
    assert sum(int(row.replace(",", "")) for row in rows) == max(used, window)
    largest = sorted(found["items"], key=lambda one: -one["tokens"])[:10]
    assert all(item["item_id"] in text for item in largest)
    assert "show" in text.splitlines()[-1] and "--all" in text.splitlines()[-1]
    tree = program("show", compacted, "--tree").text
    assert "read_log" in tree and "more" in tree


@pytest.mark.parametrize("width", ["60", "120", "200"])
def test_a_diff_fits_the_width(program: Program, compacted: str, monkeypatch: pytest.MonkeyPatch, width: str) -> None:
    batch = program("list", compacted, "--json").json["batches"][0]
    monkeypatch.setenv("COLUMNS", width)
    monkeypatch.setattr("palimpsest_mcp.cli.diff.on_terminal", lambda: True)
    text = program("diff", compacted, batch["batch_id"], "--no-pager").text
    rows = [line for line in text.splitlines() if "│" in line]
    assert rows and max(map(len, rows)) <= int(width)
    assert "lines left out" in text or "ERROR" in text


def test_a_diff_of_an_item_that_is_not_there_names_the_next_step(program: Program, compacted: str) -> None:
    batch = program("list", compacted, "--json").json["batches"][0]["batch_id"]
    ran = program("diff", compacted, batch, "--item", "nothing")
    assert ran.status != 0 and "list" in ran.err
    found = program("diff", compacted, batch, "--json").json["items"]
    assert all(one["digest"] and one["original"] and one["quotes"] for one in found)
