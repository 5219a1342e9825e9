"""Writes the two sessions that `palimpsest-mcp demo` compacts; everything in them is invented.

    python benchmarks/make_demo_sessions.py [FOLDER]

Seeded: the same bytes on every machine. `tests/docs/test_demo_sessions.py` holds the bundled files to this script.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from demo_coding import coding_session
from demo_research import research_session

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "palimpsest_mcp" / "demo"


def encoded(messages: list[dict[str, Any]]) -> str:
    """One message a line, so that a change can be read in a diff."""
    return "[\n" + ",\n".join(json.dumps(message, ensure_ascii=False) for message in messages) + "\n]\n"


def main(folder: Path = PACKAGE) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, messages in (("coding_session", coding_session()), ("research_session", research_session())):
        (folder / f"{name}.json").write_text(encoded(messages), encoding="utf-8")


if __name__ == "__main__":
    main(*(Path(argument) for argument in sys.argv[1:2]))
