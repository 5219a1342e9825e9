"""A stored digest is counted again from its originals (D12)."""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec

from palimpsest_mcp.digest.recount import recount
from palimpsest_mcp.models.records import Digest, DigestRequest

from .conftest import Bench

MIXED = (
    '{"jobs": [{"name": "HAT069", "size": 4200, "took": "12.5 ms"}, {"name": "HAT070", "size": 5100, "took": "9 ms"}]}'
)


def again(
    bench: Bench, request: DigestRequest, digest: Digest, *, said: str = "", instead: str = ""
) -> tuple[str, ...]:
    parts = [
        (source, part.text.replace(said, instead) if said else part.text)
        for source, part in zip(request.sources, digest.parts, strict=True)
    ]
    return recount(parts, digest.specifics, bench.registry)


def test_what_was_verified_counts_the_same_again(bench: Bench, log: Callable[[int], str]) -> None:
    for share in (0.1, 0.3, 0.6):
        request = bench.request(log(80), MIXED, "- name … size\nsize: width=4 12.5 ms\n" * 9 + log(3), share=share)
        assert again(bench, request, bench.digester.compute(request)) == ()


def test_a_digest_of_digests_counts_the_same_again(bench: Bench) -> None:
    """A long line of the source that reads as the ledger's own is shown in pieces: none of them is a ledger line."""
    sizes = [str(size) for size in range(4_000_000, 4_000_900, 3)]
    ledger = f"number: size={' '.join(sizes)} | total=77777 | 47110"
    near = f" worker … {'  '.join(sizes)}"
    for share in (0.2, 0.35, 0.5, 0.7):
        request = bench.request("\n".join([ledger, near, "plain words stand here", near]), ledger, share=share)
        assert again(bench, request, bench.digester.compute(request)) == ()


def test_a_row_whose_first_column_is_named_like_a_class_is_no_ledger(bench: Bench) -> None:
    rows = ",".join(f'"part{n}": [[{{"path": "src/a{n}.py", "call": "size={n}5100", "k": {n}.25}}]]' for n in range(9))
    for share in (0.5, 0.8):
        request = bench.request(f"{{{rows}}}", share=share)
        digest = bench.digester.compute(request)
        assert "\npath: src/a0.py | call: size=05100 | k: 0.25\n" in digest.parts[0].text
        assert again(bench, request, digest) == ()


def test_a_row_whose_first_cell_is_empty_is_no_ledger(bench: Bench) -> None:
    rows = ",".join(f'{{"a": "{"" if n % 2 else n}", "b": {n}.5, "10.0.0.{n}": 15{n:03}}}' for n in range(30))
    request = bench.request(f"[{rows}]", share=0.9)
    digest = bench.digester.compute(request)
    assert "\n | 1.5 | 10.0.0.1=15001\n" in digest.parts[0].text
    assert again(bench, request, digest) == ()


def test_a_count_that_does_not_fit_is_told(bench: Bench, log: Callable[[int], str]) -> None:
    request = bench.request(log(40))
    digest = bench.digester.compute(request)
    wrong = msgspec.structs.replace(digest.specifics, left_out=digest.specifics.left_out - 1)
    assert "add up" in again(bench, request, msgspec.structs.replace(digest, specifics=wrong))[-1]
    path = msgspec.structs.replace(digest.specifics.by_class["path"], shown=0)
    by_class = {**digest.specifics.by_class, "path": path}
    wrong = msgspec.structs.replace(digest.specifics, by_class=by_class)
    assert again(bench, request, msgspec.structs.replace(digest, specifics=wrong))[0].startswith(
        "path: its record says 0"
    )


def test_what_the_source_does_not_have_is_told(bench: Bench, log: Callable[[int], str]) -> None:
    request = bench.request(log(40), share=0.5)
    digest = bench.digester.compute(request)
    path = re.findall(r"/srv/app/job_\d+.json", digest.parts[0].text)[0]
    told = again(bench, request, digest, said=path, instead="/srv/app/job_9999.json")
    assert "hold a specific that its source does not have" in told[0]


def test_a_value_under_the_key_of_another_is_told(bench: Bench) -> None:
    text = "\n".join(f"note {n} says width={4000 + n} and height={7000 + n} here" for n in range(40))
    request = bench.request(text, share=0.35)
    digest = bench.digester.compute(request)
    assert "height=70" in digest.parts[0].text
    line = next(line for line in digest.parts[0].text.split("\n") if "height=70" in line and ": " in line)
    told = again(bench, request, digest, said=line, instead=line.replace("height=", "breadth="))
    assert any("under a key" in one for one in told)
