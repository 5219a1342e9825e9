"""Nouns behind numbers."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import palimpsest_mcp
from palimpsest_mcp.models.text import counted, verb


@pytest.mark.parametrize(
    ("number", "noun", "said"),
    [
        (0, "batch", "0 batches"),
        (1, "batch", "1 batch"),
        (2, "batch", "2 batches"),
        (1, "item", "1 item"),
        (2_400, "session", "2,400 sessions"),
        (3, "fetched copy", "3 fetched copies"),
        (1, "fetched copy", "1 fetched copy"),
        (2, "retry", "2 retries"),
        (2, "key", "2 keys"),
        (2, "tool call", "2 tool calls"),
        (5, "address", "5 addresses"),
        (5, "hash", "5 hashes"),
    ],
)
def test_a_number_and_its_noun_agree(number: int, noun: str, said: str) -> None:
    assert counted(number, noun) == said


def test_so_does_the_verb() -> None:
    assert [verb(number, "was", "were") for number in (0, 1, 2)] == ["were", "was", "were"]


SPOKEN = re.compile(
    r" (?:tool |critical )?(?:answers|batches|calls|copies|digests|events|files|handoffs|hits|items|lines|messages"
    r"|probes|questions|records|results|retries|rows|rules|sessions|specifics|steps)\b"
)
LEAST_TWO = {
    ("experience/document.py", "lines"),
    ("memory/handoff/files.py", "len(group)"),
    ("hosts/detect.py", "len(lines)"),
    ("context/policies.py", "floor"),
    ("experience/views.py", "len(skills)"),
    ("core/offloaded.py", "len(record.items)"),
    ("memory/summary/answers.py", "len(asked)"),
}
"""Never fewer than two where they are said."""
NO_NUMBERS = {("context/gates.py", "message")}
LINES_OF_A_FILE = {("experience/document.py", "events"), ("experience/document.py", "promoted")}
"""Written into `experience.md` and read back by its form."""


def spelled(source: str) -> Iterator[str]:
    """Expressions of f-strings behind which a plural stands as it is, whatever the number; constants are known ones."""
    for text in (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.JoinedStr)):
        for value, after in zip(text.values, text.values[1:], strict=False):
            if (
                isinstance(value, ast.FormattedValue)
                and isinstance(after, ast.Constant)
                and SPOKEN.match(str(after.value))
            ):
                shown = ast.unparse(value.value)
                if not shown.isupper():
                    yield shown


def test_no_sentence_spells_a_plural_behind_a_number_of_its_own() -> None:
    """`1 batches of 1 items` stood in a report: nouns are counted in one place."""
    root = Path(palimpsest_mcp.__file__).parent
    found = {
        (path.relative_to(root).as_posix(), shown)
        for path in root.rglob("*.py")
        for shown in spelled(path.read_text(encoding="utf-8"))
    }
    assert found - LEAST_TWO - NO_NUMBERS - LINES_OF_A_FILE == set()
