"""What is done is told to a log and to whoever traces."""

from __future__ import annotations

import json
import logging
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import opentelemetry.metrics
import opentelemetry.trace as api
import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

from palimpsest_mcp.core import dependencies
from palimpsest_mcp.core.dependencies import JsonLines, doing, noted
from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.errors import LockTimeout

from .conftest import make_session

KEY = "ghp_" + "x7Kq2Lm9Zt4Vb8Nc1Rf6Wd3Hs5Jg0PaYeUi"


class Span:
    """What a tracing SDK would keep of a span."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.attributes: dict[str, Any] = {}

    def set_attributes(self, attributes: dict[str, Any]) -> None:
        self.attributes |= attributes


class Provider(api.NoOpTracerProvider):
    """Hands out tracers that keep their spans."""

    def __init__(self) -> None:
        self.spans: list[Span] = []

    def get_tracer(self, *_: Any, **__: Any) -> Any:
        return self

    @contextmanager
    def start_as_current_span(self, name: str, **_: Any) -> Generator[Span]:
        self.spans.append(Span(name))
        yield self.spans[-1]


def test_a_span_has_the_session_counts_and_the_code_of_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    provider = Provider()
    monkeypatch.setattr(api, "get_tracer", provider.get_tracer)
    with pytest.raises(LockTimeout), noted("tool", tool="x"), noted("pass") as counts:
        assert doing.get() is counts
        counts |= {"session": "s1abc", "batches": 2}
        raise LockTimeout("held", next="")
    outer, inner = provider.spans
    assert (outer.name, inner.name) == ("palimpsest.tool", "palimpsest.pass")
    assert inner.attributes["palimpsest.batches"] == 2 and inner.attributes["palimpsest.error"] == "lock_timeout"
    assert outer.attributes["palimpsest.session"] == "s1abc" and outer.attributes["palimpsest.ms"] >= 0


@pytest.mark.anyio
async def test_a_pass_says_what_came_of_it_and_nothing_of_what_it_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider = Provider()
    monkeypatch.setattr(api, "get_tracer", provider.get_tracer)
    async with Palimpsest.open(tmp_path) as p:
        for _ in range(2):
            await p.compact_messages(make_session(12), session_id="s", target=0.4, keep_last=3, force=True)
    first, again = (span.attributes for span in provider.spans if span.name == "palimpsest.pass")
    assert (first["palimpsest.status"], again["palimpsest.status"]) == ("compacted", "nothing_to_do")
    assert first["palimpsest.batches"] > 0 == again["palimpsest.batches"]
    assert not any("worker-" in str(value) for value in first.values())


@pytest.mark.anyio
async def test_metrics_sum_up_what_passes_did_and_tell_no_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = InMemoryMetricReader()
    monkeypatch.setattr(opentelemetry.metrics, "get_meter", MeterProvider([reader]).get_meter)
    dependencies.instruments.cache_clear()
    try:
        async with Palimpsest.open(tmp_path) as p:
            made = [
                await p.compact_messages(make_session(12), session_id=name, target=0.4, keep_last=3, force=True)
                for name in ("one", "two")
            ]
        with pytest.raises(LockTimeout), noted("tool", tool="x", session="s1abc"):
            raise LockTimeout("held", next="")
    finally:
        dependencies.instruments.cache_clear()
    offloaded = sum(batch.original_tokens for one in made for batch in one.report.batches)
    assert sum(value for _, value in points(reader, "palimpsest.tokens_offloaded")) == offloaded
    assert [kinds for kinds, _ in points(reader, "palimpsest.operation.duration")] == [
        {"operation": "pass", "status": "compacted"},
        {"operation": "tool", "tool": "x", "error": "lock_timeout"},
    ]


def points(reader: InMemoryMetricReader, name: str) -> list[tuple[dict[str, Any], float]]:
    """What stands apart in a metric, with its sum."""
    found = reader.get_metrics_data()
    assert found is not None
    told: dict[str, Any] = json.loads(found.to_json())
    metrics = told["resource_metrics"][0]["scope_metrics"][0]["metrics"]
    own = next(metric for metric in metrics if metric["name"] == name)
    return [(one["attributes"], one.get("value", one.get("sum"))) for one in own["data"]["data_points"]]


def test_a_warning_is_one_line_of_json_and_masked() -> None:
    record = logging.LogRecord("palimpsest_mcp.x", logging.WARNING, "", 0, "key %s\nsecond line", (KEY,), None)
    line = JsonLines().format(record)
    said = json.loads(line)
    assert "\n" not in line and KEY not in line and said["level"] == "warning" and "second line" in said["text"]
