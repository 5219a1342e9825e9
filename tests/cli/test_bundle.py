"""`doctor --bundle` and the log: enough for a bug report, and nothing that is anybody's."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ..core.conftest import make_session

PRIVATE = ("zebra", "quagga", "worker-", "check.sh", "/data/in", "tenant@example.org")


def run(home: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """The program itself, as a user starts it."""
    command = [sys.executable, "-m", "palimpsest_mcp", "--home", str(home), *arguments]
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        env={**os.environ, "PALIMPSEST_LOG_LEVEL": "info", **environment},
        stdin=subprocess.DEVNULL,
        check=False,
    )


def session_file(folder: Path) -> Path:
    messages: list[dict[str, Any]] = make_session(12, lines=40)
    messages[0]["content"] = "Ask tenant@example.org why zebra-4711 fails in quagga"
    path = folder / "zebra-quagga.json"
    path.write_text(json.dumps(messages))
    return path


@pytest.mark.long
def test_the_log_has_ids_counts_and_durations_and_nothing_stored(tmp_path: Path) -> None:
    file = session_file(tmp_path)
    done = run(tmp_path / "home", "compact", str(file), "--force", "--session", "zebra-quagga")
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]
    (one,) = [line for line in lines if line["what"] == "pass"]
    assert one["pass"].startswith("pass-") and one["session"].startswith("s") and one["status"] == "compacted"
    assert one["batches"] > 0 and one["tokens_offloaded"] > one["tokens_digests"] > 0 and one["ms"] >= 0
    assert not [word for word in PRIVATE if word in "".join(json.dumps(line) for line in lines)]


def test_a_failed_operation_says_its_code(tmp_path: Path) -> None:
    done = run(tmp_path / "home", "repair", "nobody-has-this")
    assert done.returncode == 20
    quiet = run(tmp_path / "home", "verify", PALIMPSEST_LOG_LEVEL="warning")
    assert quiet.stderr == ""


@pytest.mark.long
def test_a_bundle_has_states_and_counts_and_nothing_private(tmp_path: Path) -> None:
    home, out = tmp_path / "zebra-home", tmp_path / "bundle.json"
    run(home, "compact", str(session_file(tmp_path)), "--force", "--session", "zebra-quagga")
    next((home / "session").rglob("ledger/*.jsonl")).unlink()
    run(home, "doctor", "--bundle", str(out), PALIMPSEST_MODEL="quagga-model")
    text = out.read_text()
    said = json.loads(text)
    assert said["versions"]["palimpsest-mcp"] and said["checks"]["python"] == "ok"
    assert said["settings"]["model"] == "environment"
    assert said["store"]["findings"]["damage ledger"] == 1 and said["store"]["bytes"]["all"] > 0
    hidden = (*PRIVATE, str(tmp_path), home.name, "quagga-model", os.environ.get("USER") or "\0")
    assert not [word for word in hidden if word in text]
    again = run(home, "doctor", "--bundle", str(out))
    assert again.returncode == 19 and out.read_text() == text
