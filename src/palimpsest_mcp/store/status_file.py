"""`session/<id>/status.json`: a few numbers for a status line, which has no time to read a ledger. A cache."""

from __future__ import annotations

import json
import os

from ..errors import StoreUnusable, WriteFailed
from ..models.events import SessionKey
from ..models.status import StatusNote
from .home import Home

STATUS_NAME = "status.json"


class StatusFiles:
    """Writes the notes of sessions that are there."""

    def __init__(self, home: Home) -> None:
        self._home = home

    def put(self, key: SessionKey, note: StatusNote) -> None:
        """Write a session's note. It can be done without, so it is not flushed, and a failure is nobody's."""
        folder = self._home.session_folder(key)
        try:
            if self._home.stands(folder):
                self._home.replace(os.path.join(folder, STATUS_NAME), encoded(note), durable=False)
        except (OSError, StoreUnusable, WriteFailed):
            return


def encoded(note: StatusNote) -> bytes:
    """One line of JSON."""
    fields = {name: getattr(note, name) for name in note.__struct_fields__}
    return json.dumps({"v": 1, **fields}).encode() + b"\n"
