"""Texts that were made to break or to slow down what makes and answers probes."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.memory.probes.answers import Stays, stands_whole
from palimpsest_mcp.memory.probes.grade import ask, grade

from ...conftest import LONG, first_of
from .small_session import originals, whole

PIECES = [
    "a/", "a_", "1,", "aA", "[redacted:", "`a", "https://", "decided to use a_a because ", "- [ ] a\n", "Error.", "a.B",
    "1 passed ", "\\n", '"', "../", "no such file: ", "? ",
]  # fmt: skip


def everywhere(text: str) -> list[dict[str, Any]]:
    """A session in which one text stands in every place."""
    call = {"type": "tool_use", "id": "c", "name": "Bash", "input": {"command": text or "x"}}
    return [
        {"role": "user", "content": text},
        {"role": "assistant", "content": [{"type": "text", "text": f"I decided to use {text} because {text}"}, call]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": f"{text}\nexit code 2"}]},
        {"role": "assistant", "content": f"## Next steps\n- {text}"},
        {"role": "user", "content": f"{text}?"},
    ]


@pytest.mark.parametrize("piece", first_of(PIECES, kept=5))
def test_hostile_texts_take_no_time(piece: str) -> None:
    size, most = (200_000, 8.0) if LONG else (50_000, 1.0)  # a busy machine takes a third of that
    given_originals = originals(everywhere(piece * (size // len(piece))))
    started = time.process_time()
    grade(ask(given_originals), Stays(whole(given_originals)))
    assert time.process_time() - started < most


@given(st.text(max_size=200) | st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_whatever_a_session_says_a_whole_digest_answers_all_of_it_and_no_distractor(text: str) -> None:
    given_originals = originals(everywhere(text))
    found = ask(given_originals)
    graded = grade(found, Stays(whole(given_originals)))
    assert graded.failed == () and graded.taken == ()
    texts = {one.item.id: one.text for one in given_originals}
    for one in found.probes:
        assert one.expected and all(stands_whole(texts[one.item_id], value) for value in one.expected)
