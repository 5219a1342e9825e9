"""`status`, `verify`, `config show`, `doctor`, `specifics`, `demo`."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from palimpsest_mcp.cli.demo import SCENES, TARGET
from palimpsest_mcp.cli.doctor import file_system_of

Program = Callable[..., Any]


def test_the_status_counts_what_was_saved_net_of_what_was_given_back(program: Program, compacted: str) -> None:
    before = program("status", "--json").json
    assert before["sessions"] == 1 and before["disk_bytes"] > 0
    assert before["net_saved_tokens"] == before["tokens_offloaded"] - before["tokens_digests"]
    program("restore", compacted, "offload_0001")
    after = program("status", "--json").json
    assert after["tokens_restored"] > 0
    assert after["net_saved_tokens"] == before["net_saved_tokens"] - after["tokens_restored"]
    listed = program("list", compacted, "--json").json["saved"]
    (row,) = program("sessions", "--json").json["sessions"]
    assert listed["net"] == row["saved_tokens"] == after["net_saved_tokens"] + after["standing_tokens"]
    assert listed["restores_per_hundred"] == row["restores_per_hundred"] == after["restores_per_hundred"] > 0
    assert f"({after['restores_per_hundred']:g}%)" in program("list", compacted).text
    text = program("status").text
    assert f"{after['net_saved_tokens']:,} tokens" in text and compacted in text


def test_an_empty_store_says_how_to_begin(program: Program) -> None:
    assert "palimpsest-mcp compact --help" in program("status").text


def test_a_whole_store_verifies(program: Program, compacted: str) -> None:
    ran = program("verify", compacted, "--json")
    assert ran.status == 0 and ran.json["ok"] and ran.json["items"] > 0
    assert program("verify").text.startswith("whole: ")


def test_every_setting_says_where_it_comes_from(program: Program, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home.mkdir()
    (home / "config.toml").write_text('model = "claude-opus-4-8"\n', encoding="utf-8")
    monkeypatch.setenv("PALIMPSEST_WINDOW_TOKENS", "300000")
    rows = {row["setting"]: row for row in program("config", "show", "--json").json["settings"]}
    assert rows["model"]["value"] == "claude-opus-4-8" and rows["model"]["source"].endswith("config.toml")
    assert rows["window_tokens"]["source"].startswith("environment")
    assert rows["home"]["source"] == "argument"
    assert rows["policy.offload_trigger_token_ratio"]["value"] == 0.7
    assert "claude-opus-4-8" in program("config", "show").text


def test_the_doctor_finds_a_fit_machine_fit(program: Program, compacted: str) -> None:
    ran = program("doctor", "--json")
    states = {check["name"]: check["state"] for check in ran.json["checks"]}
    assert ran.status == 0 and "fail" not in states.values()
    assert {
        "python",
        "settings",
        "store",
        "writable",
        "space",
        "disk",
        "vocabulary",
        "masking",
        "search",
    } <= states.keys()
    assert "ok " in program("doctor").text


def test_the_doctor_looks_further_when_the_store_is_broken(program: Program, home: Path) -> None:
    home.write_text("a file", encoding="utf-8")
    ran = program("doctor", "--json")
    checks = {check["name"]: check for check in ran.json["checks"]}
    assert ran.status == 30 and checks["store"]["state"] == "fail" and checks["store"]["next"]
    assert checks["vocabulary"]["state"] == "ok"


def test_the_deepest_mount_decides_the_file_system(tmp_path: Path) -> None:
    mounts = tmp_path / "mounts"
    deep = tmp_path / "with space"
    deep.mkdir()
    encoded = str(deep).replace(" ", "\\040")
    mounts.write_text(f"root / ext4 rw 0 0\nserver:/x {encoded} nfs4 rw 0 0\n", encoding="utf-8")
    assert file_system_of(deep / "home", mounts) == "nfs4"
    assert file_system_of(tmp_path, mounts) == "ext4"
    assert file_system_of(tmp_path, tmp_path / "none") == ""


def test_specifics_are_found_by_class_and_secrets_are_masked(program: Program, tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    key = "q7Rt2Vx9Lk4Mz8Wp"
    file.write_text(
        f"failed with 137 at /srv/app/main.py:42, see https://example.org/t/9\ndb: postgres://app:{key}@db.internal/x\n",
        encoding="utf-8",
    )
    found = program("specifics", file, "--json").json
    texts = {text for group in found["specifics"].values() for text in group["texts"]}
    assert "https://example.org/t/9" in texts and found["masked"]
    assert key not in json.dumps(found) and key not in program("specifics", file).text


def test_specifics_of_no_file_or_an_empty_one_are_errors(program: Program, tmp_path: Path) -> None:
    (tmp_path / "empty").write_bytes(b"\n")
    assert program("specifics", tmp_path / "empty").status == 11
    assert program("specifics", tmp_path / "nothing").status == 10


def test_the_demo_is_exact_and_leaves_nothing_behind(program: Program, home: Path, tmp_path: Path) -> None:
    answer = program("demo", "--json").json
    assert answer["ok"] and len(answer["scenes"]) == 2
    assert all(scene["exact"] and scene["restored_bytes"] > 200 for scene in answer["scenes"])
    assert all(scene["report"]["after"]["tokens"] < scene["report"]["before"]["tokens"] for scene in answer["scenes"])
    assert home.is_dir()  # --home was given: that store stays


@pytest.mark.long
def test_what_the_demo_looks_for_stands_in_nothing_that_stays(program: Program, tmp_path: Path) -> None:
    told = program("demo").text
    for scene in SCENES:
        file = Path(str(files("palimpsest_mcp.demo") / f"{scene.name}.json"))
        out = tmp_path / f"{scene.name}.json"
        program("compact", file, "--force", "--target", str(TARGET), "--out", out)
        assert scene.ask in file.read_text("utf-8") and scene.ask not in out.read_text("utf-8")
        assert scene.ask in told


def test_a_preview_of_a_move_counts_what_the_move_then_copies_and_writes_nothing(
    program: Program, compacted: str, home: Path, tmp_path: Path
) -> None:
    program("handoff", "write", "--session", compacted, "--task", "Go on")
    move = ("migrate", "--from", str(home), "--to", str(tmp_path / "other"))
    preview = program(*move)
    assert preview.text.startswith("would copy") and "1 handoff" in preview.text and "compared" not in preview.text
    assert not (tmp_path / "other").exists()
    told = program("--json", *move).json
    done = program("--json", *move, "--yes").json
    assert told == {**done, "dry_run": True} and done["sessions"] == done["handoffs"] == 1
    again = program(*move, "--yes").text
    assert "copied" not in again.split(";")[0] and "1 session there already" in again and "compared" in again


@pytest.mark.parametrize("target", ["{home}/", "{home}/.", "{home}/session/x", "{home}/.."])
def test_a_store_is_never_moved_into_itself(program: Program, compacted: str, home: Path, target: str) -> None:
    before = {path: path.read_bytes() for path in home.parent.rglob("*") if path.is_file()}
    ran = program("--json", "migrate", "--from", str(home), "--to", target.format(home=home), "--yes")
    assert ran.error["code"] == "invalid_argument" and ran.error["next"].startswith("Name a")
    assert {path: path.read_bytes() for path in home.parent.rglob("*") if path.is_file()} == before


def test_where_an_end_of_a_move_is_no_store_its_own_option_is_named(
    program: Program, compacted: str, home: Path, tmp_path: Path
) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("x", "utf-8")
    for source, target, option in ((tmp_path / "mine", tmp_path / "new", "from"), (home, tmp_path / "mine", "to")):
        ran = program("--json", "migrate", "--from", str(source), "--to", str(target), "--yes")
        assert ran.error["code"] == "store_unusable" and ran.error["next"] == f"Name another with --{option}."
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["letter.txt"]
