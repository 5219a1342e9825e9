"""Takes the pictures of the page for the docs, from the demo's coding session: python docs/make_pictures.py

Needs what the test of the page needs: Chromium, and `tests/e2e/install_browser PYTHON .build/browser`.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs" / "pictures"
DRIVER = ROOT / ".build" / "browser"
SESSION = ROOT / "src" / "palimpsest_mcp" / "demo" / "coding_session.json"
ITEM = "toolu_c_012"
"""A log, of which a few lines matter."""


def main() -> None:
    """Compact the session in a store of its own, serve it, look at it."""
    PICTURES.mkdir(exist_ok=True)
    chromium = os.environ.get("TEST_CHROMIUM") or shutil.which("chromium")
    if chromium is None or not (DRIVER / "node_modules").is_dir():
        sys.exit("Chromium, or .build/browser, is not here")
    with tempfile.TemporaryDirectory() as folder:
        program = [sys.executable, "-m", "palimpsest_mcp", "--home", str(Path(folder) / "palimpsest-demo")]
        options = ["--session", "harbour", "--window", "64000"]
        shorter = Path(folder) / "coding_session.json"
        passed = [*program, "compact", SESSION, *options, "--target", "0.3", "--force", "--out", shorter, "--json"]
        done = subprocess.run(passed, capture_output=True, check=True)
        handle = json.loads(done.stdout)["handle"]
        # The host goes on with the shorter list: from now on its digests stand in the window.
        subprocess.run([*program, "compact", shorter, *options, "--json"], capture_output=True, check=True)
        command = [*program, "view", "--no-browser", "--json"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            try:
                assert server.stdout is not None
                address = json.loads(server.stdout.readline())["url"]
                node = shutil.which("node") or "node"
                environment = {**os.environ, "TEST_CHROMIUM": chromium}
                look = [node, "shots.mjs", address, handle, ITEM, str(PICTURES)]
                subprocess.run(look, cwd=DRIVER, env=environment, check=True)
            finally:
                server.terminate()


if __name__ == "__main__":
    main()
