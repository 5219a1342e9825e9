"""The interactive client in tmux, on a server and socket of its own."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

from .driver import Client, wait_for

LIMIT_S = 40.0


class Terminal:
    """A person at the keyboard."""

    def __init__(self, client: Client, socket: Path, *flags: str) -> None:
        self.client = client
        self._socket = socket
        words = [f"{name}={value}" for name, value in client.variables.items()]
        command = shlex.join(["env", "-i", *words, "TERM=xterm-256color", *client.command(*flags)])
        there = shlex.quote(str(client.project))
        # What stays after the client's end lets a test read its last screen.
        self._tmux(
            "-f", "/dev/null", "new-session", "-d", "-x", "160", "-y", "50", f"cd {there} && {command}; echo ENDED; cat"
        )
        self.wait(r"(?m)^\s*[❯>]|ENDED")

    def _tmux(self, *arguments: str, check: bool = True) -> str:
        command = ["tmux", "-S", str(self._socket), *arguments]
        return subprocess.run(command, check=check, capture_output=True, text=True, timeout=LIMIT_S).stdout

    def screen(self) -> str:
        return self._tmux("capture-pane", "-p")

    def wait(self, pattern: str, limit_s: float = LIMIT_S) -> str:
        """The first screen that has the pattern.

        Raises:
            TimeoutError: it shows the screen.
        """
        shown: list[str] = [""]

        def look() -> str:
            shown[0] = self.screen()
            return shown[0] if re.search(pattern, shown[0]) else ""

        try:
            return wait_for(look, pattern, limit_s)
        except TimeoutError:
            raise TimeoutError(f"{pattern!r} was not shown; the screen was:\n{shown[0]}") from None

    def type(self, text: str) -> None:
        """Type a line and send it: a prompt, or a command such as /clear."""
        self._tmux("send-keys", "-l", text)
        self.wait(re.escape(text[-20:]))
        self._tmux("send-keys", "Enter")

    def ask(self, prompt: str, answer: str) -> str:
        """Type a prompt, and wait until its answer stands on the screen."""
        self.type(prompt)
        return self.wait(re.escape(answer))

    def leave(self) -> None:
        """End the client as a person does."""
        self.type("/exit")
        self.wait("ENDED")

    def close(self) -> None:
        self._tmux("kill-server", check=False)
