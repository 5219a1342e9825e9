"""Events that come in: checked, in the seed's 18 fields, without secrets and raw queries."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.errors import InvalidEvent
from palimpsest_mcp.experience.events import Prepared, prepare, query_shape, read_line
from palimpsest_mcp.experience.models import ExperienceEvent
from palimpsest_mcp.testing.experience_contract import NOW

EIGHTEEN = [
    *("ts", "session_id", "skill", "group", "task_domain", "query_type", "input_shape", "method", "environment"),
    *("outcome", "metrics", "winning_pattern", "failure_mode", "good_query", "bad_query", "evidence_refs"),
    *("promote_candidate", "notes"),
]


def mask(text: str) -> tuple[str, Mapping[str, int]]:
    """Stands for the redactor: `SECRET…` is a secret."""
    masked = " ".join("[redacted:x]" if "SECRET" in word else word for word in text.split(" "))
    return masked, ({} if masked == text else {"x": 1})


def prepared(**event: Any) -> Prepared:
    return prepare({"outcome": "success", **event}, "search-x", NOW, mask)


def written(**event: Any) -> dict[str, Any]:
    return json.loads(prepared(**event).line)


def test_the_line_has_the_seeds_eighteen_fields_in_order() -> None:
    assert list(written()) == EIGHTEEN
    assert list(ExperienceEvent.__struct_fields__)[:18] == EIGHTEEN
    assert written()["ts"].startswith("2026-04-22T12:00:00") and written()["skill"] == "search-x"


def test_the_callers_id_and_origin_are_kept_behind_them() -> None:
    assert list(written(id="e1", origin="web"))[18:] == ["id", "origin"]


def test_feedback_goes_into_the_metrics_wherever_it_came_from() -> None:
    assert written(user_feedback="Accepted")["metrics"] == {"user_feedback": "accepted"}
    assert written(metrics={"user_feedback": "correction"})["metrics"]["user_feedback"] == "correction"


def test_error_is_failure() -> None:
    assert written(outcome="error")["outcome"] == "failure"


@pytest.mark.parametrize(
    ("field", "event"),
    [
        ("outcome", {"outcome": "great"}),
        ("outcome", {"outcome": None}),
        ("ts", {"ts": "yesterday"}),
        ("ts", {"ts": "2026-04-22T10:00:00"}),
        ("ts", {"ts": "2027-01-01T00:00:00Z"}),
        ("metrics", {"metrics": [1]}),
        ("metrics.yield", {"metrics": {"yield": -1}}),
        ("metrics.relevant", {"metrics": {"relevant": "many"}}),
        ("metrics.cost_usd", {"metrics": {"cost_usd": float("nan")}}),
        ("metrics.rubric_passed", {"metrics": {"rubric_passed": "yes"}}),
        ("user_feedback", {"user_feedback": "meh"}),
        ("winning_pattern", {"winning_pattern": ["x"]}),
        ("session_id", {"session_id": 7}),
        ("environment", {"environment": "linux"}),
        ("evidence_refs", {"evidence_refs": "url"}),
        ("evidence_refs", {"evidence_refs": [{"title": "", "url": "u"}]}),
        ("promote_candidate", {"promote_candidate": "yes"}),
        ("origin", {"origin": "moon"}),
        ("skill", {"skill": "another"}),
        ("event", {"notes": "x" * 70_000}),
    ],
)
def test_a_wrong_event_is_refused_by_the_name_of_its_field(field: str, event: dict[str, Any]) -> None:
    with pytest.raises(InvalidEvent, match="winning_pattern") as refused:
        prepared(**event)
    assert refused.value.field == field


def test_what_nests_too_deeply_is_refused() -> None:
    deep: Any = []
    for _ in range(3_000):
        deep = [deep]
    with pytest.raises(InvalidEvent):
        prepared(environment={"x": deep})


def test_an_unknown_field_is_left_out_and_said() -> None:
    done = prepared(outcom="success", winning_patern="x")
    assert len(done.warnings) == 2 and "winning_pattern" in done.warnings[1]
    assert list(json.loads(done.line)) == EIGHTEEN


def test_another_channel_than_the_skill_is_named_after_is_said() -> None:
    assert prepared(channel="X").warnings == prepared(platform="search-x").warnings == ()
    assert prepared(channel="github").warnings == ("its channel is not the one that search-x is named after",)
    assert written(channel="github")["method"] == "github", "it is recorded all the same"
    assert prepare({"outcome": "success", "channel": "github"}, "deploy", NOW, mask).warnings == ()


def test_secrets_are_masked_at_any_depth_and_counted() -> None:
    done = prepared(
        winning_pattern="use SECRET1 here",
        metrics={"note": {"deep": ["SECRET2"]}},
        evidence_refs=[{"title": "SECRET3", "url": "u"}],
    )
    assert b"SECRET" not in done.line and done.redacted == {"x": 3}


def test_a_secret_that_tells_only_by_its_key_is_masked() -> None:
    def by_key(text: str) -> tuple[str, Mapping[str, int]]:
        masked = text.replace('"api_key":"hunter2"', '"api_key":"[redacted:x]"')
        return masked, ({} if masked == text else {"x": 1})

    done = prepare({"outcome": "success", "environment": {"api_key": "hunter2"}}, "x", NOW, by_key)
    assert b"hunter2" not in done.line


def test_a_mask_that_breaks_the_json_takes_the_whole_field() -> None:
    def greedy(text: str) -> tuple[str, Mapping[str, int]]:
        return (text[: text.index("hunter2")] + "[redacted:x]", {"x": 1}) if '"hunter2' in text else (text, {})

    done = prepare({"outcome": "success", "environment": {"k": "hunter2"}}, "x", NOW, greedy)
    assert json.loads(done.line)["environment"] == "[redacted]"


def test_raw_queries_become_shapes_wherever_they_stand() -> None:
    event = written(
        query="divorce lawyer in Springfield",
        environment={"user_query": "divorce lawyer in Springfield", "auth": "paid"},
        notes="asked: divorce lawyer in Springfield!",
    )
    assert "Springfield" not in json.dumps(event)
    assert event["input_shape"] == {"length_bucket": "medium", "language": "latin"}
    assert event["notes"] == "asked: {query}!" and event["environment"]["auth"] == "paid"


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("short one", ("short", "latin")),
        ("x" * 20, ("medium", "latin")),
        ("x" * 60, ("long", "latin")),
        ("香港区 订阅", ("short", "cjk")),
        ("XGP 香港区", ("short", "mixed")),
        ("привет", ("short", "other")),
        ("123", ("short", "other")),
    ],
)
def test_the_shape_of_a_query(text: str, shape: tuple[str, str]) -> None:
    assert tuple(query_shape(text).values()) == shape


def test_older_shapes_are_recorded_as_the_seeds() -> None:
    runtime = written(outcome="error", channel="web", query_shape={"length_bucket": "short"}, count_returned=3)
    assert (runtime["outcome"], runtime["method"], runtime["metrics"]) == ("failure", "web", {"yield": 3})
    trace = json.loads(prepare({"query": "red shoes", "channel": "web", "score": 0.8}, "x", NOW, mask).line)
    assert trace["outcome"] == "partial" and "red shoes" not in json.dumps(trace)
    first = {"type": "winning_pattern", "platform": "github", "pattern": "topic search", "effect": "+30 %"}
    made = json.loads(prepare(first, "x", NOW, mask).line)
    assert (made["outcome"], made["winning_pattern"], made["notes"]) == ("success", "topic search", "+30 %")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


@given(st.dictionaries(st.sampled_from([*EIGHTEEN, "id", "query", "zzz"]), json_values, max_size=8))
def test_any_event_is_refused_or_written_as_one_line_that_reads_back(event: dict[str, Any]) -> None:
    try:
        line = prepare(event, "search-x", NOW, mask).line
    except InvalidEvent:
        return
    assert line.endswith(b"\n") and line.count(b"\n") == 1
    assert read_line(line) is not None
    assert msgspec.json.decode(line, type=ExperienceEvent).skill == "search-x"
