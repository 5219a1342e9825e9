"""What `--out` writes reads back as the value it was."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.cli.screen import json_bytes

STRINGS = st.text(st.characters(codec=None, categories=None), max_size=30)
VALUES = st.recursive(st.none() | st.booleans() | st.integers() | STRINGS, lambda inner: st.lists(inner, max_size=4))


@given(VALUES)
def test_every_value_reads_back_half_surrogate_pairs_included(value: object) -> None:
    assert json.loads(json_bytes(value)) == value
