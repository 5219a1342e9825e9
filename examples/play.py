"""Run examples against the model of `fake_model.py`, without a key or a network: python examples/play.py NAME …

Prints what each prints. `--write` puts it into NAME.txt beside the example; the tests compare with that.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from fake_model import serving

HERE = Path(__file__).resolve().parent


def played(name: str) -> str:
    """What an example prints.

    Raises:
        RuntimeError: it failed; with what it said.
    """
    with serving() as address, tempfile.TemporaryDirectory() as home:
        own = {
            "PALIMPSEST_HOME": str(Path(home) / "store"),
            "HOME": home,
            "CLAUDE_CONFIG_DIR": str(Path(home) / "claude"),
        }
        api = {
            "ANTHROPIC_BASE_URL": address,
            "ANTHROPIC_API_KEY": "none",
            "OPENAI_BASE_URL": f"{address}/v1",
            "OPENAI_API_KEY": "none",
        }
        kept = {
            key: value
            for key, value in os.environ.items()
            if not key.startswith(("PALIMPSEST_", "ANTHROPIC_", "CLAUDE_"))
        }
        run = [sys.executable, str(HERE / f"{name}.py")]
        done = subprocess.run(
            run, env={**kept, **own, **api}, cwd=home, capture_output=True, encoding="utf-8", timeout=90
        )
    if done.returncode:
        raise RuntimeError(done.stderr)
    return done.stdout


if __name__ == "__main__":
    for one in sys.argv[1:]:
        if one != "--write":
            said = played(one)
            print(said, end="")
            if "--write" in sys.argv:
                (HERE / f"{one}.txt").write_text(said, "utf-8")
