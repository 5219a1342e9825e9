"""Small files for the hooks of a host, which read them without opening the store."""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from ..models.events import SessionKey
from ..models.text import plain_inline, plain_line
from ..ports.seams import HandoffNote
from .disk import Disk, read_from, remove_if_there, replace_whole, write_all
from .home import folder_name, is_of_something_else
from .real_disk import RealDisk

FOLDER = "claude-code"
START_NAME = "start.json"
TROUBLE_NAME = "troubles.jsonl"
_TROUBLE_BYTES = 64 << 10
_KEPT_TROUBLES = 50
MEMORY = "memory"
"""Where handoffs stand; `handoffs` is too heavy for a hook."""
_HANDOFFS = 200
"""Newest files of which the head is read."""
_HEAD_BYTES = 2_048
_HEAD = re.compile(r"- (Date|Written|Written in|Project): (.*)$", re.MULTILINE)
"""Files of earlier versions call the folder in which they were written the project."""
_TITLE = re.compile(r"# [A-Z][A-Za-z -]+: (.*)$", re.MULTILINE)
_LINKS_KEPT_S = 30 * 86_400


class HostFiles:
    """See `ports.seams.HostNotes`. Where there is no store there is nothing to say: its root is not made here.

    Args:
        root: of the store.
        disk: the store's; None for the operating system's own.
    """

    def __init__(self, root: Path | str, disk: Disk | None = None) -> None:
        self._disk = disk or RealDisk()
        self._root = self._disk.real(str(root))
        self._disk.guard(self._root)
        self._folder = os.path.join(self._root, FOLDER)

    def keep_start(self, session_id: str, start: Mapping[str, Any]) -> None:
        if self.is_known(session_id):
            self._replace(self._start_path(session_id), dict(start))

    def start_of(self, session_id: str) -> dict[str, Any]:
        return self._read(self._start_path(session_id))

    def is_known(self, session_id: str) -> bool:
        return self._is_folder(self._session_folder(session_id))

    def note_ended(self, client: str, session_id: str) -> None:
        self._put("ended", client, {"session_id": session_id, "at": time.time()})

    def take_ended(self, client: str) -> str:
        path = self._path("ended", client)
        found = self._read(path)
        remove_if_there(self._disk, path)
        return str(found.get("session_id", ""))

    def link(self, session_id: str, parent: str) -> None:
        self._put("parent", session_id, {"parent": parent, "at": time.time()})

    def parent_of(self, session_id: str) -> str:
        return str(self._read(self._path("parent", session_id)).get("parent", ""))

    def handoff_of(self, project: str) -> HandoffNote | None:
        """By the heads of the newest files; their names begin with their day."""
        folder = os.path.join(self._root, MEMORY)
        with suppress(OSError):
            names = sorted((name for name, _ in self._disk.scan(folder) if name.endswith(".md")), reverse=True)
            found: list[HandoffNote] = []
            for name in names[:_HANDOFFS]:
                if found and not name.startswith(found[0].date):
                    break
                with suppress(OSError):
                    found += self._handoff(os.path.join(folder, name), name.removesuffix(".md"), project)
            return max(found, key=lambda one: one.written, default=None)
        return None

    def sweep(self) -> None:
        with suppress(OSError):
            for name, _ in self._disk.scan(self._folder):
                if name.startswith(("ended-", "parent-")):
                    path = os.path.join(self._folder, name)
                    at = self._read(path).get("at")
                    if not isinstance(at, float) or at < time.time() - _LINKS_KEPT_S:
                        self._disk.remove(path)

    def note_trouble(self, event: str, code: str, text: str) -> None:
        line = json.dumps({"ts": time.time(), "event": event, "code": code, "text": text}) + "\n"
        with suppress(OSError):
            if self._ready():
                self._append(os.path.join(self._folder, TROUBLE_NAME), line.encode())

    def troubles(self) -> list[dict[str, Any]]:
        try:
            data = read_from(self._disk, os.path.join(self._folder, TROUBLE_NAME))
        except OSError:
            return []
        found = [_object(line) for line in data.decode("utf-8", "replace").split("\n")[-_KEPT_TROUBLES - 1 :] if line]
        return [one for one in found if one]

    def _handoff(self, path: str, name: str, project: str) -> list[HandoffNote]:
        fd = self._disk.open(path)
        try:
            if self._disk.found(fd).kind != "file":
                return []
            text = self._disk.read(fd, _HEAD_BYTES, 0).decode("utf-8-sig", "replace").split("\n## ")[0]
        finally:
            self._disk.close(fd)
        title = _TITLE.search(text)
        said = {key: plain_inline(value) for key, value in _HEAD.findall(text)}
        if title is None or said.get("Written in", said.get("Project")) != project:
            return []
        day, written = said.get("Date", ""), said.get("Written", "")
        return [HandoffNote(name, plain_line(plain_inline(title[1]), 120), plain_line(day, 20), written)]

    def _session_folder(self, session_id: str) -> str:
        return os.path.join(self._root, "session", folder_name(SessionKey(session_id)))

    def _start_path(self, session_id: str) -> str:
        return os.path.join(self._session_folder(session_id), START_NAME)

    def _path(self, kind: str, name: str) -> str:
        hashed = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        return os.path.join(self._folder, f"{kind}-{hashed}.json")

    def _put(self, kind: str, name: str, value: dict[str, Any]) -> None:
        if self._ready():
            self._replace(self._path(kind, name), value)

    def _ready(self) -> bool:
        """Whether the folder stands; it is made where a store is."""
        if not self._is_folder(self._root) or is_of_something_else(self._disk, self._root):
            return False
        with suppress(FileExistsError):
            self._disk.mkdir(self._folder)
        return True

    def _is_folder(self, path: str) -> bool:
        try:
            found = self._disk.look(path)
        except OSError:
            return False
        return found is not None and found.kind == "folder"

    def _replace(self, path: str, value: dict[str, Any]) -> None:
        replace_whole(self._disk, path, json.dumps(value).encode(), secrets.token_hex, durable=False)

    def _append(self, path: str, line: bytes) -> None:
        found = self._disk.look(path)
        if found is not None and found.size > _TROUBLE_BYTES:
            self._disk.replace(path, path + ".old")
        try:
            fd = self._disk.create(path)
        except FileExistsError:
            fd = self._disk.extend(path)
        try:
            write_all(self._disk, fd, line)
        finally:
            self._disk.close(fd)

    def _read(self, path: str) -> dict[str, Any]:
        try:
            return _object(read_from(self._disk, path).decode())
        except (OSError, ValueError):
            return {}


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
