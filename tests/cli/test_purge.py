"""`purge`, `repair`, `export` and `import` at the command line: shown first, done with --yes, files never replaced."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

Program = Callable[..., Any]


def archive_of(home: Path) -> Path:
    (path,) = home.glob("session/*/offloaded/*.jsonl")
    return path


def test_a_purge_is_shown_first_and_done_with_yes(program: Program, home: Path, compacted: str) -> None:
    before = archive_of(home).read_bytes()
    shown = program("purge", compacted, "offload_0001")
    assert shown.status == 0 and "would remove" in shown.text and "--yes" in shown.text
    assert archive_of(home).read_bytes() == before
    done = program("purge", compacted, "offload_0001", "--yes")
    assert done.status == 0 and "removed" in done.text
    restored = program("restore", compacted, "offload_0001", "--json")
    assert restored.status == 24 and restored.error["code"] == "purged"
    assert program("verify").status == 0
    again = program("purge", compacted, "offload_0001", "--yes")
    assert again.status == 0


def test_a_text_is_purged_in_all_sessions(program: Program, home: Path, compacted: str) -> None:
    shown = program("purge", "--matching", "checksum differs in part-3-7", "--json")
    assert shown.json["dry_run"] and shown.json["sessions"][0]["items"] == ["toolu_3"] and shown.json["left"]
    done = program("purge", "--matching", "checksum differs in part-3-7", "--yes", "--json")
    assert done.json["left"] == []
    nothing = program("purge", "--regex", "checksum differs in part-3-7$", "--yes")
    assert "nothing to purge" in nothing.text
    assert program("verify").status == 0


def test_a_whole_session_is_purged(program: Program, home: Path, compacted: str) -> None:
    assert "the whole session" in program("purge", compacted, "--yes").text
    assert program("restore", compacted, "offload_0001").status == 24
    assert not list(home.glob("session/*/offloaded/*.jsonl"))
    assert program("verify").status == 0


def test_a_purge_of_nothing_is_refused(program: Program, compacted: str) -> None:
    assert program("purge").status == 2
    assert program("purge", "nobody").status == 20
    assert program("purge", compacted, "offload_0999").status == 21
    assert program("purge", compacted, "offload_0001", "--matching", "x").status == 2


def test_one_flipped_byte_is_shown_mended_and_verified(program: Program, home: Path, compacted: str) -> None:
    path = archive_of(home)
    data = bytearray(path.read_bytes())
    data[data.index(b"job 1 started") + 400] ^= 1
    path.write_bytes(data)
    assert program("restore", compacted, "offload_0001").status == 0
    assert program("verify").status == 33
    shown = program("repair")
    assert shown.status == 0 and "can be mended" in shown.text and path.read_bytes() == data
    assert program("repair", "--yes", "--json").json["mended"] == 1
    assert program("verify").status == 0
    assert "nothing is damaged" in program("repair").text


def test_what_is_beyond_repair_ends_with_33(program: Program, home: Path, compacted: str) -> None:
    for path in home.glob("session/*/*/*.jsonl"):
        path.write_bytes(path.read_bytes().replace(b"part-1-7", b"part-1-8"))
    shown = program("repair", "--yes")
    assert shown.status == 33 and "LOST" in shown.text and "toolu_1" in shown.text


def test_a_session_goes_from_one_store_to_another(program: Program, home: Path, compacted: str, tmp_path: Path) -> None:
    file, other = tmp_path / "s.exchange", tmp_path / "other"
    assert program("export", compacted, "--out", file).status == 0
    written = file.read_bytes()
    assert program("export", compacted, "--out", file).status != 0
    assert program("export", compacted, "--out", home / "inside").status != 0
    assert file.read_bytes() == written and not (home / "inside").exists()
    assert program("export", compacted).status == 2
    assert "would import" in program("import", file, "--dry-run", "--home", other).text
    assert "imported" in program("import", file, "--home", other).text
    assert "already here" in program("import", file, "--home", other).text
    one = program("restore", compacted, "offload_0001", "--json")
    assert program("restore", compacted, "offload_0001", "--json", "--home", other).out == one.out
    assert program("verify", "--home", other).status == 0
    file.write_bytes(written[:-40])
    refused = program("import", file, "--home", tmp_path / "third", "--json")
    assert refused.status == 80 and refused.error["code"] == "exchange_refused"
    assert program("import", tmp_path / "none").status == 10


def test_every_command_that_verify_and_export_print_of_damage_names_the_store_and_runs(
    program: Program, home: Path, compacted: str, tmp_path: Path
) -> None:
    for path in home.glob("session/*/ledger/*.jsonl"):
        path.write_bytes(path.read_bytes().replace(b"part-1-7", b"part-1-8"))
    (home / "session" / compacted_folder(home) / "summary.md").unlink()
    (home / "VERSION").unlink()
    said = program("verify").text + program("export", compacted, "--out", tmp_path / "s.exchange").err
    commands = re.findall(r"`(palimpsest-mcp [^`]*)`", said)
    assert len(commands) >= 3
    for command in commands:
        words = shlex.split(command)
        assert words[1:3] == ["--home", str(home)]
        assert program(*words[3:]).status in (0, 33), command


def compacted_folder(home: Path) -> str:
    (folder,) = (home / "session").iterdir()
    return folder.name
