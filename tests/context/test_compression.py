"""Compression of a pass against the range of its policy."""

from __future__ import annotations

import pytest

from palimpsest_mcp.context.policies import ANCHORED, RESEARCH, compression


def test_pointers_are_not_counted() -> None:
    found = compression([(1000, 300, "digest"), (9000, 60, "pointer"), (500, 20, "copy")], ANCHORED)
    assert found.share == pytest.approx(0.7)
    assert not found.note


def test_above_the_limit_is_refused_except_for_opaque() -> None:
    batches = [(1000, 40, "digest")]
    assert compression(batches, ANCHORED).refused
    assert not compression(batches, ANCHORED, strategy="opaque").refused
    assert not compression([(1000, 50, "digest")], ANCHORED).refused


def test_outside_the_usual_range_there_is_a_note() -> None:
    assert "below" in compression([(1000, 500, "digest")], ANCHORED).note
    assert "above" in compression([(1000, 100, "digest")], ANCHORED).note
    assert "specifics were lost" in compression([(1000, 100, "digest")], ANCHORED, kept_specifics=False).note


def test_nothing_but_pointers_has_no_compression() -> None:
    assert compression([(1000, 60, "pointer")], RESEARCH).share is None
    assert compression([], RESEARCH).share is None


def test_a_refusal_says_how_many_tokens_are_missing() -> None:
    assert compression([(1000, 40, "digest"), (1000, 50, "digest")], ANCHORED).missing == 10
    assert compression([(1000, 50, "digest")], ANCHORED).missing == 0
