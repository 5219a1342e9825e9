"""Which files a model may have us read: transcripts of the host, nothing else on the disk."""

from __future__ import annotations

import os
from pathlib import Path

from ..errors import InvalidArgument
from ..models.plain_text import shown

CLAUDE_CONFIG = "CLAUDE_CONFIG_DIR"


def checked_transcript(path: str) -> str:
    """The path, links followed, when it is a `.jsonl` file under the host's own folder of transcripts.

    Raises:
        InvalidArgument: it lies elsewhere or is no such file; whether it exists is not said.
    """
    if not path:
        return ""
    root = transcripts_folder()
    try:
        found = Path(path).expanduser()
        resolved = Path(os.path.realpath(found))
    except (ValueError, RuntimeError):  # half of a surrogate pair, a NUL, a home of nobody: no path at all
        found = resolved = Path()
    if not found.is_absolute() or resolved.suffix != ".jsonl" or not resolved.is_relative_to(root):
        raise InvalidArgument(
            f"transcript_path {shown(path, 200)} is not a transcript of the host.",
            next=f"Give the absolute path of a .jsonl file under {root}, or leave it out and give used_tokens.",
        )
    return str(resolved)


def transcripts_folder() -> Path:
    """Where Claude Code keeps its transcripts, for this user."""
    named = os.environ.get(CLAUDE_CONFIG)
    config = Path(named).expanduser() if named else Path.home() / ".claude"
    return Path(os.path.realpath(config / "projects"))
