"""Where the command is not installed: the client hears of it once, in one line, and no hook fails."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "plugin" / "hooks" / "palimpsest.sh"
SHELL = shutil.which("sh") or ""

pytestmark = pytest.mark.skipif(not SHELL, reason="there is no sh on this machine, which the plugin needs")


def started(tmp_path: Path, *arguments: str, given: str = "", command: str = "") -> subprocess.CompletedProcess[str]:
    """The script with nothing on the PATH but what every system has; with `command` also palimpsest-mcp."""
    tools = tmp_path / "bin"
    tools.mkdir(exist_ok=True)
    for name in ("cat", "tail"):
        if not (tools / name).exists():
            (tools / name).symlink_to(str(shutil.which(name)))
    if command:
        (tools / "palimpsest-mcp").write_text(command)
        (tools / "palimpsest-mcp").chmod(0o755)
    return subprocess.run(
        [SHELL, str(SCRIPT), *arguments],
        input=given,
        env={"PATH": str(tools)},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )


@pytest.mark.parametrize("source", ["startup", "resume"])
def test_the_start_of_a_session_says_in_one_line_how_to_install_it(tmp_path: Path, source: str) -> None:
    given = json.dumps({"session_id": "s", "hook_event_name": "SessionStart", "source": source}, separators=(",", ":"))
    ran = started(tmp_path, "hook", "SessionStart", given=given)
    said = json.loads(ran.stdout)["systemMessage"]
    assert "uv tool install ." in said and "\n" not in said and ran.stderr == ""


@pytest.mark.parametrize(
    ("event", "source"), [("SessionStart", "compact"), ("SessionStart", "clear"), ("SessionEnd", "")]
)
def test_nothing_else_says_it_again(tmp_path: Path, event: str, source: str) -> None:
    given = json.dumps({"session_id": "s", "source": source}, separators=(",", ":"))
    ran = started(tmp_path, "hook", event, given=given)
    assert (ran.stdout, ran.stderr) == ("", "")


@pytest.mark.parametrize("id_first", [True, False])
def test_every_request_of_the_client_is_answered_with_nothing(tmp_path: Path, id_first: bool) -> None:
    def line(method: str, id: int | str, **params: Any) -> str:
        known, rest = {"jsonrpc": "2.0", "id": id}, {"method": method, "params": params}
        return json.dumps({**known, **rest} if id_first else {**rest, **known}, separators=(",", ":"))

    def hook(id: int, event: str, text: str = "") -> str:
        payload = {"session_id": "s", "tool_response": text}
        return line("tools/call", id, name="host_event", arguments={"event": event, "payload": payload})

    said = '{"jsonrpc":"2.0","id":99,"method":"ping"} *[a]? $(rm -rf /) `ls` \\ %s %n' + "x" * 1_000_000
    before = time.monotonic()
    ran = started(
        tmp_path,
        *("serve", "--host", "claude-code"),
        given="\n".join(
            [
                line("server/discover", 0),
                line("initialize", 1, protocolVersion="2025-11-25"),
                '{"method":"notifications/initialized","jsonrpc":"2.0"}',
                line("tools/list", "two"),
                hook(3, "PostToolUse", said),
                hook(4, "PreCompact"),
                hook(5, "PostCompact"),
                line("ping", 6),
                "",
            ]
        ),
    )
    assert time.monotonic() - before < 20, "looking at a long line takes linear time"
    answers = {one["id"]: one for one in map(json.loads, ran.stdout.splitlines())}
    assert list(answers) == [0, 1, "two", 3, 4, 5, 6] and ran.stderr == ""
    assert answers[0]["error"]["code"] == -32601
    assert [one["name"] for one in answers["two"]["result"]["tools"]] == ["host_event"]
    texts = [answers[n]["result"]["content"][0]["text"] for n in (3, 4, 5)]
    assert texts == ["{}", "", ""]


def test_where_the_command_is_it_takes_over_with_every_argument(tmp_path: Path) -> None:
    shim = f"#!{SHELL}\nprintf '%s|' \"$@\"\n"
    ran = started(tmp_path, "serve", "--host", "claude-code", command=shim)
    assert ran.stdout == "serve|--host|claude-code|"
