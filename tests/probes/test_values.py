"""Values are looked for word by word, and found as in the whole text."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from palimpsest_mcp.probes import results
from palimpsest_mcp.probes.wording import LEAST, MAX_WORDS

SIGNS = st.sampled_from([*'ab19/.-_@~:A("|é\u0661 \n\t\u00a0\u3000', "https://", "src/", ".py", "TS-12", "12345"])


@settings(max_examples=500, deadline=None)
@given(st.lists(SIGNS, max_size=60).map("".join))
def test_a_value_is_found_whatever_stands_around_its_word(text: str) -> None:
    found = results._VALUE.findall(text)  # pyright: ignore[reportPrivateUsage]
    expected = list(dict.fromkeys(value for value in found if LEAST <= len(value) <= MAX_WORDS))
    assert list(results._values(text)) == expected  # pyright: ignore[reportPrivateUsage]
