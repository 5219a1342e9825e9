"""What the benchmark of quality takes for a specific, for a loss and for an invention, and that it shares no code with
what it measures."""

from __future__ import annotations

import ast
import json
import random
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from quality.plants import planted_again
from quality.scoring import CLASSES, Source, View, specifics, stands
from quality.shapes import Changer

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks" / "quality"
TEXT = """\
2026-11-19 04:11:27 ERROR pool ERR_POOL_4711 at services/cart/mod_311.py:207, see https://ci.example.net/runs/88123
upgrade libfoo 2.41.7 -> 2.41.9 on 10.20.30.40:8080 (commit a7c08a56947a, 1048576 bytes)
id 9f0c2f1e-77b1-4c1b-a0e4-0a1b2c3d4e5f retried"""


def session(text: str) -> list[dict[str, Any]]:
    use = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "x"}}
    return [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [use]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": text}]},
    ]


def test_scorer_changer_and_planter_share_nothing_with_what_they_measure() -> None:
    for name in ("scoring.py", "strict.py", "shapes.py", "plants.py", "replay.py"):
        for node in ast.walk(ast.parse((FOLDER / name).read_text("utf-8"))):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [one.name for one in node.names] if isinstance(node, ast.Import) else []
            assert not [one for one in names if one.startswith("palimpsest_mcp")], name


def test_each_class_is_found_in_a_line_of_its_kind() -> None:
    found = specifics(TEXT)
    assert {name for name, values in found.items() if values} == set(CLASSES)
    assert found["file:line"] == {"services/cart/mod_311.py:207"}
    assert found["url"] == {"https://ci.example.net/runs/88123"}


def test_part_of_a_longer_number_does_not_stand() -> None:
    assert stands("took 1048576 bytes", "1048576")
    assert not stands("took 10485760 bytes", "1048576")
    assert not stands("a7c08a56947ab", "a7c08a56947a")


@given(st.text(alphabet="ab1/.-: ²é_", max_size=40), st.text(alphabet="ab1/.-²é_", min_size=1, max_size=6))
def test_a_view_answers_like_a_search(text: str, value: str) -> None:
    assert View(text).has(value) == stands(text, value)


def test_a_beginning_is_cut_and_a_stranger_invented_and_a_mask_neither() -> None:
    source = Source(TEXT)
    view = "see https://ci.example.net/runs/88 at 10.9.9.9 by [redacted:email:00d57163]"
    assert source.strangers(specifics(view)) == (["https://ci.example.net/runs/88"], ["10.9.9.9"])
    assert source.strangers(specifics(TEXT)) == ([], [])


def test_a_decoded_string_of_json_is_no_stranger() -> None:
    source = Source(json.dumps({"log": "first\nsecond 48151623"}))
    assert source.strangers(specifics("second 48151623")) == ([], [])


def test_every_value_gets_a_new_one_of_its_shape_and_the_same_everywhere() -> None:
    changer = Changer(session(f"{TEXT}\n{TEXT}"), ())
    text = changer.messages(session(f"{TEXT}\n{TEXT}"))[2]["content"][0]["content"]
    half = len(text) // 2
    assert text[:half] == text[half + 1 :]
    before, after = specifics(TEXT), specifics(text)
    for name, values in before.items():
        assert not values & after[name], name
        assert len(values) == len(after[name]), name
        assert after[name] <= changer.new[name] or name in ("hex", "integer"), name
    assert [len(line) for line in text[:half].split("\n")] == [len(line) for line in TEXT.split("\n")]


def test_what_is_planted_is_new_whole_and_leaves_json_valid() -> None:
    rng = random.Random(7)
    rows = json.dumps([{"name": f"row {n}", "ref": f"{rng.getrandbits(40):010x}"} for n in range(400)], indent=1)
    messages = session(rows)
    views, truth = planted_again(messages, {"t1": rows}, ["t1"])
    assert len(truth) == 3
    assert len(json.loads(views["t1"])) == 400
    for one in truth:
        assert stands(views["t1"], one["value"]) and not stands(rows, one["value"])
    assert planted_again(messages, {"t1": rows}, ["t1"]) == (views, truth)
