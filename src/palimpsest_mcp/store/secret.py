"""The store's secret: 32 random bytes, made once, the key of redaction marks (D12)."""

from __future__ import annotations

import os

from ..errors import LockTimeout, StoreUnusable
from ..ports.clock import RandomHex
from .failures import unreadable, write_failed
from .home import Home
from .whole_files import read_from

SECRET_BYTES = 32
LOCK_TIMEOUT_S = 10.0


class Secret:
    """The file `secret`. Whoever comes first makes it; all others read the same."""

    def __init__(self, home: Home, random_hex: RandomHex) -> None:
        self._home = home
        self._random_hex = random_hex
        self._path = os.path.join(home.root, "secret")
        self._known = b""

    def get(self) -> bytes:
        """Read it, or make it.

        Raises:
            StoreUnusable: the file is damaged or not a plain file.
            WriteFailed, LockTimeout: it cannot be made.
        """
        if not self._known:
            self._home.check()
            self._known = self._read() or self._make()
        return self._known

    def if_made(self) -> bytes:
        """Read it; empty where nobody made one yet.

        Raises:
            StoreUnusable: the file is damaged or not a plain file.
        """
        self._home.check()
        return self._known or self._read()

    def _read(self) -> bytes:
        """Its bytes; empty where there is no such file yet."""
        try:
            if self._home.disk.look(self._path) is None:
                return b""
            secret = read_from(self._home.disk, self._path)
        except OSError as error:
            raise unreadable(error, "the store's secret") from error
        if len(secret) != SECRET_BYTES:
            raise StoreUnusable(
                "The store's file `secret` is damaged.",
                next="Restore it from a backup, or remove it: new redaction marks will then differ from older ones.",
            )
        return secret

    def _make(self) -> bytes:
        busy = LockTimeout("Another process is making the store's secret.", next="Try again.")
        try:
            self._home.make(self._home.root)
            with self._home.locked(self._path + ".lock", LOCK_TIMEOUT_S, busy):
                if found := self._read():
                    return found
                made = bytes.fromhex(self._random_hex(SECRET_BYTES))
                self._home.replace(self._path, made)
                return made
        except OSError as error:
            raise write_failed(error, "the store's secret") from error
