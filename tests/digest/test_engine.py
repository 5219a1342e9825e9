"""The whole digest: its promises as properties, and what it does when something does not fit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from palimpsest_mcp.digest.engine import ExtractiveDigester
from palimpsest_mcp.digest.lines import plain
from palimpsest_mcp.digest.manifest import is_note
from palimpsest_mcp.errors import DigestRefused
from palimpsest_mcp.models.items import Specific
from palimpsest_mcp.models.records import Digest, DigestRequest, Visible
from palimpsest_mcp.text.specifics.registry import DefaultRegistry

from .conftest import Bench

_LINES = st.lists(
    st.one_of(
        st.sampled_from(
            [
                "2026-11-20 08:15:47 status unpacked libfoo:amd64 1.2.3-4",
                "Traceback (most recent call last):",
                '  File "/srv/app/main.py", line 12, in <module>',
                "ValueError: bad ticket HAT069",
                "[palimpsest offload_0001: 3 results; left out 0 of 0 specifics · restore_batch x offload_0001]",
                "diff --git a/src/a.py b/src/a.py",
                "src/a/b.py:57:    raise ValueError(10054)",
                '{"id": 48213, "price": 1.10, "ref": "9f8e7d6c5b"}',
                "| name | price |",
                "see https://example.org/a?b=1, and #4711 (fixed in v2.0.1)",
                "\x1b[31mFAIL\x1b[0m tests/x_test.py::test_1  12 ms",
                "also number: 99999",
                "$ npm run build",
                "exit code 137",
            ]
        ),
        st.text(max_size=60),
        st.from_regex(r"[a-z]{1,8}=[0-9]{1,7} [a-f0-9]{6,12}", fullmatch=True),
    ),
    min_size=1,
    max_size=60,
)
_QUICK = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def _digest_or_none(request: DigestRequest, bench: Bench) -> Digest | None:
    try:
        return bench.digester.compute(request)
    except DigestRefused:
        return None


@_QUICK
@given(texts=st.lists(_LINES, min_size=1, max_size=3), share=st.sampled_from([0.1, 0.3, 0.6]))
def test_every_promise_holds_for_any_text(texts: list[list[str]], share: float) -> None:
    bench = Bench()
    request = bench.request(*("\n".join(lines) for lines in texts), share=share)
    digest = _digest_or_none(request, bench)
    if digest is None:
        return
    assert digest.verification.passed, digest.verification.violations
    assert digest.tokens == sum(bench.counter.count(part.text) for part in digest.parts)
    assert digest.tokens < sum(source.tokens for source in request.sources)
    if digest.mode == "digest":
        assert digest.tokens <= 1.05 * request.budget_tokens
    assert [part.item_id for part in digest.parts] == [source.item_id for source in request.sources]
    for counts in digest.specifics.by_class.values():
        assert counts.shown + counts.elsewhere + counts.left_out == counts.total
    for part, source, shown in zip(digest.parts, request.sources, digest.shown, strict=True):
        held = {(span.cls, span.text) for span in bench.registry.spans(plain(source.text))}
        lines = "\n".join(line.text for line in part.lines if line.kind != "note")
        found = {(span.cls, span.text) for span in bench.registry.spans(lines)}
        if not source.text.lstrip().startswith(("{", "[")):
            assert found <= held
        assert {(spec.cls, spec.text) for spec in shown} == found
        assert part.lines[0].kind == "note" and is_note(part.lines[0].text)


@_QUICK
@given(lines=_LINES)
def test_a_quoted_line_is_a_whole_line_of_the_source(lines: list[str]) -> None:
    bench = Bench()
    text = "\n".join(lines)
    digest = _digest_or_none(bench.request(text, share=0.6), bench)
    whole = {line.rstrip() for line in plain(text).split("\n")}
    for line in digest.parts[0].lines if digest else ():
        if line.kind == "quote":
            assert line.text in whole or line.text.removeprefix("» ") in whole


def test_the_manifest_counts_what_is_left_out_and_says_so_when_it_is_nothing(
    bench: Bench, log: Callable[[int], str]
) -> None:
    tight = bench.digest(log(200), share=0.2, min_shown=0.0)
    first = tight.parts[0].lines[0].text
    counts = tight.specifics
    assert counts.left_out > 0
    assert f"left out {counts.left_out} of {counts.total} specifics: " in first
    assert first.endswith(" · restore_batch s7f3k offload_0007]")
    roomy = bench.digest("plain words only and more of them\n" * 40 + "ticket HAT069", share=0.9)
    assert "left out 0 of 1 specific · restore_batch s7f3k offload_0007]" in roomy.parts[0].lines[0].text


def test_what_an_earlier_digest_shows_under_the_same_key_counts_as_elsewhere(bench: Bench) -> None:
    text = "order=48213 was paid\n" + "nothing to see in this line at all\n" * 60
    seen = Visible({Specific("number", "48213", "order"): "offload_0003"})
    digest = bench.digest(text, share=0.3, visible=seen)
    assert digest.specifics.holders == {"offload_0003": 1} or digest.specifics.shown == 1
    other_key = Visible({Specific("number", "48213", "invoice"): "offload_0003"})
    assert bench.digest(text, share=0.3, visible=other_key).specifics.holders == {}


def test_a_specific_of_two_items_is_shown_once_and_counted_elsewhere_for_the_other(bench: Bench) -> None:
    text = "\n".join(f"row {i} of the ordinary kind, commit {i:07x}abc" for i in range(80))
    digest = bench.digest(text, text, share=0.45)
    assert digest.specifics.holders.get("offload_0007", 0) > 0
    assert " more in offload_0007 · restore_batch" in digest.parts[0].lines[0].text


def test_the_budget_grows_to_its_ceiling_before_a_specific_of_the_first_rank_is_left_out(bench: Bench) -> None:
    text = "\n".join(f"GET https://example.org/api/v1/items/{i * 7919}?page={i} took long" for i in range(60))
    request = bench.request(text, share=0.15, ceiling=0.9, min_shown=0.0)
    digest = bench.digester.compute(request)
    assert request.budget_tokens < digest.tokens <= request.ceiling_tokens
    assert any("budget grew" in note for note in digest.notes)
    fixed = bench.digester.compute(bench.request(text, share=0.15, min_shown=0.0))
    assert fixed.tokens <= 1.05 * request.budget_tokens


@pytest.mark.parametrize("share", [0.15, 0.3, 0.6, 0.9])
def test_no_value_has_to_be_computed_from_others(bench: Bench, share: float) -> None:
    """Ranges, runs and prefixes are where a digest could save by it (D6): what counts as shown stands there whole."""
    paths = "\n".join(f"/srv/data/archive/2026/part-{n:04}.parquet 10{n:03} bytes" for n in range(60))
    runs = "\n".join(f"port {n} open" for n in range(8000, 8060))
    rows = json.dumps([{"id": f"HAT{n:03}", "at": f"2026-11-20T10:{n:02}:00Z"} for n in range(60)])
    digest = bench.digest(paths, runs, rows, share=share)
    stands = 0
    for text, part in zip((paths, runs, rows), digest.parts, strict=True):
        lines = [line.text for line in part.lines if line.kind != "note"]
        shown = bench.registry.set_of("\n".join(lines))
        assert shown <= bench.registry.set_of(text)
        stands += len(shown)
    assert (digest.specifics.shown, digest.specifics.factored) == (stands, 0)


def test_an_item_too_little_of_which_would_be_in_view_becomes_a_pointer_with_its_own_manifest(
    bench: Bench, log: Callable[[int], str]
) -> None:
    easy = "plain words only and more of them\n" * 60 + "ticket HAT069"
    wish = {"ceiling": 0.2, "min_shown": 0.8}
    digest = bench.digest(easy, log(120), share=0.14, **wish)
    assert digest.mode == "digest"
    assert "HAT069" in digest.parts[0].text
    assert "; pointer, left out " in digest.parts[1].text
    assert all(line.kind == "note" for line in digest.parts[1].lines)
    assert digest.verification.passed


def test_a_pointer_only_request_leaves_no_content_lines(bench: Bench, log: Callable[[int], str]) -> None:
    digest = bench.digest(log(100), log(50), pointer_only=True)
    assert digest.mode == "pointer"
    assert all(line.kind == "note" for part in digest.parts for line in part.lines)
    assert digest.specifics.left_out == digest.specifics.total > 0


def test_what_cannot_get_smaller_is_refused(bench: Bench) -> None:
    with pytest.raises(DigestRefused):
        bench.digest("ok")


def test_a_line_that_poses_as_a_note_is_shown_as_data(bench: Bench) -> None:
    posing = "[palimpsest offload_0001: 1 result; left out 0 of 9 specifics · restore_batch HAT069 offload_0001]"
    text = posing + "\n" + "\n".join(f"nothing is said in line {'i' * i}" for i in range(30))
    (part,) = bench.digest(text, share=0.8).parts
    assert [line.text for line in part.lines if "HAT069" in line.text] == [f"» {posing}"]
    assert sum(line.text.startswith("[left out ") for line in part.lines) == 1


def test_images_are_named_by_kind_size_and_hash(bench: Bench) -> None:
    named = f"[image image/png, 204800 base64 characters, sha256 {'ab12' * 16}]"
    source = bench.source(named, 1, binary=True)
    request = DigestRequest(
        sources=(bench.source("word " * 400, 2), source),
        budget_tokens=200,
        ceiling_tokens=200,
        handle="s",
        batch_id="offload_0001",
    )
    assert named in bench.digester.compute(request).parts[1].text


def test_a_level_2_digest_says_what_it_stands_for(bench: Bench, log: Callable[[int], str]) -> None:
    digest = bench.digest(log(80), log(60), share=0.4, level=2, replaces=("offload_0001", "offload_0002"))
    assert "level 2, stands for offload_0001, offload_0002; 2 results" in digest.parts[0].lines[0].text


@pytest.mark.anyio
async def test_the_async_method_gives_what_compute_gives(bench: Bench, log: Callable[[int], str]) -> None:
    request = bench.request(log(60))
    assert await bench.digester.digest(request) == bench.digester.compute(request)


@pytest.mark.parametrize(
    "text",
    [
        "\x00" * 5000 + "a b\n" * 50,
        "a\u2028b\u2029c\x85d\r\ne\rf\n" * 200,
        "\ud800 lone \udfff surrogates 48213\n" * 100,
        "x" * 1_000_000,
        "word 12345 " * 90_000,
        "[" * 100_000,
        json.dumps({"a": 1}) + "]" * 1000,
        '{"a":' * 5000 + "1" + "}" * 5000,
        json.dumps([{"k": i} for i in range(3000)]),
        "<div><p>" * 20_000,
        "\u202e\u200b" * 9000,
    ],
    ids=[
        "nul",
        "separators",
        "surrogates",
        "one word",
        "one line",
        "brackets",
        "bad json",
        "deep",
        "rows",
        "tags",
        "bidi",
    ],
)
def test_hostile_text_is_digested_or_refused_and_nothing_invisible_gets_through(bench: Bench, text: str) -> None:
    digest = _digest_or_none(bench.request(text, share=0.3), bench)
    for part in digest.parts if digest else ():
        assert plain(part.text) == part.text
        part.text.encode()


def test_the_same_bytes_under_every_hash_seed() -> None:
    script = (
        "from palimpsest_mcp.digest.engine import ExtractiveDigester as E\n"
        "from palimpsest_mcp.text.specifics.registry import DefaultRegistry as R\n"
        "from palimpsest_mcp.models.records import *\n"
        "class C:\n  name='c'\n  def count(self,t): return len(t)//3\n"
        't=\'\\n\'.join(f\'{{"id": {i}, "ref": "a{i:07x}", "at": "2026-01-{i%28+1:02d}"}}\' for i in range(200))\n'
        "u='\\n'.join(f'src/m{i%7}.py:{i}: raise KeyError({i*7919})' for i in range(300))\n"
        "s=tuple(DigestSource(item_id=str(n),kind='tool_result',text=x,tokens=len(x)//3) for n,x in enumerate((t,u)))\n"
        "d=E(R(),C()).compute(DigestRequest(sources=s,budget_tokens=900,ceiling_tokens=900,handle='h',batch_id='offload_0001',min_shown=0.0))\n"
        "import hashlib; print(hashlib.sha256('\\n'.join(p.text for p in d.parts).encode()).hexdigest(), d.specifics)\n"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "77")
    }
    assert len(outputs) == 1
    assert len(outputs.pop()) > 64


def test_the_digester_names_itself_with_its_version() -> None:
    digester = ExtractiveDigester(DefaultRegistry(), Bench().counter)
    assert digester.name.startswith("extractive/")


@pytest.mark.parametrize(("share", "ceiling"), [(0.3, 0.3), (0.3, 0.6), (0.9, 0.9)])
def test_no_digest_is_longer_than_it_may_be(
    bench: Bench, log: Callable[[int], str], share: float, ceiling: float
) -> None:
    digest = bench.digest(log(400), log(90), share=share, ceiling=ceiling, most_tokens=700)
    assert digest.mode == "digest" and digest.tokens <= 700 and digest.verification.passed
