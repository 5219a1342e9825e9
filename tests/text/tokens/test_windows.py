"""Windows, prices and hosts: found by any spelling of an id, and unknown where they are unknown."""

from __future__ import annotations

import pytest

from palimpsest_mcp.text.tokens.windows import HOST_RESERVE_TOKENS, MODELS, normal, prices_of, window_of


@pytest.mark.parametrize(
    ("model", "tokens"),
    [
        ("claude-opus-5-5", 1_000_000),
        ("claude-haiku-5-5", 1_000_000),
        ("claude-sonnet-4-6", 1_000_000),
        ("claude-sonnet-4-5-20250929", 200_000),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", 200_000),
        ("claude-sonnet-4@20250514", 200_000),
        ("anthropic/claude-opus-4.6", 1_000_000),
        ("claude-sonnet-4-5[1m]", 1_000_000),
        ("CLAUDE-OPUS-4-5", 200_000),
        ("gpt-5.2", 400_000),
        ("gpt-5.6-sol", 1_000_000),
        ("gpt-4o-mini", 128_000),
        ("openai/o3", 200_000),
    ],
)
def test_a_window_is_found_by_any_spelling_of_the_id(model: str, tokens: int) -> None:
    found = window_of(model)
    assert found is not None
    assert found.tokens == tokens
    assert found.effective == tokens - min(found.output, HOST_RESERVE_TOKENS)


@pytest.mark.parametrize("model", ["", "llama-4", "claude-opus-9", "claudette", "gpt-5x"])
def test_an_unknown_model_has_no_window(model: str) -> None:
    assert window_of(model) is None


def test_a_host_may_use_less_of_a_model_than_it_has() -> None:
    narrow, wide = (
        window_of("claude-opus-4-6", host="claude-code"),
        window_of("claude-opus-4-6[1m]", host="claude-code"),
    )
    assert narrow is not None
    assert wide is not None
    assert (narrow.tokens, wide.tokens) == (200_000, 1_000_000)
    assert "Claude Code" in narrow.source


def test_prices_name_their_source_and_fall_back_by_family() -> None:
    assert prices_of("claude-fable-5-1").read == 0.025
    assert prices_of("claude-opus-5").read == 0.10
    assert (prices_of("gpt-5.6").write, prices_of("gpt-5").write) == (1.25, 1.0)
    assert prices_of("gpt-3.5-turbo").write == 1.0
    assert prices_of("").write == 1.25
    assert all(prices_of(row.prefix).source for row in MODELS)


def test_every_row_is_spelt_as_ids_are_looked_up() -> None:
    for row in MODELS:
        assert normal(row.prefix) == row.prefix
        found = window_of(row.prefix)
        assert found is not None
        assert (found.tokens, found.output) == (row.window, row.output)
        assert 0 < row.read <= 1 <= row.write
        assert 0 < row.output < row.window
