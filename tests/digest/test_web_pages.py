"""Web pages: what a browser would show, in its order, and nothing that their source does not say."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.digest.lines import Unit
from palimpsest_mcp.digest.reducers.html import blocks_of, joined
from palimpsest_mcp.digest.survey import survey

from .conftest import Bench

_PAGE = """<!DOCTYPE html>
<html><head><title>Tides at Norhaven</title>
<meta name="description" content="High and low water, hour by hour.">
<style>
  .tide { color: #0b6e99; }
</style>
<script>
  const build = "v9.41.2";
</script></head>
<body>
<nav><ul><li><a href="/home">Home</a></li><li><a href="/gauges">Gauges</a></li></ul></nav>
<h1>Tides at
   Norhaven</h1>
<p>The gauge at <b>berth B12</b> fell to <code>0.42</code> metres,
the lowest since <a href="https://norhaven.example/2019">2019</a>.</p>
<svg><path d="M371.3 208c0 45.9-14.9 88.3-40 122.7"/></svg>
<h2>What was done</h2>
<ul><li>Two vessels were moved.</li><li>Pilots were told.</li></ul>
<table><tr><th>Hour</th><th>Level</th></tr>
<tr><td>04:10</td><td>0.42 m</td></tr><tr><td>10:25</td><td>3.71 m</td></tr></table>
<p>Unit <b>12</b> tests passed</p>
<footer>All gauges &amp; clocks</footer>
</body></html>
"""


def _units(bench: Bench, text: str) -> list[Unit]:
    return survey(bench.source(text), bench.registry).reduced.units


def test_a_page_is_its_text_without_scripts_styles_and_drawings(bench: Bench) -> None:
    assert [unit.text for unit in _units(bench, _PAGE)] == [
        "Tides at Norhaven",
        "High and low water, hour by hour.",
        "Home",
        "Gauges",
        "The gauge at berth B12 fell to 0.42 metres, the lowest since 2019.",
        "What was done",
        "Two vessels were moved.",
        "Pilots were told.",
        "Hour | Level",
        "04:10 | 0.42 m",
        "10:25 | 3.71 m",
        "Unit",
        "12",
        "tests passed",
        "All gauges &amp; clocks",
    ]


def test_a_page_is_told_by_its_title_and_its_sentences_and_not_by_its_menu(bench: Bench) -> None:
    units = _units(bench, _PAGE)
    told = {unit.text: unit.gist for unit in units}
    assert set(sorted(told, key=lambda text: -told[text])[:3]) == {
        "Tides at Norhaven",
        "High and low water, hour by hour.",
        "The gauge at berth B12 fell to 0.42 metres, the lowest since 2019.",
    }
    assert told["Home"] == told["All gauges &amp; clocks"] == 0.0


def test_a_row_of_a_page_takes_its_head_and_its_section_along(bench: Bench) -> None:
    units = _units(bench, _PAGE)
    row = next(unit for unit in units if unit.text.startswith("10:25"))
    assert units[row.under].text == "Hour | Level"
    assert units[units[row.under].under].text == "What was done"


def test_what_a_tag_kept_apart_is_not_joined_to_a_value_that_the_source_does_not_have(bench: Bench) -> None:
    """`12 tests` is a quantity, and stands nowhere in the source."""
    found = {spec.text for spec in survey(bench.source(_PAGE), bench.registry).specs}
    assert "12 tests" not in found and "12" in found
    for unit in _units(bench, _PAGE):
        assert all(span.text in found for span in bench.registry.spans(unit.text))


def test_what_stands_only_in_scripts_and_drawings_is_worth_little_and_counted_all_the_same(bench: Bench) -> None:
    known = survey(bench.source(_PAGE), bench.registry)
    faint = {known.specs[number].text for number in known.faint}
    assert "v9.41.2" in faint
    assert not faint & {"0.42", "https://norhaven.example/2019", "04:10"}
    digest = bench.digest(_PAGE * 3, share=0.3)
    assert digest.specifics.total == len(survey(bench.source(_PAGE * 3), bench.registry).specs)


def test_tags_that_never_end_hide_only_what_they_must() -> None:
    for text in ("<p>here</p><!-- never ends", "<p>here</p><script>never ends", "<p>here</p><a href="):
        blocks, _ = blocks_of(text)
        assert joined(text, blocks[0], apart=False) == "here"


@given(
    st.lists(
        st.sampled_from(["<p>", "</p>", "<b>", "<!--", "-->", "<pre>", "\n", "a 1", "<td>", "<tr>", "<a ", '"', ">"])
    )
)
def test_every_piece_of_a_block_stands_in_the_page_in_this_order(parts: list[str]) -> None:
    text = "".join(parts)
    end = 0
    for block in blocks_of(text)[0]:
        for piece in block.pieces:
            assert end <= piece.start < piece.end <= len(text)
            end = piece.end
