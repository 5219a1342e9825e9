"""Over-long lines are cut between words, and say so."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from palimpsest_mcp.digest.long_lines import CUT, shortened
from palimpsest_mcp.digest.units import Line, Mark
from palimpsest_mcp.specifics.registry import DefaultRegistry


def line(text: str) -> Line:
    return Line(text, tuple(Mark(s.start, s.end, n) for n, s in enumerate(DefaultRegistry().spans(text))))


def test_pieces_say_where_the_line_went_on() -> None:
    pieces = list(shortened(line("some ordinary words " * 60)))
    assert len(pieces) > 2
    assert pieces[0].text.endswith(f" {CUT}") and not pieces[0].text.startswith(CUT)
    assert all(p.text.startswith(f"{CUT} ") and p.text.endswith(f" {CUT}") for p in pieces[1:-1])
    assert pieces[-1].text.startswith(f"{CUT} ") and not pieces[-1].text.endswith(CUT)


def test_a_specific_of_several_words_is_never_cut() -> None:
    for lead in range(1, 40):
        text = (
            "w" * lead
            + " "
            + " ".join(f"2026-11-20 10:{i % 60:02d}:{i % 50:02d} exit code {i + 10}" for i in range(40))
        )
        whole = line(text)
        marked = {text[m.start : m.end] for m in whole.marks}
        for piece in shortened(whole):
            assert {s.text for s in DefaultRegistry().spans(piece.text)} <= marked


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.from_regex(r"[a-z]{1,9}|[0-9]{1,7}|https://[a-z]{3,9}\.example/[a-z]{1,30}", fullmatch=True),
        min_size=90,
        max_size=200,
    )
)
def test_every_word_of_a_piece_is_a_word_of_the_line(words: list[str]) -> None:
    known = set(words)
    for piece in shortened(line(" ".join(words))):
        assert set(piece.text.replace(CUT, "").split()) <= known


def test_a_blob_without_layout_is_left_out_whole() -> None:
    assert [p.text for p in shortened(line("x" * 5000))] == []
