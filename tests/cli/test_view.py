"""`view --out`: one masked file that holds every answer of the page."""

from __future__ import annotations

import json
import re
from pathlib import Path
from urllib.parse import unquote

import pytest

from .conftest import Program

SECRET = "AKIAQYLPMN5HFIQR7XYA"


def test_a_file_to_share_holds_every_item_masked(program: Program, compacted: str, tmp_path: Path) -> None:
    out = tmp_path / "shared.html"
    text = json.dumps([{"role": "user", "content": f"key={SECRET} </script><script>alert(1)</script>"}])
    (tmp_path / "other.json").write_text(text, encoding="utf-8")
    program("compact", tmp_path / "other.json", "--session", "other", "--force")
    ran = program("view", "--out", out, "--json")
    assert ran.status == 0 and ran.json == {"sessions": 2, "out": str(out)}
    html = out.read_text("utf-8")
    assert SECRET not in html and html.count("<script") == 2 and "default-src 'none'" in html
    found = re.search(r'id="stored">(.*?)</script>', html, re.DOTALL)
    assert found is not None
    stored = json.loads(found[1])
    for item in program("show", compacted, "--json").json["items"]:
        one = next(
            stored[key]
            for key in stored
            if key.startswith("item?") and unquote(key).endswith(f"item={item['item_id']}")
        )
        assert one["batch_id"] == item["batch_id"] and bool(one["digest"]) == (item["state"] == "replaced")
    again = program("view", "--out", out)
    assert again.status != 0 and "--overwrite" in again.err


def test_a_file_of_one_session_holds_no_other(program: Program, compacted: str, tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text(json.dumps([{"role": "user", "content": "of another"}]), encoding="utf-8")
    program("compact", tmp_path / "other.json", "--session", "other", "--force")
    out = tmp_path / "one.html"
    assert program("view", compacted, "--out", out).status == 0
    html = out.read_text("utf-8")
    assert "of another" not in html and compacted in html


def test_a_file_to_share_has_the_rules_of_skills_of_one_name(
    program: Program, compacted: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("channels", "pages"):
        (tmp_path / "skills" / folder / "search").mkdir(parents=True)
        (tmp_path / "skills" / folder / "search" / "SKILL.md").write_text("# search", encoding="utf-8")
    monkeypatch.setenv("PALIMPSEST_SKILLS_ROOTS", str(tmp_path / "skills"))
    for number, folder in enumerate(("channels", "pages")):
        event = {"outcome": "success", "winning_pattern": f"brand and word {number}", "session_id": "one"}
        assert program("experience", "record", f"{folder}/search", json.dumps(event)).status == 0
    ran = program("view", "--out", tmp_path / "shared.html")
    assert ran.status == 0, ran.err
    text = (tmp_path / "shared.html").read_text("utf-8")
    assert "channels/search" in text and "pages/search" in text
