"""Small files for the hooks of a host: what a session's start says, which session follows which, what went wrong.

All of it is a cache or a log: losing it loses no evidence. A hook reads it without opening the store.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from ..models.events import SessionKey
from .names import folder_name

FOLDER = "claude-code"
START_NAME = "start.json"
TROUBLE_NAME = "troubles.jsonl"
_TROUBLE_BYTES = 64 << 10
_KEPT_TROUBLES = 50
_LINKS_KEPT_S = 30 * 86_400


class HostFiles:
    """Files under a store's root. Nothing here makes the root itself: where there is no store, there is nothing to say.

    Args:
        root: of the store.
    """

    def __init__(self, root: Path | str) -> None:
        self._root = os.path.abspath(root)
        self._folder = os.path.join(self._root, FOLDER)

    # What SessionStart says

    def keep_start(self, session_id: str, start: Mapping[str, Any]) -> None:
        """Keep what the next SessionStart of a session is to say."""
        folder = self._session_folder(session_id)
        if os.path.isdir(folder):
            _replace(os.path.join(folder, START_NAME), dict(start))

    def start_of(self, session_id: str) -> dict[str, Any]:
        """What was kept; empty where nothing was."""
        return _read(os.path.join(self._session_folder(session_id), START_NAME))

    def is_known(self, session_id: str) -> bool:
        """Whether the store has anything of a session."""
        return os.path.isdir(self._session_folder(session_id))

    # Which session follows which (L14)

    def note_ended(self, client: str, session_id: str) -> None:
        """A client left a session for a new one: the next that begins in the same client follows it."""
        self._put("ended", client, {"session_id": session_id, "at": time.time()})

    def take_ended(self, client: str) -> str:
        """The session that a client just left; said once."""
        found = self._get("ended", client)
        with suppress(OSError):
            os.remove(self._path("ended", client))
        return str(found.get("session_id", ""))

    def link(self, session_id: str, parent: str) -> None:
        """A session follows another."""
        self._put("parent", session_id, {"parent": parent, "at": time.time()})

    def parent_of(self, session_id: str) -> str:
        """Which session it follows; empty for none."""
        return str(self._get("parent", session_id).get("parent", ""))

    def sweep(self) -> None:
        """Remove links that nobody asked for in a month."""
        with suppress(OSError):
            for name in os.listdir(self._folder):
                path = os.path.join(self._folder, name)
                if name.startswith(("ended-", "parent-")) and os.stat(path).st_mtime < time.time() - _LINKS_KEPT_S:
                    os.remove(path)

    # What went wrong

    def note_trouble(self, event: str, code: str, text: str) -> None:
        """Keep why a hook answered nothing. Never raises: it must not break the hook a second time."""
        path = os.path.join(self._folder, TROUBLE_NAME)
        line = json.dumps({"ts": time.time(), "event": event, "code": code, "text": text}) + "\n"
        with suppress(OSError):
            if not self._ready():
                return
            if os.path.exists(path) and os.path.getsize(path) > _TROUBLE_BYTES:
                os.replace(path, path + ".old")
            with open(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "a", encoding="utf-8") as file:
                file.write(line)

    def troubles(self) -> list[dict[str, Any]]:
        """The newest reasons why a hook answered nothing, oldest first: `ts` (seconds), `event`, `code`, `text`."""
        try:
            with open(os.path.join(self._folder, TROUBLE_NAME), encoding="utf-8") as file:
                lines = file.read().split("\n")
        except OSError:
            return []
        found = [_object(line) for line in lines[-_KEPT_TROUBLES - 1 :] if line]
        return [one for one in found if one]

    def _session_folder(self, session_id: str) -> str:
        return os.path.join(self._root, "session", folder_name(SessionKey(session_id)))

    def _path(self, kind: str, name: str) -> str:
        hashed = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        return os.path.join(self._folder, f"{kind}-{hashed}.json")

    def _put(self, kind: str, name: str, value: dict[str, Any]) -> None:
        if self._ready():
            _replace(self._path(kind, name), value)

    def _get(self, kind: str, name: str) -> dict[str, Any]:
        return _read(self._path(kind, name))

    def _ready(self) -> bool:
        """Whether the folder stands; it is made where a store is."""
        if not os.path.isdir(self._root):
            return False
        with suppress(FileExistsError):
            os.mkdir(self._folder, 0o700)
        return True


def _replace(path: str, value: dict[str, Any]) -> None:
    spare = f"{path}.{secrets.token_hex(4)}.tmp"
    with open(os.open(spare, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(json.dumps(value))
    os.replace(spare, path)


def _read(path: str) -> dict[str, Any]:
    try:
        with open(path, encoding="utf-8") as file:
            return _object(file.read())
    except (OSError, ValueError):
        return {}


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


__all__ = ["HostFiles"]
