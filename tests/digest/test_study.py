"""Texts are read once for several digests, and no digest tells whether they were."""

from __future__ import annotations

import json
from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.digest import source as sources
from palimpsest_mcp.digest import study
from palimpsest_mcp.digest.engine import ExtractiveDigester, read_ahead
from palimpsest_mcp.digest.records import Record
from palimpsest_mcp.digest.source import Source
from palimpsest_mcp.digest.templates import Template, mined
from palimpsest_mcp.errors import DigestRefused
from palimpsest_mcp.models.items import Specific
from palimpsest_mcp.models.records import Digest, DigestRequest, DigestSource, Visible
from palimpsest_mcp.text.specifics.registry import DefaultRegistry
from palimpsest_mcp.text.tokens.count import ModelCounter, open_counter

REGISTRY = DefaultRegistry()


def counter() -> ModelCounter:
    return open_counter("claude-opus-4-8")


TEXTS = (
    "\n".join(f"2026-11-20 08:15:{n} INFO worker {n} took {n * 37} ms at 10.0.0.{n}" for n in range(10, 60)),
    json.dumps({"id": "HAT069", "state": "cancelled", "seats": 12, "from": "SEA", "to": "JFK", "price": 481.5}),
    json.dumps({"id": "HAT112", "state": "available", "seats": 3, "from": "SEA", "to": "ORD", "price": 99.5}),
    "\n".join(f"src/app/part{n}.py:{n}: def run_{n}(x): return x + {n * 11}" for n in range(40)),
    "ERROR: build failed with exit code 2\n" + "\n".join(f"step {n} of the build was fine" for n in range(30)),
)


def request(chosen: list[int], budget: int, focus: tuple[str, ...], seen: bool, failed: bool) -> DigestRequest:
    sources = tuple(
        DigestSource(
            item_id=f"i{place}",
            kind="tool_result",
            text=TEXTS[n],
            tokens=counter().count(TEXTS[n]),
            focus=focus,
            is_error=failed,
        )
        for place, n in enumerate(chosen)
    )
    holders = {Specific("id", "HAT069"): "offload_0001"} if seen else {}
    return DigestRequest(
        sources=sources,
        budget_tokens=budget,
        ceiling_tokens=budget,
        handle="h-1",
        batch_id="offload_0002",
        visible=Visible(holders),
    )


def made(digester: ExtractiveDigester, asked: DigestRequest) -> Digest | str:
    try:
        return digester.compute(asked)
    except DigestRefused as error:
        return str(error)


REQUESTS = st.builds(
    request,
    st.lists(st.integers(0, len(TEXTS) - 1), min_size=1, max_size=4),
    st.integers(120, 900),
    st.sampled_from([(), ("HAT112", "which worker was slow")]),
    st.booleans(),
    st.booleans(),
)


@given(st.lists(REQUESTS, min_size=1, max_size=4), st.sampled_from([0, 3_000, study.MOST_CHARS]))
def test_a_digest_is_the_same_whatever_was_digested_before(requests: list[DigestRequest], most: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(study, "MOST_CHARS", most)
        kept = ExtractiveDigester(REGISTRY, counter())
        for one in requests:
            fresh = made(ExtractiveDigester(REGISTRY, counter()), one)
            assert msgspec.to_builtins(made(kept, one)) == msgspec.to_builtins(fresh)


@pytest.mark.long
@given(st.lists(REQUESTS, min_size=2, max_size=4))
def test_digesters_of_several_models_share_what_was_read(requests: list[DigestRequest]) -> None:
    studies = study.Studies(REGISTRY)
    for n, one in enumerate(requests):
        counts = open_counter(("claude-opus-4-8", "gpt-5", "claude-sonnet-4-5")[n % 3])
        if n % 2:
            read_ahead(one.sources[0], studies, REGISTRY, counts)
        kept = ExtractiveDigester(REGISTRY, counts, studies=studies)
        fresh = made(ExtractiveDigester(REGISTRY, counts), one)
        assert msgspec.to_builtins(made(kept, one)) == msgspec.to_builtins(fresh)


def test_a_text_that_is_digested_again_is_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    class Counted(Source):
        def __init__(self, text: str) -> None:
            read.append(text)
            super().__init__(text)

    monkeypatch.setattr(study, "Source", Counted)
    digester = ExtractiveDigester(REGISTRY, counter())
    for budget in (200, 300, 400):
        made(digester, request([0, 3, 0], budget, (), False, False))
    assert sorted(read) == sorted((TEXTS[0], TEXTS[3]))


@pytest.mark.usefixtures("nothing_is_read")
def test_records_of_a_text_that_was_read_ahead_are_not_compared_again(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[str] = []

    def counted(records: Sequence[Record], alike: Sequence[int]) -> list[Template]:
        compared.append(records[0].text)
        return mined(records, alike)

    monkeypatch.setattr(sources, "mined", counted)
    studies = study.Studies(REGISTRY)
    one = request([0, 3], 400, ("HAT112",), False, False)
    for each in one.sources:
        read_ahead(each, studies, REGISTRY, counter())
    assert compared
    compared.clear()
    made(ExtractiveDigester(REGISTRY, counter(), studies=studies), one)
    assert not compared


def test_no_more_is_kept_than_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study, "MOST_CHARS", len(TEXTS[0]) + len(TEXTS[3]))
    studies = study.Studies(REGISTRY)
    for chosen in ([0], [3], [4], [0, 4], [3]):
        with studies.of(request(chosen, 200, (), False, False).sources):
            pass
        assert studies.chars <= study.MOST_CHARS
