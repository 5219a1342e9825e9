"""What a browser shows of a page is read by its nodes: headings and texts, and what can be used."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.digest.readers import accessibility

from .conftest import Bench

NUMBERED = """[142] banner
  [149] navigation
    [150] link "About us"  [url: https://example.org/about]
[182] heading "The order 4711 was refused"
  [43] StaticText "The order 4711 was refused"
[50] StaticText "The card was declined by the bank on 2026-11-03." """
NAMED = """- banner [ref=e2]:
  - link "Home" [ref=e3] [cursor=pointer]:
    - /url: /home
- heading "Order 4711" [level=1] [ref=e9]
- paragraph [ref=e10]: The card was declined by the bank.
- button "Try again" [ref=e12] [disabled]"""


def told(text: str) -> dict[str, tuple[str, float]]:
    lines = text.split("\n")
    assert accessibility.claims(lines, 0) == len(lines)
    return {one.text: (one.kind, one.worth) for one in accessibility.read(lines).records}


def test_headings_and_sentences_come_before_what_can_be_used_and_boxes_say_nothing() -> None:
    assert told(NUMBERED) == {
        '[150] link "About us"  [url: https://example.org/about]': ("entry", 1.0),
        '[182] heading "The order 4711 was refused"': ("line", 2.0),
        '[43] StaticText "The order 4711 was refused"': ("noise", 0.0),
        '[50] StaticText "The card was declined by the bank on 2026-11-03."': ("line", 1.5),
    }
    assert told(NAMED) == {
        '- link "Home" [ref=e3] [cursor=pointer]:': ("entry", 1.0),
        "- /url: /home": ("noise", 0.0),
        '- heading "Order 4711" [level=1] [ref=e9]': ("line", 2.0),
        "- paragraph [ref=e10]: The card was declined by the bank.": ("line", 1.5),
        '- button "Try again" [ref=e12] [disabled]': ("entry", 1.0),
    }


@pytest.mark.parametrize(
    "text",
    [
        "[1] Smith, J. On the order of things.\n[2] Jones, K. Another.\n[3] Roe, R.\n[4] Doe, D.\n[5] Poe, E.",
        "- link one\n- link two\n- link three\n- link four\n- link five",
        "[1] see the page\n[2] see another\n[3] see this\n[4] and that",
    ],
)
def test_lists_of_a_text_are_no_page(text: str) -> None:
    assert accessibility.claims(text.split("\n"), 0) == 0


def test_a_digest_of_a_page_shows_what_it_says(bench: Bench) -> None:
    boxes = "\n".join(f"  [{n}] listitem" for n in range(300, 330))
    digest = bench.digest(f"{NUMBERED}\n{boxes}", share=0.4)
    text = "\n".join(part.text for part in digest.parts)
    assert digest.verification.passed
    assert "declined by the bank on 2026-11-03" in text and "listitem" not in text


@given(st.lists(st.text(alphabet=" -[]\"'abc:1=", max_size=40), max_size=12))
def test_every_record_is_a_line_of_its_text(parts: list[str]) -> None:
    lines = [*NUMBERED.split("\n"), *parts]
    end = accessibility.claims(lines, 0)
    assert end >= NUMBERED.count("\n") + 1
    assert all(one.text == lines[one.at].strip() for one in accessibility.read(lines[:end]).records)
