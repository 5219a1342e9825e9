"""Entries of listings stand under the folder that holds them."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.digest.readers import listing
from palimpsest_mcp.digest.records import Record

from .conftest import Bench

_NAME = st.from_regex(r"[a-z]{1,8}\.(?:py|dat|md)", fullmatch=True)
_FOLDER = st.from_regex(r"/srv/[a-z]{1,6}(?:/[a-z]{1,6})?", fullmatch=True)


def _read(lines: Sequence[str]) -> list[Record]:
    """Records of a text that must be claimed whole, one of each line that is not blank."""
    assert listing.claims(lines, 0) == len(lines)
    records = listing.read(lines).records
    assert [(each.at, each.text) for each in records] == [
        (n, line.strip()) for n, line in enumerate(lines) if line.strip()
    ]
    return records


@given(st.dictionaries(_FOLDER, st.dictionaries(_NAME, st.integers(0, 10**9), min_size=1, max_size=4), min_size=1))
def test_every_file_of_ls_lr_stands_under_its_own_folder(tree: dict[str, dict[str, int]]) -> None:
    parts = [
        [f"{folder}:", "total 8", *(f"-rw-r--r-- 1 app app {size} Nov 10 00:10 {name}" for name, size in files.items())]
        for folder, files in tree.items()
    ]
    lines = "\n\n".join("\n".join(part) for part in parts).split("\n")
    records = _read(lines)
    found = [(records[each.under].text, each.text.rsplit(None, 1)[-1]) for each in records if each.kind == "entry"]
    assert found == [(f"{folder}:", name) for folder, files in tree.items() for name in files]


@given(st.lists(st.integers(0, 3), min_size=1, max_size=30))
def test_every_entry_of_tree_stands_under_the_nearest_one_above_that_is_less_deep(steps: list[int]) -> None:
    depths = [0]
    for step in steps:
        depths.append(min(step, depths[-1] + 1))
    lines = [".", *(f"{'│   ' * depth}├── n{n}" for n, depth in enumerate(depths))]
    records = _read(lines)
    for n, depth in enumerate(depths):
        parent = next((m for m in range(n - 1, -1, -1) if depths[m] < depth), -1)
        assert records[n + 1].under == parent + 1
        assert records[parent + 1].kind == "heading"


@given(st.lists(st.from_regex(r"(?:[a-z]{1,5}/){1,4}[a-z]{1,8}\.py", fullmatch=True), min_size=3))
def test_a_list_of_paths_is_an_entry_a_line(paths: list[str]) -> None:
    assert all(each.kind == "entry" and each.under == -1 for each in _read(paths))


def test_the_top_is_worth_more_than_the_depth_and_what_tools_made_hardly_anything() -> None:
    lines = ["a.py", "src/b.py", "src/deep/er/c.py", "node_modules/x/index.js", "uv.lock"]
    assert [each.worth for each in _read(lines)] == [1.5, 1.3, 0.9, 0.2, 0.2]


def test_packages_sizes_and_sums_are_entries() -> None:
    for text in (
        "aiohttp==3.9.1\nrequests==2.31.0",
        "apt/stable,now 2.6.1 amd64 [installed]\nbash/stable 5.2 amd64",
        "4.0K\t./a\n12M\t./src/b\n13M\t.",
        "  1543 src/main.ts\n  1254 src/new.ts\n  2797 total",
        "app@1.0.0 /srv/app\n├── express@4.18.2\n└── zod@3.0.0",
    ):
        assert {each.kind for each in _read(text.split("\n"))} <= {"entry", "heading"}, text


def test_prose_code_and_addresses_are_no_listing() -> None:
    for text in (
        "The files are:\none two\nthree",
        "https://example.org/a\nhttps://example.org/b\nhttps://example.org/c",
        "one\ntwo\nthree\nfour",
        "![](/a/b.gif)\n![](/a/c.gif)\n![](/a/d.gif)",
        "1.5\n2.25\n2026/11/12",
        "import os\nfrom a.b import c\nx = a.b",
    ):
        assert listing.claims(text.split("\n"), 0) == 0, text


def test_of_a_long_listing_the_names_stay_where_the_rest_of_its_lines_does_not_fit(bench: Bench) -> None:
    names = [
        "README.md",
        "Makefile",
        "src",
        "tests",
        "uv.lock",
        "pyproject.toml",
        "docs",
        "plugin",
        "benchmarks",
        ".github",
    ]
    lines = [
        f"-rw-r--r--  1 ada  staff {n * 7919 % 90_000:6} Sep {n + 1:2} 1{n}:4{n} {name}" for n, name in enumerate(names)
    ]
    (part,) = bench.digest("\n".join(["total 784", *lines]), share=0.45).parts
    assert all(name in part.text for name in names)
