"""Runs the real Claude Code against a fake Messages API, in a home of its own.

    with client.running("look around", turns=[bash("ls"), say("done")]) as run: …

Nothing here waits for a while: it waits for something, with a time limit.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from .fake_messages import FakeMessages, Request, Turn

T = TypeVar("T")

CHECKOUT = Path(__file__).resolve().parents[3]
PLUGIN = CHECKOUT / "plugin"
TIME_LIMIT_S = 90.0
MOMENT_S = 0.02
WINDOW = 200_000
TRIGGER = 167_000
"""Where the client compacts by itself with a window of `WINDOW`."""
OVER_TRIGGER = 175_000
OUR_TOOLS = "mcp__plugin_palimpsest_server"
"""What the names of our tools begin with, through the plugin."""


def wait_for(what: Callable[[], T], why: str, limit_s: float = TIME_LIMIT_S) -> T:
    """The first true value of `what`.

    Raises:
        TimeoutError: it says why.
    """
    end = time.monotonic() + limit_s
    while time.monotonic() < end:
        if found := what():
            return found
        time.sleep(MOMENT_S)
    raise TimeoutError(why)


@dataclass(frozen=True)
class Run:
    """A client process that has ended."""

    returncode: int
    events: list[dict[str, Any]]
    stderr: str
    requests: list[Request]

    @property
    def session_id(self) -> str:
        return next(event["session_id"] for event in reversed(self.events) if "session_id" in event)

    @property
    def said(self) -> str:
        """The client's last word."""
        return next((str(one.get("result")) for one in reversed(self.events) if one.get("type") == "result"), "")

    def boundaries(self) -> list[dict[str, Any]]:
        """What the client reports of its compactions."""
        return [one["compact_metadata"] for one in self.events if one.get("subtype") == "compact_boundary"]


@dataclass
class Client:
    """One user of Claude Code: a home, a project folder, an API."""

    program: Path
    folder: Path
    api: FakeMessages
    plugin: Path | None = None
    """The user's own copy of the plugin (the interactive client writes into its folder); None to do without."""
    environment: dict[str, str] = field(default_factory=dict[str, str])

    def __post_init__(self) -> None:
        self.plugin = Path(shutil.copytree(PLUGIN, self.folder / "plugin", dirs_exist_ok=True))
        for place in (self.home / ".claude", self.project):
            place.mkdir(parents=True, exist_ok=True)
        trusted = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
        known = {
            "hasCompletedOnboarding": True,
            "theme": "dark",
            "numStartups": 5,
            "customApiKeyResponses": {"approved": ["dummy"], "rejected": []},
            "projects": {str(self.project): trusted},
        }
        (self.home / ".claude.json").write_text(json.dumps(known), "utf-8")

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def project(self) -> Path:
        return self.folder / "project"

    @property
    def store(self) -> Path:
        """Where Palimpsest keeps what it archives."""
        return self.folder / "store"

    @property
    def variables(self) -> dict[str, str]:
        """The whole environment of the client: nothing of this machine but where programs are."""
        return {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "LANG": "C.UTF-8",
            "HOME": str(self.home),
            "TMPDIR": os.environ.get("TMPDIR", "/tmp"),
            "ANTHROPIC_BASE_URL": self.api.url,
            "ANTHROPIC_API_KEY": "dummy",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_AUTO_COMPACT_WINDOW": str(WINDOW),
            "PALIMPSEST_HOME": str(self.store),
            **self.environment,
        }

    def settings(self, **values: Any) -> None:
        """The user's settings file."""
        (self.home / ".claude" / "settings.json").write_text(json.dumps(values), "utf-8")

    def command(self, *flags: str) -> list[str]:
        plugin = ["--plugin-dir", str(self.plugin)] if self.plugin else []
        return [str(self.program), *plugin, "--allowedTools", f"Bash Read Edit Write Task Agent {OUR_TOOLS}__*", *flags]

    def run(self, prompt: str, *flags: str, turns: Sequence[Turn] = (), limit_s: float = TIME_LIMIT_S) -> Run:
        """One prompt in a process of its own."""
        with self.talking(*flags, turns=turns) as talk:
            talk.say(prompt, limit_s)
        return talk.ended()

    @contextmanager
    def talking(self, *flags: str, turns: Sequence[Turn] = ()) -> Generator[Conversation]:
        """A process that takes one prompt after the other, and ends with the block."""
        self.api.play(*turns)
        said = self.folder / f"said-{uuid.uuid4().hex}.jsonl"
        stream = ("-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose")
        errors = said.with_suffix(".err")
        with said.open("wb") as out, errors.open("wb") as err:
            process = subprocess.Popen(
                self.command(*stream, *flags),
                cwd=self.project,
                env=self.variables,
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=err,
            )
        talk = Conversation(self, process, said, errors)
        try:
            yield talk
            talk.end()
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
            if process.stdin:
                process.stdin.close()

    def offline(self, *arguments: str, limit_s: float = TIME_LIMIT_S) -> subprocess.CompletedProcess[str]:
        """A command of the client that needs no API, such as `plugin validate`."""
        return subprocess.run(
            [str(self.program), *arguments],
            cwd=self.project,
            env=self.variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=limit_s,
        )

    def palimpsest(self, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[bytes]:
        """Our own command, on the same store."""
        return subprocess.run(
            [sys.executable, "-m", "palimpsest_mcp", *arguments],
            cwd=self.project,
            env=self.variables,
            input=stdin.encode(),
            capture_output=True,
            timeout=TIME_LIMIT_S,
        )

    def transcript(self, session_id: str) -> Path:
        """The client's own file of a session."""
        return next((self.home / ".claude" / "projects").glob(f"*/{session_id}.jsonl"))

    def rows(self, session_id: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.transcript(session_id).read_bytes().split(b"\n") if line]

    def servers(self) -> list[int]:
        """Process ids of the Palimpsest servers that this user's clients run."""
        return list(_processes(self.store))


@dataclass
class Conversation:
    """A client process that is still running."""

    client: Client
    process: subprocess.Popen[bytes]
    out: Path
    errors: Path

    def events(self) -> list[dict[str, Any]]:
        """What the client printed so far, whole lines only."""
        lines = self.out.read_bytes().split(b"\n")[:-1]
        return [json.loads(line) for line in lines if line.startswith(b"{")]

    def ends(self) -> int:
        """How many prompts were answered to the end."""
        return sum(event.get("type") == "result" for event in self.events())

    def say(self, prompt: str, limit_s: float = TIME_LIMIT_S) -> None:
        """Give a prompt, and wait until the client has answered it."""
        before = self.ends()
        self.send(prompt)
        self.wait(lambda: self.ends() > before, f"no answer to {prompt!r}", limit_s)

    def send(self, prompt: str) -> None:
        """Give a prompt, and wait for nothing."""
        line = {"type": "user", "message": {"role": "user", "content": prompt}}
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(line).encode() + b"\n")
        self.process.stdin.flush()

    def wait(self, what: Callable[[], Any], why: str, limit_s: float = TIME_LIMIT_S) -> None:
        """Until `what` is true, or the process has ended."""
        wait_for(lambda: what() or self.process.poll() is not None, f"{why}\n{self.errors.read_text('utf-8')}", limit_s)

    def end(self) -> None:
        """No more prompts: the client runs its last hooks and goes."""
        if self.process.stdin and not self.process.stdin.closed:
            self.process.stdin.close()
        self.process.wait(TIME_LIMIT_S)

    def ended(self) -> Run:
        errors = self.errors.read_text("utf-8")
        return Run(self.process.returncode, self.events(), errors, list(self.client.api.requests))


def _processes(store: Path) -> Iterable[int]:
    """Servers on this store, from the process table."""
    wanted = f"PALIMPSEST_HOME={store}".encode()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
            if b"serve" in words and wanted in (folder / "environ").read_bytes().split(b"\0"):
                yield int(folder.name)
        except OSError:
            continue  # it ended meanwhile, or is not ours
