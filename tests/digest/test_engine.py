"""The whole digest: its promises as properties, and what it does when something does not fit."""

from __future__ import annotations

import itertools
import json
import os
import random
import re
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from palimpsest_mcp.digest.engine import ExtractiveDigester
from palimpsest_mcp.digest.proof import PartCheck, check_part, facts_of, turns
from palimpsest_mcp.digest.records import plain
from palimpsest_mcp.digest.source_facts import cut_at
from palimpsest_mcp.digest.verdict import recount, shown_in, violations
from palimpsest_mcp.errors import DigestRefused
from palimpsest_mcp.models.items import Specific
from palimpsest_mcp.models.records import Digest, DigestLine, DigestPart, DigestRequest, SpecificCounts, Visible
from palimpsest_mcp.text.specifics.registry import DefaultRegistry

from ..conftest import LONG, first_of
from .conftest import Bench

Log = Callable[[int], str]
WORDS = ["ash", "birch", "cedar", "elm", "fir", "holly", "larch", "maple", "oak", "pine", "rowan", "yew"]

_LINES = st.lists(
    st.one_of(
        st.sampled_from(
            [
                "2026-11-20 08:15:47 status unpacked libfoo:amd64 1.2.3-4",
                "Traceback (most recent call last):",
                '  File "/srv/app/main.py", line 12, in <module>',
                "ValueError: bad ticket HAT069",
                "[3 of 9 rows · all of it: restore_batch x offload_0001]",
                "[item 1 Bash: 3 lines]",
                "diff --git a/src/a.py b/src/a.py",
                "@@ -1,3 +1,3 @@ def f():",
                "-    x = 1",
                "src/a/b.py:57:    raise ValueError(10054)",
                '{"id": 48213, "price": 1.10, "ref": "9f8e7d6c5b"}',
                "| name | price |",
                "|---|---|",
                "| bolt | 1.10 |",
                "## Results",
                "see https://example.org/a?b=1, and #4711 (fixed in v2.0.1)",
                "\x1b[31mFAIL\x1b[0m tests/x_test.py::test_1  12 ms",
                "src/lib:",
                "a.py",
                "$ npm run build",
                "exit code 137",
                "",
            ]
        ),
        st.text(max_size=60),
        st.from_regex(r"[a-z]{1,8}=[0-9]{1,7} [a-f0-9]{6,12}", fullmatch=True),
    ),
    min_size=1,
    max_size=60,
)
_CELL = st.one_of(
    st.integers(0, 10**9),
    st.sampled_from(["HAT069", "1.2.3", "2026-11-20", "a b c", "exit 2", "x=1", "a|b", "EUR 12", "os.path.join", ""]),
    st.text(max_size=12),
    st.fixed_dictionaries({"ip": st.sampled_from(["10.0.0.1", "10.0.0.2"])}),
)
_ROWS = st.lists(
    st.dictionaries(
        st.sampled_from(["id", "name", "title", "version", "note", "status", "user_id"]), _CELL, min_size=1
    ),
    min_size=1,
    max_size=12,
).map(json.dumps)
_TEXTS = st.lists(_LINES.map("\n".join) | _ROWS, min_size=1, max_size=3)
_QUICK = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def _digest_or_none(request: DigestRequest, bench: Bench) -> Digest | None:
    try:
        return bench.digester.compute(request)
    except DigestRefused:
        return None


def _again(bench: Bench, request: DigestRequest, digest: Digest) -> tuple[str, ...]:
    """What a count from the printed text alone says otherwise."""
    parts = [(source, part.text) for source, part in zip(request.sources, digest.parts, strict=True)]
    return recount(parts, digest.specifics, bench.registry, digester=digest.digester)


@_QUICK
@given(texts=_TEXTS, share=st.sampled_from([0.1, 0.2, 0.4, 0.7]))
def test_every_promise_holds_for_any_text(texts: list[str], share: float) -> None:
    bench = Bench()
    request = bench.request(*texts, share=share)
    digest = _digest_or_none(request, bench)
    if digest is None:
        return
    assert digest.verification.passed, digest.verification.violations
    assert digest.tokens == sum(bench.counter.count(part.text) for part in digest.parts)
    assert digest.tokens < sum(source.tokens for source in request.sources)
    assert digest.mode == "pointer" or digest.tokens <= request.budget_tokens
    assert [part.item_id for part in digest.parts] == [source.item_id for source in request.sources]
    assert digest.parts[0].text.split("\n")[0].endswith(" · all of it: restore_batch s7f3k offload_0007]")
    for counts in digest.specifics.by_class.values():
        assert counts.shown + counts.elsewhere + counts.left_out == counts.total
    assert _again(bench, request, digest) == ()
    for part, source in zip(digest.parts, request.sources, strict=True):
        whole = {line.strip() for line in plain(source.text).split("\n")}
        for line in part.text.split("\n"):
            assert plain(line) == line
            if line.startswith("» "):
                assert line.removeprefix("» ").removesuffix(" …") in whole or "…" in line


@pytest.mark.parametrize("share", [0.1, 0.2, 0.3, 0.4])
def test_a_budget_is_a_ceiling_for_many_results_too(bench: Bench, log: Log, share: float) -> None:
    rows = json.dumps([{"code": f"HAT{n:03}", "seats": {"a": n, "b": n * 7}, "open": True} for n in range(60)])
    request = bench.request(log(60), rows, "## Notes\n\nIt runs nightly.\n" + log(9).upper(), share=share)
    digest = bench.digester.compute(request)
    assert digest.mode == "digest" and 0.8 * request.budget_tokens < digest.tokens <= request.budget_tokens
    assert _again(bench, request, digest) == ()


def test_the_header_counts_what_is_shown_of_how_many_and_says_how_to_get_the_rest(bench: Bench, log: Log) -> None:
    digest = bench.digest(log(200), share=0.2, min_shown=0.0)
    first, second, *rows = digest.parts[0].text.split("\n")
    shown = len([row for row in rows if row.startswith(" ")])
    assert second.startswith(f"[{shown} of 200 like] ")
    counts = digest.specifics
    assert first.endswith(
        f" → {digest.tokens:,} tokens · shows {shown} of 200 lines, {counts.shown} of {counts.total} specifics"
        " · all of it: restore_batch s7f3k offload_0007]"
    )
    assert 0 < counts.shown < counts.total


def test_what_an_earlier_digest_shows_under_the_same_key_counts_as_elsewhere(bench: Bench) -> None:
    """Where the line is not shown again, of course (D8)."""
    text = f"order=48213 was paid {'and then some more was said of it ' * 12}\n" + "\n".join(
        f"{'abcdefghij'[n]} line of words and nothing else" for n in range(10)
    )
    seen = Visible({Specific("number", "48213", "order"): "offload_0003"})
    digest = bench.digest(text, share=0.3, visible=seen, pointer_only=True)
    assert digest.specifics.holders == {"offload_0003": 1}
    assert " · 1 more in offload_0003 · " in digest.parts[0].text
    other_key = Visible({Specific("number", "48213", "invoice"): "offload_0003"})
    assert bench.digest(text, share=0.3, visible=other_key, pointer_only=True).specifics.holders == {}


def test_an_equal_result_is_said_to_be_one(bench: Bench, log: Log) -> None:
    digest = bench.digest(log(60), log(60), share=0.4)
    assert digest.parts[1].text.split("\n") == ["[item 2 Bash: 60 lines]", "[= item 1]"]
    assert digest.verification.passed
    assert digest.specifics.holders["offload_0007"] == digest.specifics.shown > 0, "and shown is counted once"


def test_of_a_nearly_equal_result_only_what_differs_is_shown(bench: Bench, log: Log) -> None:
    other = log(60).replace("worker 07919", "worker 55555") + "\nretried at 09:00:00"
    request = bench.request(log(60), other, share=0.4)
    digest = bench.digester.compute(request)
    changed = next(line for line in other.split("\n") if "55555" in line)
    assert digest.parts[1].text.split("\n") == [
        "[item 2 Bash: 61 lines]",
        "[like item 1, but:]",
        changed,
        "retried at 09:00:00",
    ]
    assert digest.verification.passed and _again(bench, request, digest) == ()


def test_the_budget_grows_to_its_ceiling_before_a_specific_of_the_first_rank_is_left_out(bench: Bench) -> None:
    text = "\n".join(f"GET https://example.org/api/v1/items/{i * 7919}?page={i} took long" for i in range(60))
    request = bench.request(text, share=0.15, ceiling=0.9, min_shown=0.0)
    digest = bench.digester.compute(request)
    assert request.budget_tokens < digest.tokens <= request.ceiling_tokens
    assert any("budget grew" in note for note in digest.notes)
    fixed = bench.digester.compute(bench.request(text, share=0.15, min_shown=0.0))
    assert fixed.tokens <= request.budget_tokens


@pytest.mark.parametrize(("share", "ceiling"), [(0.3, 0.3), (0.3, 0.6), (0.9, 0.9)])
def test_no_digest_is_longer_than_it_may_be(bench: Bench, log: Log, share: float, ceiling: float) -> None:
    digest = bench.digest(log(400), log(90), share=share, ceiling=ceiling, most_tokens=700)
    assert digest.mode == "digest" and digest.tokens <= 700 and digest.verification.passed


@pytest.mark.parametrize("share", [0.02, 0.05, 0.1, 0.3, 0.7])
def test_how_it_went_is_told_at_every_budget(bench: Bench, log: Log, share: float) -> None:
    """D17, pointers included."""
    lines = log(120).split("\n")
    ended = "E   AssertionError: job_7 was run twice\n3 failed, 117 passed in 12.31s"
    text = "\n".join([*lines[:60], "FAILED tests/test_jobs.py::test_once", *lines[60:], *ended.split("\n")])
    digest = bench.digest(text, share=share)
    assert "3 failed, 117 passed in 12.31s" in digest.parts[0].text.split("\n")
    pointer = bench.digest(text, share=share, pointer_only=True)
    assert "3 failed, 117 passed in 12.31s" in pointer.parts[0].text.split("\n")


def test_a_sentence_that_denies_is_shown_whole_or_not_at_all(bench: Bench) -> None:
    """D16: however long it is, and however small the budget."""
    denied = f"Never restart the replica {'of the northern harbour ' * 20}while it copies, except by hand."
    plain_words = "\n".join(f"{'abcdefghijklmnopqrst'[n]} words of no weight at all stand here" for n in range(20))
    seen = 0
    for share in (0.1, 0.3, 0.5, 0.7, 0.9):
        text = bench.digest(f"{plain_words}\n{denied}\n{plain_words.upper()}", share=share).parts[0].text
        assert ("Never restart" in text) == (denied in text)
        seen += denied in text
    assert seen


def test_rows_without_a_specific_are_counted_too(bench: Bench) -> None:
    """D18."""
    words = ["ash", "birch", "cedar", "elm", "fir", "holly", "larch", "maple", "oak", "pine"]
    rows = [f"{one},{other},tall" for one in words for other in words if one < other]
    digest = bench.digest("\n".join(["left,right,size", *rows]), share=0.4)
    counts = digest.specifics.records["rows" if "rows" in digest.specifics.records else "row"]
    text = digest.parts[0].text
    shown = sum(line.startswith(" ") for line in text.split("\n"))
    assert (counts.shown, counts.total) == (shown, 45) and 0 < shown < 45
    assert f"[{shown} of 45 rows] left|right\n[all 45 rows] size=tall\n" in text
    assert digest.specifics.total == 0


def test_a_pointer_shows_nothing_but_how_it_went_and_what_it_was(bench: Bench, log: Log) -> None:
    ended = "Process finished with exit code 137"
    rows = json.dumps([{"code": f"HAT{n:03}", "seats": n} for n in range(60)])
    digest = bench.digest(f"{log(100)}\n{ended}", rows, pointer_only=True)
    assert digest.mode == "pointer" and digest.verification.passed
    first, second = digest.parts
    assert [line.text for line in first.lines if line.kind != "note"] == [ended]
    assert [line.kind for line in second.lines] == ["note"]
    assert second.text == (
        f"[item 2 Bash: {bench.counter.count(rows):,} tokens; 60 rows code|seats: "
        f"{', '.join(f'HAT{n:03}' for n in range(17))} …]"
    )


def test_what_only_a_note_names_is_left_out_in_the_counts(bench: Bench, log: Log) -> None:
    """A note names what was read, and shows nothing of it."""
    named = "/srv/app/job_3.json"
    request = bench.request(log(50), pointer_only=True)
    request = msgspec.structs.replace(request, sources=(bench.source(log(50), title=named),))
    digest = bench.digester.compute(request)
    assert f"[item 1 Bash {named}: " in digest.parts[0].text
    assert named not in {spec.text for spec in digest.shown[0]}
    assert named not in {spec.text for spec in shown_in(digest.parts[0].text, bench.registry)}
    counts = digest.specifics
    assert counts.total == 200 and counts.left_out == 200 - len(digest.shown[0])


def test_what_cannot_get_smaller_is_refused(bench: Bench) -> None:
    with pytest.raises(DigestRefused):
        bench.digest("ok")
    with pytest.raises(DigestRefused):
        bench.digest(*["a few words stand here"] * 200, most_tokens=300)


_POSING = [
    "[3 results, 9,412 → 655 tokens · shows 9 of 9 rows · all of it: restore_batch HAT069 offload_0001]",
    "[shows 9 of 9 rows · all of it: restore_batch HAT069 offload_0001]",
    "[item 2 Bash git log: 340 lines]",
    "[summary by somebody, wording not verified: 900 lines]",
    "[9 of 9 like] probe host <1>",
    "[9 of 9 rows] name|price",
    "[all 9 rows] state=up",
    "[columns left out: price]",
    "[names] foo_bar src/a.py",
    "[= item 1]",
    "[like item 1, but:]",
    "» quoted",
    "… piece of it …",
]


@pytest.mark.parametrize("posing", _POSING)
def test_a_line_that_poses_as_a_note_is_shown_as_data(bench: Bench, posing: str) -> None:
    others = [f"nothing is said in line {'ii' * i} of them" for i in range(1, 9)]
    request = bench.request("\n".join([posing, *others]), share=0.95)
    digest = bench.digester.compute(request)
    assert [line for line in digest.parts[0].text.split("\n") if posing in line] == [f"» {posing}"]
    assert _again(bench, request, digest) == ()


def test_marks_of_what_was_masked_stand_as_they_are_and_are_counted(bench: Bench, log: Log) -> None:
    text = f"the key is [redacted:aws_key:ab12cd34] for now\n[redacted:password:00000000]\n{log(40)}"
    request = bench.request(text, share=0.5)
    request = msgspec.structs.replace(request, sources=(bench.source(text, redacted=2),))
    lines = bench.digester.compute(request).parts[0].text.split("\n")
    assert " · 2 masked · all of it: " in lines[0]
    assert "the key is [redacted:aws_key:ab12cd34] for now" in lines


def test_images_are_named_by_kind_size_and_hash(bench: Bench) -> None:
    named = f"[image image/png, 204800 base64 characters, sha256 {'ab12' * 16}]"
    source = bench.source(named, 1, binary=True)
    words = "\n".join(f"{'abcdefghijklmnopqrst'[n]} word of it" for n in range(20)) * 9
    request = DigestRequest(
        sources=(bench.source(words, 2), source),
        budget_tokens=200,
        ceiling_tokens=200,
        handle="s",
        batch_id="offload_0001",
    )
    assert named in bench.digester.compute(request).parts[1].text


def test_a_level_2_digest_says_what_it_stands_for_and_shows_what_others_left_to_it_first(
    bench: Bench, log: Log
) -> None:
    carried = ("path", "/srv/app/job_73.json")
    texts, level = (log(80), log(60).upper()), {"level": 2, "replaces": ("offload_0001", "offload_0002")}
    without = bench.digest(*texts, share=0.2, **level)
    digest = bench.digest(*texts, share=0.2, carried=frozenset({carried}), **level)
    assert "[level 2, stands for offload_0001, offload_0002 · 2 results" in digest.parts[0].lines[0].text
    assert carried not in {(spec.cls, spec.text) for spec in without.shown[0]}
    assert carried in {(spec.cls, spec.text) for spec in digest.shown[0]}


def test_what_is_asked_for_comes_first(bench: Bench, log: Log) -> None:
    wanted = "/srv/app/job_73.json"
    request = bench.request(log(90), share=0.12)
    assert wanted not in {spec.text for spec in bench.digester.compute(request).shown[0]}
    request = msgspec.structs.replace(request, sources=(bench.source(log(90), focus=(wanted,)),))
    assert wanted in {spec.text for spec in bench.digester.compute(request).shown[0]}


def test_a_wanted_line_that_was_cut_is_counted_as_left_out(bench: Bench, log: Log) -> None:
    long = "deadlock between " + " and ".join(f"session {n}" for n in range(200))
    text = "\n".join([log(40), "a short deadlock of two", long])
    request = bench.request(text, share=0.3, wanted_tokens=2_000)
    request = msgspec.structs.replace(request, sources=(bench.source(text, wanted=("deadlock",)),))
    counts = bench.digester.compute(request).specifics
    assert (counts.wanted["deadlock"].shown, counts.wanted["deadlock"].total) == (1, 2)


def test_for_wanted_lines_a_digest_grows_and_for_nothing_else(bench: Bench, log: Log) -> None:
    text = "\n".join([log(40), *(f"deadlock of session {n} with txn {n * 7919}" for n in range(30)), log(30).upper()])
    request = bench.request(text, share=0.04)
    request = msgspec.structs.replace(request, sources=(bench.source(text, wanted=("deadlock",)),))
    tight = bench.digester.compute(request)
    roomy = bench.digester.compute(msgspec.structs.replace(request, wanted_tokens=2_000))
    assert tight.tokens <= 1.05 * request.budget_tokens
    assert tight.specifics.wanted["deadlock"].shown < roomy.specifics.wanted["deadlock"].shown == 30
    assert "INFO WORKER" not in roomy.parts[0].text


def test_a_name_that_messages_show_is_not_listed_again(bench: Bench) -> None:
    words = ["ash", "birch", "cedar", "elm", "fir", "holly", "larch", "maple", "oak", "pine"]
    text = "\n".join(
        f"{'and so on ' * n}{word}_grove.py {'has many words about it ' * (20 - n)}" for n, word in enumerate(words)
    )
    listed = bench.digest(text, share=0.2).parts[0].lines[-1].text
    assert listed.startswith("[names] ") and "elm_grove.py" in listed
    again = bench.digest(text, share=0.2, said=frozenset({"elm_grove.py"})).parts[0].lines[-1].text
    assert again.startswith("[names] ") and "elm_grove.py" not in again


def test_a_list_of_names_says_that_there_are_more(bench: Bench) -> None:
    words = ["ash", "birch", "cedar", "elm", "fir", "holly", "larch", "maple", "oak", "pine"]
    text = "\n".join(
        f"{'and so on ' * n}{word}_grove.py {'has many words about it ' * (20 - n)}" for n, word in enumerate(words)
    )
    few, every = (bench.digest(text, share=share).parts[0].lines[-1].text for share in (0.045, 0.3))
    assert few.startswith("[names] ") and few.endswith(" …")
    assert every.startswith("[names] ") and not every.endswith("…")


@pytest.mark.anyio
async def test_the_async_method_gives_what_compute_gives(bench: Bench, log: Log) -> None:
    request = bench.request(log(60))
    assert await bench.digester.digest(request) == bench.digester.compute(request)


@pytest.mark.parametrize(
    "text",
    first_of(
        [
            "\x00" * 5000 + "a b\n" * 50,
            "a\u2028b\u2029c\x85d\r\ne\rf\n" * 200,
            "\ud800 lone \udfff surrogates 48213\n" * 100,
            "x" * 1_000_000,
            "word 12345 " * (90_000 if LONG else 20_000),
            "[" * 100_000,
            json.dumps({"a": 1}) + "]" * 1000,
            '{"a":' * 5000 + "1" + "}" * 5000,
            json.dumps([{"k": i} for i in range(3000)]),
            "<div><p>" * 20_000,
            "\u202e\u200b" * 9000,
        ],
        kept=5,
    ),
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
        "abc='abcdefghijklmnopqrstuvwxyz'\n"
        "v='# Title\\n\\n'+'\\n'.join(f'The read_{c}_all and lib/{c}.py never {c*5}.' for c in abc)\n"
        "s=tuple(DigestSource(item_id=x[:3],kind='tool_result',text=x,tokens=len(x)//3) for x in (t,u,v))\n"
        "d=E(R(),C()).compute(DigestRequest(sources=s,budget_tokens=900,ceiling_tokens=900,handle='h',batch_id='offload_0001',min_shown=0.0))\n"
        "print(d.mode, [p.text for p in d.parts], d.specifics)\n"
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
    assert outputs.pop().startswith("digest ")


_PART = (DigestPart(item_id="a", lines=(DigestLine("note", "[item 1 x: 2 lines]"),)),)


def test_a_digest_over_its_budget_or_not_smaller_than_its_source_is_refused() -> None:
    def rules(tokens: int, ceiling: int, source: int) -> list[str]:
        empty = SpecificCounts()
        found = violations(
            _PART, [PartCheck()], empty, tokens=tokens, ceiling=ceiling, most=2_000, source_tokens=source
        )
        return [rule.split(":")[0] for rule in found]

    assert rules(105, 100, 1000) == []
    assert rules(106, 100, 1000) == ["budget"]
    assert rules(100, 100, 100) == ["smaller"]
    assert rules(2_000, 9_000, 90_000) == []
    assert rules(2_001, 9_000, 90_000) == ["length"], "whatever its budget (D20)"


def test_a_part_may_not_be_empty_and_counts_must_be_whole() -> None:
    empty = (DigestPart(item_id="a", lines=()),)
    found = violations(empty, [PartCheck(total=3)], SpecificCounts(), tokens=1, ceiling=9, most=2_000, source_tokens=90)
    assert {rule.split(":")[0] for rule in found} == {"part", "counts"}


def test_prose_has_a_share_of_the_budget_and_no_more() -> None:
    def found(prose: int) -> tuple[str, ...]:
        return violations(
            _PART,
            [PartCheck()],
            SpecificCounts(),
            tokens=90,
            ceiling=100,
            most=2_000,
            source_tokens=900,
            prose_tokens=prose,
            budget=100,
        )

    assert found(40) == ()
    assert [rule.split(":")[0] for rule in found(41)] == ["prose"]


def test_the_digester_names_itself_with_its_version() -> None:
    digester = ExtractiveDigester(DefaultRegistry(), Bench().counter)
    assert digester.name.startswith("extractive/")


def test_of_hits_of_a_search_the_titles_are_shown_where_their_texts_do_not_fit(bench: Bench) -> None:
    hits = [
        {
            "title": f"Keeping {word} in a small garden",
            "url": f"https://example.org/{word}",
            "snippet": f"Those who keep {word} say so. " * 9,
        }
        for word in ("bees", "hens", "carp", "geese", "goats")
    ]
    shown = bench.digest(json.dumps(hits, indent=2), share=0.3).parts[0].text
    assert "Keeping bees in a small garden" in shown and "Keeping hens in a small garden" in shown
    assert "[columns left out:" in shown and "https://example.org/bees" in shown, "without its address no hit is opened"


def test_titles_of_a_search_go_before_one_hit_with_all_that_it_says(bench: Bench) -> None:
    """One of five, an advertisement, stood there whole, and the page that was looked for not even by its name."""
    said = {
        "Pictures. Make a cinematic harbour ...": "https://www.pictures.test/reel/DPyP7BWDHGg/",
        "CRANES at NIGHT on the QUAY": "https://www.films.test/watch?v=pjRkgfhDO4o",
        "Harbour photography": "https://harbourphilia.test/category/film-photography-2/",
        "Thoughts on grain, cranes, etc.? : r/photography": "https://www.forum.test/r/comments/liptit/thoughts_on/",
        "Cinematic portrait of a crane in a crowd": "https://www.faces.test/groups/posts/899968412599187/",
    }
    about = "The picture should be shot with a 35mm lens, with a natural grain and warm, golden tones that go with the "
    about += "rust."
    hits = [{"title": title, "url": url, "snippet": about[n:]} for n, (title, url) in enumerate(said.items())]
    shown = bench.digest(json.dumps(hits, indent=2), share=0.58).parts[0].text
    assert all(f" {title}|{url}" in shown for title, url in said.items()), shown


def test_a_long_table_keeps_its_columns_though_fewer_would_show_more_of_its_odd_rows(bench: Bench) -> None:
    """Of 891 passengers a number and a ticket stood there, and nothing of who lived."""

    def row(n: int) -> str:
        last, first, maiden = (WORDS[n * k % len(WORDS)].title() for k in (1, 3, 5))
        age, cabin = "" if n % 5 == 0 else n * 13 % 70, "" if n % 4 else f"{'ABCDEF'[n % 6]}{n % 99}"
        name = f'"{last}, Mrs. {first} {chr(65 + n % 26)} ({maiden})"'
        ticket = f"{('PC 1', 'A/5 2', '', '3')[n % 4]}{n * 7919 % 90000}"
        sex = "female" if n % 3 == 0 else "male"
        fare = f"{n * 31 % 97}.{n * 17 % 9000}"
        return (
            f"{n},{n * 7 % 2},{n % 3 + 1},{name},{sex},{age},{n % 2},{n % 7 % 3},{ticket},{fare},{cabin},{'SQC'[n % 3]}"
        )

    head = "PassengerId,Survived,Pclass,Name,Sex,Age,SibSp,Parch,Ticket,Fare,Cabin,Embarked"
    shown = bench.digest("\n".join([head, *map(row, range(1, 700))]), share=0.13).parts[0].text
    assert "rows] PassengerId|Survived|Pclass|Name|Sex" in shown, shown[:200]


def test_what_leads_to_a_list_stands_only_above_something_of_it(bench: Bench) -> None:
    """ "It should be:" with nothing behind it says the opposite of a rule."""
    rules = "\n".join(f"- kept in vault {n} behind key {n * 31}" for n in range(9))
    text = "\n\n".join(f"The signature of part {n} should be:\n{rules}" for n in range(6))
    for share in (0.1, 0.2, 0.4):
        lines = [line.removesuffix(" …") for line in bench.digest(text, share=share).parts[0].text.split("\n")]
        leads = [n for n, line in enumerate(lines) if line.endswith("should be:")]
        assert all(n + 1 < len(lines) and not lines[n + 1].endswith("should be:") for n in leads)


def test_where_lines_that_are_left_out_are_most_of_a_text_it_says_so(bench: Bench) -> None:
    """Twenty lines of twenty-one sound like all of it."""
    talk = " ".join(
        f"and then we went on to the next thing and talked about it for {n} hours" for n in range(2000, 2300)
    )
    text = "\n".join([*(f"Chapter {n}: {word}" for n, word in enumerate(WORDS)), talk])
    part = bench.digest(text, share=0.06).parts[0].text
    said = re.search(r"\[item 1: (\d+) of 13 lines, [1-9] % of the text\]", part)
    assert said and int(said[1]) >= 5, part
    rows = "\n".join(f"Chapter {n}: {word}, which is as long as any" for n, word in enumerate(WORDS * 3))
    assert "% of the text" not in bench.digest(rows, share=0.5).parts[0].text


def test_of_a_list_that_is_shown_in_part_it_is_told_where_it_goes_on(bench: Bench) -> None:
    """One of four rules, by itself, reads as the only one (D19)."""
    points = [
        "- Water the larches by the wall before the sun is up",
        "- Ask Marguerite for the key of the upper greenhouse",
        "- Seeds for the herb garden stand in the blue cupboard",
        "- Whoever leaves last closes every window on the north side",
        "- Compost comes on Thursdays, and is paid for at once",
        "- Tools belong under the stairs, the ladder behind the shed",
    ]
    text = "\n".join(["## What to do", "", *points, "", "## Where to write", "", "Letters go to the office."])
    seen = False
    for share in (0.3, 0.4, 0.5, 0.6):
        lines = bench.digest(text, share=share).parts[0].text.split("\n")
        shown = [line for line in lines if line.startswith("- ")]
        seen = seen or 0 < len(shown) < len(points)
        for line in shown:
            at = points.index(line.removesuffix(" …"))
            following = at + 1 < len(points) and points[at + 1] not in {one.removesuffix(" …") for one in shown}
            assert line.endswith(" …") == following, lines
        if shown and shown[0].removesuffix(" …") != points[0]:
            assert "## What to do …" in lines
    assert seen, "nothing was shown in part"


def test_headings_are_folded_only_together_with_what_stands_below_them(bench: Bench) -> None:
    """A list of versions away from their changes says what was not changed in which."""
    log = "\n\n".join(
        f"## [0.7.{n}] - 2025-11-20\n\n### Fixed\n\n- {word} no longer ends the session when the host is gone"
        for n, word in zip(
            range(20, 29),
            ["import", "export", "search", "resume", "branch", "compact", "theme", "login", "queue"],
            strict=True,
        )
    )
    text = bench.digest(log, share=0.5).parts[0].text
    assert "like] ## [0.7.<1>] - 2025-11-20\n" not in text and "## [0.7.2" in text


def test_of_an_object_that_is_told_in_part_it_is_said_that_it_has_more(bench: Bench) -> None:
    words = {
        "keeper": "Marguerite, who has the key of the upper greenhouse",
        "crops": "beans and late potatoes, onions where the wall is",
        "water": "from the well by the gate before the sun is up",
        "paths": "gravel, raked on Saturdays by whoever comes first",
        "fence": "oak, mended in spring; the north side is rotten",
        "tools": "under the stairs, the ladder behind the shed",
    }
    text = json.dumps({"character": words, "size": 4})
    seen = 0
    for share in (0.3, 0.4, 0.5, 0.6, 0.7, 0.8):
        lines = bench.digest(text, share=share).parts[0].text.split("\n")
        own = [line for line in lines if line.startswith("character: ")]
        told = sum(line.count("=") for line in own)
        if own and told < len(words):
            seen += 1
            assert any(line.endswith("|…") for line in own), lines
    assert seen, "it was never told in part"


def test_later_rows_of_lists_in_a_list_are_not_taken_for_the_first(bench: Bench) -> None:
    trips = [[{"flight": f"HAT{n}", "to": "ATL"}, {"flight": "HAT039", "to": "SEA"}] for n in range(4)]
    part = bench.digest(json.dumps(trips), share=0.9).parts[0].text
    assert "rows listed after the one in brackets] (flight)" in part
    digest = bench.digest(json.dumps(trips), share=0.9)
    assert digest.verification.passed


def test_last_words_of_commits_are_no_names(bench: Bench) -> None:
    log = "\n".join(
        f"{n * 7919:07x} The keeper of the {word} asks where it stands {word}ward" for n, word in enumerate(WORDS, 99)
    )
    assert "[names]" not in bench.digest(log, share=0.5).parts[0].text


def test_of_a_wide_table_the_column_that_says_how_each_row_went_stays(bench: Bench) -> None:
    draw = random.Random(3)
    head = "order,made,buyer,status,carrier,weight,price,tax,store,notes"
    rows = [
        f"ORD-{n},2031-02-{10 + n % 18},C{draw.randrange(10**5)},{draw.choice(('shipped', 'failed', 'returned'))},"
        f"{draw.choice(('DHL', 'UPS'))},{draw.random() * 20:.2f},{draw.random() * 200:.2f},{draw.random() * 30:.2f},"
        f"W{draw.randrange(9)},{draw.choice(('', '', 'call first'))}"
        for n in range(60)
    ]
    shown = bench.digest("\n".join([head, *rows]), share=0.25).parts[0].text
    assert "rows] order|" in shown and "status" in shown.split("[columns left out:")[0]


def test_what_a_row_is_an_exception_for_is_told_though_its_column_is_left_out(bench: Bench) -> None:
    draw = random.Random(5)
    rows = [
        {
            "name": f"relay-{n}-{word}",
            **{f"count_{k}": draw.randrange(10**7) for k in range(14)},
            **({"last_error": "tls handshake refused by 10.9.31.7"} if n == 6 else {}),
        }
        for n, word in enumerate(WORDS[:12])
    ]
    digest = bench.digest(json.dumps(rows), share=0.3)
    shown = digest.parts[0].text
    name = rows[6]["name"]
    assert f"\n {name}|" in shown and "last_error" in shown.split("[columns left out:")[1].split("]")[0]
    (told,) = [line for line in shown.split("\n") if "tls handshake" in line]
    assert told.startswith(f"name={name}|") and told.endswith("|last_error=tls handshake refused by 10.9.31.7")
    assert digest.verification.passed


def test_of_a_speech_that_nobody_parted_into_sentences_passages_are_shown(bench: Bench) -> None:
    """A transcript without a full stop is all that a page has."""
    said = [
        f"and in year {n} we built the {word} line and told our friends about it and they came to see it and so on"
        for n, word in enumerate(WORDS * 9, 1900)
    ]
    said[40] = "and in that year we did not build the ship line and never told our friends about it at all"
    digest = bench.digest(f"# A talk\n\n{' '.join(said)}", share=0.4)
    (speech,) = [line for line in digest.parts[0].text.split("\n") if line.startswith("and in year 1900")]
    assert len(speech) > 2_000 and digest.verification.passed
    passages = speech.split(" … ")
    assert all(passage.removesuffix(" …") in " ".join(said) for passage in passages)
    assert not any("we did" in passage and "did not build" not in passage for passage in passages)


def test_a_long_text_of_a_row_is_shown_by_its_sentences_below_a_line_that_says_whose_it_is(bench: Bench) -> None:
    said = (
        "Nobody knows who planted it, although a miller is often named. Its shade lies over the yard until evening.",
        "Charcoal burners felled most of them before the railway came. What is left grows behind the old quarry.",
        "Two storms took its crown and the parish propped it up with iron. Owls have nested in the hollow since then.",
    )
    hits = [
        {"title": f"Of {word}", "url": f"https://example.org/{word}", "text": " ".join((*said[n:], *said[:n]))}
        for n, word in enumerate(WORDS[:3])
    ]
    shown = bench.digest(json.dumps(hits), share=0.7).parts[0].text.split("\n")
    assert any(line == f"{text.split('.')[0]}." for line in shown for text in said)
    assert not any(line.startswith("text: ") and after.startswith("text: ") for line, after in pairwise(shown))


def test_lines_of_code_keep_the_blanks_that_say_what_they_stand_in(bench: Bench) -> None:
    body = "\n".join(f"\t\tthis.{word}.reset({n});" for n, word in enumerate(WORDS))
    text = "\n".join(
        f"export class {word.title()}Keeper {{\n\tasync open{word.title()}(): Promise<void> {{\n{body}\n\t}}\n}}\n"
        for word in WORDS[:3]
    )
    digest = bench.digest(text, share=0.4)
    lines = digest.parts[0].text.split("\n")
    assert any(line.startswith("export class") for line in lines)
    assert any(line.startswith("\tasync open") for line in lines), lines
    assert digest.verification.passed


def test_blanks_that_its_source_does_not_have_before_a_line_are_refused(bench: Bench) -> None:
    request = bench.request("def close():\n    return 4711\n")
    facts = facts_of(request.sources[0], bench.registry)
    assert not check_part(facts, [DigestLine("quote", "    return 4711")], []).bad_lines
    assert check_part(facts, [DigestLine("quote", "        return 4711")], []).bad_lines


def test_a_sentence_about_this_stands_with_the_one_that_says_what_this_is(bench: Bench) -> None:
    pairs = [
        f"The {word} camera has a lens of its own that nobody else ships. This costs {n * 37 + 100} francs a year."
        for n, word in enumerate(WORDS)
    ]
    text = "\n\n".join(" ".join([*pairs[n : n + 3]]) for n in range(0, len(pairs), 3))
    seen = 0
    for share in (0.2, 0.4, 0.6):
        lines = bench.digest(text, share=share).parts[0].text.split("\n")
        for at, line in enumerate(lines):
            if line.startswith("This costs"):
                seen += 1
                assert lines[at - 1].startswith("The ") and f"{lines[at - 1]} {line.removesuffix(' …')}" in text, lines
    assert seen


def test_a_sentence_about_them_says_that_who_they_are_stands_before_it(bench: Bench) -> None:
    long = ", ".join(f"the berth of the {word} and its {word} crane" for word in WORDS[:8])
    text = "\n\n".join(
        f"{word.title()} and sons of Norhaven, who own {long}, have built here since 18{n + 40}. "
        f"They conclude that {word} will grow by {n + 11} per cent in the two years that follow. "
        f"The harbour of {word} has {n * 31 + 211} berths for vessels of all sizes."
        for n, word in enumerate(WORDS)
    )
    digest = bench.digest(text, share=0.1)
    told = [line for line in digest.parts[0].text.split("\n") if "They conclude" in line]
    assert told and all(line.startswith("… They conclude") for line in told), told
    assert digest.verification.passed


def test_an_error_is_not_left_out_for_half_a_word_behind_its_cut(bench: Bench) -> None:
    """`what-happens-now`, read up to its `no`, was taken for a denial, and a failed fetch looked like an empty page."""
    said = (
        "Anonymous access to domain www.harbour.example blocked until Sat Jan 24 2026 16:20:48 GMT+0000 (Coordinated "
        "Universal Time) due to previous abuse found on https://www.harbour.example/sites/{}/2018/10/25/what-happens-"
        "now-that-an-ai-generated-painting-sold-for-432500/: DDoS attack suspected: Too many domains"
    )
    named = "SecurityCompromiseError"
    for sites in ("w" * n for n in range(1, 60)):  # wherever the window ends
        whole = said.format(sites)
        text = (
            f'# Untitled\n\nError: Jina API returned status 451: {{"data":null,"code":451,"name":"{named}",'
            f'"status":45102,"message":"{whole}","readableMessage":"{named}: {whole}"}}'
        )
        digest = bench.digest(text, share=0.5)
        assert "Error: Jina API returned status 451" in digest.parts[0].text, digest.parts[0].text


def test_what_denies_does_so_in_capitals_and_beside_any_script() -> None:
    for text in ("It is NOT ready", "We don't ship", "Rather than wait", "N'y va pas", "nothing ROOT CAUSE here"):
        assert turns(text) and turns(text.upper()) and turns(f"{text} é"), text
    for text in ("A note on knots", "Nominal", "the root causes", "an_other", "Nonsense"):
        assert not turns(text) and not turns(f"{text} é"), text


def test_half_a_word_denies_nothing() -> None:
    for shift in range(9):
        text = f"{'word ' * 200}{'w' * shift} what happens now and then {'word ' * 200}"
        assert not any(turns(cut_at(text, at)) for at in range(1, len(text)) if text[at] == " "), shift


def test_the_size_of_a_file_never_stands_without_its_name(bench: Bench) -> None:
    text = "\n".join(
        f"-rw-r--r--@ 1 harbour  staff  {n * 3571 + 977} Dec  {n % 9 + 1} 2{n % 4}:1{n % 6} /Users/harbour/workspaces/"
        f"norhaven-mono/packages/berthing-agent/src/{word}.ts"
        for n, word in enumerate(WORDS)
    )
    for share in (0.1, 0.3, 0.5):
        shown = [one for one in bench.digest(text, share=share).parts[0].text.split("\n") if "staff" in one]
        assert all(".ts" in one for one in shown if not one.startswith("[")), shown


def test_code_says_where_lines_of_it_are_left_out(bench: Bench) -> None:
    source = "\n\n".join(
        f"def {word}(berth):\n    parts = []\n"
        + "\n".join(f"    parts.append(berth.{other} + {n * 37 + k})" for k, other in enumerate(WORDS[:6]))
        + "\n    return parts"
        for n, word in enumerate(WORDS)
    )
    lines = source.split("\n")
    following = dict(itertools.pairwise(one for one in lines if one))
    marked = 0
    for share in (0.2, 0.4, 0.6):
        shown = [one for one in bench.digest(source, share=share).parts[0].text.split("\n") if one[:1] != "["]
        for line, after in itertools.pairwise(shown):
            own, then = (re.sub(r" …(?: \[.*\])?$", "", one) for one in (line, after))
            if own in following and len([one for one in lines if one == own]) == 1:
                marked += own != line
                assert (own != line) == (following[own] != then), (line, after)
    assert marked


def test_names_of_code_stand_behind_the_line_below_which_they_are(bench: Bench) -> None:
    source = "\n\n".join(
        f"def {word}(berth):\n"
        + "\n".join(f"    plain = {word}_{other}.get_{n} or plain" for n, other in enumerate(WORDS[:9]))
        + "\n    return plain"
        for word in WORDS
    )
    digest = bench.digest(source, share=0.35)
    lines = digest.parts[0].text.split("\n")
    behind = [found for line in lines if (found := re.fullmatch(r"def (\w+)\(berth\): … \[(.*)\]", line))]
    assert len(behind) > 3 and digest.verification.passed
    for found in behind:
        assert all(name.startswith(f"{found[1]}_") for name in found[2].split()), found[0]
    assert not any(line.startswith("[names]") for line in lines)


def test_no_name_of_a_case_that_is_not_shown_stands_behind_another_one(bench: Bench) -> None:
    cases = "\n".join(
        f'        case "{word}": {{\n'
        + "".join(f"            this.{word}_part_{k} = event.{word}_at_{k};\n" for k in range(3))
        + "            break;\n        }"
        for word in WORDS[:10]
    )
    head = "class Renderer {\n    handle(event: AgentEvent): void {\n        switch (event.type) {"
    apart = 0
    for share in (0.3, 0.4, 0.5, 0.6):
        lines = bench.digest(f"{head}\n{cases}\n        }}\n    }}\n}}", share=share).parts[0].text.split("\n")
        for n, line in enumerate(lines):
            own = {one[1] for above in lines[: n + 1] if (one := re.match(r'\s*case "(\w+)', above))}
            names = set(re.findall(r"(\w+)_(?:part|at)_\d", line.partition("… [")[2]))
            apart += line.startswith("[names]")
            assert not own or not names, lines
    assert apart


def test_in_a_block_of_a_manual_a_line_that_is_left_out_leaves_a_mark(bench: Bench) -> None:
    steps = ["mkdir -p ~/.harbour/berths", "cp $(npm root -g)/@harbour/berths/base.toml ~/.harbour/berths/mine.toml"]
    steps += ["svcctl load mine --keep 47", "rm -rf /tmp/berths-4711", "echo done > state.txt", "chmod 640 state.txt"]
    text = "# Harbour\n\nTo move a berth, run these:\n\n```bash\n" + "\n".join(steps) + "\n```\n\nThen look at it."
    seen = 0
    for share in (0.5, 0.6, 0.7, 0.8):
        shown = bench.digest(text, share=share).parts[0].text.split("\n")
        at = {n: line for n, one in enumerate(steps) for line in shown if line.removesuffix(" …").strip() == one}
        gaps = [line for n, line in at.items() if n + 1 not in at and n + 1 < len(steps)]
        seen += len(gaps)
        assert all(line.endswith(" …") for line in gaps), shown
    assert seen


def test_no_name_of_a_function_that_is_not_shown_stands_behind_another_one(bench: Bench) -> None:
    long = ", ".join(f"{word}=None" for word in WORDS)
    source = "\n\n".join(
        f"def {word}({'berth' if n % 2 else long}):\n    plain = {word}_at.get_{n} or {word}_of\n    return plain"
        for n, word in enumerate(WORDS)
    )
    behind = 0
    for share in (0.3, 0.4, 0.5):
        digest = bench.digest(source, share=share)
        lines = digest.parts[0].text.split("\n")
        found = [one for line in lines if (one := re.match(r"def (\w+)\(.*… \[(.*)\]", line))]
        behind += len(found)
        assert digest.verification.passed
        assert all(name.startswith(f"{one[1]}_") for one in found for name in one[2].split()), lines
        assert any(line.startswith("[names]") for line in lines), lines
    assert behind


def test_an_object_in_one_row_is_named_where_it_is_not_shown(bench: Bench) -> None:
    """A theme ended behind its variables, and nothing said that it has thirty colours, too."""
    themes = [
        {
            "name": name,
            "vars": {f"{word}Tone": f"#{n * step:06x}" for n, word in enumerate(WORDS[:9], 1)},
            "colors": {f"{word}Part": f"{word}{name.title()}" for word in WORDS},
        }
        for name, step in (("light", 7919), ("dark", 104729))
    ]
    for share in (0.25, 0.35, 0.45):
        digest = bench.digest(*(json.dumps(theme, indent=1) for theme in themes), share=share)
        assert all("colors" in part.text for part in digest.parts), [part.text for part in digest.parts]


def test_a_cell_that_is_told_further_down_is_not_shown_as_an_empty_one(bench: Bench) -> None:
    long = " ".join(f"The {word} of the garden is asked for every spring." for word in WORDS * 3)
    hits = [
        {"title": f"On {word}", "url": f"https://example.org/{word}", "snippet": long if n == 1 else f"About {word}."}
        for n, word in enumerate(WORDS[:4])
    ]
    digest = bench.digest(json.dumps(hits), share=0.6)
    row = next(line for line in digest.parts[0].text.split("\n") if line.startswith(f" On {WORDS[1]}|"))
    assert row.endswith("|…"), row
    assert digest.verification.passed


def test_of_addresses_that_go_on_from_one_another_the_first_is_enough(bench: Bench) -> None:
    """A column of `followers_url` took the room of the one number that was asked for."""
    people = [
        {
            "login": word,
            "url": f"https://api.example.org/users/{word}",
            **{
                f"{one}_url": f"https://api.example.org/users/{word}/{one}"
                for one in ("followers", "gists", "orgs", "repos", "events")
            },
            "contributions": 203 - n,
        }
        for n, word in enumerate(WORDS)
    ]
    text = bench.digest(json.dumps(people), share=0.3).parts[0].text
    assert "contributions" in text.split("columns left out")[0] and "followers_url" not in text.split("\n")[1], text
    assert sum(f"https://api.example.org/users/{word}" in text for word in WORDS) == len(WORDS)


def test_lines_of_a_signature_are_not_shown(bench: Bench) -> None:
    key = "q7QT9wBoHN+aYLXTqLRE+QNgt/J43NcCz6tE1uAt5WvmV5gw+WeuCQE7XVc49ztQ"
    signature = "\n".join(["-----BEGIN PGP SIGNATURE-----", *(key[n:] + key[:n] for n in range(20)), key[:20]])
    commits = [
        {"sha": f"{n * 7919:07x}ab", "message": f"Mend the {w}", "signature": signature} for n, w in enumerate(WORDS)
    ]
    for text in (json.dumps(commits[:3]), f"The keeper signed this:\n\n{signature}\n\nThat is all."):
        for share in (0.3, 0.7):
            shown = bench.digest(text, share=share).parts[0].text
            assert not any(len(line) >= 60 and " " not in line for line in shown.split("\n")), shown


def test_numbers_that_only_count_up_do_not_go_before_rows(bench: Bench) -> None:
    """`[20 of 20 like] Branch <1> reports …: 0–19` stood where the three rows of the statement had been."""
    rows = ["Cash flow", "                  2031      2030", "Sales         92,410    88,105"]
    statement = "\n".join([*rows, "Tax            (6,031)   (5,977)", ""])
    text = statement + "\n".join(f"Branch {n} reports under the rules of its country." for n in range(40))
    shown = bench.digest(text, share=0.2).parts[0].text
    assert "|92,410|88,105" in shown and "(6,031)|(5,977)" in shown, shown


def test_a_short_list_is_shown_whole_or_not_at_all(bench: Bench) -> None:
    """One of three tasks would be taken for the only one."""
    tasks = [f"↳ ○ berth-{n}: {what}" for n, what in enumerate(("survey the mole", "drain the dock", "paint"), 1)]
    prose = [f"Paragraph {n} tells at length of what the harbour was before anybody built it." for n in range(30)]
    text = "\n".join([*prose[:15], "", "CHILDREN", *tasks, "", *prose[15:]])
    for share in (0.1, 0.2, 0.3, 0.5):
        shown = bench.digest(text, share=share, focus=("berth-3", "paint")).parts[0].text
        assert sum(task in shown for task in tasks) in (0, 3)
    assert all(task in shown for task in tasks)


def test_rows_of_a_long_table_stay_whole_rather_than_twice_as_many_with_an_id_alone(bench: Bench) -> None:
    """Nobody can go on with a number of a ticket: what he was, and whether he lived, is what the table is for."""
    rows = [
        f"{n},{n % 2},{n % 3 + 1},Passenger number {n} of Dover,{'fe' * (n % 3 == 0)}male,{20 + n % 50},{n * 7919}"
        for n in range(1, 900)
    ]
    digest = bench.digest("\n".join(["Id,Survived,Class,Name,Sex,Age,Ticket", *rows]), share=0.15)
    assert "Id|Survived|Class|Name|Sex|Age|Ticket" in digest.parts[0].text


def test_lines_beside_a_hit_stay_below_it(bench: Bench) -> None:
    """Of a shared background nobody could say whose it is."""
    names = ("thinking", "tool-use", "tool-result", "user", "code", "subagent")
    hits = [f"{n}1:.row.is-{name} {{\n{n}2-  background: var(--surface-{n});\n--" for n, name in enumerate(names, 1)]
    for share in (0.3, 0.5, 0.8):
        assert "like]" not in bench.digest("\n".join(hits), share=share).parts[0].text


def test_a_list_of_links_at_the_end_of_a_page_gives_its_room_to_what_the_page_says(bench: Bench) -> None:
    said = [
        "Her mother kept a laundry in Parsippany, and the daughter kept its books.",
        "Nobody believed that pictures would matter, so she paid for the first million of them herself.",
        "What comes after words is space, she says, and a robot that cannot see is only a clock.",
        "Most of her students were told to leave the field, and three of them built it.",
        "The machine that draws a room from one sentence was finished in the spring.",
    ]
    names = [
        "Turing",
        "Dartmouth",
        "McCarthy",
        "WordNet",
        "Hinton",
        "Mechanical",
        "Surge",
        "Wang",
        "AlexNet",
        "Hassabis",
        "Musk",
        "Huang",
        "Liang",
    ]
    links = [f"• {name} on X: [https://x.com/{name}](https://x.com/{name.lower()}/)" for name in names]
    digest = bench.digest("\n\n".join(["# A talk on seeing machines", *said, *links]), share=0.3)
    assert "http" not in digest.parts[0].text and sum(line in digest.parts[0].text for line in said) >= 3


def test_a_point_of_a_list_is_not_said_again_above_what_it_goes_on_to_say(bench: Bench) -> None:
    """`- **Motion**: …` stood twice, one line below the other."""
    points = (
        "- **Type**: Choose letters that people can read at night.\n"
        "- **Colour**: Commit to one palette and keep it.\n"
        "- **Motion**: Use it for effects and small interactions. Prioritize what the platform offers, and take a "
        "library when none of that will do. Focus on the moments that a visitor remembers, such as the first load.\n"
        "- **Depth**: Create an atmosphere of your own. Add textures that match the whole, with grain, shadows and "
        "borders that look as if somebody had drawn them, and layers that let the ground shine through."
    )
    text = f"# Rules\n\n## Guidelines\n\nFocus on:\n{points}\n\nNEVER use what everybody uses.\n"
    lines = bench.digest(text, share=0.9).parts[0].text.split("\n")
    said = [line for line in lines if line.startswith("- **")]
    assert said and len(said) == len(set(said)), lines


def test_an_exit_code_is_said_once(bench: Bench) -> None:
    names = "\n".join(f"-rw-r--r--  1 me  staff  {n * 91} Sep  4 09:52 part_{n}.txt" for n in range(40))
    text = f"{names}\n[The command completed with exit code 0.]\n[Command finished with exit code 0]"
    lines = bench.digest(text, share=0.4).parts[0].text.split("\n")
    assert sum("exit code 0" in line for line in lines) == 1, lines


def test_an_object_of_which_nothing_is_shown_is_named(bench: Bench) -> None:
    """A theme without a word of its `colors` seemed to consist of `vars`."""
    theme = {
        "name": "dark",
        "vars": {f"shade{n}": f"#0087{n:02}" for n in range(12)},
        "colors": {f"{part}Border{n}": f"shade{n}" for n in range(8) for part in ("tool", "quote", "menu")},
    }
    text = json.dumps(theme, indent=1)
    note = bench.digest(text, share=0.3).parts[0].text
    assert "colors: toolBorder0=shade0, " in note, note


def test_the_linters_finding_is_told_and_not_only_the_code_around_it(bench: Bench) -> None:
    """Two imports that were fine stood there, and `No fixes applied`."""
    frame = "\n".join(f"    {n} │ import {{ Part{n} }} from './part-{n}.js';" for n in (23, 24))
    checks = "\n".join(f"> @acme/part-{n} check\n\nChecked {n} files in 4ms. No fixes applied.\n" for n in range(3, 20))
    text = (
        "> acme@0.0.3 check\n\nsrc/main-new.ts:25:10 lint/correctness/noUnusedImports  FIXABLE  ━━━━━━━\n\n"
        f"  ! Several of these imports are unused.\n\n{frame}\n  > 25 │ import {{ expand }} from './commands.js';\n"
        f"{frame.replace('23', '26').replace('24', '27')}\n\nFound 1 warning.\n\n{checks}"
    )
    said = bench.digest(text, share=0.15).parts[0].text
    assert "src/main-new.ts:25:10 lint/correctness/noUnusedImports" in said and "Found 1 warning." in said, said


def test_what_a_script_says_after_each_step_is_told_though_a_section_stands_above_it(bench: Bench) -> None:
    """The checker refused the second of these lines below `@acme/web:`, and the section was shown without it."""
    made = "\n\n".join(f"@acme/{a}:\n  @acme/{b}: ^0.7.29 → ^0.8.0" for a in ("web", "tui", "ai") for b in ("pi", "pa"))
    names = "\n".join(f"  @acme/part-{n}: 0.8.0" for n in range(9))
    text = (
        f"\n> acme@0.0.2 version:minor\n\nCurrent versions:\n{names}\n\n✅ All packages at same version (lockstep)\n\n"
        f"{made}\n\n✅ Updated 7 dependency version(s)\n\nDebugger attached.\n"
    )
    for share in (0.25, 0.4, 0.6):
        said = bench.digest(text, share=share).parts[0].text
        assert "✅ All packages at same version" in said and "✅ Updated 7 dependency version(s)" in said, said


def test_a_short_table_is_told_whole_before_long_lines_beside_it(bench: Bench) -> None:
    table = "class  rate  count\n" + "".join(f"c{n}     {n}1.{n}7  {n}{n}1\n" for n in range(1, 5))
    lines = "".join(f"The part called {word} was read from its own file at start\n" for word in "abcdefghijklmnop")
    assert "[4 of 4 rows]" in bench.digest(f"{lines}\n{table}", share=0.5).parts[0].text


def test_code_changes_and_commits_say_where_a_line_is_missing(bench: Bench) -> None:
    """An argument that is missing without a mark is taken for one that never was."""
    call = "\n".join(["\tawait start(", *(f"\t\t{word}Option," for word in WORDS), "\t);", "\tawait stop(fdPath);"])
    log = "\n".join(f"{n * 7919:07x} {WORDS[n].title()} the {WORDS[-n]} of v1.{n}.{n * 3}" for n in range(1, 12))
    patch = "\n".join(
        ["--- a/x.py", "+++ b/x.py", "@@ -1,12 +1,0 @@", *(f"-    {word} = {n * 37}" for n, word in enumerate(WORDS))]
    )
    for text in (call, log, patch):
        for share in (0.4, 0.6, 0.8):
            shown = bench.digest(text, share=share).parts[0].text.split("\n")
            source = [line.strip() for line in text.split("\n")]
            bare = {line.removesuffix(" …").strip(): line for line in shown}
            at = {n: bare[line] for n, line in enumerate(source) if line in bare}
            gaps = [n for n in at if n + 1 not in at and n + 1 < len(source) and source[n + 1].strip("( );")]
            assert all(at[n].endswith(" …") for n in gaps), shown


def test_commits_at_the_head_of_a_log_are_told_before_older_ones(bench: Bench) -> None:
    log = "\n".join(
        f"{n * 791_919:07x} Work on the {' '.join(WORDS[n % 5 : n % 5 + 4 if n < 8 else n % 5 + 1])} of v1.{n}"
        for n in range(1, 40)
    )
    shown = bench.digest(log, share=0.35).parts[0].text
    assert sum(line in shown for line in log.split("\n")[:7]) >= 5, shown


def test_a_commit_that_is_not_the_newest_is_marked_where_it_stands_first(bench: Bench) -> None:
    log = "\n".join(
        f"{n * 791_919:07x} Work on the {' '.join(WORDS[:14] if n < 2 else WORDS[n % 5 : n % 5 + 3])} of v1.{n}"
        for n in range(1, 20)
    )
    newest = log.split("\n")[0]
    shown = bench.digest(log, share=0.15).parts[0].text.split("\n")
    assert newest not in "\n".join(shown), shown
    assert shown[1].startswith("… "), shown
    assert f"\n{newest}" in bench.digest(log, share=0.2).parts[0].text


def test_a_sentence_that_goes_on_from_one_that_is_not_shown_is_marked(bench: Bench) -> None:
    """ "But that doesn't seem to concern them": what does not?"""
    first = "Everyone talks about this and that and some other things of these years."
    text = f"{first} But that does not concern the port of berth-4711 with its 5121 cranes.\n\n" + "\n\n".join(
        f"Many speak of the weather, and of what they had for dinner in the {word} house, too." for word in WORDS[:5]
    )
    shown = bench.digest(text, share=0.3).parts[0].text
    assert first not in shown
    assert "\n… But that does not concern the port of berth-4711" in shown
    assert f"\n{first} But that" in bench.digest(text, share=0.5).parts[0].text


def test_a_linter_that_found_nothing_says_so_in_a_pointer(bench: Bench) -> None:
    run = "".join(
        f"> @harbour/part{n}@1.0.{n} check\n> biome check\n\nChecked {n * 7 + 3} files in {n}ms. No fixes applied.\n\n"
        for n in range(1, 9)
    )
    assert "Checked 10 files in 1ms. No fixes applied." in bench.digest(run, pointer_only=True).parts[0].text


def test_of_a_long_table_it_is_said_that_the_rows_shown_were_picked(bench: Bench) -> None:
    """Half of the rows shown of a list of passengers had survived, of all a third: nothing said how they were drawn."""
    draw = random.Random(3)
    rows = [
        f"{n},{draw.choice(WORDS)}-{draw.randrange(10**6)},{draw.randrange(100)},{draw.choice('YN')}"
        for n in range(200)
    ]
    text = "\n".join(["id,name,age,survived", *rows])
    assert "rows that stand out, no fair sample" in bench.digest(text, share=0.3).parts[0].text
    short = "\n".join(["id,name,age,survived", *rows[:30]])
    assert "no fair sample" not in bench.digest(short, share=0.4).parts[0].text


def test_a_name_above_what_somebody_said_is_marked_where_that_is_not_shown(bench: Bench) -> None:
    """A complaint stood under the name of another customer."""
    people = ("Toshihiko Ando", "Bettina", "Oke Harms", "Mirjam")
    said = [
        "Only the stiff strap I do not like at all, 481 grams of it.",
        "A bag for life that has seen three deserts and 12 airports by now.",
        "It came after nine days, and the zip broke on day 10 in Porto.",
        "My daughter carries her two lenses in it and would not give it back.",
    ]
    page = "\n".join(["# Reviews", "", *(f"{name}\n\n{one}\n" for name, one in zip(people, said, strict=True))])
    named = 0
    for share in (0.3, 0.5, 0.7):
        shown = bench.digest(page, share=share).parts[0].text.split("\n")
        for line, after in itertools.pairwise(shown):
            if (own := line.removesuffix(" …")) in people:
                named += 1
                assert (own != line) == (after.removesuffix(" …") != said[people.index(own)]), (line, after)
    assert named


def test_between_two_places_of_code_that_a_search_shows_their_border_stands(bench: Bench) -> None:
    """What a submit handler does stood as the body of the handler before it."""
    places = [
        f"\tthis.editor.on{word.title()} = () => {{\n\t\tthis.{word}.clear({n}81);\n\t\treturn request{n}(ui);\n\t}};"
        for n, word in enumerate(WORDS[:12])
    ]
    text = "\n--\n".join(places)
    crossed = 0
    for share in (0.2, 0.3, 0.5):
        lines = bench.digest(text, share=share).parts[0].text.split("\n")
        own = [next((n for n, one in enumerate(places) if line.split(" …")[0].strip() in one), -1) for line in lines]
        for at, line in enumerate(lines):
            if line != "--" and at and lines[at - 1] != "--" and line[:1] != "[" and lines[at - 1][:1] != "[":
                assert own[at] == own[at - 1], lines
            crossed += line == "--"
    assert crossed


def test_a_point_that_is_left_out_behind_one_with_points_is_marked_behind_those(bench: Bench) -> None:
    """The mark stood on "Path normalization:", all of whose points were shown; the part that was left out followed."""
    said = {
        "Hull": [
            "  - Keep all 412 ribs of the old frame.",
            "  - Nobody may cut into the keel before the survey of May.",
        ],
        "Rigging": [
            "  - Cables come from Porto, in 9 weeks at best.",
            "  - Ask the harbour master where the mast can lie.",
        ],
        "Galley": ["  - Infer the size of the stove from the old drawing, sheet 17.", "  - Coal is stored aft."],
        "Bridge": ["  - Two compasses, one of them without its light.", "  - Radar stays as it is until 2027."],
        "Cargo": ["  - 38 hooks, each tested with 2,000 kg.", "  - Salt must never lie on bare steel."],
    }
    text = "# Refit\n\n" + "\n".join("\n".join([f"- {name} work:", *points]) for name, points in said.items())
    marked = 0
    for share in (0.3, 0.4, 0.5, 0.6, 0.7, 0.8):
        lines = [one for one in bench.digest(text, share=share).parts[0].text.split("\n") if one[:1] != "["]
        shown = [line.removesuffix(" …") for line in lines]
        for name, points in said.items():
            if f"- {name} work:" in shown and all(point in shown for point in points):
                assert f"- {name} work:" in lines, lines
                marked += f"{points[-1]} …" in lines
    assert marked


def test_a_gap_between_two_shown_sentences_of_a_section_is_marked(bench: Bench) -> None:
    said = [
        "Charcoal burners felled most of the beeches before the railway came in 1871.",
        "A ferry of forty tons carried the post, two doctors and whoever had business in Porto.",
        "Nobody has counted the herons since the survey of 1934, which found 212 of them.",
        "From the quay a stair of 96 steps leads to the chapel, whose bell is cracked.",
        "When the mill burned down, its owner sold the land for 4,300 francs and left.",
        "Salt was boiled here until 1899, in pans of lead that poisoned half the street.",
        "Two of the cranes still stand, one of them without its jib.",
        "The lagoon freezes every seven years or so, most deeply in 1929 with 41 centimetres.",
    ]
    text = "# The harbour\n\n" + "\n\n".join(said)
    gaps = 0
    for share in (0.2, 0.4, 0.6):
        lines = [one for one in bench.digest(text, share=share).parts[0].text.split("\n") if one[:1] != "["]
        for line, after in itertools.pairwise(lines):
            if (own := line.removesuffix(" …")) in said and (following := after.removesuffix(" …")) in said:
                assert (own != line) == (said.index(following) != said.index(own) + 1), (line, after)
                gaps += own != line
    assert gaps


def test_a_branch_that_is_left_out_of_a_tree_in_a_plan_leaves_a_mark(bench: Bench) -> None:
    """One child of seven stood under its file as if it were the only one."""
    tree = [f"├── run{word.title()}Mode() - duplicates the handling of {word} events" for word in WORDS[:9]]
    plan = "\n".join(
        ["# Plan", "", "## Now", "", "```", "main.ts (1100 lines)", *tree, "└── exit()", "```", "", "Done."]
    )
    for share in (0.3, 0.5, 0.7):
        shown = [one for one in bench.digest(plan, share=share).parts[0].text.split("\n") if one[:1] != "["]
        for line, after in itertools.pairwise(shown):
            own = line.removesuffix(" …")
            if own in tree:
                following = [*tree, "└── exit()"][tree.index(own) + 1]
                assert (own != line) == (following != after.removesuffix(" …")), (line, after)
