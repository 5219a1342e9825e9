"""What is done is told to a log and to whoever traces."""

from __future__ import annotations

import json
import logging
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import opentelemetry.trace as api
import pytest

from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.core.spans import JsonLines, note_session, noted
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
        note_session("s1abc")
        counts["batches"] = 2
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


def test_a_warning_is_one_line_of_json_and_masked() -> None:
    record = logging.LogRecord("palimpsest_mcp.x", logging.WARNING, "", 0, "key %s\nsecond line", (KEY,), None)
    line = JsonLines().format(record)
    said = json.loads(line)
    assert "\n" not in line and KEY not in line and said["level"] == "warning" and "second line" in said["text"]
