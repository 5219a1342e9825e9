"""The four shapes of lines that exist in the wild, and damaged ones."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.experience.events import day_of, identity_of, month_of, read_line


def line(**fields: object) -> bytes:
    return json.dumps(fields).encode()


def test_the_seeds_eighteen_fields_are_read() -> None:
    event = read_line(
        line(
            ts="2026-04-22T08:15:00+08:00",
            session_id="s1",
            skill="search-x",
            group="channels",
            task_domain="products",
            query_type="opinion",
            input_shape="brand + feature",
            method="api:search",
            environment={"auth": "paid"},
            outcome="success",
            metrics={"yield": 18, "relevant": 9, "user_feedback": "accepted", "rubric_passed": True},
            winning_pattern="brand + pain word",
            failure_mode=None,
            good_query="{brand} {year}",
            bad_query=None,
            evidence_refs=[],
            promote_candidate=True,
            notes="fine",
        )
    )
    assert event is not None and event.metrics is not None
    assert (event.outcome, event.winning_pattern, event.feedback) == ("success", "brand + pain word", "accepted")
    assert (event.metrics.yielded, event.metrics.relevant, event.metrics.rubric_passed) == (18, 9, True)


def test_the_runtimes_shape_is_read_and_its_error_is_a_failure() -> None:
    event = read_line(
        line(
            skill="x",
            channel="x",
            query_shape={"length_bucket": "short", "language": "latin"},
            outcome="error",
            count_returned=0,
            count_total=0,
            ts="2026-04-23T03:04:13.222665+00:00",
        )
    )
    assert event is not None and event.outcome == "error" and event.winning_pattern is None


def test_a_harvested_trace_has_no_outcome_and_is_only_seen() -> None:
    event = read_line(line(query="red shoes", channel="web", score=0.8, ts="2026-04-23T03:04:13Z"))
    assert event is not None and event.outcome == "partial"


def test_the_first_versions_patterns_are_read() -> None:
    won = read_line(
        line(type="winning_pattern", ts="2026-03-28T09:19:33Z", session_id="g1", generation=1, platform="github",
             pattern="search topics", effect="0.81", evidence="gen 1")
    )  # fmt: skip
    lost = read_line(line(pattern="diversity", outcome="loss", timestamp="2026-03-31T02:55:00Z"))
    noted = read_line(line(pattern="restrict_sr", finding="use restrict_sr=on", validated="2026-03-21"))
    assert won is not None and (won.outcome, won.winning_pattern) == ("success", "search topics")
    assert lost is not None and (lost.outcome, lost.failure_mode) == ("failure", "diversity")
    assert noted is not None and (noted.outcome, noted.winning_pattern) == ("partial", "use restrict_sr=on")


def test_feedback_at_the_top_level_comes_first_and_the_metrics_second() -> None:
    ts = "2026-04-22T00:00:00Z"
    both = read_line(line(ts=ts, outcome="success", user_feedback="rejected", metrics={"user_feedback": "accepted"}))
    inner = read_line(line(ts=ts, outcome="success", metrics={"user_feedback": "Correction "}))
    assert both is not None and both.feedback == "rejected"
    assert inner is not None and inner.feedback == "correction"


def test_a_field_of_a_wrong_type_costs_itself_only() -> None:
    event = read_line(
        line(ts="2026-04-22T00:00:00Z", outcome="success", winning_pattern="x y", notes=7, metrics={"yield": "many"})
    )
    assert event is not None and event.winning_pattern == "x y" and event.notes is None
    assert event.metrics is not None and event.metrics.yielded is None


@pytest.mark.parametrize(
    "raw", [b"{", b"[1]", b"null", b"7", b'"x"', b"\xff\xfe", b"{}", b'{"ts": "yesterday", "outcome": "success"}',
            b'{"outcome": "success"}', b'{"ts": "2026-04-22T00:00:00Z"}', b"[" * 5000]
)  # fmt: skip
def test_what_is_no_event_is_damaged(raw: bytes) -> None:
    event = read_line(raw)
    assert event is None or day_of(event.ts) is None


@given(st.binary(max_size=80))
def test_no_bytes_make_the_reader_fail(raw: bytes) -> None:
    read_line(raw)


def test_an_identity_ignores_order_and_white_space_and_prefers_the_id() -> None:
    assert identity_of(b'{"a": 1, "b": 2}') == identity_of(b'{"b":2,"a":1}') != identity_of(b'{"b":2,"a":3}')
    assert identity_of(b'{"id": "mine", "a": 1}') == "mine" == identity_of(b'{"event_id": "mine"}')


def test_days_and_months_are_those_of_utc() -> None:
    assert day_of("2026-05-01T01:00:00+08:00") == day_of("2026-04-30T17:00:00Z") == day_of("2026-04-30")
    assert month_of("2026-05-01T01:00:00+08:00") == "2026-04"
    assert month_of("soon") is None
