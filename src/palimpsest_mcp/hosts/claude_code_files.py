"""Where Claude Code keeps its sessions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from .claude_code_places import config_folder

_ID = re.compile(r"[0-9A-Za-z][0-9A-Za-z_-]{0,127}")


def transcripts_of(session_id: str, environ: Mapping[str, str], home: Path) -> list[Path]:
    """Every transcript of a session's id, in whatever project; the newest first."""
    if not _ID.fullmatch(session_id):
        return []
    found = list((Path(config_folder(environ, str(home))) / "projects").glob(f"*/{session_id}.jsonl"))
    return sorted(found, key=lambda path: path.stat().st_mtime, reverse=True)
