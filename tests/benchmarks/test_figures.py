"""What a benchmark says of figures that got worse since an earlier run."""

from __future__ import annotations

import json
from pathlib import Path

import measuring
import pytest


def test_a_fifth_worse_is_said_and_less_is_not() -> None:
    before = {"slower": 1.0, "noise": 1.0, "faster": 1.0, "gone": 1.0}
    [line] = measuring.worse(before, {"slower": 1.2, "noise": 1.19, "faster": 0.5, "new": 9.0})
    assert line == "slower: 1.2, 1.20 times what it was (1)"


def test_figures_are_compared_with_the_same_kind_of_machine_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "figures.json"
    file.write_text(json.dumps({"another": {"call": 1.0}, measuring.kind_of_machine(): {"call": 2.0, "other": 5.0}}))
    monkeypatch.setattr(measuring, "_FIGURES", {"call": 2.2})
    assert measuring.compare_figures(file) == []
    known = json.loads(file.read_text())
    assert known == {"another": {"call": 1.0}, measuring.kind_of_machine(): {"call": 2.2, "other": 5.0}}
    monkeypatch.setattr(measuring, "_FIGURES", {"call": 3.3})
    assert measuring.compare_figures(file) == ["call: 3.3, 1.50 times what it was (2.2)"]


def test_a_run_without_figures_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "_FIGURES", {})
    assert measuring.compare_figures(tmp_path / "figures.json") == []
    assert not (tmp_path / "figures.json").exists()
