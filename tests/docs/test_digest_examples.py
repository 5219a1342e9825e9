"""The digests on the page of digesters are what the digester makes of the texts above them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from palimpsest_mcp.digest.engine import ExtractiveDigester
from palimpsest_mcp.models.records import DigestRequest, DigestSource, Visible
from palimpsest_mcp.text.specifics.registry import DefaultRegistry
from palimpsest_mcp.text.tokens.count import open_counter
from palimpsest_mcp.text.tokens.vocabulary import load_vocabulary

PAGE = Path(__file__).resolve().parents[2] / "docs" / "digesters.md"
PAIR = re.compile(r"^```text before\n(.*?)^```\n.*?^```text after\n(.*?)^```", re.MULTILINE | re.DOTALL)
SHARE = 0.7


@pytest.mark.parametrize(("before", "after"), PAIR.findall(PAGE.read_text("utf-8")))
def test_the_digest_on_the_page_is_the_one_of_the_text_above_it(before: str, after: str) -> None:
    if load_vocabulary().encoding is None:
        pytest.skip("no vocabulary to count with: see `palimpsest-mcp doctor`")
    counter = open_counter("gpt-5")
    size = counter.count(before)
    source = DigestSource(item_id="i1", kind="tool_result", tool_name="Read", text=before, tokens=size)
    request = DigestRequest(
        sources=(source,),
        budget_tokens=int(SHARE * size),
        ceiling_tokens=int(SHARE * size),
        handle="s7f3k",
        batch_id="offload_0001",
        visible=Visible(),
    )
    made = ExtractiveDigester(DefaultRegistry(), counter).compute(request).parts[0]
    shown = [line.text for line in made.lines if line.kind in ("quote", "row")]
    wanted = after.rstrip("\n").split("\n")
    assert [line for line in shown if line in wanted] == wanted, shown


def test_the_page_has_examples() -> None:
    assert len(PAIR.findall(PAGE.read_text("utf-8"))) == 3
