"""Counting: families, whole contents, texts that break tokenizers, and memory that stays bounded."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.text.tokens.count import (
    CHUNK_CHARS,
    IMAGE_TOKENS,
    PER_RESULT_OVERHEAD,
    CharactersCounter,
    O200kCounter,
    by_tiktoken,
    chunks,
    load_vocabulary,
    open_counter,
    pieces,
)


def raw() -> O200kCounter:
    encode = load_vocabulary().encode
    assert encode is not None
    return O200kCounter(encode, entries=4)


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("gpt-5", "o200k x 1"),
        ("openai/gpt-4o-mini", "o200k x 1"),
        ("o3-mini", "o200k x 1"),
        ("claude-opus-4-5-20251101", "o200k x 1.25"),
        ("claude-3-5-sonnet-20241022", "o200k x 1.25"),
        ("claude-opus-4-20250514", "o200k x 1.25"),
        ("anthropic/claude-opus-4.6", "o200k x 1.25"),
        ("claude-opus-4-7", "o200k x 1.55"),
        ("us.anthropic.claude-opus-4-8-v1:0", "o200k x 1.55"),
        ("claude-sonnet-5-5", "o200k x 1.55"),
        ("claude-opus-10", "o200k x 1.55"),
        ("claude", "o200k x 1.55"),
        ("", "o200k x 1.55"),
        ("llama-4", "o200k x 1.55"),
    ],
)
def test_a_models_family_gives_its_factor(model: str, name: str) -> None:
    assert open_counter(model).name == name


def test_counts_are_o200k_times_the_factor_to_the_nearest_token() -> None:
    text = "The quick brown fox jumps over the lazy dog."
    assert open_counter("gpt-5").count(text) == 10
    assert open_counter("claude-opus-4-5").count(text) == 13  # 12.5, half up
    assert open_counter("claude-opus-5").count(text) == 16  # 15.5, half up
    assert open_counter("claude-opus-5").count("") == 0
    assert open_counter("gpt-5").count("hello world") == 2


@given(st.lists(st.text(max_size=40), max_size=20))
def test_a_sum_leans_to_neither_side(texts: list[str]) -> None:
    exact = 1.55 * sum(map(open_counter("gpt-5").count, texts))
    scaled = sum(map(open_counter("claude-opus-5").count, texts))
    assert abs(scaled - exact) <= len(texts) / 2


@pytest.mark.parametrize(
    "text",
    [
        " " * 1_000_000,
        "\t" * 1_000_000,
        "\u00a0" * 1_000_000,
        "x" + " " * 1_100_000 + "x",
        "\n" * 1_000_000,
    ],
    ids=["spaces", "tabs", "no-break spaces", "spaces inside", "newlines"],
)
def test_a_million_white_space_characters_are_counted(text: str) -> None:
    """tiktoken 0.14 raises a panic, which is no Exception, on such a run in one piece."""
    assert open_counter("gpt-5").count(text) > 100


def test_special_tokens_are_plain_text_and_lone_surrogates_are_counted() -> None:
    counter = open_counter("gpt-5")
    assert counter.count("<|endoftext|>") > 1
    assert counter.count("a\ud800b") == counter.count("a\ufffdb")
    assert counter.count("\udcff" * 300) > 0


def test_ordinary_long_text_counts_the_same_in_pieces() -> None:
    line = "2026-11-20T10:00:00Z INFO worker[17] took 12.5 ms for /api/v1/items?id=42 (200)\n"
    text = line * 4_000
    encoding, _ = by_tiktoken()
    assert len(text) > 3 * CHUNK_CHARS
    assert open_counter("gpt-5").count(text) == len(encoding.encode_ordinary(text))


SIGNS = st.sampled_from([*"ab1 \n\n\n\r\t/).]'é\u3000\u2028\x1c\u0301", "\n/", "\n\n", ");\n", "[×3 rows]\n", "- "])


@given(st.lists(SIGNS, max_size=60).map("".join))
def test_a_text_has_as_many_tokens_as_its_pieces_together(text: str) -> None:
    encoding, _ = by_tiktoken()
    apart = list(pieces(text))
    assert "".join(apart) == text
    assert sum(len(encoding.encode_ordinary(piece)) for piece in apart) == len(encoding.encode_ordinary(text))


def test_of_a_second_draft_only_the_lines_that_are_new_are_encoded() -> None:
    encoding, _ = by_tiktoken()
    encoded: list[str] = []

    def watched(text: str) -> list[int]:
        encoded.append(text)
        return encoding.encode_ordinary(text)

    counter = O200kCounter(watched)
    lines = ["[palimpsest offload_0001: 2 results]", *(f"line {n} took {n * 7} ms in total" for n in range(20))]
    for draft in (lines, [*lines[:9], "another one", *lines[9:]]):
        encoded.clear()
        assert counter.count("\n".join(draft)) == len(encoding.encode_ordinary("\n".join(draft)))
    assert encoded == ["another one\n"]


@given(st.text(alphabet="ab \n", max_size=80), st.integers(1, 20))
def test_pieces_join_to_the_text_and_none_is_too_long(text: str, limit: int) -> None:
    pieces = list(chunks(text, limit))
    assert "".join(pieces) == text
    assert all(len(piece) <= limit for piece in pieces)


def test_the_memory_of_counts_is_bounded_and_forgets_the_oldest_first() -> None:
    counter = raw()
    for number in range(100):
        assert counter.count(f"text number {number}") == counter.count(f"text number {number}")
    held = len(counter._young) + len(counter._old)  # pyright: ignore[reportPrivateUsage]
    assert held <= 8


def test_a_long_text_is_not_kept_in_memory() -> None:
    counter = raw()
    counter.count("word " * 1_000)
    assert all(len(key) <= 128 for key in counter._young)  # pyright: ignore[reportPrivateUsage]


def test_the_characters_rule_is_near_the_vocabulary() -> None:
    text = "def total(rows: list[int]) -> int:\n    return sum(rows)  # 17 of 42 rows\n" * 50
    exact, rule = open_counter("gpt-5").count(text), open_counter("gpt-5", prefer="characters").count(text)
    assert 0.7 < rule / exact < 1.4
    assert open_counter(prefer="characters").name == "characters x 1.55"
    assert CharactersCounter().count("") == 0
    assert CharactersCounter().count("a") == 1
    assert CharactersCounter().count("日本語の文") > CharactersCounter().count("abcde")


PICTURE = base64.b64encode(b"\x89PNG" + bytes(60_000)).decode()


@pytest.mark.parametrize(
    "block",
    [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PICTURE}},
        {"type": "image", "data": PICTURE, "mimeType": "image/png"},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PICTURE}"}},
        {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": PICTURE}},
    ],
)
def test_a_picture_is_one_constant_whatever_its_base64(block: dict[str, Any]) -> None:
    counter = open_counter("claude-opus-5")
    assert counter.count_content([block]) == IMAGE_TOKENS
    assert counter.count_content([{"type": "text", "text": "hello world"}, block]) == 3 + IMAGE_TOKENS


def test_raw_bytes_are_one_binary() -> None:
    assert open_counter("gpt-5").count_content({"base64": PICTURE}) == IMAGE_TOKENS


def test_encoded_data_inside_an_unknown_block_is_not_counted_as_text() -> None:
    block = {"type": "novel", "inner": [{"data": PICTURE, "note": "hello"}]}
    assert IMAGE_TOKENS < open_counter("gpt-5").count_content(block) < IMAGE_TOKENS + 60


@pytest.mark.parametrize(
    ("content", "texts"),
    [
        ("hello world", ["hello world"]),
        (["hello", {"type": "text", "text": "world"}], ["hello", "world"]),
        ({"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {"path": "/a"}}, ["Read", '{"path":"/a"}']),
        (
            {"id": "call_1", "type": "function", "function": {"name": "read", "arguments": '{"path": "/a"}'}},
            ["read", '{"path": "/a"}'],
        ),
        (
            {"type": "function_call", "call_id": "call_1", "name": "read", "arguments": '{"path": "/a"}'},
            ["read", '{"path": "/a"}'],
        ),
        ({"type": "custom_tool_call", "call_id": "call_1", "name": "patch", "input": "+ 1"}, ["patch", "+ 1"]),
        ({"id": "call_1", "type": "custom", "custom": {"name": "patch", "input": "+ 1"}}, ["patch", "+ 1"]),
        ({"type": "thinking", "thinking": "hmm, so", "signature": "Zm9v" * 500}, ["hmm, so"]),
        ({"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "out"}]}, ["out"]),
        ({"type": "document", "source": {"type": "text", "data": "plain words"}}, ["plain words"]),
        ({"type": "resource", "resource": {"uri": "file:///a", "text": "plain words"}}, ["plain words"]),
        ([17, None], ["17", "null"]),
        (None, []),
        ([], []),
    ],
)
def test_of_a_content_the_model_reads_these_texts(content: Any, texts: list[str]) -> None:
    counter = open_counter("claude-opus-5")
    assert counter.count_content(content) == sum(map(counter.count, texts))


def test_the_overhead_of_a_result_is_said_by_the_counter() -> None:
    assert open_counter().per_result_overhead == PER_RESULT_OVERHEAD == 14


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["type", "text", "data", "k"]), inner),
    max_leaves=8,
)


@given(st.lists(json_values, max_size=4))
def test_any_content_has_a_count(content: list[Any]) -> None:
    assert open_counter("claude-opus-5").count_content(content) >= 0
