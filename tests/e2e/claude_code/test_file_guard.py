"""No note of ours gets into a file by a command, and commands that hold no words of ours are not slowed down."""

from __future__ import annotations

import json

import pytest

from .driver import Client
from .fake_messages import bash, say
from .probe import hook_output, probe_of

pytestmark = pytest.mark.long

NOTE = "[Palimpsest's note, not what was written: 12 lines, 300 characters, sha256 0123456789ab]"
WRITES = {
    "a here-document": f"cat > new.py <<'EOF'\nimport re\n{NOTE}\nEOF",
    "echo": f'echo "{NOTE}" > new.py',
    "a program": f"python3 - <<'PY'\nopen('new.py', 'w').write(\"{NOTE}\")\nPY",
}
DENY = hook_output("PreToolUse", permissionDecision="deny", permissionDecisionReason="REFUSED BY THE SERVER")


def test_a_command_that_would_write_a_note_does_not_run(client: Client) -> None:
    probe = probe_of(client)
    probe.plan({"PreToolUse Bash": DENY})
    run = client.run("go", turns=[bash("echo one"), *map(bash, WRITES.values()), say("end")])
    assert not (client.project / "new.py").exists()
    first, *others = run.requests[-1].results.values()
    assert "one" in first and len(others) == len(WRITES)
    assert all("REFUSED BY THE SERVER" in text for text in others)
    asked = [
        json.loads(one["tool_input"])["command"] if isinstance(one["tool_input"], str) else one["tool_input"]["command"]
        for one in probe.payloads("PreToolUse")
    ]
    assert set(asked) == set(WRITES.values()), "nothing else was asked about"


def test_what_the_server_lets_pass_runs(client: Client) -> None:
    probe_of(client).plan({"PreToolUse Bash": ""})
    run = client.run("go", turns=[bash(WRITES["a here-document"]), say("end")])
    assert NOTE in (client.project / "new.py").read_text("utf-8") and run.said == "end"


def test_without_the_module_the_client_asks_about_what_it_can_see(client: Client) -> None:
    probe = probe_of(client)
    probe.plan({"PreToolUse Bash": DENY})
    assert client.plugin is not None
    hooks = client.plugin / "hooks" / "hooks.json"
    hooks.write_text(json.dumps({"hooks": json.loads(hooks.read_text("utf-8"))["hooks"]}), "utf-8")
    run = client.run("go", turns=[bash("echo one"), bash(WRITES["echo"]), say("end")])
    assert not (client.project / "new.py").exists() and "REFUSED BY THE SERVER" in run.requests[-1].text
    assert len(probe.payloads("PreToolUse")) == 1
