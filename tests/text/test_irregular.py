"""Words whose forms share no stem."""

from __future__ import annotations

import pytest

from palimpsest_mcp.text.stem import forms


@pytest.mark.parametrize(
    ("word", "others"),
    [
        ("go", ("went", "gone")),
        ("going", ("went", "gone")),
        ("went", ("go", "gone")),
        ("children", ("child",)),
        ("made", ("make",)),
        ("look", ()),
        ("", ()),
    ],
)
def test_a_form_names_the_others_that_its_stem_does_not_find(word: str, others: tuple[str, ...]) -> None:
    assert forms(word) == others
