"""Codex as it is: a result above the user's floor is a digest before the model sees it, and comes back whole."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path

import pytest

from .driver import NODE, OURS
from .fake_responses import FakeResponses, runs, says

pytestmark = pytest.mark.long

LOG = "\n".join(f"step-{n:03} wrote {n * 7} rows in {n % 97} ms" for n in range(260))
"""Below the 10,000 bytes that Codex gives of a result, to the model and to its hooks."""


@dataclass
class CodexUser:
    program: Path
    home: Path
    api: FakeResponses

    @property
    def environment(self) -> dict[str, str]:
        return {
            "HOME": str(self.home),
            "PATH": f"{NODE}:{os.environ['PATH']}",
            "PALIMPSEST_HOME": str(self.home / "store"),
            "PALIMPSEST_AT_BIRTH_TOKENS": "1000",
            "FAKE_KEY": "dummy",
        }

    def ours(self, *arguments: str) -> str:
        ran = subprocess.run([OURS, *arguments], env=self.environment, capture_output=True, text=True, timeout=120)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    def reads_the_log(self) -> str:
        """What the model is told of it, in a session of its own."""
        self.api.turns = [runs("cat run.log", "call_1"), says("read")]
        flags = ["--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"]
        flags.append("--dangerously-bypass-hook-trust")  # a user is asked once
        ran = subprocess.run(
            [self.program, "exec", *flags, "read the log"],
            cwd=self.home / "work",
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert ran.returncode == 0, ran.stderr[-3_000:]
        return self.api.results["call_1"]


@pytest.fixture(scope="module")
def user(programs: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Generator[CodexUser]:
    api = FakeResponses()
    stop = api.start()
    one = CodexUser(programs("codex"), tmp_path_factory.mktemp("codex"), api)
    (one.home / "work").mkdir()
    (one.home / "work" / "run.log").write_text(LOG, "utf-8")
    (one.home / ".codex").mkdir()
    provider = f'[model_providers.fake]\nname = "fake"\nbase_url = "{api.url}"\nwire_api = "responses"\n'
    settings = f'model = "gpt-5"\nmodel_provider = "fake"\n\n{provider}env_key = "FAKE_KEY"\n'
    (one.home / ".codex" / "config.toml").write_text(settings, "utf-8")
    one.ours("install", "codex")
    yield one
    stop()


def test_a_result_above_the_floor_is_a_digest_before_the_model_sees_it_and_comes_back_whole(user: CodexUser) -> None:
    seen = user.reads_the_log()
    assert "restore_batch" in seen
    assert len(seen) < 0.5 * len(LOG)
    (session,) = json.loads(user.ours("--json", "sessions"))["sessions"]
    assert session["host"] == "codex"
    (batch,) = json.loads(user.ours("--json", "list", session["handle"]))["batches"]
    assert LOG in user.ours("restore", session["handle"], batch["batch_id"])


def test_after_removal_results_are_as_the_tool_gave_them(user: CodexUser) -> None:
    user.ours("install", "codex", "--remove")
    assert LOG in user.reads_the_log()
