"""How far our counts are from what providers reported, by family of models."""

from __future__ import annotations

import gzip
import json
from typing import Any, cast

from measuring import Skipped, quantile, table
from real_sessions import shared_folder

SOURCES = ("pi-mono", "spotter")
LEAST = 200
"""Tokens that came between two answers: of fewer the error is mostly that of the message's frame."""


def token_error(_repeats: int) -> str:
    """Guards against thresholds that fire too late: what came between two answers, counted and reported."""
    from palimpsest_mcp.text.tokens.count import family_of, open_counter

    grown: dict[str, list[float]] = {}
    whole: dict[str, list[float]] = {}
    for name in SOURCES:
        file = shared_folder() / "data" / "converted" / f"{name}.jsonl.gz"
        if not file.exists():
            raise Skipped(f"{file} is missing")
        with gzip.open(file, "rt", encoding="utf-8") as lines:
            sessions: list[dict[str, Any]] = [json.loads(line) for line in lines]
        for session in sessions:
            usage = session["meta"].get("usage", [])
            for before, after in zip(usage, usage[1:], strict=False):
                came = after["context"] - before["context"] - before["output"]
                if before["model"] != after["model"] or not before["context"] or came < LEAST:
                    continue
                counter = open_counter(after["model"])
                between = session["messages"][before["message_index"] + 1 : after["message_index"]]
                ours = sum(_tokens(message, counter) for message in between)
                if not ours:
                    continue  # the converted session lacks what came
                family = f"{family_of(after['model']).name}, {name}"
                grown.setdefault(family, []).append(ours / came - 1)
                whole.setdefault(family, []).append((ours - came) / after["context"])
    head = (
        "family, sessions",
        "answers",
        "what came between: p5",
        "median",
        "p95",
        "whole context: p5",
        "median",
        "p95",
    )
    return table(
        head,
        [
            [family, str(len(found)), *_percentiles(found, 0), *_percentiles(whole[family], 2)]
            for family, found in sorted(grown.items())
        ],
    )


def _tokens(message: dict[str, Any], counter: Any) -> int:
    content = message["content"]
    blocks = cast("list[Any]", content) if isinstance(content, list) else [content]
    fields = [cast("dict[str, Any]", one) for one in blocks if isinstance(one, dict)]
    results = sum(one.get("type") == "tool_result" for one in fields)
    return counter.count_content(content) + results * counter.per_result_overhead


def _percentiles(found: list[float], digits: int) -> list[str]:
    return [f"{quantile(found, share):+.{digits}%}" for share in (0.05, 0.5, 0.95)]
