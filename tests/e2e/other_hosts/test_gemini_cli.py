"""Gemini CLI as it is: a very large result is a digest before the model sees it, and everything is archived."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from .driver import NODE, OURS, output
from .fake_gemini import FakeGemini, calls

pytestmark = pytest.mark.long

BIG = "\n".join(f"{output(n)}" for n in range(6))


@dataclass
class GeminiUser:
    program: Path
    home: Path
    api: FakeGemini

    @property
    def environment(self) -> dict[str, str]:
        return {
            "HOME": str(self.home),
            "PWD": str(self.home / "work"),
            "PATH": f"{NODE}:{os.environ['PATH']}",
            "PALIMPSEST_HOME": str(self.home / "store"),
            "GEMINI_API_KEY": "dummy",
            "GOOGLE_GEMINI_BASE_URL": self.api.url,
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
        }

    def ours(self, *arguments: str) -> str:
        ran = subprocess.run([OURS, *arguments], env=self.environment, capture_output=True, text=True, timeout=120)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    def run(self, prompt: str, *flags: str) -> str:
        words = ["-m", "gemini-2.5-pro", "--approval-mode", "yolo", *flags, "-p", prompt]
        ran = subprocess.run(
            [self.program, *words],
            cwd=self.home / "work",
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert ran.returncode == 0, ran.stderr[-3_000:]
        return ran.stdout


@pytest.fixture(scope="module")
def user(programs: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Generator[GeminiUser]:
    api = FakeGemini()
    stop = api.start()
    one = GeminiUser(programs("gemini-cli"), tmp_path_factory.mktemp("gemini"), api)
    (one.home / "work").mkdir()
    (one.home / "work" / "big.log").write_text(BIG, "utf-8")
    (one.home / ".gemini").mkdir()
    settings: dict[str, Any] = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "tools": {"shell": {"enableInteractiveShell": False}},
        "general": {"enableAutoUpdate": False},
    }
    (one.home / ".gemini/settings.json").write_text(json.dumps(settings), "utf-8")
    one.ours("install", "gemini-cli")
    yield one
    stop()


def read_all(user: GeminiUser, *flags: str) -> str:
    user.api.turns = [calls("run_shell_command", command="cat big.log", description="reads it"), {"text": "read"}]
    user.run("read the log", *flags)
    return json.dumps(user.api.results[-1], ensure_ascii=False)


def test_a_very_large_result_is_a_digest_before_the_model_sees_it_and_comes_back_whole(user: GeminiUser) -> None:
    seen = read_all(user)
    assert "This is no error" in seen
    assert "restore_batch" in seen
    assert len(seen) < 0.2 * len(BIG)
    (session,) = json.loads(user.ours("--json", "sessions"))["sessions"]
    assert session["host"] == "gemini-cli"
    (batch,) = json.loads(user.ours("--json", "list", session["handle"]))["batches"]
    assert BIG in user.ours("restore", session["handle"], batch["batch_id"])


def test_before_its_own_compression_everything_is_archived_and_the_session_goes_on(user: GeminiUser) -> None:
    small = calls("run_shell_command", command="head -n 40 big.log", description="reads some")
    user.api.used = 900_000  # of a window of 1,048,576: the client compresses before its next request
    user.api.turns = [small, small, small, {"text": "read"}]
    user.run("read some of it")
    user.api.used = 1_000
    found = json.loads(user.ours("--json", "sessions"))["sessions"]
    assert len(found) == 2
    newest = found[0]["handle"]
    items = json.loads(user.ours("--json", "show", newest))["items"]
    assert [one["kind"] for one in items].count("tool_result") >= 3


def test_after_removal_results_are_as_the_tool_gave_them(user: GeminiUser) -> None:
    user.ours("install", "gemini-cli", "--remove")
    assert "restore_batch" not in read_all(user)
