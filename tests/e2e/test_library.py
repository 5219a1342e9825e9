"""palimpsest-core in an environment of its own: what it brings, what it weighs, and that it does its work."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.long

CHECKOUT = Path(__file__).resolve().parents[2]
MOST_PACKAGES, MOST_MB = 20, 80
WORK = """
import asyncio, json, sys
from palimpsest_mcp import Palimpsest, __version__

async def main(home):
    row = "10:{n:02d}:{at:02d} worker {who} job {job} done"
    lines = lambda n: chr(10).join(row.format(n=n, at=at, who=at % 7, job=n * 997 + at) for at in range(60))
    messages = [{"role": "user", "content": "Why do the workers stop?"}]
    for n in range(20):
        call = {"type": "tool_use", "id": f"t{n}", "name": "read", "input": {"path": f"{n}.log"}}
        messages.append({"role": "assistant", "content": [call]})
        result = {"type": "tool_result", "tool_use_id": f"t{n}", "content": lines(n)}
        messages.append({"role": "user", "content": [result]})
    async with Palimpsest.open(home) as p:
        done = await p.compact_messages(messages, session_id="s", window_tokens=60_000, target=0.4, force=True)
        batches = await p.list_offloaded("s")
        back = {item: (await p.restore("s", one.batch_id, item)).text for one in batches for item in one.item_ids}
        exact = all(text == lines(int(item[1:])) for item, text in back.items())
        whole = (await p.verify()).ok
    loaded = [name for name in ("mcp", "anthropic", "tiktoken", "click", "rich") if name in sys.modules]
    print(json.dumps({"status": done.report.status, "exact": exact, "items": len(back), "ok": whole, "loaded": loaded}))

asyncio.run(main(sys.argv[1]))
"""


def pip(environment: Path, task: str) -> list[str]:
    """uv's, for another environment, which needs none of its own."""
    return [
        str(Path(sys.executable).with_name("uv")),
        "pip",
        task,
        "-q",
        "--python",
        str(environment / "bin" / "python"),
    ]


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new environment with palimpsest-core in it and nothing else."""
    folder = tmp_path_factory.mktemp("core")
    build = [sys.executable, str(CHECKOUT / "release" / "build.py"), "--only", "core", "--out", str(folder)]
    subprocess.run(build, check=True, capture_output=True)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder / "venv")], check=True)
    wheel = next(folder.glob("palimpsest_core-*.whl"))
    done = subprocess.run([*pip(folder / "venv", "install"), str(wheel)], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"the package index gave no dependencies: {done.stderr[-200:]}")
    return folder / "venv"


def test_the_library_alone_compacts_restores_and_verifies(environment: Path, tmp_path: Path) -> None:
    command = [str(environment / "bin" / "python"), "-c", WORK, str(tmp_path / "home")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    said: dict[str, Any] = json.loads(done.stdout)
    assert said.pop("items") >= 3
    assert said == {"status": "compacted", "exact": True, "ok": True, "loaded": []}


def test_the_library_alone_is_small(environment: Path) -> None:
    listed = subprocess.run([*pip(environment, "list"), "--format", "json"], capture_output=True, text=True)
    ours = {one["name"] for one in json.loads(listed.stdout)}
    assert len(ours) <= MOST_PACKAGES and not {"mcp", "anthropic"} & ours, ours
    site = next((environment / "lib").glob("*/site-packages"))
    assert sum(path.stat().st_size for path in site.rglob("*") if path.is_file()) < MOST_MB * 1_000_000


def test_its_command_says_what_is_missing(environment: Path) -> None:
    done = subprocess.run(
        [str(environment / "bin" / "python"), "-m", "palimpsest_mcp", "status"], capture_output=True, text=True
    )
    assert done.returncode == 1 and "pip install palimpsest-mcp" in done.stderr
