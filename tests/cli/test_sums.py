"""One thing has one number: tables sum to their totals, a plan to its report, and what was purged counts nowhere."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import palimpsest_mcp

from .conftest import quietly

Program = Callable[..., Any]
DEMO = Path(palimpsest_mcp.__file__).parent / "demo" / "coding_session.json"


@pytest.fixture(scope="module")
def compacted_demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp("demo")
    how = ("--session", "harbour", "--window", "64000", "--verbose")
    return folder / "home", quietly(folder / "home", "compact", session_of(folder), *how).text


@pytest.fixture
def demo(home: Path, compacted_demo: tuple[Path, str]) -> str:
    """The report of a pass over the bundled session `harbour`, which the store has."""
    made, report = compacted_demo
    shutil.copytree(made, home)
    return report


def session_of(folder: Path) -> Path:
    return Path(shutil.copy(DEMO, folder / "c.json"))


def number(text: str, before: str, after: str = "") -> int:
    found = re.search(rf"{before}([\d,]+){after}", text)
    assert found is not None, (before, after, text)
    return int(found[1].replace(",", ""))


def columns(text: str, first: str, second: str) -> tuple[int, int]:
    """Sums of two columns of the table that has them."""
    lines = text.splitlines()
    head = next(place for place, line in enumerate(lines) if line.startswith("batch ") and first in line)
    ends = [lines[head].index(name) + len(name) for name in (first, second)]
    sums = [0, 0]
    for line in lines[head + 1 :]:
        if not re.match(r"offload_|\s+\d+ ", line):
            break
        for place, end in enumerate(ends):
            sums[place] += int(line[:end].split()[-1].replace(",", ""))
    return sums[0], sums[1]


def test_the_table_of_batches_sums_to_what_the_report_the_list_and_the_status_say(program: Program, demo: str) -> None:
    tokens, digests = columns(demo, "tokens", "digest")
    assert tokens - digests == number(demo, ", ", " fewer")
    assert digests == number(demo, "filled by.* digest ")
    assert columns(program("list", "harbour").text, "tokens", "digest") == (tokens, digests)
    status = program("status", "--json").json
    assert (status["tokens_offloaded"], status["tokens_digests"]) == (tokens, digests)


def test_what_a_digest_says_of_its_size_differs_by_what_the_report_names(program: Program, demo: str) -> None:
    """A digest is made before it stands anywhere: its header counts texts, without what results take beside them."""
    batches = program("list", "harbour", "--json").json["batches"]
    headed = [batch for batch in batches if "→" in batch["digest"]]
    assert len(headed) > 1
    for batch in headed:
        texts, digest = batch["original_tokens"] - batch["overhead_tokens"], batch["digest_tokens"]
        assert f", {texts:,} → {digest:,} tokens" in batch["digest"].split("]")[0]
    beside = sum(batch["overhead_tokens"] for batch in batches)
    for text in (demo, program("list", "harbour", "--verbose").text):
        assert number(text, "both sizes include ", " tokens that results take beside their texts") == beside


def test_a_plan_says_about_how_long_its_digests_get_and_sums_to_what_it_predicts(
    program: Program, tmp_path: Path
) -> None:
    text = program("compact", session_of(tmp_path), "--window", "64000", "--dry-run", "--verbose").text
    assert "at most" not in text
    tokens, digests = columns(text, "tokens", "about")
    assert digests == number(text, "filled by.* digest ")
    assert tokens - digests == number(text, ", ", " fewer")


@pytest.mark.parametrize("what", [("harbour",), ("harbour", "offload_0001"), ("--matching", "README")])
def test_a_purge_reports_what_its_plan_said(program: Program, demo: str, what: tuple[str, ...]) -> None:
    planned, done = program("purge", *what).text, program("purge", *what, "--yes").text
    assert planned.splitlines()[0].replace("would remove", "removed") == done.splitlines()[0]
    assert [line for line in planned.splitlines() if line.startswith("note")] == [
        line for line in done.splitlines() if line.startswith("note")
    ]


def test_a_purged_session_is_neither_saved_nor_cost(program: Program, demo: str) -> None:
    program("restore", "harbour", "offload_0002")
    program("purge", "harbour", "--yes")
    status = program("status", "--json").json
    assert {name: status[name] for name in status if name.startswith(("tokens", "net", "batches"))} == {
        "batches": 0,
        "tokens_offloaded": 0,
        "tokens_digests": 0,
        "tokens_restored": 0,
        "tokens_read_again": 0,
        "net_saved_tokens": 0,
    }
    assert columns(program("list", "harbour").text, "tokens", "digest") == (0, 0)
    assert program("sessions", "--json").json["sessions"][0]["saved_tokens"] == 0


def test_a_purged_batch_takes_its_numbers_along(program: Program, demo: str) -> None:
    before, (batch, *_) = program("status", "--json").json, program("list", "harbour", "--json").json["batches"]
    program("restore", "harbour", "offload_0001")
    program("purge", "harbour", "offload_0001", "--yes")
    after = program("status", "--json").json
    assert after["batches"] == before["batches"] - 1 and after["tokens_restored"] == 0
    assert after["tokens_offloaded"] == before["tokens_offloaded"] - batch["original_tokens"]
    assert after["tokens_digests"] == before["tokens_digests"] - batch["digest_tokens"] - batch["overhead_tokens"]


def test_a_purged_item_takes_its_share_of_the_batch_along(program: Program, demo: str) -> None:
    before = program("status", "--json").json
    item = next(one for one in program("show", "harbour", "--json").json["items"] if one["item_id"] == "toolu_c_001")
    program("restore", "harbour", "offload_0001", "--item", "toolu_c_001")
    program("purge", "--matching", "git ls-files", "--yes")
    after, listed = program("status", "--json").json, program("list", "harbour").text
    assert before["tokens_offloaded"] > after["tokens_offloaded"] and after["tokens_restored"] == 0
    assert 0 < before["tokens_digests"] - after["tokens_digests"] < before["tokens_offloaded"] - item["tokens"]
    assert columns(listed, "tokens", "digest") == (after["tokens_offloaded"], after["tokens_digests"])


def test_a_missing_archive_whose_originals_the_ledger_has_sends_nobody_in_a_circle(
    program: Program, home: Path, demo: str
) -> None:
    original = program("restore", "harbour", "offload_0001", "--item", "toolu_c_001", "--raw").out
    for path in home.glob("session/harbour/offloaded/*.jsonl"):
        path.unlink()
    verified = program("verify")
    assert verified.status == 33 and "repair" not in verified.text
    assert "every original is whole in the ledger" in verified.text and "restore" in verified.text
    for ran in (program("repair"), program("repair", "--yes")):
        assert ran.status == 33 and "LOST" not in ran.text and "verify" not in ran.text
        assert "offload_0001" in ran.text and "restore gives every original back, from the ledger of" in ran.text
        assert "mended; what was damaged" not in ran.text
    assert program("restore", "harbour", "offload_0001", "--item", "toolu_c_001", "--raw").out == original


def test_a_missing_archive_is_lost_where_an_original_is(program: Program, home: Path, demo: str) -> None:
    for path in home.glob("session/harbour/offloaded/*.jsonl"):
        path.unlink()
    for path in home.glob("session/harbour/ledger/*.jsonl"):
        path.write_bytes(path.read_bytes().replace(b"README.md\\npyproject.toml", b"README.md\\npyproject.tomI"))
    assert re.search("`palimpsest-mcp --home [^`]* repair", program("verify").text)
    ran = program("repair")
    assert ran.status == 33 and "LOST" in ran.text and "toolu_c_001, the digest" in ran.text
