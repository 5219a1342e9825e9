"""What faces print, masked: views of the library, and what they are where nothing has to be."""

from __future__ import annotations

from typing import Any

import msgspec

from palimpsest_mcp.core.surface import Surface
from palimpsest_mcp.text.redaction.redactor import open_redactor

SECRET = "ghp_" + "a1B2c3D4e5F6" * 3


class Inner(msgspec.Struct, frozen=True):
    words: tuple[str, ...]
    count: int = 3


class View(msgspec.Struct, frozen=True):
    inner: Inner
    by_name: dict[str, Any]
    ratio: float | None = None


def test_a_view_is_masked_wherever_a_secret_stands_and_is_itself_where_none_does() -> None:
    surface = Surface(open_redactor(b"k" * 32))
    plain = View(Inner(("a word", "another")), {"a name": ["one", 2, None]}, 0.5)
    assert surface.view(plain) == plain
    for secret in (
        View(Inner(("a word", f"token={SECRET}")), {}),
        View(Inner(()), {f"token={SECRET}": 1}),
        View(Inner(()), {"a": [{"b": f"token={SECRET}"}]}),
        View(Inner((f"token={SECRET} " + "word " * 100,)), {}),
        View(Inner((f"token={SECRET} " + "word " * 2_000,)), {}),
    ):
        for _ in range(2):  # also by what is kept from the first time
            masked = repr(surface.view(secret))
            assert SECRET not in masked and "[redacted:" in masked
