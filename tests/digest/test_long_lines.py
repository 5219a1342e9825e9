"""Over-long lines are cut between words, and say so."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.digest.lines import CUT, Line, Mark, shortened
from palimpsest_mcp.text.specifics.registry import DefaultRegistry


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


def drawn(chance: random.Random) -> str:
    letters = "".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=chance.randint(1, 9)))
    return chance.choice([letters, str(chance.randrange(10**7)), f"https://{letters}.example/{letters * 3}"])


@given(st.integers(90, 200), st.integers())
def test_every_word_of_a_piece_is_a_word_of_the_line(number: int, seed: int) -> None:
    chance = random.Random(seed)
    words = [drawn(chance) for _ in range(number)]
    known = set(words)
    for piece in shortened(line(" ".join(words))):
        assert set(piece.text.replace(CUT, "").split()) <= known


def test_a_blob_without_layout_is_left_out_whole() -> None:
    assert [p.text for p in shortened(line("x" * 5000))] == []
