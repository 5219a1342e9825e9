"""The key of a specific: what stands right before it and says what it is."""

from __future__ import annotations

import pytest

from palimpsest_mcp.text.specifics.registry import DefaultRegistry

REGISTRY = DefaultRegistry()


@pytest.mark.parametrize(
    ("line", "text", "key"),
    [
        ("count=12", "12", "count"),
        ("a.count = 12", "12", "a.count"),
        ("count: 12", "12", "count"),
        ("count:      12", "12", "count"),
        ('  "total": 1593,', "1593", "total"),
        ('{"total":1593}', "1593", "total"),
        ('{\\"total\\": 1593}', "1593", "total"),
        ('"sizes": [1593, 1594]', "1593", "sizes"),
        ('"@babel/core": "^7.1.0"', "^7.1.0", "@babel/core"),
        ("run --port 8080", "8080", "port"),
        ("run --port=8080", "8080", "port"),
        ("'-j', '16'", "16", ""),
        ("**Price:** $12.50", "$12.50", "Price"),
        ("timeout: float = 5.0", "5.0", "timeout"),
        ("F1 0.958", "0.958", "F1"),
        ("at line 127 of it", "127", "line"),
        ("url=https://x.org/a?b=12", "https://x.org/a?b=12", "url"),
        ("flights: HAT069, HAT070", "HAT070", ""),
        ("it took 12 ms", "12 ms", ""),
        ("12", "12", ""),
        ("count=\n12", "12", ""),
        ("exit code 2", "exit code 2", ""),
        ("x" * 41 + "=12", "12", ""),
        ("x" * 40 + "=12", "12", "x" * 40),
    ],
)
def test_the_nearest_key_in_the_same_line(line: str, text: str, key: str) -> None:
    found = {span.text: span.key for span in REGISTRY.spans(line)}
    assert found[text] == key


def test_one_value_under_two_keys_is_two_specifics_for_those_who_ask_for_keys_and_one_for_counting() -> None:
    text = "before=1593 after=1593"
    assert [(span.text, span.key) for span in REGISTRY.spans(text)] == [("1593", "before"), ("1593", "after")]
    assert REGISTRY.set_of(text) == {("integer", "1593")}
