"""Patterns that are compiled when somebody looks with them, and not before."""

from __future__ import annotations

import re

import pytest

from palimpsest_mcp.models.text import late


def test_a_pattern_is_put_together_of_others_without_compiling_them(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[str] = []
    compile_now = re.compile

    def noted(source: str, flags: int = 0) -> re.Pattern[str]:
        compiled.append(source)
        return compile_now(source, flags)

    monkeypatch.setattr(re, "compile", noted)
    number = late(r"\d+")
    pair = late(rf"({number.pattern})-({number.pattern})")
    assert not compiled
    assert pair.findall("12-7 and 8") == [("12", "7")]
    assert compiled == [pair.pattern]


def test_a_late_pattern_finds_what_the_pattern_finds() -> None:
    text = "Error: disk full\nerror: none"
    early = re.compile(r"^error: (\w+)", re.IGNORECASE | re.MULTILINE)
    assert late(early.pattern, re.IGNORECASE | re.MULTILINE).findall(text) == early.findall(text)
