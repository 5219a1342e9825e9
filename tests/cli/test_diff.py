"""`diff` and the map of `show`: every line of a digest once, and cells and tokens that sum to the whole."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.cli.show import cells, side_by_side
from palimpsest_mcp.core.palimpsest_archive import quotes
from palimpsest_mcp.models.views import Beside

from ..conftest import first_of
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
    monkeypatch.setattr("palimpsest_mcp.cli.show.on_terminal", lambda: True)
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


@pytest.mark.parametrize("width", first_of([60, 80, 120, 200], kept=2))
def test_the_map_of_a_known_window_has_what_is_free_and_a_bar_of_its_whole_width(
    program: Program, session_file: Path, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    program("compact", session_file, "--session", "known", "--window", "40000", "--target", "0.3", "--force")
    rows = re.findall(r"^([█▒▚░▓▆▅▄▃])  .*?  +([\d,]+) +([\d.]+)%$", program("show", "known").text, re.MULTILINE)
    sizes = [int(size.replace(",", "")) for _, size, _ in rows]
    assert rows[-1][0] == "░" and sum(sizes) == 40_000
    assert [float(share) for _, _, share in rows] == [round(size / 400, 1) for size in sizes]
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setattr("palimpsest_mcp.cli.show.on_terminal", lambda: True)
    bar = next(line for line in program("show", "known").text.splitlines() if re.fullmatch(r"[█▒▚░▓▆▅▄▃]+", line))
    assert [bar.count(sign) for sign, _, _ in rows] == cells(sizes, min(100, width))
    assert len(bar) == min(100, width)


def test_in_the_tree_every_node_is_the_sum_of_what_is_under_it(program: Program, compacted: str) -> None:
    tree = program("show", compacted, "--tree").text
    kinds = re.split(r"^([a-z ]+)  ([\d,]+) tokens in [\d,]+$", tree, flags=re.MULTILINE)[1:]
    whole = [int(size.replace(",", "")) for size in kinds[1::3]]
    view = program("show", compacted, "--json").json
    assert sum(whole) == sum(item["tokens"] for item in view["items"] if item["state"] != "gone") > 0
    for size, under in zip(whole, kinds[2::3], strict=True):
        tools = [int(one.replace(",", "")) for one in re.findall(r"^[├└]─ \S.*?  ([\d,]+) in ", under, re.MULTILINE)]
        leaves = [int(one.replace(",", "")) for one in re.findall(r"[├└]─ +([\d,]+)  ", under)]
        assert sum(leaves) == size and (not tools or sum(tools) == size)


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_a_tree_fits_the_width_and_uses_it(
    program: Program, compacted: str, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setattr("palimpsest_mcp.cli.show.on_terminal", lambda: True)
    leaves = [line for line in program("show", compacted, "--tree").text.splitlines() if "─ " in line]
    assert min(width, 80) - 10 <= max(map(len, leaves)) <= width


def test_a_digest_stands_on_the_right_beside_the_line_that_it_quotes(
    program: Program, compacted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("palimpsest_mcp.cli.show.PLAIN_WIDTH", 2_000)
    batch = program("list", compacted, "--json").json["batches"][0]["batch_id"]
    both = program("diff", compacted, batch, "--json").json["items"]
    shown = [line for line in program("diff", compacted, batch, "--all").text.splitlines() if "│" in line]
    rows = [[side.strip() for side in line.split("│", 1)] for line in shown]
    pairs = [(re.sub(r"^\d+ ?", "", left), right) for left, right in rows]
    originals = [line.strip() for one in both for line in one["original"].split("\n")]
    digests = [line.strip() for one in both for line in one["digest"].split("\n")]
    assert [left for left, _ in pairs if left] == [line for line in originals if line]
    assert [right for _, right in pairs if right] == [line for line in digests if line]
    whole = set(digests) & set(originals) - {""}
    assert whole
    assert {line for line in whole if (line, line) in pairs} == whole
