"""200 numbered hostile inputs, each with what has to come of it (`hostile_cases.jsonl`, built by `hostile.py`).

Whatever comes in: the error named there or none, never anything that is not ours, nothing outside of the store, a store
that is whole and works afterwards.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.errors import PalimpsestError
from palimpsest_mcp.settings.settings import Settings

from .hostile import ITEM, USES, built

pytestmark = pytest.mark.anyio
FILE = Path(__file__).with_name("hostile_cases.jsonl")
CASES: list[dict[str, Any]] = [json.loads(line) for line in FILE.read_text().splitlines()]
KINDS = {(case["use"], case["expect"]): case for case in reversed(CASES)}
"""Of each use and each outcome of it the first one."""


def test_there_are_two_hundred_of_them_numbered_without_a_gap() -> None:
    assert [case["n"] for case in CASES] == list(range(1, len(CASES) + 1)) and len(CASES) >= 200


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(
            case,
            id=f"{case['n']:03d}-{case['use']}",
            marks=[] if case is KINDS[case["use"], case["expect"]] else pytest.mark.long,
        )
        for case in CASES
    ],
)
async def test_a_hostile_input_gives_its_error_and_harms_nothing(case: dict[str, Any], tmp_path: Path) -> None:
    folder = tmp_path / "given"
    folder.mkdir()
    settings = Settings.load(home=tmp_path / "home", skills_roots=[tmp_path / "skills"])
    async with Palimpsest.open(settings=settings) as p:
        await p.record_items("good", [ITEM])
        before = set(os.listdir(tmp_path))
        said = "ok"
        try:
            await USES[case["use"]](p, built(case["given"]), folder)
        except PalimpsestError as error:
            said = error.code
            assert error.message and error.next, "an error says what to do"
            assert len(error.message) < 2_000, "no error quotes its input at length"
        assert said == case["expect"], case.get("why", "")
        assert set(os.listdir(tmp_path)) - before <= {"skills"}, "something was written outside of the store"
        assert (await p.show_context("good")).items
        assert (await p.verify()).ok
