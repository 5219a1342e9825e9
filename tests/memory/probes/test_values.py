"""Values are looked for word by word, and found as in the whole text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.memory.probes import questions as results
from palimpsest_mcp.memory.probes.answers import Original
from palimpsest_mcp.memory.probes.questions import LEAST, MAX_WORDS
from palimpsest_mcp.models.items import Item

SIGNS = st.sampled_from([*'ab19/.-_@~:A("|é\u0661 \n\t\u00a0\u3000', "https://", "src/", ".py", "TS-12", "12345"])


@given(st.lists(SIGNS, max_size=60).map("".join))
def test_a_value_is_found_whatever_stands_around_its_word(text: str) -> None:
    found = results._VALUE.findall(text)  # pyright: ignore[reportPrivateUsage]
    expected = list(dict.fromkeys(value for value in found if LEAST <= len(value) <= MAX_WORDS))
    assert list(results._values(text)) == expected  # pyright: ignore[reportPrivateUsage]


def test_a_value_that_came_up_again_is_asked_for_once() -> None:
    """Any passage may answer: asked for each result that gives it, one loss would count for many."""
    originals = [
        Original(
            item=Item(id=f"r{n}", kind="tool_result", role="tool", position=(n, 0), content="", sha256=f"{n}"),
            text=text,
            leaves=True,
        )
        for n, text in enumerate(
            ("user_4711 has item_0001", "user_4711 sold item_0001", "user_4711 has item_0002", "sold item_0002")
        )
    ]
    asked = [one.expected for one in results.result_probes(originals, results.Texts())]
    assert sorted(asked) == [("item_0001",), ("item_0002",), ("user_4711",)]


def test_a_picture_that_adorns_a_page_is_not_asked_for() -> None:
    text = "/img/line.gif https://img.example.org/badge/python-3.12.svg assets/map2.png https://example.org/a/1"
    assert list(results._values(text)) == ["assets/map2.png", "https://example.org/a/1"]  # pyright: ignore[reportPrivateUsage]
