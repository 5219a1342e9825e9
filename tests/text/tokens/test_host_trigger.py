"""Where Claude Code compacts by itself. Every number was read off client 2.1.328, most from what it says of itself."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.hosts.claude_code.settings import overrides_of
from palimpsest_mcp.models.host_table import LISTS, HostOverrides
from palimpsest_mcp.text.tokens.windows import Trigger, host_trigger, host_window

OPUS = "claude-opus-5-5"
W, P = "CLAUDE_CODE_AUTO_COMPACT_WINDOW", "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE"


def trigger(model: str, environ: dict[str, str] | None = None, settings: dict[str, object] | None = None) -> Trigger:
    found = host_trigger(model, host="claude-code", overrides=overrides_of(environ or {}, [settings or {}]))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("model", "environ", "tokens", "window"),
    [
        (OPUS, {}, 967_000, 1_000_000),
        (OPUS, {W: "200000"}, 167_000, 200_000),
        (OPUS, {W: "200k"}, 167_000, 200_000),
        (OPUS, {W: "200_000"}, 167_000, 200_000),
        (OPUS, {W: "2e5"}, 167_000, 200_000),
        (OPUS, {W: " 200000 "}, 167_000, 200_000),
        (OPUS, {W: "0.5m"}, 467_000, 500_000),
        (OPUS, {W: "150000abc"}, 117_000, 150_000),
        (OPUS, {W: "50000"}, 67_000, 100_000),
        (OPUS, {W: "2000000"}, 967_000, 1_000_000),
        (OPUS, {W: "0"}, 967_000, 1_000_000),
        (OPUS, {W: "abc"}, 967_000, 1_000_000),
        (OPUS, {W: "-5"}, 967_000, 1_000_000),
        (OPUS, {P: "50"}, 490_000, 1_000_000),
        (OPUS, {P: "95"}, 931_000, 1_000_000),
        (OPUS, {P: "12.5"}, 122_500, 1_000_000),
        (OPUS, {P: "50%"}, 490_000, 1_000_000),
        (OPUS, {P: "100"}, 967_000, 1_000_000),
        (OPUS, {P: "0"}, 967_000, 1_000_000),
        (OPUS, {P: "150"}, 967_000, 1_000_000),
        (OPUS, {W: "200000", P: "50"}, 90_000, 200_000),
        (OPUS, {W: "200000", P: "80"}, 144_000, 200_000),
        (OPUS, {"CLAUDE_CODE_MAX_OUTPUT_TOKENS": "8000"}, 979_000, 1_000_000),
        (OPUS, {"CLAUDE_CODE_MAX_OUTPUT_TOKENS": "64000"}, 967_000, 1_000_000),
        (OPUS, {"DISABLE_AUTO_COMPACT": "1"}, None, 1_000_000),
        (OPUS, {"DISABLE_COMPACT": "TRUE"}, None, 1_000_000),
        (OPUS, {"DISABLE_AUTO_COMPACT": "0"}, 967_000, 1_000_000),
        ("claude-haiku-5-5", {}, 967_000, 1_000_000),
        ("claude-opus-4-7", {}, 967_000, 1_000_000),
        ("claude-opus-4-6", {}, 167_000, 200_000),
        ("claude-sonnet-4-6", {}, 167_000, 200_000),
        ("claude-opus-4-6[1m]", {}, None, 1_000_000),
        ("some-model", {}, 967_000, 1_000_000),
        ("claude-opus-4-5", {}, None, 200_000),
        ("claude-opus-4-5", {P: "50"}, None, 200_000),
        ("claude-opus-4-5", {W: "150000"}, 117_000, 150_000),
        ("claude-sonnet-4-5", {}, None, 200_000),
        ("claude-sonnet-4-5", {W: "200000"}, 167_000, 200_000),
        ("claude-sonnet-4-5[1m]", {}, None, 1_000_000),
        ("claude-sonnet-4-5[1m]", {W: "500000"}, 467_000, 500_000),
        ("claude-haiku-4-5-20251001", {}, None, 200_000),
        ("claude-sonnet-4-20250514", {}, None, 200_000),
        ("claude-3-5-haiku-20241022", {W: "200000"}, 178_808, 200_000),
    ],
)
def test_the_trigger_is_the_clients_own(model: str, environ: dict[str, str], tokens: int | None, window: int) -> None:
    found = trigger(model, environ)
    assert (found.tokens, found.window) == (tokens, window)


@pytest.mark.parametrize(
    ("settings", "tokens"),
    [
        ({"autoCompactWindow": 300_000}, 267_000),
        ({"autoCompactWindow": 5_000_000}, 967_000),
        ({"autoCompactWindow": 99_999}, 967_000),
        ({"autoCompactWindow": "300000"}, 967_000),
        ({"autoCompactWindow": 300_000.5}, 967_000),
        ({"autoCompactEnabled": False}, None),
        ({"autoCompactEnabled": True}, 967_000),
        ({"env": {W: "200000"}, "autoCompactWindow": 300_000}, 167_000),
        ({"env": {P: "40"}}, 392_000),
        ({"env": "no object"}, 967_000),
    ],
)
def test_settings_count_as_the_client_counts_them(settings: dict[str, object], tokens: int | None) -> None:
    assert trigger(OPUS, {}, settings).tokens == tokens


def test_stronger_settings_win_and_settings_beat_the_environment() -> None:
    user, project = {"autoCompactWindow": 400_000, "env": {W: "500000"}}, {"env": {W: "200000"}}
    assert overrides_of({W: "600000"}, [user, project]).window_tokens == 200_000
    assert overrides_of({}, [{"autoCompactWindow": 400_000}, {"autoCompactWindow": 300_000}]).window_tokens == 300_000
    assert overrides_of({}, [{"autoCompactEnabled": False}, {"autoCompactEnabled": True}]).off == ""


def test_it_says_why() -> None:
    assert trigger(OPUS).words == "Claude Code compacts at 967,000 of 1,000,000 tokens"
    assert trigger(OPUS, {W: "200000"}).words == f"Claude Code compacts at 167,000 of 200,000 tokens ({W})"
    assert trigger(OPUS, {P: "50"}).words.endswith(f"({P}=50)")
    assert "waits for the provider's refusal" in trigger("claude-sonnet-4-5").words
    assert "DISABLE_AUTO_COMPACT" in trigger(OPUS, {"DISABLE_AUTO_COMPACT": "1"}).words


def test_a_host_that_is_not_in_the_table_has_no_trigger_and_an_unnamed_model_no_number() -> None:
    assert host_trigger(OPUS, host="some-editor") is None
    assert host_trigger(OPUS, host="") is None
    unnamed = host_trigger("", host="claude-code")
    assert unnamed is not None and unnamed.itself and unnamed.tokens is None
    assert unnamed.words.startswith("Claude Code compacts 13,000 tokens before its effective window ends")
    assert host_window("unknown-model") is None


@pytest.mark.parametrize(
    ("host", "model", "words"),
    [
        ("codex-mcp-client", "gpt-5.6-terra", "Codex compacts at 244,800 of 272,000 tokens (90% of its window)"),
        ("codex", "gpt-5-codex", "Codex compacts at 244,800 of 272,000 tokens (90% of its window)"),
        ("Codex", "some-model", "Codex compacts at 244,800 of 272,000 tokens (90% of its window)"),
        ("codex", "gpt-6", "Codex compacts at 90% of its window"),
        ("codex", "", "Codex compacts at 90% of its window"),
        (
            "gemini-cli-mcp-client",
            "gemini-2.5-pro",
            "Gemini CLI compacts at 524,288 of 1,048,576 tokens (50% of its window)",
        ),
        ("gemini-cli", "", "Gemini CLI compacts at 50% of its window"),
        ("claude-ai", "claude-opus-5-5", "whether Claude Desktop compacts by itself is not known"),
    ],
)
def test_the_point_of_every_other_host_is_said_too(host: str, model: str, words: str) -> None:
    found = host_trigger(model, host=host)
    assert found is not None and found.words == words
    assert found.itself is (None if host == "claude-ai" else True)


def test_a_list_that_its_program_sends_is_no_host() -> None:
    assert all(host_trigger(OPUS, host=name) is None for name in LISTS)


@given(
    st.sampled_from([OPUS, "claude-opus-4-6", "claude-sonnet-4-5", "other"]),
    st.one_of(st.none(), st.integers(100_000, 1_000_000)),
    st.one_of(st.none(), st.floats(0.5, 100)),
    st.one_of(st.none(), st.integers(1, 200_000)),
)
def test_no_setting_moves_the_trigger_beyond_the_window(
    model: str, window: int | None, percent: float | None, output: int | None
) -> None:
    overrides = HostOverrides(window_tokens=window, percent=percent, most_output=output)
    found = host_trigger(model, host="claude-code", overrides=overrides)
    assert found is not None
    if found.tokens is not None and found.window is not None:
        assert 0 <= found.tokens <= found.window - 13_000
        assert found.window <= 1_000_000
        wider = host_trigger(model, host="claude-code", overrides=HostOverrides(window_tokens=window))
        assert output is not None or (wider is not None and wider.tokens is not None and found.tokens <= wider.tokens)


@given(st.text(max_size=12))
def test_any_text_in_a_variable_is_a_window_or_nothing(text: str) -> None:
    found = overrides_of({W: text, P: text, "CLAUDE_CODE_MAX_OUTPUT_TOKENS": text, "DISABLE_COMPACT": text}, [])
    assert found.window_tokens is None or 100_000 <= found.window_tokens <= 1_000_000
    assert found.percent is None or 0 < found.percent <= 100
