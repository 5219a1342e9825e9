"""The digests on the page of digesters are what the digester makes of the texts above them.

`UPDATE_GOLDEN=1` writes them anew.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from palimpsest_mcp.digest.engine import ExtractiveDigester
from palimpsest_mcp.models.records import DigestRequest, DigestSource
from palimpsest_mcp.text.specifics.registry import DefaultRegistry
from palimpsest_mcp.text.tokens.count import load_vocabulary, open_counter

PAGE = Path(__file__).resolve().parents[2] / "docs" / "digesters.md"
PAIR = re.compile(r"^```text before\n(.*?)^```(.*?)^```text after\n(.*?)^```", re.MULTILINE | re.DOTALL)
SHARE = 0.7


def digested(text: str) -> str:
    """All but the first line, which counts."""
    counter = open_counter("gpt-5")
    size = counter.count(text)
    request = DigestRequest(
        sources=(DigestSource(item_id="i1", kind="tool_result", tool_name="Read", text=text, tokens=size),),
        budget_tokens=int(SHARE * size),
        ceiling_tokens=int(SHARE * size),
        handle="s7f3k",
        batch_id="offload_0001",
    )
    (part,) = ExtractiveDigester(DefaultRegistry(), counter).compute(request).parts
    return "".join(f"{line.text}\n" for line in part.lines[1:])


def test_the_digests_on_the_page_are_those_of_the_texts_above_them() -> None:
    if load_vocabulary().encode is None:
        pytest.skip("no vocabulary to count with: see `palimpsest-mcp doctor`")
    page = PAGE.read_text("utf-8")
    made = PAIR.sub(
        lambda found: f"```text before\n{found[1]}```{found[2]}```text after\n{digested(found[1])}```", page
    )
    if os.environ.get("UPDATE_GOLDEN"):
        PAGE.write_text(made, "utf-8")
    assert len(PAIR.findall(page)) == 2
    assert PAGE.read_text("utf-8") == made, "run: UPDATE_GOLDEN=1 pytest tests/docs/test_digest_examples.py"
